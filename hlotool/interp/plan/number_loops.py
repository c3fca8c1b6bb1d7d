"""Loops in which there is nothing but numbers: functions of their own, which are compiled by Numba, if it is installed, once they have run long."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from hlotool.analysis.loops import exact_trip_count
from hlotool.interp.dtypes import NUMPY_TYPES
from hlotool.interp.failures import is_as_inferred
from hlotool.interp.kernels.control_flow import FIRST_COMPARED, is_pure, is_same, next_iteration
from hlotool.interp.plan.graph import Leaves, Loop, Operation, Region, Variable
from hlotool.interp.plan.number_blocks import NumberBlock, NumberStatements
from hlotool.interp.plan.numbers import NumberTemplate, NumberTemplates, can_hold
from hlotool.interp.plan.runtime import PlanRun
from hlotool.interp.plan.writer import Writer

__all__ = ["NumberLoop", "number_loop"]

_HOT = 1 << 17
"""After so many iterations, compiling a loop, which takes about a second, is worthwhile."""
_MOST_COMPILED = 500
"""The most operations of a loop that is compiled; the time grows faster than their number."""
_SECONDS_TO_COMPILE = 10.0
"""What must be left of the time for a run, so that the limit holds even if compiling takes longer than usual."""
_MOST_AT_ONCE = 1 << 16
"""Iterations after which it is checked whether time is left, and whether the user has interrupted the run."""

_Step = Callable[..., tuple[Any, ...]]


class _Source(NamedTuple):
    """The text of a function, the objects that it refers to, and whether Numba knows all of its operations."""

    text: str
    namespace: dict[str, Any]
    is_native: bool


class NumberLoop:
    """A loop as a function `loop(n, limit, ...)` of iterations, state, and what it reads from outside.

    It returns whether the loop has ended, or has come to `limit` iterations, their number, and the state. Called with the run, the initial state
    and what is read from outside, as NumPy scalars, an instance returns the final state.
    """

    __slots__ = ("_is_compared", "_iterations", "_native", "_native_source", "_python", "_types", "outside", "source")

    def __init__(self, loop: Loop, source: _Source, outside: Leaves, native_source: Callable[[], _Source | None] | None) -> None:
        self.source = source.text
        self.outside = outside
        self._types = [NUMPY_TYPES[variable.shape.element_type].type for variable in (*loop.state, *outside)]
        self._is_compared = exact_trip_count(loop.instruction) is None and all(map(is_pure, loop.instruction.called))
        self._python = _function(source.text, {**source.namespace, "asarray": np.asarray, "wrapped": _wrapped})
        self._native: _Step | None = None
        # What makes the source for Numba, if it can compile the loop, and has not been asked for that yet.
        self._native_source = native_source
        self._iterations = 0

    def __call__(self, run: PlanRun, *values: Any) -> tuple[Any, ...]:
        count = len(values) - len(self.outside)
        numbers = [value.item() for value in values]
        state, outside = tuple(numbers[:count]), numbers[count:]
        iterations, compared_from = 0, FIRST_COMPARED
        before: tuple[Any, ...] | None = None
        while True:
            limit = iterations + 1 if before is not None else min(max(2 * iterations, compared_from), iterations + _MOST_AT_ONCE)
            if run.options.max_iterations is not None:
                limit = min(limit, run.options.max_iterations)
            has_ended, reached, *rest = self._run(run, iterations, limit, *state, *outside)
            self._iterations += reached - iterations
            iterations, state = reached, tuple(rest)
            if has_ended or (before is not None and is_same(self._arrays(before), self._arrays(state))):
                return tuple([scalar_type(number) for scalar_type, number in zip(self._types, state, strict=False)])
            run.check_time()
            next_iteration(iterations, run.options)
            before = state if self._is_compared and before is None and iterations >= compared_from else None
            if before is not None:
                compared_from = 2 * iterations

    def _arrays(self, state: Sequence[Any]) -> tuple[Any, ...]:
        return tuple([np.asarray(number, scalar_type) for scalar_type, number in zip(self._types, state, strict=False)])

    def _run(self, run: PlanRun, iterations: int, limit: int, *numbers: Any) -> tuple[Any, ...]:
        if self._native is None and (self._native_source is None or self._iterations < _HOT or not _has_time(run)):
            return self._python(iterations, limit, *numbers)
        # Numba has floats of both widths.
        typed = [scalar_type(number) if isinstance(number, float) else number for scalar_type, number in zip(self._types, numbers, strict=True)]
        if self._native is None and self._native_source is not None:
            self._native = _compiled(self._native_source(), (iterations, limit, *typed))
            self._native_source = None
        return self._python(iterations, limit, *numbers) if self._native is None else self._native(iterations, limit, *typed)


def _has_time(run: PlanRun) -> bool:
    """Whether there is time to compile a loop, which cannot be stopped."""
    return run.deadline is None or run.deadline - time.monotonic() > _SECONDS_TO_COMPILE


def _function(source: str, namespace: dict[str, Any]) -> _Step:
    # The source consists of names and numbers that the writer has made up, see its documentation.
    exec(compile(source, "<loop>", "exec"), namespace)
    function: _Step = namespace["loop"]
    return function


def _wrapped(number: int) -> int:
    """An integer in the range of 64 bits."""
    half = 1 << 63
    return (number + half) % (2 * half) - half


def _compiled(source: _Source | None, arguments: Sequence[Any]) -> _Step | None:
    """The function of a loop in machine code, for arguments of the types of these; None where there is no Numba, or none that can compile it."""
    if source is None or not source.is_native:
        return None
    try:
        numba = import_module("numba")
    except ImportError:
        # It is not installed, or is made for other versions of NumPy.
        return None
    # Its integers of 64 bits wrap by themselves.
    native = {**source.namespace, "wrapped": numba.njit(lambda number: number)}
    step = numba.njit(error_model="numpy")(_function(source.text, native))
    try:
        step.compile(tuple(map(numba.typeof, arguments)))
    except numba.core.errors.NumbaError:
        return None
    compiled: _Step = step
    return compiled


def number_loop(loop: Loop) -> NumberLoop | None:
    """The function of a loop in which there is nothing but numbers; None for other loops."""
    condition, body = map(_needed, loop.regions)
    if condition is None or body is None or not loop.state or not all(map(can_hold, loop.state)):
        return None
    inside = {*loop.state, *(result for operation in (*condition, *body) for result in operation.results)}
    reads = [variable for operation in (*condition, *body) for variable in operation.reads]
    reads += [*loop.condition.results, *loop.body.results]
    outside = tuple(dict.fromkeys([variable for variable in reads if variable.constant is None and variable not in inside]))
    if not all(map(can_hold, reads)):
        return None
    source = _source(loop, condition, body, outside, for_numba=False)
    if source is None:
        return None
    is_small = len(condition) + len(body) <= _MOST_COMPILED
    return NumberLoop(
        loop, source, outside, partial(_source, loop, condition, body, outside, for_numba=True) if source.is_native and is_small else None
    )


def _source(loop: Loop, condition: list[Operation], body: list[Operation], outside: Leaves, *, for_numba: bool) -> _Source | None:
    """The source of a loop with these operations; None if it has others than those that there are templates for."""
    writer = Writer()
    names = NumberTemplates(writer, for_numba=for_numba)
    templates: dict[Operation, NumberTemplate] = {}
    (goes_on,) = loop.condition.results
    for operation in (*condition, *body):
        template = names.template(operation)
        if template is None:
            return None
        templates[operation] = template
        if goes_on in operation.results:
            names.assume(operation)
    # Numba knows no long tuples with expressions that have branches.
    statements = NumberStatements(writer, names, templates, (goes_on, *loop.body.results), are_named=for_numba)
    state = ", ".join(map(names.name, loop.state))
    parameters = ", ".join(["n", "limit", *map(names.name, (*loop.state, *outside))])
    with writer.block(f"def loop({parameters}):"):
        if any(template.rounds for template in templates.values()):
            writer.line(f"cell = {writer.bind(array, 'array')}('f', (0.0,))")
        with writer.block("while True:"):
            statements.write(NumberBlock.of(condition, (goes_on,)))
            writer.line(f"if not {statements.text(goes_on)}: return True, n, {state}")
            writer.line(f"if n == limit: return False, n, {state}")
            writer.line("n += 1")
            statements.write(NumberBlock.of(body, loop.body.results))
            pairs = [(names.name(variable), statements.value(result)) for variable, result in zip(loop.state, loop.body.results, strict=True)]
            pairs = [(target, value) for target, value in pairs if target != value]
            if pairs:
                writer.line(f"{', '.join(target for target, _ in pairs)} = {', '.join(value for _, value in pairs)}")
    return _Source(writer.text, writer.namespace, names.is_native)


def _needed(region: Region) -> list[Operation] | None:
    """The operations of a region whose results are read; None if one of them, or what has an effect, is more than a kernel."""
    needed: set[Variable] = set(region.results)
    operations: list[Operation] = []
    for operation in reversed(region.operations):
        if type(operation) is not Operation or not operation.is_pure or not is_as_inferred(operation.instruction):
            return None
        if not needed.isdisjoint(operation.results):
            needed.update(operation.reads)
            operations.append(operation)
    return operations[::-1]
