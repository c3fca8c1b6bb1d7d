"""Runs two modules on the same inputs and finds the first instructions whose values disagree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hlotool.differ.compare import diff
from hlotool.differ.delta import Delta
from hlotool.differ.values.array_comparison import Tolerances
from hlotool.differ.values.causes import DEFAULT_OPTIONS, run_pair
from hlotool.differ.values.mismatches import Mismatch
from hlotool.differ.values.pairs import RunPair
from hlotool.interp.engine.observers import Observer
from hlotool.interp.run_options import RunOptions
from hlotool.ir.model import Module
from hlotool.record import Record

__all__ = ["SemanticDifference", "semantic_difference"]


class SemanticDifference(Record):
    """The outcome of running two modules on the same inputs; false if the results agree.

    `runs` is the number of inputs on which both modules were run, and `compared` is the number of
    value pairs that were compared. `run` is the number of the input on which the results differ, or
    None if they agree. `first` is the first pair of instructions whose values differ; it may exist
    even if the results agree. `failure` is the reason why a module could not be run.
    """

    runs: int
    compared: int
    run: int | None
    first: Mismatch | None
    failure: str | None

    def __bool__(self) -> bool:
        return self.run is not None

    @property
    def text(self) -> str:
        """The result in sentences, with the first pair that differs."""
        return "\n".join([*self.sentences, *([self.first.text] if self.first is not None else [])])

    @property
    def sentences(self) -> list[str]:
        """The result in sentences, without the first pair that differs."""
        inputs = f"{self.runs} random input{'s' * (self.runs != 1)}"
        lines = []
        if self.run is not None:
            lines.append(f"the results differ on random input {self.run}")
        elif self.runs:
            lines.append(f"the results agree on {inputs}")
        if self.failure is not None:
            lines.append(self.failure)
        if self.first is None and self.run is not None:
            lines.append("all paired instructions agree: the difference comes from instructions that only one module has")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Returns the result as plain dictionaries, lists, strings and numbers."""
        first = None if self.first is None else self.first.to_dict()
        return {"agrees": self.run is None, "runs": self.runs, "compared": self.compared, "run": self.run, "failure": self.failure, "first": first}


def semantic_difference(
    left: Module,
    right: Module,
    delta: Delta | None = None,
    *,
    runs: int = 1,
    seed: int = 0,
    relative: float | None = None,
    absolute: float | None = None,
    options: RunOptions | None = None,
    observers: Sequence[Observer] = (),
) -> SemanticDifference:
    """Runs two modules on the same random inputs and compares all values of paired instructions.

    There are at most `runs` runs, each with its own inputs; the first run in which the results
    differ is the last. Paired parameters of the entry get the same values. `delta` is
    `diff(left, right)`. Numbers may differ by the tolerances `relative` and `absolute`, which by
    default allow for rounding. Constants are compared bit for bit. Each of the `observers` observes
    all runs.

    >>> import hlotool
    >>> text = "ENTRY e { p = f32[3] parameter(0) s = f32[3] %s(p) ROOT n = f32[3] negate(s) }"
    >>> difference = semantic_difference(hlotool.parse(text % "abs"), hlotool.parse(text % "exponential"))
    >>> difference.first.left, difference.first.changes
    (('e', 's'), ('opcode',))
    """
    delta = delta if delta is not None else diff(left, right)
    pair = RunPair(delta, Tolerances(relative, absolute))
    first: Mismatch | None = None
    failure, compared, count = None, 0, 0
    for k in range(runs):
        outcome = run_pair(pair, pair.inputs(seed + k), options or DEFAULT_OPTIONS, observers)
        compared += outcome.compared
        first = outcome.mismatch or first
        failure = outcome.failure or failure
        count += outcome.failure is None
        if outcome.differs:
            return SemanticDifference(count, compared, k, first, outcome.failure)
    return SemanticDifference(count, compared, None, first, failure)
