"""Estimates the memory that a run needs, based on shapes, and determines the available memory.

The temporary memory of kernels is estimated only roughly. Copies are not counted if a view is
expected instead.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable
from heapq import nlargest
from itertools import accumulate
from pathlib import Path

from hlotool.errors import Diagnostic
from hlotool.interp.arrays.dtypes import NUMBERS
from hlotool.interp.engine.order import dependency_order
from hlotool.interp.failures import diagnostic_at
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.opdefs.traits import IDENTITY, STRIDED, STRUCTURAL, VIEW
from hlotool.record import Record
from hlotool.shapes.memory import format_bytes
from hlotool.shapes.shape import Shape

__all__ = ["Estimate", "default_limit", "estimate", "memory_diagnostics"]

_AVAILABLE = re.compile(r"^MemAvailable: *([0-9]+) kB", re.MULTILINE)
_INACTIVE = re.compile(r"^inactive_file (\d+)$", re.MULTILINE)
_VIEWS = frozenset({VIEW, STRIDED, IDENTITY, STRUCTURAL})
"""Traits of opcodes whose values are views of operands, and take no additional memory."""


_MAX_LISTED = 5


class LiveValue(Record):
    """An array that is in use, and the instruction that computes it.

    `needed_by` is the last instruction that needs the array, or None if the caller needs it.
    `is_copy` is true if the array is the caller's copy of the instruction's value.
    """

    instruction: Instruction
    bytes: int
    needed_by: Instruction | None = None
    is_copy: bool = False


_COPIES = {"erf": 4, "rng": 3, "rng-bit-generator": 3, "scatter": 2, "sort": 4}
"""Opcodes whose kernels work on copies, with the maximum number of copies at any time.

