"""Loops that compute only with numbers, as separate functions on Python's own numbers."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from hlotool.analysis.loops import exact_trip_count
from hlotool.interp.arrays.dtypes import NUMPY_TYPES
from hlotool.interp.engine.binding import Binding
from hlotool.interp.kernels.control_flow import is_pure
from hlotool.interp.plan.native.loops import NativeLoop, Reached, is_simple, native_loop, needed_operations, outside_variables, run_in_parts
from hlotool.interp.plan.number_blocks import NumberBlock, NumberStatements
from hlotool.interp.plan.numbers import NumberTemplate, NumberTemplates, can_hold
from hlotool.interp.plan.operations import Leaves, Loop, Operation
from hlotool.interp.plan.runtime import PlanRun
from hlotool.interp.plan.writer import Writer
from hlotool.ir.model import Instruction

__all__ = ["NumberLoop", "number_loop"]


class NumberLoop:
    """A loop as a function `loop(n, limit, ...)`.

    The function takes the number of iterations so far, their limit, the state, and the variables
    that the loop reads from outside. It returns whether the loop has ended (instead of reaching
    `limit`), the number of iterations and the state. Calling an instance with a run, and with the
    initial state and the outside variables as NumPy scalars, returns the final state.
    """

    __slots__ = ("_is_compared", "_native", "_python", "_types", "outside", "source")

    def __init__(self, loop: Loop, writer: Writer, outside: Leaves, native: NativeLoop | None) -> None:
        self.source = writer.text
        self.outside = outside
        self._types = [NUMPY_TYPES[variable.shape.element_type].type for variable in loop.state]
        self._is_compared = exact_trip_count(loop.instruction) is None and all(map(is_pure, loop.instruction.called))
        self._native = native
        # Safe to execute: the source consists of names and numbers that the writer generates (see
        # the docstring of its module).
        namespace = {**writer.namespace, "asarray": np.asarray}
        exec(compile(self.source, "<loop>", "exec"), namespace)
        self._python = namespace["loop"]

    def __call__(self, run: PlanRun, *values: Any) -> tuple[Any, ...]:
        count = len(self._types)
        if self._native is not None:
            self._native.enter()
        result = run_in_parts(run, partial(self._part, run, values[count:]), 0, values[:count], is_compared=self._is_compared)
        assert result is not None, "the loop in Python never gives up"
        return result

    def _part(self, run: PlanRun, outside: tuple[Any, ...], iterations: int, limit: int, state: tuple[Any, ...]) -> Reached:
        final = None if self._native is None else self._native(run, iterations, *state, *outside)
        if final is not None:
            return True, iterations, final
        has_ended, iterations, *numbers = self._python(iterations, limit, *[value.item() for value in (*state, *outside)])
        if has_ended and self._native is not None:
            self._native.leave()
        return has_ended, iterations, tuple([scalar_type(number) for scalar_type, number in zip(self._types, numbers, strict=True)])


def number_loop(loop: Loop, bindings: Mapping[Instruction, Binding]) -> NumberLoop | None:
    """Returns the function of a loop that computes only with numbers; None for other loops."""
    inside = (*loop.condition.operations, *loop.body.operations)
    if not loop.state or not all(map(can_hold, loop.state)) or not all(map(is_simple, inside)):
        return None
    condition, body = map(needed_operations, loop.regions)
    if not all(map(can_hold, [variable for operation in (*condition, *body) for variable in (*operation.reads, *operation.results)])):
        return None
    outside = outside_variables(loop)
    writer = Writer()
    if not all(map(can_hold, (*outside, *loop.condition.results))) or not _write(writer, loop, condition, body, outside):
        return None
    return NumberLoop(loop, writer, outside, native_loop(loop, bindings))


def _write(writer: Writer, loop: Loop, condition: list[Operation], body: list[Operation], outside: Leaves) -> bool:
    """Writes a loop with these operations. Returns whether there are templates for all of them."""
    names = NumberTemplates(writer, is_native=False)
    templates: dict[Operation, NumberTemplate] = {}
    (continues,) = loop.condition.results
    for operation in (*condition, *body):
        template = names.template(operation)
        if template is None:
            return False
        templates[operation] = template
        if continues in operation.results:
            names.assume(operation)
    statements = NumberStatements(writer, names, templates, (continues, *loop.body.results))
    state = ", ".join(map(names.name, loop.state))
    parameters = ", ".join(["n", "limit", *map(names.name, (*loop.state, *outside))])
    with writer.block(f"def loop({parameters}):"):
        if any(template.rounds for template in templates.values()):
            writer.line(f"cell = {writer.bind(array, 'array')}('f', (0.0,))")
        with writer.block("while True:"):
            statements.write(NumberBlock.build(condition, (continues,)))
            writer.line(f"if not {statements.text(continues)}: return True, n, {state}")
            writer.line(f"if n == limit: return False, n, {state}")
            writer.line("n += 1")
            statements.write(NumberBlock.build(body, loop.body.results))
            pairs = [(names.name(variable), statements.value(result)) for variable, result in zip(loop.state, loop.body.results, strict=True)]
            pairs = [(target, value) for target, value in pairs if target != value]
            if pairs:
                writer.line(f"{', '.join(target for target, _ in pairs)} = {', '.join(value for _, value in pairs)}")
    return True
