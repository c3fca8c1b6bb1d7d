"""Watching values go by: the tracer, which shows those of chosen instructions, and the watch for NaN and infinities.

Both see a value when it is made; neither keeps more of it than it was asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from hlotool.errors import Violation
from hlotool.interp.dtypes import Array
from hlotool.interp.files import leaf_names
from hlotool.interp.observers import Observer, Whereabouts
from hlotool.interp.statistics import Statistics, has_nonfinite, plain, statistics
from hlotool.interp.values import Value, leaves
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.opdefs.traits import FORWARDS
from hlotool.record import Record
from hlotool.shapes.metadata import StackTables
from hlotool.text.print.stack_frames import innermost_location

__all__ = ["NonfiniteWatch", "TraceRow", "Tracer", "origin_of"]


class TraceRow(Record):
    """One array that an instruction has made: where, in which rounds of the loops around it, and its numbers."""

    name: str
    computation: str
    rounds: tuple[int, ...]
    type: str
    statistics: Statistics

    @property
    def key(self) -> str:
        """The name, with the rounds after it: `x[3]`, of an element of a tuple `x.0[3]`."""
        return self.name + (f"[{','.join(map(str, self.rounds))}]" if self.rounds else "")


class Tracer(Observer):
    """Tells `show` of every array made by instructions whose name, or whose computation's name, the pattern matches.

    With `keep`, copies of the arrays are in `arrays`, by key; what is made again in the same rounds has `~2`, `~3` after it.
    """

    def __init__(self, pattern: re.Pattern[str], show: Callable[[TraceRow], None], *, keep: bool = False) -> None:
        self.pattern = pattern
        self.show = show
        self.keep = keep
        self.arrays: dict[str, Array] = {}
        self._wanted: dict[Instruction, bool] = {}

    def entered(self, where: Whereabouts, computation: Computation, arguments: Sequence[Value]) -> None:
        rounds = tuple([k for frame in where.frames if (k := frame.round) is not None])
        for parameter, argument in zip(computation.parameters, arguments, strict=True):
            if self._matches(parameter, computation):
                self._tell(parameter, computation, rounds, argument)

    def ended(self, where: Whereabouts, instruction: Instruction, operands: Sequence[Value], value: Value) -> None:
        if self._matches(instruction, where.computation):
            self._tell(instruction, where.computation, where.rounds, value)

    def _matches(self, x: Instruction, computation: Computation) -> bool:
        known = self._wanted.get(x)
        if known is None:
            known = self._wanted[x] = any(self.pattern.search(name) for name in (x.name, computation.name))
        return known

    def _tell(self, x: Instruction, computation: Computation, rounds: tuple[int, ...], value: Value) -> None:
        for (name, shape), leaf in zip(leaf_names(x.name, x.shape), leaves(value), strict=True):
            if isinstance(leaf, np.ndarray):
                row = TraceRow(name, computation.name, rounds, shape.with_dimensions(leaf.shape).text_without_layout, statistics(leaf))
                self.show(row)
                if self.keep:
                    self._keep(row.key, leaf)

    def _keep(self, key: str, leaf: Array) -> None:
        name, again = key, 2
        while name in self.arrays:
            name, again = f"{key}~{again}", again + 1
        self.arrays[name] = np.array(leaf)


# ---- NaN and infinities -----------------------------------------------------------------------------------------------

_MOST_OPERANDS = 6


class NonfiniteWatch(Observer):
    """Stops a run at the first instruction that makes a NaN of operands without one, or an infinity of finite operands."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def ended(self, where: Whereabouts, instruction: Instruction, operands: Sequence[Value], value: Value) -> None:
        if FORWARDS in instruction.op.traits:
            # Its values have been looked at where they were computed.
            return
        for leaf in leaves(value):
            if isinstance(leaf, np.ndarray) and has_nonfinite(leaf):
                self._judge(where, instruction, operands, leaf)

    def _judge(self, where: Whereabouts, x: Instruction, operands: Sequence[Value], made: Array) -> None:
        given = [leaf for operand in operands for leaf in leaves(operand) if isinstance(leaf, np.ndarray) and has_nonfinite(leaf)]
        nans, values = np.isnan(plain(made)), plain(made)
        if nans.any() and not any(np.isnan(plain(leaf)).any() for leaf in given):
            what, places = "NaN", nans
        elif not given and not nans.any():
            what, places = "infinity", np.isinf(values)
        else:
            return
        index = tuple(int(k) for k in np.argwhere(places)[0])
        count = int(places.sum())
        place = f" at [{','.join(map(str, index))}]" if index else ""
        many = f"; so are {count - 1} more of {made.size} elements" if count > 1 else ""
        finite = "operands without NaN" if given else "finite operands"
        message = f"'{x.opcode}' makes {_number(values[index])} of {finite}{place}{many}"
        notes = (*_shown_operands(x, operands, made, index), *self._notes(where, x))
        raise Violation("R006", "opcode", message, f"this is the first {what} of the run", notes)

    def _notes(self, where: Whereabouts, x: Instruction) -> Iterator[str]:
        rounds = where.rounds
        if rounds:
            yield f"in round {', '.join(map(str, rounds))} of the loop{'s' if len(rounds) > 1 else ''} around it, counted from 0"
        callers = where.callers()
        if callers:
            yield f"in '{where.computation.name}', run by {', run by '.join(callers)}"
        yield from origin_of(x, self.module)


def _shown_operands(x: Instruction, operands: Sequence[Value], made: Array, index: tuple[int, ...]) -> Iterator[str]:
    """The operands where the number came from, if they have the result's dimensions; else what there is to say of them."""
    for operand, value in list(dict(zip(x.operands, operands, strict=True)).items())[:_MOST_OPERANDS]:
        name = f"'{operand.name}' {operand.shape.text_without_layout[:60]}"
        if not isinstance(value, np.ndarray):
            continue
        if not value.ndim:
            yield f"{name} is {_number(plain(value)[()])}"
        elif value.shape == made.shape:
            yield f"{name} is {_number(plain(value)[index])} there"
        else:
            yield f"{name} has {statistics(value).text}"


def _number(number: Any) -> str:
    text = str(number)
    return {"True": "true", "False": "false"}.get(text, text)


def origin_of(x: Instruction, module: Module) -> Iterator[str]:
    """The line of the program that an instruction was made from, out of its metadata or the module's stack frames."""
    metadata = x.metadata
    if metadata is None:
        return
    place = f"{metadata.source_file}:{metadata.source_line}" if metadata.source_file else ""
    place = place or _place_of_frame(module.stack_tables, metadata.stack_frame_id)
    parts = [f"'{metadata.op_name}'"] if metadata.op_name else []
    parts += [f"at {place}"] if place else []
    if parts:
        yield f"it comes from {' '.join(parts)}"


def _place_of_frame(tables: StackTables | None, frame: int) -> str:
    found = innermost_location(tables, frame)
    if found is None or tables is None:
        return ""
    file_name, location = found
    number = location.function_name_id
    function = tables.function_names[number - 1] if 0 < number <= len(tables.function_names) else ""
    return f"{file_name}:{location.line}" + (f" in {function}" if function else "")
