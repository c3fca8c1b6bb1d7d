"""What an optimization did: the number of rewrites by rule, and, if asked for, each of them."""

from __future__ import annotations

from typing import Any

from hlotool.errors import Source
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.text.print.instruction import InstructionWriter
from hlotool.text.print.options import PrintOptions

__all__ = ["Report", "Rewritten", "RuleStatistics"]


class RuleStatistics:
    """How often a rule or a pass was tried and changed something, and the time in seconds, if it was measured."""

    __slots__ = ("hits", "seconds", "tries")

    def __init__(self) -> None:
        self.tries = 0
        self.hits = 0
        self.seconds = 0.0


class Rewritten:
    """One rewrite: what applied it, where, the instruction before, and those that replace it; `line` is 0 for instructions without a source."""

    __slots__ = ("after", "before", "computation", "instruction", "line", "rule")

    def __init__(self, rule: str, computation: str, instruction: str, line: int, before: str, after: tuple[str, ...]) -> None:
        self.rule = rule
        self.computation = computation
        self.instruction = instruction
        self.line = line
        self.before = before
        self.after = after


class Report:
    """The record of an optimization.

    `statistics` are by rule or pass. `rewrites` has each rewrite if the options ask for that, `reasons` the rules that were tried on the
    instruction of `explain_why_not`, and `remarks` what users should know, such as a rule that does not stop firing.
    """

    def __init__(self, limit: int | None = None) -> None:
        self.statistics: dict[str, RuleStatistics] = {}
        self.rewrites: list[Rewritten] = []
        self.reasons: list[str] = []
        self.remarks: list[str] = []
        self.limit = limit
        self.count = 0
        self.is_stopped = False

    @property
    def is_exhausted(self) -> bool:
        """Whether nothing more may be changed: the limit of rewrites has been reached, or rules do not stop firing."""
        return self.is_stopped or (self.limit is not None and self.count >= self.limit)

    def of(self, name: str) -> RuleStatistics:
        """The statistics of a rule or a pass."""
        statistics = self.statistics.get(name)
        if statistics is None:
            statistics = self.statistics[name] = RuleStatistics()
        return statistics

    def add(self, name: str) -> None:
        """Counts one rewrite."""
        self.count += 1
        self.of(name).hits += 1

    def describe(self, name: str, module: Module, owner: Computation, x: Instruction, after: tuple[Instruction, ...]) -> None:
        """Records a rewrite of `x` while it is still in the module."""
        origin = module.notes.origin_of.get(x, x)
        source: Source | None = module.source
        line = source.line_column(origin.start)[0] if source is not None and origin.start >= 0 else 0
        self.rewrites.append(Rewritten(name, owner.name, x.name, line, _text(module, x), tuple(_text(module, y) for y in after)))


_SHORT = PrintOptions(print_metadata=False, print_percent=False, print_large_constants=False, include_layout_in_shapes=False)


class _Names(dict[Any, str]):
    """The own name of each instruction and computation."""

    def __missing__(self, node: Instruction | Computation) -> str:
        return node.name


def _text(module: Module, x: Instruction) -> str:
    """An instruction as one line, without metadata and layouts."""
    writer = InstructionWriter(module, _SHORT, _Names(), _Names(), None, lambda computation, level: computation.name)
    return writer.write(x, is_root=False, level=0)