Each copy is as large as the result.
"""


class Estimate:
    """The peak memory in bytes, the instruction at the peak, and the largest arrays at the peak."""

    __slots__ = ("at", "bytes", "largest")

    def __init__(self, size: int, at: Instruction | None, largest: Iterable[LiveValue] = ()) -> None:
        self.bytes = size
        self.at = at
        self.largest = tuple(nlargest(_MAX_LISTED, largest, key=lambda value: value.bytes))


def default_limit() -> int | None:
    """Returns a run's default memory limit in bytes, or None if the available memory is unknown.

    The limit is 80% of the available memory, so that the machine stays responsive. In a container,
    the available memory is the container's if that is less than the machine's.
    """
    sizes = []
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        sizes.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    # Only Linux has these files. In a container without a limit, memory.max contains "max".
    with contextlib.suppress(OSError, ValueError, AttributeError, TypeError):
        sizes.append(int(_AVAILABLE.search(Path("/proc/meminfo").read_text(encoding="ascii"))[1]) * 1024)  # type: ignore[index]
    with contextlib.suppress(OSError, ValueError):
        limit, used = (int(Path(f"/sys/fs/cgroup/memory.{name}").read_text(encoding="ascii")) for name in ("max", "current"))
        # The system drops cached files if a process needs the memory.
        cached = _INACTIVE.search(Path("/sys/fs/cgroup/memory.stat").read_text(encoding="ascii"))
        sizes.append(max(1, limit - used + (int(cached[1]) if cached is not None else 0)))
    available = min((size for size in sizes if size > 0), default=None)
    return None if available is None else available * 8 // 10


def estimate(entry: Computation) -> Estimate:
    """Estimates the peak memory of a run: arguments, constants and values.

    >>> import hlotool
    >>> module = hlotool.parse("ENTRY e { x = f32[1000] parameter(0) y = add(x, x) ROOT z = f32[1000] multiply(y, y) }")
    >>> peak = estimate(module.entry)
    >>> peak.bytes, peak.at.name
    (12000, 'z')
    """
    peaks: dict[Computation, Estimate] = {}
    computations = _callees_first(entry)
    for computation in computations:
        walk = _Peak(peaks)
        peaks[computation] = walk.estimate(computation)
        if computation is entry:
            inputs = [leaf for x in computation.instructions if not x.operands for leaf in x.shape.leaves()]
            peaks[computation] = walk.copy_result(peaks[computation], computation.root, max(map(_size, inputs), default=0))
    held = [LiveValue(x, _size(x.shape)) for c in computations for x in c.instructions if x.literal is not None]
    held += [LiveValue(p, _size(p.shape)) for p in entry.parameters]
    peak = peaks[entry]
    return Estimate(peak.bytes + sum(value.bytes for value in held), peak.at, [*peak.largest, *held])


def memory_diagnostics(module: Module, needed: Estimate, limit: int | None, devices: int = 1, *, held: int = 0) -> list[Diagnostic]:
    """Returns a list with a diagnostic if running a module takes more than `limit` bytes.

    The total includes the memory of all devices, and `held` bytes that another module uses. The
    list is empty if the limit is not exceeded, or if `limit` is None.
    """
    if limit is None:
        return []
    if needed.bytes * devices + held <= limit:
        return []
    at = needed.at or max(module.entry.instructions, key=lambda x: _size(x.shape))
    each = f" ({format_bytes(needed.bytes)} for each of {devices} devices)" if devices > 1 else ""
    besides = f", in addition to {format_bytes(held)} for the other module" if held else ""
    sizes = f"about {format_bytes(needed.bytes * devices)} of memory{each}{besides}, but only {format_bytes(limit)} is allowed"
    message = f"running this module takes {sizes}; the peak is at '{at.name}'"
    return [diagnostic_at(module, at, "R005", message, _HINT, tuple(map(_describe, needed.largest)))]


_HINT = "allow more memory with --max-memory, or in Python with RunOptions(max_memory=...)"


def _describe(value: LiveValue) -> str:
    """Describes an array, as in `'x' f32[1024], an argument, takes 4 KiB, needed until 'y'`."""
    x, user = value.instruction, value.needed_by
    kind = "an argument" if x.parameter_number is not None else "a constant" if x.literal is not None else f"the result of '{x.opcode}'"
    need = "" if user is None or user is x else f", needed until '{user.name}'"
    kind = f"a copy of {kind}" if value.is_copy else kind
    return f"'{x.name}' {x.shape.text_without_layout[:60]}, {kind}, takes {format_bytes(value.bytes)}{need}"


def _callees_first(entry: Computation) -> list[Computation]:
    done: dict[Computation, None] = {}
    stack: list[tuple[Computation, bool]] = [(entry, False)]
    while stack:
        computation, ready = stack.pop()
        if ready:
            done.setdefault(computation)
        elif computation not in done:
            stack.append((computation, True))
            stack += [(called, False) for x in computation.instructions for called in x.called if called not in done]
    return list(done)


def _size(shape: Shape) -> int:
    """Returns the number of bytes that the interpreter needs for all arrays in a shape."""
    total = 0
    for leaf in shape.leaves():
        number = NUMBERS.get(leaf.element_type)
        if number is not None:
            elements = 1
            for size in leaf.dimensions:
                elements *= max(size, 0)
            total += elements * number.held.itemsize
    return total


class _Peak:
    """A walk through one computation that tracks its live values.

    Arrays are numbered. Every leaf of a value is a numbered array or a view of one. Number 0 stands
    for all arrays that are counted elsewhere. `fresh` lists the arrays that each instruction
    allocates.
    """

    def __init__(self, peaks: dict[Computation, Estimate]) -> None:
        self.peaks = peaks
        self.sizes: dict[int, int] = {}
        self.fresh: dict[Instruction, list[int]] = {}
        self.ends: dict[Shape, list[int]] = {}
        self.result: list[int] = []
        self.live = 0
        # `makers` maps each array to the instruction that allocates it, with the instruction's
        # position; `last` maps it to the position of the last instruction that needs it.
        self.makers: dict[int, tuple[Instruction, int]] = {}
        self.last: dict[int, int] = {}

    def estimate(self, computation: Computation) -> Estimate:
        order = dependency_order(computation)
        expiring = self._expiring(computation, order)
        best, at, position, called = 0, None, 0, None
        for k, x in enumerate(order):
            inside = max((self.peaks[c] for c in x.called if c in self.peaks), key=lambda e: e.bytes, default=None)
            if inside is not None and inside.at is not None and self.live + inside.bytes > best:
                # The result is counted in the called computation. The operands are needed until the
                # result is computed.
                best, at, position, called = self.live + inside.bytes, inside.at, k, inside
            self.live += sum(self.sizes[array] for array in self.fresh[x])
            if self.live + (more := _temporary(x)) > best:
                best, at, position, called = self.live + more, x, k, None
            for array in expiring.get(k, ()):
                self.live -= self.sizes[array]
        # The result of a call does not exist while the call runs.
        latest = position if called is None else position - 1
        here = (self._live_value(array, order) for array, (_, k) in self.makers.items() if k <= latest and self.last[array] >= position)
        return Estimate(best, at, [*here, *(called.largest if called is not None else ())])

    def copy_result(self, peak: Estimate, root: Instruction, largest: int) -> Estimate:
        """Returns the peak including the copies of results.

        A result is copied if it is an input, if it is a view of an array with fewer elements, or if
        its array has already occurred as a result. `largest` is the size of the largest input.
        """
        copied, seen = 0, set[int]()
        for array, leaf in zip(self.result, root.shape.leaves(), strict=False):
            if not array or array in seen or _size(leaf) > self.sizes.get(array, largest):
                copied += _size(leaf)
            if array:
                seen.add(array)
        if self.live + copied <= peak.bytes:
            return peak
        kept = [LiveValue(self.makers[array][0], self.sizes[array]) for array in dict.fromkeys(self.result) if array]
        return Estimate(self.live + copied, root, [*kept, LiveValue(root, copied, is_copy=True)])

    def _live_value(self, array: int, order: list[Instruction]) -> LiveValue:
        last = self.last[array]
        return LiveValue(self.makers[array][0], self.sizes[array], order[last] if last < len(order) else None)

    def _expiring(self, computation: Computation, order: list[Instruction]) -> dict[int, list[int]]:
        """Returns the arrays that die after each instruction, by position; also fills `fresh`."""
        holders: dict[Instruction, list[int]] = {}
        last_uses: dict[Instruction, int] = {}
        last: dict[int, int] = {}
        for k, x in enumerate(order):
            arrays = holders[x] = self._arrays_of(x, holders)
            self.fresh[x] = [array for array in arrays if array and array not in last]
            last.update(dict.fromkeys(arrays, k))
            last_uses[x] = k
            last_uses.update(dict.fromkeys(x.operands, k))
            self.makers.update(dict.fromkeys(self.fresh[x], (x, k)))
        # The loop visits values, not uses: a large tuple may have as many uses as elements.
        for x, k in last_uses.items():
            for array in holders[x]:
                last[array] = max(last[array], k)
        self.result = holders[computation.root]
        self.last = last
        kept = set(holders[computation.root])
        expiring: dict[int, list[int]] = {}
        for array, k in last.items():
            if array in kept:
                last[array] = len(order)
            elif array:
                expiring.setdefault(k, []).append(array)
        return expiring

    def _arrays_of(self, x: Instruction, holders: dict[Instruction, list[int]]) -> list[int]:
        operands = [holders[operand] for operand in x.operands]
        if x.opcode == "tuple":
            return [array for arrays in operands for array in arrays]
        if x.opcode == "get-tuple-element":
            ends = self._ends(x.operands[0].shape)
            index = x.attributes["index"]
            if 0 <= index < len(ends):
                return operands[0][ends[index - 1] if index else 0 : ends[index]]
            # The index is invalid, which the kernel will report.
            return [self._new(leaf) for leaf in x.shape.leaves()]
        if not x.operands and STRUCTURAL in x.op.traits:
            return [0] * sum(1 for _ in x.shape.leaves())
        if x.opcode == "while":
            return self._loop_state(x, operands[0])
        if x.op.returned_index is not None and 0 <= x.op.returned_index < len(ends := self._ends(x.operands[0].shape)):
            # Any tokens that follow have no size.
            return operands[0][ends[x.op.returned_index - 1] if x.op.returned_index else 0 : ends[x.op.returned_index]]
        # A reshape has to copy elements that are not contiguous.
        is_view = not _VIEWS.isdisjoint(x.op.traits) or (x.opcode == "reshape" and STRIDED not in x.operands[0].op.traits)
        if is_view and operands and len(operands[0]) == sum(1 for _ in x.shape.leaves()):
            return operands[0]
        return [self._new(leaf) for leaf in x.shape.leaves()]

    def _new(self, leaf: Shape) -> int:
        number = len(self.sizes) + 1
        self.sizes[number] = _size(leaf)
        return number

    def _ends(self, shape: Shape) -> list[int]:
        """Returns the index after the last leaf of each element of a tuple.

        The list is cached, since many instructions may take elements of one large tuple.
        """
        known = self.ends.get(shape)
        if known is None:
            known = self.ends[shape] = list(accumulate(sum(1 for _ in element.leaves()) for element in shape.elements))
        return known

    def _loop_state(self, x: Instruction, init: list[int]) -> list[int]:
        """Returns the final state of a loop.

        Elements that the body returns unchanged take no additional memory.
        """
        body = x.attributes.get("body")
        root = body.root if isinstance(body, Computation) else None
        if root is None or root.opcode != "tuple" or not x.shape.is_tuple or len(root.operands) != len(x.shape.elements):
            return [self._new(leaf) for leaf in x.shape.leaves()]
        arrays: list[int] = []
        for k, (element, shape) in enumerate(zip(root.operands, x.shape.elements, strict=True)):
            same = element.opcode == "get-tuple-element" and element.attributes["index"] == k and element.operands[0].opcode == "parameter"
            ends = self._ends(x.shape)
            arrays += init[ends[k - 1] if k else 0 : ends[k]] if same else [self._new(leaf) for leaf in shape.leaves()]
        return arrays


def _temporary(x: Instruction) -> int:
    """Returns the size of a kernel's temporary memory in bytes.

    Narrow floats are computed in 32 bits, and some kernels work on copies.
    """
    shapes = [x.shape, *(operand.shape for operand in x.operands)]
    total = _size(x.shape) * _COPIES.get(x.opcode, 0)
    if x.op.kernel is not None and x.op.kernel.takes_in_layout(x):
        total += sum(_size(operand.shape) for operand in x.operands if STRIDED in operand.op.traits)
    for shape in shapes:
        number = NUMBERS.get(shape.element_type)
        if number is not None and _VIEWS.isdisjoint(x.op.traits) and number.computed != number.held and number.kind == "float":
            total += _size(shape) // number.held.itemsize * number.computed.itemsize
    return total
