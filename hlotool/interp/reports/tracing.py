"""Observers of values: a tracer that shows selected values, and a watch for NaN and infinities."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from hlotool.errors import Violation
from hlotool.interp.arguments.argument_files import leaf_names, on_device
from hlotool.interp.arrays.dtypes import Array
from hlotool.interp.arrays.values import Value, leaves
from hlotool.interp.engine.observers import Observer, RunPosition
from hlotool.interp.reports.array_statistics import Statistics, has_nonfinite, plain, statistics
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.opdefs.traits import FORWARDS
from hlotool.record import Record
from hlotool.shapes.metadata import StackTables
from hlotool.text.print.stack_frames import innermost_location

__all__ = ["NonfiniteWatch", "TraceRow", "Tracer", "origin_of"]


class TraceRow(Record):
    """One array that an instruction has computed.

    The row contains the array's position, the iterations of the enclosing loops, and the array's
    statistics. `device` is the number of the device, or None if there is only one.
    """

    name: str
    computation: str
    iterations: tuple[int, ...]
    type: str
    statistics: Statistics
    device: int | None = None

    @property
    def key(self) -> str:
        """The name, followed by the iterations of the enclosing loops.

        Examples are `x[3]`, `x.0[3]` for an element of a tuple, and `device1.x[3]` if there are
        several devices.
        """
        return on_device(self.key_on_device, self.device)

    @property
    def key_on_device(self) -> str:
        """The key without the device."""
        return self.name + (f"[{','.join(map(str, self.iterations))}]" if self.iterations else "")


class Tracer(Observer):
    """An observer that calls `show` for each array that a matching instruction computes.

    An instruction matches if the pattern matches its name or the name of its computation. If `keep`
    is set, `arrays` contains copies of the arrays by key. If a key occurs more than once, `~2`,
    `~3` and so on are appended to it from the second time on.
    """

    def __init__(self, pattern: re.Pattern[str], show: Callable[[TraceRow], None], *, keep: bool = False) -> None:
        self.pattern = pattern
        self.show = show
        self.keep = keep
        self.arrays: dict[str, Array] = {}
        self._wanted: dict[Instruction, bool] = {}

    def entered(self, where: RunPosition, computation: Computation, arguments: Sequence[Value]) -> None:
        iterations = tuple([k for frame in where.frames if (k := frame.iteration) is not None])
        for parameter, argument in zip(computation.parameters, arguments, strict=True):
            if self._matches(parameter, computation):
                self._show(parameter, computation, iterations, argument, where.device)

    def ended(self, where: RunPosition, instruction: Instruction, operands: Sequence[Value], value: Value) -> None:
        if self._matches(instruction, where.computation):
            self._show(instruction, where.computation, where.iterations, value, where.device)

    def _matches(self, x: Instruction, computation: Computation) -> bool:
        known = self._wanted.get(x)
        if known is None:
            known = self._wanted[x] = any(self.pattern.search(name) for name in (x.name, computation.name))
        return known

    def _show(self, x: Instruction, computation: Computation, iterations: tuple[int, ...], value: Value, device: int | None) -> None:
        for (name, shape), leaf in zip(leaf_names(x.name, x.shape), leaves(value), strict=True):
            if isinstance(leaf, np.ndarray):
                type_text = shape.with_dimensions(leaf.shape).text_without_layout
                row = TraceRow(name, computation.name, iterations, type_text, statistics(leaf), device)
                self.show(row)
                if self.keep:
                    self._keep(row.key, leaf)

    def _keep(self, key: str, leaf: Array) -> None:
        name, again = key, 2
        while name in self.arrays:
            name, again = f"{key}~{again}", again + 1
        self.arrays[name] = np.array(leaf)


# ---- NaN and infinities ------------------------------------------------------------------------

_MAX_OPERANDS = 6


class NonfiniteWatch(Observer):
    """An observer that stops a run at the first instruction that computes a NaN or an infinity.

    The run stops at a NaN only if the instruction's operands contain no NaN, and at an infinity
    only if all operands are finite. `nans` and `infinities` select the values to look for.
    """

    def __init__(self, module: Module, *, nans: bool = True, infinities: bool = True) -> None:
        self.module = module
        self.nans = nans
        self.infinities = infinities

    def ended(self, where: RunPosition, instruction: Instruction, operands: Sequence[Value], value: Value) -> None:
        if FORWARDS in instruction.op.traits:
            # The forwarded values were checked when they were computed.
            return
        for leaf in leaves(value):
            if isinstance(leaf, np.ndarray) and has_nonfinite(leaf):
                self._judge(where, instruction, operands, leaf)

    def _judge(self, where: RunPosition, x: Instruction, operands: Sequence[Value], result: Array) -> None:
        nonfinite = [leaf for operand in operands for leaf in leaves(operand) if isinstance(leaf, np.ndarray) and has_nonfinite(leaf)]
        values = plain(result)
        if self.nans and np.isnan(values).any() and not any(np.isnan(plain(leaf)).any() for leaf in nonfinite):
            what, adjective, locations = "NaN", "NaN", np.isnan(values)
        elif self.infinities and not nonfinite and np.isinf(values).any():
            what, adjective, locations = "infinity", "infinite", np.isinf(values)
        else:
            return
        index = tuple(int(k) for k in np.argwhere(locations)[0])
        count = int(locations.sum())
        location = f" at [{','.join(map(str, index))}]" if index else ""
        many = f"; {count} of {result.size} elements are {adjective}" if count > 1 else ""
        finite = "operands without NaN" if nonfinite else "finite operands"
        message = f"'{x.opcode}' computes {_number(values[index])} from {finite}{location}{many}"
        notes = (*_shown_operands(x, operands, result, index), *self._notes(where, x))
        raise Violation("R006", "opcode", message, f"this is the first {what} of the run", notes)

    def _notes(self, where: RunPosition, x: Instruction) -> Iterator[str]:
        iterations = where.iterations
        if iterations:
            plural = "s" if len(iterations) > 1 else ""
            yield f"in iteration{plural} {', '.join(map(str, iterations))} (0-based) of the enclosing loop{plural}"
        callers = where.callers()
        if callers:
            yield f"in '{where.computation.name}', called by {', called by '.join(callers)}"
        yield from origin_of(x, self.module)


def _shown_operands(x: Instruction, operands: Sequence[Value], result: Array, index: tuple[int, ...]) -> Iterator[str]:
    """Yields descriptions of the operands.

    An array with the result's dimensions is described by its element at `index`, any other array by
    its statistics, and a scalar by its value.
    """
    for operand, value in list(dict(zip(x.operands, operands, strict=True)).items())[:_MAX_OPERANDS]:
        name = f"'{operand.name}' {operand.shape.text_without_layout[:60]}"
        if not isinstance(value, np.ndarray):
            continue
        if not value.ndim:
            yield f"{name} is {_number(plain(value)[()])}"
        elif value.shape == result.shape:
            yield f"{name} is {_number(plain(value)[index])} at this index"
        else:
            yield f"{name} has {statistics(value).text}"


def _number(number: Any) -> str:
    text = str(number)
    return {"True": "true", "False": "false", "nan": "NaN"}.get(text, text)


def origin_of(x: Instruction, module: Module) -> Iterator[str]:
    """Yields a note on an instruction's origin, from its metadata or the module's stack frames."""
    metadata = x.metadata
    if metadata is None:
        return
    location = f"{metadata.source_file}:{metadata.source_line}" if metadata.source_file else ""
    location = location or _location_of_frame(module.stack_tables, metadata.stack_frame_id)
    parts = [f"'{metadata.op_name}'"] if metadata.op_name else []
    parts += [f"at {location}"] if location else []
    if parts:
        yield f"the instruction comes from {' '.join(parts)}"


def _location_of_frame(tables: StackTables | None, frame: int) -> str:
    innermost = innermost_location(tables, frame)
    if innermost is None or tables is None:
        return ""
    file_name, location = innermost
    number = location.function_name_id
    function = tables.function_names[number - 1] if 0 < number <= len(tables.function_names) else ""
    return f"{file_name}:{location.line}" + (f" in {function}" if function else "")
