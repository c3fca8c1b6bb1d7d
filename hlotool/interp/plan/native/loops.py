"""Decides which loops to compile and when, writes their source, and runs them.

A loop is compiled once it has run for so long that compiling it is worthwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from hlotool.analysis.loops import exact_trip_count
from hlotool.interp.arrays.dtypes import NUMPY_TYPES, Array
from hlotool.interp.engine.binding import Binding
from hlotool.interp.kernels.control_flow import FIRST_COMPARED, is_pure, is_same, next_iteration
from hlotool.interp.plan.native.compiler import NativeSource, Step, compile_native, is_installed, seconds_to_load
from hlotool.interp.plan.native.native_statements import CannotCompile, NativeStatements, size_of
from hlotool.interp.plan.native.operation_writers import write_operation
from hlotool.interp.plan.numbers import is_held
from hlotool.interp.plan.operations import Branches, Leaves, Loop, Operation, Region, Variable
from hlotool.interp.plan.products import product_form
from hlotool.interp.plan.runtime import PlanRun
from hlotool.interp.plan.writer import Writer
from hlotool.ir.model import Instruction
from hlotool.opdefs.traits import REARRANGES

__all__ = ["NativeLoop", "Reached", "is_simple", "native_loop", "needed_operations", "outside_variables", "run_in_parts"]

_MAX_COMPILED = 250
"""Maximum number of operations of a compiled loop; compile time is quadratic in their number."""
_MAX_ELEMENTS = 1 << 10
"""Maximum number of elements of a computed array.

For larger arrays, NumPy's functions take no longer than machine code.
"""
_MAX_READ = 1 << 20
"""Maximum number of elements of an array from which slices are read."""
_MIN_ITERATIONS_AT_ONCE, _MAX_ITERATIONS_AT_ONCE = 1 << 12, 1 << 16
"""Bounds of the number of iterations between checks for timeouts and user interrupts."""
_MAX_WORK = 1 << 25
"""Maximum number of elements computed between two checks. Each element takes 1 to 10 ns."""
_TOO_MUCH_WORK = 1 << 29
"""The number of elements after which a nested loop gives up.

Such a loop might never end, and it cannot be interrupted.
"""
_MAX_ITERATIONS = (1 << 63) - 1
_SECONDS, _SECONDS_PER_NUMBER, _SECONDS_PER_ARRAY, _SECONDS_PER_PAIR = 0.015, 0.0005, 0.003, 0.00006
"""Terms of the measured compile time in seconds.

The terms are a constant, a term per operation with a number or an array as result, and a term per
pair of operations on arrays. A loop is compiled once it has run for this time, or when it is known
that it will: it never takes more than twice as long as with the better of the two choices.
"""
_SECONDS_PER_STEP = 4e-8
"""The time that Python takes for an operation on numbers."""
_SECONDS_TO_COMPILE = 2.0
"""Seconds that must remain for the run, in addition to the estimated compile time.

This margin keeps the run within its time limit even if compiling takes longer than usual.
"""
_CONTINUES, _HAS_ENDED, _GIVES_UP = range(3)

Reached = tuple[bool, int, tuple[Any, ...]]
Part = Callable[[int, int, tuple[Any, ...]], "Reached | None"]
"""A function that continues a loop, given the number of iterations so far, a limit and the state.

