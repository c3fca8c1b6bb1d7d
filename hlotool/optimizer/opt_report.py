"""Reports of optimizations, and modules that carry them.

A report counts the rewrites of each rule and, on request, lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, Self

from hlotool.errors import Source
from hlotool.ir.clone import clone_module
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.opdefs.inference import count
from hlotool.record import Record
from hlotool.text.print.instruction import InstructionWriter, OwnNames
from hlotool.text.print.print_options import PrintOptions

__all__ = ["OptimizedModule", "Report", "Rewritten", "RuleStatistics", "WhyNot", "instruction_text", "line_of"]


class RuleStatistics:
    """The numbers of tries and hits of a rule or pass, and the time that the tries took.

    A hit is a rewrite. The time is in seconds; it is 0 if it was not measured.
    """

    __slots__ = ("hits", "seconds", "tries")

    def __init__(self) -> None:
        self.tries = 0
        self.hits = 0
        self.seconds = 0.0


class Rewritten:
    """One rewrite: its rule or pass, its location, and the instruction before and after.

    `after` lists the new instructions, or descriptions of what happened to the old one. `line`
    is 0 for instructions without a source, and `instruction` is empty if a whole computation was
    removed.
    """

    __slots__ = ("after", "before", "computation", "instruction", "line", "rule")

    def __init__(self, rule: str, computation: str, instruction: str, line: int, before: str, after: tuple[str, ...]) -> None:
        self.rule = rule
        self.computation = computation
        self.instruction = instruction
        self.line = line
        self.before = before
        self.after = after


class WhyNot(Record):
    """The reason why a rule or a pass leaves an instruction alone.

    `is_match` is True if the rule matches, so that only `reason` prevents the rewrite; it is None
    for passes that apply no rules. For an instruction that is no longer in the module, `name` is
    the rule or pass that replaced it, and `reason` describes the replacement.
    """

    computation: str
    instruction: str
    line: int
    name: str
    is_match: bool | None
    reason: str


class Report:
    """The record of an optimization.

    `statistics` maps rules to their statistics; it also counts the rewrites of each pass that
    applies no rules. `passes` maps passes to their runs, rewrites and time. `rewrites` lists all
    rewrites if the options request them; `reasons` lists the reasons why rules and passes do not
    change the instruction with the name in `explain_why_not`. `remarks` lists facts that users
    should know, such as a rule that does not stop firing. `instructions_before` and
    `instructions_after` count the instructions of all computations.
    """

    def __init__(self, limit: int | None = None) -> None:
        self.statistics: dict[str, RuleStatistics] = {}
        self.rewrites: list[Rewritten] = []
        self.reasons: list[WhyNot] = []
        self.remarks: list[str] = []
        self.passes: dict[str, RuleStatistics] = {}
        self.limit = limit
        self.count = 0
        self.instructions_before = 0
        self.instructions_after = 0
        self.is_stopped = False

    @property
    def is_exhausted(self) -> bool:
        """True if nothing more may change: the limit is reached, or a rule did not stop firing."""
        return self.is_stopped or (self.limit is not None and self.count >= self.limit)

    def __str__(self) -> str:
        """Returns the numbers of instructions and rewrites, a line for each rule, and the remarks.

        >>> import hlotool
        >>> text = "ENTRY e { p = f32[2] parameter(0) a = f32[2] negate(p) ROOT b = f32[2] negate(a) }"
        >>> print(hlotool.optimize(hlotool.parse(text)).report)
        3 instructions before, 1 after, 1 rewrite
        two-inversions: 1 rewrite
        """
        counts = [f"{name}: {count(row.hits, 'rewrite')}" for name, row in _sorted(self.statistics) if row.hits]
        return "\n".join([self._summary(), *counts, *self.remarks])

    def __repr__(self) -> str:
        return f"<report: {self._summary()}>"

    def _summary(self) -> str:
        before = count(self.instructions_before, "instruction")
        return f"{before} before, {self.instructions_after} after, {count(self.count, 'rewrite')}"

    def statistics_of(self, name: str) -> RuleStatistics:
        """Returns the statistics of a rule, or of the rewrites of a pass that applies no rules."""
        statistics = self.statistics.get(name)
        if statistics is None:
            statistics = self.statistics[name] = RuleStatistics()
        return statistics

    def pass_statistics(self, name: str) -> RuleStatistics:
        """Returns the statistics of the runs of a pass."""
        return self.passes.setdefault(name, RuleStatistics())

    def add(self, name: str) -> None:
        """Counts one rewrite."""
        self.count += 1
        self.statistics_of(name).hits += 1

    @property
    def sorted_passes(self) -> list[tuple[str, RuleStatistics]]:
        """The passes that ran, those with the most rewrites first."""
        return _sorted(self.passes)

    @property
    def sorted_rules(self) -> list[tuple[str, RuleStatistics]]:
        """The rules that were tried, those with the most rewrites first."""
        return _sorted({name: row for name, row in self.statistics.items() if row.tries})

    def as_json(self) -> dict[str, Any]:
        """Returns the whole report as values that `json.dumps` accepts.

        >>> report = Report()
        >>> report.add("fold")
        >>> report.as_json()["rewrites"], report.as_json()["explanations"]
        (1, [])
        """
        return {
            "instructions_before": self.instructions_before,
            "instructions_after": self.instructions_after,
            "rewrites": self.count,
            "passes": [{"name": name, "runs": row.tries, "rewrites": row.hits, "seconds": row.seconds} for name, row in self.sorted_passes],
            "rules": [{"name": name, "tries": row.tries, "rewrites": row.hits, "seconds": row.seconds} for name, row in self.sorted_rules],
            "remarks": list(self.remarks),
            "explanations": [{name: getattr(rewrite, name) for name in _REWRITE_FIELDS} for rewrite in self.rewrites],
            "reasons": [{name: getattr(reason, name) for name in WhyNot._fields} for reason in self.reasons],
        }

    def remark(self, text: str) -> None:
        """Adds a remark, unless it has been added before."""
        if text not in self.remarks:
            self.remarks.append(text)

    def describe(
        self, name: str, module: Module, owner: Computation, x: Instruction, after: tuple[Instruction | str, ...], renamed: Instruction | None
    ) -> None:
        """Records a rewrite of `x`, which must still be in the module.

        `after` lists the instructions that replace `x`, or descriptions of what happens to `x`;
        `renamed` is the instruction that takes over the name of `x`.
        """
        names = OwnNames() if renamed is None else OwnNames({renamed: x.name})
        texts = tuple(y if isinstance(y, str) else instruction_text(module, y, names) for y in after)
        self.rewrites.append(Rewritten(name, owner.name, x.name, line_of(module, x), instruction_text(module, x), texts))

    def describe_removal(self, name: str, module: Module, computation: Computation) -> None:
        """Records the removal of a computation."""
        self.rewrites.append(Rewritten(name, computation.name, "", _line(module, computation.start), f"computation {computation.name}", ()))


_REWRITE_FIELDS = ("rule", "computation", "instruction", "line", "before", "after")


def _sorted(rows: Mapping[str, RuleStatistics]) -> list[tuple[str, RuleStatistics]]:
    """Sorts by rewrites, then by tries. Times differ from run to run and do not affect the order."""
    return sorted(rows.items(), key=lambda item: (-item[1].hits, -item[1].tries, item[0]))


class OptimizedModule(Module):
    """An optimized module, with a `report` of the optimization.

    Copies and pickles include the report.

    >>> import copy, hlotool
    >>> module = hlotool.optimize(hlotool.parse("ENTRY e { ROOT p = f32[2] parameter(0) }"))
    >>> copy.copy(module).report is module.report
    True
    """

    def __init__(self, name: str, source: Source | None = None) -> None:
        super().__init__(name, source)
        self.report = Report()

    @classmethod
    def copy_of(cls, module: Module, report: Report) -> Self:
        """Returns a copy of a module, with this report."""
        result = cls(module.name, module.source)
        vars(result).update(vars(copy(module)), report=report)
        return result

    def __copy__(self) -> OptimizedModule:
        result: OptimizedModule = clone_module(self)
        result.report = self.report
        return result

    def __deepcopy__(self, memo: dict[int, Any]) -> OptimizedModule:
        return copy(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_state, (*super().__reduce__(), self.report)


def _from_state(make: Callable[..., OptimizedModule], state: tuple[Any, ...], report: Report) -> OptimizedModule:
    module = make(*state)
    module.report = report
    return module


_SHORT = PrintOptions(print_metadata=False, print_percent=False, print_large_constants=False, include_layout_in_shapes=False)


def line_of(module: Module, x: Instruction) -> int:
    """Returns the line of an instruction in the source, or 0 if there is none.

    A new instruction has the line of the instruction from which it is derived.
    """
    return _line(module, module.notes.origin_of.get(x, x).start)


def _line(module: Module, start: int) -> int:
    source: Source | None = module.source
    return source.line_column(start)[0] if source is not None and start >= 0 else 0


def instruction_text(module: Module, x: Instruction, names: OwnNames | None = None) -> str:
    """Returns an instruction as one line of text, without metadata or layouts."""
    return InstructionWriter.with_own_names(module, _SHORT, names).write(x, is_root=False, level=0)
