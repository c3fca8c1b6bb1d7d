"""Finds the pair of instructions that makes the results of two modules differ.

The first pair whose values differ need not be the cause: a pass may compute the same results in
another way. So pairs are tried one after another: if the right module has the same results as the
left one after it got the left value of a pair, that pair is the cause.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from hlotool.differ.delta import Delta
from hlotool.differ.values.array_comparison import Tolerances
from hlotool.differ.values.mismatches import Explanation, Mismatch
from hlotool.differ.values.origins import Ancestors, FamiliarValues, UnfamiliarValues
from hlotool.differ.values.pairs import Arguments, Comparer, Disagreement, PairObserver, Recorder, RunPair
from hlotool.differ.values.runs import Inputs
from hlotool.errors import EvaluationError, HlotoolError
from hlotool.interp.arrays.dtypes import NUMBERS
from hlotool.interp.arrays.literal_values import literal_value
from hlotool.interp.arrays.values import Value, leaves, with_leaves
from hlotool.interp.engine.observers import Observer, RunPosition
from hlotool.interp.run_options import RunOptions
from hlotool.ir.clone import clone_module
from hlotool.ir.edit import Rewriter
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.literals.literal import literal_from_bytes
from hlotool.opdefs.traits import FORWARDS, STRUCTURAL
from hlotool.record import Record

__all__ = ["DEFAULT_OPTIONS", "Cause", "PairOutcome", "cause_of_difference", "run_pair"]

DEFAULT_OPTIONS = RunOptions(elided_fill="iota", max_iterations=100_000)
"""The options of runs that are compared."""

_MAX_SECONDS = 20.0
"""The time after which no more pairs are tried; the first pair is then named."""


class Cause(Record):
    """The pair of instructions that makes the results differ.

    `origin` is the instruction of the right module that makes the pair's values differ, if the left
    module does not have it.
    """

    mismatch: Mismatch
    origin: Instruction | None = None


class PairOutcome(Record):
    """The outcome of running two modules: whether the results differ, and the first pair that does."""

    differs: bool
    compared: int
    mismatch: Mismatch | None
    failure: str | None


def run_pair(pair: RunPair, inputs: Inputs, options: RunOptions, observers: Sequence[Observer] = ()) -> PairOutcome:
    """Runs both modules, and compares their results and the values of paired instructions."""
    arguments = pair.arguments(inputs)
    recorder = Recorder(pair)
    try:
        expected = inputs.evaluate(pair.delta.left, arguments[0], options, [recorder, *observers])
    except EvaluationError as error:
        return PairOutcome(False, 0, None, f"the left module cannot be run: {error}")
    comparer = Comparer(pair, recorder)
    try:
        actual = inputs.evaluate(pair.delta.right, arguments[1], options, [comparer, *observers])
    except EvaluationError as error:
        comparer.blame_failure()
        return PairOutcome(True, comparer.compared, Explanation(comparer).mismatch(comparer.first), f"the right module cannot be run: {error}")
    return PairOutcome(pair.results_differ(expected, actual), comparer.compared, Explanation(comparer).mismatch(comparer.first), None)


def cause_of_difference(
    delta: Delta, inputs: Inputs, tolerances: Tolerances, options: RunOptions = DEFAULT_OPTIONS, absolute: tuple[float, ...] | None = None
) -> Cause | None:
    """Returns the instructions that make the results differ, or None if no pair differs.

    Parameters with the same number get the same values. `inputs` may belong to another version of
    the two modules. `absolute` lists the absolute tolerance of each leaf of the results.
    """
    pair = RunPair(delta, tolerances)
    pair.absolute = absolute
    arguments = pair.arguments(inputs, lambda parameter: parameter.parameter_number)
    recorder, familiar = Recorder(pair), FamiliarValues()
    expected = inputs.evaluate(delta.left, arguments[0], options, [recorder, familiar])
    comparer, unfamiliar = Comparer(pair, recorder, finds_all=True), UnfamiliarValues(familiar)
    try:
        inputs.evaluate(delta.right, arguments[1], options, [comparer, unfamiliar])
    except EvaluationError:
        comparer.blame_failure()
    explanation = Explanation(comparer)
    trials = _Trials(pair, inputs, recorder, expected, arguments[1], options)
    found, inner = trials.cause(explanation, sorted(comparer.found.values(), key=lambda found: found.order))
    mismatch = explanation.mismatch(found or comparer.first, inner)
    if mismatch is None or found is None:
        return None if mismatch is None else Cause(mismatch)
    return Cause(mismatch, trials.origin(found, mismatch, unfamiliar.first))


class _Trials:
    """Runs of the right module in which one pair has the value of the left module."""

    def __init__(self, pair: RunPair, inputs: Inputs, recorder: Recorder, expected: list[Value], arguments: Arguments, options: RunOptions) -> None:
        self.pair = pair
        self.inputs = inputs
        self.recorder = recorder
        self.expected = expected
        self.arguments = arguments
        self.options = options
        self.deadline = time.monotonic() + _MAX_SECONDS

    def cause(self, explanation: Explanation, candidates: Sequence[Disagreement]) -> tuple[Disagreement | None, int | None]:
        """Returns the first disagreement without which the results agree, and its left node."""
        # Values of a module and of its partition are not interchangeable.
        if len(candidates) < 2 or self.pair.counts[0] != self.pair.counts[1]:
            return None, None
        for found in candidates:
            left = explanation.comparer.left_node(found.blamed)
            inside = explanation.changed_inside(left, of_argument=found.is_argument)
            if found.is_argument and inside == [left]:
                continue
            if inside == [left] and self.pair.graph.nodes[left].op.name != "constant":
                if self._agrees(self.pair.delta.right, [_Replacement(self.pair, self.recorder, left)]):
                    return found, left
            else:
                for node in inside:
                    reverted = self._reverted(node)
                    if reverted is not None and self._agrees(reverted):
                        return found, node
            if time.monotonic() > self.deadline:
                break
        return None, None

    def origin(self, found: Disagreement, mismatch: Mismatch, first: dict[Instruction, int]) -> Instruction | None:
        """Returns the right instruction that makes a pair differ, if it is another one.

        If the right module computes a value in another way, the fault may be in any of its new
        instructions. A constant is to blame if the results agree with another value of it. An
        instruction that changed only its operands is not to blame itself.
        """
        left, right = mismatch.nodes
        wrong = self.pair.graph.nodes[right]
        if left != self.pair.partner[right] or wrong.literal is not None or wrong not in first:
            return None
        ancestors = Ancestors(self.pair.delta.right, wrong, first)
        for constant in ancestors.constants:
            if time.monotonic() < self.deadline and any(map(self._agrees, self._with_other_values(constant, found))):
                return constant
        if self.pair.graph.nodes[left].op is not wrong.op and FORWARDS not in wrong.op.traits and STRUCTURAL not in wrong.op.traits:
            return None
        origin = ancestors.origin()
        return None if origin is wrong else origin

    def _with_other_values(self, constant: Instruction, found: Disagreement) -> Iterator[Module]:
        """Yields the right module with values of a constant that may make up for the difference."""
        worst = found.comparison.worst[0] if found.comparison is not None and found.comparison.worst else None
        shape, partner = constant.shape, self.pair.partner[self.pair.numbers[constant]]
        if worst is None or constant.literal is None or not shape.is_array or NUMBERS[shape.element_type].kind != "float":
            return
        if partner >= 0 and self.pair.graph.nodes[partner].literal == constant.literal:
            return
        value = literal_value(constant.literal, self.options)
        with np.errstate(all="ignore"):
            ratio, step = np.float64(worst.ours) / np.float64(worst.theirs), np.float64(worst.ours) - np.float64(worst.theirs)
            wide = value.astype(np.float64)
            others = [wide * ratio, wide / ratio, wide + step, wide - step]
        for other in others:
            module, copies = self._copy()
            with Rewriter(module) as rewriter:
                rewriter.update(copies[constant], immediate=literal_from_bytes(shape, other.astype(value.dtype).tobytes()))
            yield module

    def _agrees(self, module: Module, observers: Sequence[Observer] = ()) -> bool:
        try:
            actual = self.inputs.evaluate(module, self.arguments, self.options, observers)
        except HlotoolError:
            return False
        return not self.pair.results_differ(self.expected, actual)

    def _reverted(self, left: int) -> Module | None:
        """Returns the right module with the left instruction of a pair in place of the right one.

        Returns None if the instruction does not fit.
        """
        graph, partner = self.pair.graph, self.pair.partner
        x, y = graph.nodes[left], graph.nodes[partner[left]]
        operands = [partner[node] for node in graph.operands[left]]
        if min(operands, default=0) < 0:
            return None
        module, copies = self._copy()
        attributes = dict(x.attributes)
        for name, value in x.attributes.items():
            if isinstance(value, Computation):
                attributes[name] = copies.get(self._partner_of(value))
        if None in attributes.values():
            return None
        try:
            with Rewriter(module) as rewriter:
                rewriter.update(
                    copies[y],
                    op=x.op,
                    operands=[copies[graph.nodes[node]] for node in operands],
                    shape=x.shape,
                    attributes=attributes,
                    immediate=x.immediate,
                )
        except HlotoolError:
            return None
        return module

    def _copy(self) -> tuple[Module, dict[Any, Any]]:
        """Returns a copy of the right module, and the copy of each instruction and computation."""
        right = self.pair.delta.right
        module = clone_module(right)
        copies: dict[Any, Any] = dict(zip(right.all_instructions(), module.all_instructions(), strict=True))
        copies.update(zip(right.computations, module.computations, strict=True))
        return module, copies

    def _partner_of(self, computation: Computation) -> Computation | None:
        number = self.pair.delta.pairs.computations.get(self.pair.bodies[computation])
        return None if number is None else self.pair.graph.computations[number]


class _Replacement(PairObserver):
    """Replaces the values of one pair in the right module with those of the left module."""

    side = 1
    replaces = True

    def __init__(self, pair: RunPair, recorder: Recorder, left: int) -> None:
        super().__init__(pair)
        self.recorder = recorder
        self.left = left

    def entered(self, where: RunPosition, computation: Computation, arguments: Sequence[Value]) -> None:
        """Does nothing, since arguments are not replaced."""

    def ended(self, where: RunPosition, instruction: Instruction, operands: Sequence[Value], value: Value) -> None:
        """Does nothing; `replacement` handles the value."""

    def replacement(self, where: RunPosition, instruction: Instruction, value: Value) -> Value:
        if self.left_node(instruction) != self.left:
            return value
        _, recorded = self.recorder.values.get(self.key("value", where, self.left, len(where.frames) - 1), (-1, []))
        own = [*leaves(value)]
        if len(own) != len(recorded) or not all(_fits(a, b) for a, b in zip(own, recorded, strict=True)):
            return value
        return with_leaves(instruction.shape, _copies(recorded))


def _fits(a: Any, b: Any) -> bool:
    return not isinstance(a, np.ndarray) or (isinstance(b, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape)


def _copies(recorded: Sequence[Any]) -> Iterator[Any]:
    return (part.copy() if isinstance(part, np.ndarray) else part for part in recorded)