It returns whether the loop has ended, the new number of iterations and the new state. It returns
None if the loop gives up.
"""


def run_in_parts(run: PlanRun, part: Part, iterations: int, state: tuple[Any, ...], *, is_compared: bool) -> tuple[Any, ...] | None:
    """Runs a loop part by part, checking the limits of the run in between.

    Returns the final state, or None if a part gives up. If `is_compared` is true, the loop also
    ends when its state no longer changes.
    """
    compared_from = max(FIRST_COMPARED, iterations)
    before: tuple[Any, ...] | None = None
    while True:
        limit = iterations + 1 if before is not None else min(max(2 * iterations, _MIN_ITERATIONS_AT_ONCE), iterations + _MAX_ITERATIONS_AT_ONCE)
        if run.options.max_iterations is not None:
            limit = min(limit, run.options.max_iterations)
        reached = part(iterations, limit, state)
        if reached is None:
            return None
        has_ended, iterations, state = reached
        if has_ended or (before is not None and is_same(tuple(map(np.asarray, before)), tuple(map(np.asarray, state)))):
            return state
        run.check_time()
        next_iteration(iterations, run.options)
        before = state if is_compared and before is None and iterations >= compared_from else None
        if before is not None:
            compared_from = 2 * iterations


class NativeLoop:
    """A loop that is compiled to machine code once it has run for long enough.

    `outside` contains the variables that the loop reads besides its state, except for constants.
    """

    __slots__ = (
        "_arguments",
        "_bindings",
        "_entered",
        "_is_compared",
        "_is_possible",
        "_loop",
        "_seconds",
        "_step",
        "_threshold",
        "outside",
    )

    def __init__(self, loop: Loop, bindings: Mapping[Instruction, Binding], outside: Leaves) -> None:
        self.outside = outside
        operations = list(_operations(loop))
        arrays = sum(not result.is_scalar for operation in operations for result in operation.results)
        self._threshold = _SECONDS + _SECONDS_PER_NUMBER * len(operations) + _SECONDS_PER_ARRAY * arrays + _SECONDS_PER_PAIR * arrays**2
        self._loop = loop
        self._bindings = bindings
        count = exact_trip_count(loop.instruction)
        self._is_compared = count is None and all(map(is_pure, loop.instruction.called))
        self._is_possible = True
        # The time of earlier executions, of the current one until `_entered`, and of its expected
        # iterations.
        self._seconds = (count or 0) * len(operations) * _SECONDS_PER_STEP
        self._entered = 0.0
        self._step: Step | None = None
        self._arguments: list[Array] = []

    def enter(self, check: int = FIRST_COMPARED) -> int:
        """Records the start of the loop; returns the first iteration at which to call this object.

        This is iteration 1 if the loop has already run for long enough, else `check`.
        """
        self._entered = time.monotonic()
        return 1 if self._has_run_long() else check

    def leave(self) -> None:
        """Records the time since the loop started or this object was called."""
        now = time.monotonic()
        self._seconds += now - self._entered
        self._entered = now

    def __call__(self, run: PlanRun, iterations: int, *values: Any) -> tuple[Any, ...] | None:
        """Continues the loop after `iterations` iterations; returns its final state.

        Returns None if the loop must continue without machine code. `values` contains the state and
        the variables read from outside, as arrays and NumPy scalars.
        """
        if not self._is_hot(run):
            return None
        count = len(self._loop.state)
        state = values[:count]
        if self._step is None and not self._compile(state, values[count:]):
            self._is_possible = False
            return None
        outside = [*map(_read_only_argument, values[count:]), *self._arguments]
        result = run_in_parts(run, partial(self._part, run, outside), iterations, state, is_compared=self._is_compared)
        if result is None:
            self._is_possible = False
            return None
        return tuple(
            [
                value.reshape(variable.shape.dimensions) if isinstance(value, np.ndarray) else value
                for variable, value in zip(self._loop.state, result, strict=True)
            ]
        )

    def _part(self, run: PlanRun, outside: Sequence[Any], iterations: int, limit: int, state: tuple[Any, ...]) -> Reached | None:
        """Runs the loop up to iteration `limit` at most.

        Returns whether the loop has ended, the number of iterations and the state. Returns None if
        the loop gives up.
        """
        assert self._step is not None
        most = _MAX_ITERATIONS if run.options.max_iterations is None else run.options.max_iterations
        # Pass copies, since the loop overwrites the arrays of its state.
        current = list(map(_copy_argument, state))
        code, iterations, *numbers = self._step(iterations, limit, most, *current, *outside)
        if code == _GIVES_UP:
            return None
        left = iter(numbers)
        for k, variable in enumerate(self._loop.state):
            if variable.is_scalar:
                current[k] = NUMPY_TYPES[variable.shape.element_type].type(next(left))
        return code == _HAS_ENDED, iterations, tuple(current)

    def _is_hot(self, run: PlanRun) -> bool:
        if not self._is_possible:
            return False
        self.leave()
        if self._step is not None or not self._has_run_long():
            return self._step is not None
        return run.deadline is None or run.deadline - self._entered > _SECONDS_TO_COMPILE + 3 * self._threshold

    def _has_run_long(self) -> bool:
        return self._seconds >= self._threshold + seconds_to_load()

    def _compile(self, state: Sequence[Any], outside: Sequence[Any]) -> bool:
        try:
            source, constants, memory = _source(self._loop, self._bindings, self.outside)
        except CannotCompile:
            return False
        self._arguments = [*map(_read_only_argument, constants), *memory]
        self._step = compile_native(source, [0, 0, 0, *map(_copy_argument, state), *map(_read_only_argument, outside), *self._arguments])
        return self._step is not None


def _copy_argument(value: Any) -> Any:
    """Returns an argument that machine code may overwrite.

    Arrays become flat copies. Numbers become Python numbers, except for floats, which keep their
    width.
    """
    if isinstance(value, np.ndarray):
        return value.copy(order="C").reshape(-1)
    return value.item() if isinstance(value, np.generic) and not isinstance(value, np.floating) else value


def _read_only_argument(value: Any) -> Any:
    """Returns an argument that machine code only reads.

    Arrays become flat and contiguous.
    """
    if not isinstance(value, np.ndarray):
        return _copy_argument(value)
    flat = np.ascontiguousarray(value).reshape(-1).view()
    flat.flags.writeable = False
    return flat


def native_loop(loop: Loop, bindings: Mapping[Instruction, Binding]) -> NativeLoop | None:
    """Returns an object that can compile a loop.

    Returns None if llvmlite is not installed, or if the loop has no state, too many operations, or
    operations, types or sizes of arrays that are not supported.
    """
    updated = _updated(loop) if is_installed() else {}

    def is_small(variable: Variable) -> bool:
        return _is_small(variable) or (_is_readable(variable) and (variable in updated or variable in updated.values()))

    if not is_installed() or not loop.state or not all(map(is_small, loop.state)):
        return None
    for count, operation in enumerate(_operations(loop), 1):
        if count > _MAX_COMPILED or (type(operation) not in _WRITERS and not is_simple(operation)):
            return None
        is_readable = _is_readable if REARRANGES in operation.instruction.op.traits or operation.regions else is_small
        if not all(map(is_small, operation.results)) or not all(map(is_readable, operation.reads)):
            return None
    outside = outside_variables(loop)
    return NativeLoop(loop, bindings, outside) if all(map(_is_readable, outside)) else None


def _operations(loop: Loop) -> Iterator[Operation]:
    """Yields the operations in a loop, including those in nested loops and branches."""
    stack = list(loop.regions)
    while stack:
        for operation in stack.pop().operations:
            yield operation
            stack += operation.regions


def is_simple(operation: Operation) -> bool:
    """Returns whether an operation applies a kernel that has no effects and cannot fail.

    The declared shape of its result must be correct, too.
    """
    return type(operation) is Operation and operation.is_removable


def _is_readable(variable: Variable) -> bool:
    # u64 is excluded, because machine code has only signed integers.
    is_known = is_held(variable) and variable.shape.element_type != "u64"
    return is_known and not any(variable.shape.dynamic) and 0 < size_of(variable) <= _MAX_READ


def _is_small(variable: Variable) -> bool:
    return _is_readable(variable) and size_of(variable) <= _MAX_ELEMENTS


def _updated(loop: Loop) -> dict[Variable, Variable]:
    """Returns the results of the body that can overwrite arrays of the state, with these arrays.

    All other operations that read such an array come first, and do not share its memory.
    """
    updated: dict[Variable, Variable] = {}
    operations: list[Operation] = loop.body.operations
    for variable, value in zip(loop.state, loop.body.results, strict=True):
        update = value.source
        if update is None or update not in operations or update.instruction.opcode not in _UPDATES or update.reads[0] is not variable:
            continue
        place = operations.index(update)
        readers = [operation for operation in operations if variable in operation.reads and operation is not update]
        may_share = any(set(map(size_of, operation.results)) & {size_of(variable)} for operation in (*readers, *loop.condition.operations))
        is_read = variable in (*loop.body.results, *loop.condition.results, *update.reads[1:])
        if not (is_read or may_share or any(operations.index(operation) > place for operation in readers)):
            updated[value] = variable
    return updated


_UPDATES = ("dynamic-update-slice", "scatter")


def outside_variables(loop: Loop) -> Leaves:
    """Returns the variables that a loop reads but does not compute, except for constants."""
    reads: dict[Variable, None] = {}
    inside: set[Variable] = {*loop.state}
    for operation in _operations(loop):
        inside.update(operation.results)
        reads.update(dict.fromkeys(operation.reads))
        reads.update(dict.fromkeys(result for region in operation.regions for result in region.results))
    reads.update(dict.fromkeys((*loop.condition.results, *loop.body.results)))
    return tuple([variable for variable in reads if variable.constant is None and variable not in inside])


# ---- the source --------------------------------------------------------------------------------


class _LoopWriter:
    """A writer for a loop, including nested loops and branches.

    Loops and branches are never nested more deeply than Python's blocks may be.
    """

    def __init__(self, bindings: Mapping[Instruction, Binding]) -> None:
        self.writer = Writer()
        self.statements = NativeStatements(self.writer, bindings)
        self._leaves = ""

    def write(self, loop: Loop) -> None:
        """Writes the body of the function.

        The function returns a code (the loop has ended, continues or gives up), the number of
        iterations, and the scalars of the state.
        """
        line, name = self.writer.line, self.statements.name
        self._leaves = ", ".join(["n", *(name(variable) for variable in loop.state if variable.is_scalar)])
        self.statements.updated.update(_updated(loop))
        line("work = 0")
        with self.writer.block("while True:"):
            continues = self._write_condition(loop)
            line(f"if not {continues}: return {_HAS_ENDED}, {self._leaves}")
            line(f"if n == limit or work > {_MAX_WORK}: return {_CONTINUES}, {self._leaves}")
            line("n += 1")
            line(f"work += {_work(loop)}")
            self._write_region(loop.body)
            self.statements.assign(loop.state, loop.body.results)

    def _write_condition(self, loop: Loop) -> str:
        self._write_region(loop.condition)
        (continues,) = loop.condition.results
        return self.statements.name(continues)

    def _write_region(self, region: Region) -> None:
        for operation in needed_operations(region):
            self.writer.comment(operation.instruction)
            write = _WRITERS.get(type(operation))
            if write is None:
                write_operation(self.statements, operation)
            else:
                write(self, operation)

    def _write_loop(self, loop: Loop) -> None:
        """Writes a nested loop.

        The nested loop gives up if it takes too long, because the run cannot be interrupted there.
        """
        line = self.writer.line
        for variable in loop.state:
            if not variable.is_scalar:
                self.statements.array(variable)
        self.statements.assign(loop.state, loop.operands[0])
        self.statements.updated.update(_updated(loop))
        count = self.writer.local("n")
        line(f"{count} = 0")
        with self.writer.block("while True:"):
            continues = self._write_condition(loop)
            line(f"if not {continues}: break")
            line(f"if {count} == most or work > {_TOO_MUCH_WORK}: return {_GIVES_UP}, {self._leaves}")
            line(f"{count} += 1")
            line(f"work += {_work(loop)}")
            self._write_region(loop.body)
            self.statements.assign(loop.state, loop.body.results)

    def _write_branches(self, branches: Branches) -> None:
        ((selector,), *_) = branches.operands
        for result in branches.results:
            if not result.is_scalar:
                self.statements.array(result)
        last = len(branches.regions) - 1
        is_pred = selector.shape.element_type == "pred"
        for number, region in enumerate(branches.regions):
            test = self.statements.name(selector) if is_pred else f"{self.statements.name(selector)} == {number}"
            head = "if True:" if last == 0 else "else:" if number == last else f"{'elif' if number else 'if'} {test}:"
            with self.writer.block(head):
                self._write_region(region)
                self.statements.assign(branches.results, region.results)


def needed_operations(region: Region) -> list[Operation]:
    """Returns the operations of a region whose results are read.

    Operations that run regions are always included, since they may never end.
    """
    needed: set[Variable] = set(region.results)
    operations: list[Operation] = []
    for operation in reversed(region.operations):
        if operation.regions or not needed.isdisjoint(operation.results):
            needed.update(operation.reads)
            operations.append(operation)
    return operations[::-1]


def _work(loop: Loop) -> int:
    """Returns the maximum number of elements that an iteration computes or reads.

    The elements of nested loops are not counted.
    """
    work, regions = 1, list(loop.regions)
    while regions:
        for operation in regions.pop().operations:
            if isinstance(operation, Branches):
                regions += operation.regions
            elif not operation.regions:
                work += _work_of(operation)
    return work


def _work_of(operation: Operation) -> int:
    form = product_form(operation)
    if form is not None:
        # A matrix product reads each row once for each column.
        return prod(form.lhs_sizes) * form.rhs_sizes[-1]
    sizes = list(map(size_of, (*operation.reads, *operation.results)))
    return min(sizes) if operation.instruction.opcode == "dynamic-slice" else max(sizes)


_WRITERS: dict[type, Callable[[_LoopWriter, Any], None]] = {Loop: _LoopWriter._write_loop, Branches: _LoopWriter._write_branches}


def _source(loop: Loop, bindings: Mapping[Instruction, Binding], outside: Leaves) -> tuple[NativeSource, list[Any], list[Array]]:
    """Returns the source of `loop(n, limit, most, ...)`, and arguments for constants and memory.

    The parameters after the first three are the state, the variables read from outside, constants
    and memory. `most` is the maximum number of iterations of each nested loop. Raises CannotCompile
    if an operation is unsupported.
    """
    lowered = _LoopWriter(bindings)
    writer, statements = lowered.writer, lowered.statements
    names = [statements.name(variable) for variable in (*loop.state, *outside)]
    with writer.divert() as lines:
        lowered.write(loop)
    memory = [np.empty(count, dtype) for dtype, count in statements.memory.items()]
    parameters = ["n", "limit", "most", *names, *statements.constants, *(f"memory_{dtype}" for dtype in statements.memory)]
    with writer.block(f"def loop({', '.join(parameters)}):"):
        for line in statements.prologue:
            writer.line(line)
        writer.extend(lines)
    return NativeSource(writer.text, writer.namespace), list(statements.constants.values()), memory
