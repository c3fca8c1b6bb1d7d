"""Finds the first rewrite that makes a module wrong, as LLVM's `-opt-bisect-limit` does."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hlotool.ir.model import Module
from hlotool.optimizer.opt_options import OptimizeOptions
from hlotool.optimizer.opt_report import Rewritten
from hlotool.optimizer.optimizer import run_specs
from hlotool.optimizer.pass_list import PassSpec
from hlotool.record import Record, replace

__all__ = ["Culprit", "first_wrong_rewrite"]


class Culprit(Record):
    """The first rewrite that makes a module wrong.

    `number` is the number of the rewrite, counted from 1; `total` is the number of all rewrites.
    """

    rewrite: Rewritten
    number: int
    total: int

    @property
    def text(self) -> str:
        """A description of the rewrite on one line."""
        rewrite = self.rewrite
        where = f"'{rewrite.instruction}' in computation '{rewrite.computation}'" if rewrite.instruction else f"computation '{rewrite.computation}'"
        line = f" (line {rewrite.line})" if rewrite.line else ""
        after = f" -> {'; '.join(rewrite.after)}" if rewrite.after else ""
        return f"rewrite {self.number} of {self.total}: '{rewrite.rule}' at {where}{line}: {rewrite.before}{after}"


def first_wrong_rewrite(module: Module, passes: Iterable[PassSpec], options: OptimizeOptions, is_wrong: Callable[[Module], bool]) -> Culprit | None:
    """Returns the first rewrite that makes a module wrong, or None if all rewrites are correct.

    A wrong module is assumed to stay wrong after further rewrites. This allows a binary search, so
    the number of optimization runs is logarithmic in the number of rewrites.

    >>> import hlotool
    >>> from hlotool.optimizer.pass_list import parse_passes
    >>> text = "ENTRY e { p = f32[] parameter(0) a = f32[] abs(p) b = f32[] negate(a) c = f32[] negate(b) ROOT d = f32[] copy(c) }"
    >>> def is_wrong(module):
    ...     return all(x.opcode != "negate" for x in module.entry.instructions)
    >>> culprit = first_wrong_rewrite(hlotool.parse(text), parse_passes("algsimp"), OptimizeOptions(), is_wrong)
    >>> culprit.number, culprit.rewrite.rule
    (1, 'two-inversions')
    """
    specs = tuple(passes)

    def run(limit: int | None) -> tuple[bool, int, list[Rewritten]]:
        result = run_specs(module, specs, replace(options, bisect_limit=limit, explain=True, explain_why_not=None))
        return is_wrong(result), result.report.count, result.report.rewrites

    wrong, total, rewrites = run(options.bisect_limit)
    if not wrong or not rewrites:
        return None
    # Invariant: the module is correct after `low` rewrites and wrong after `high`.
    low, high, last = 0, total, rewrites[-1]
    while high - low > 1:
        middle = (low + high) // 2
        wrong, _, rewrites = run(middle)
        if wrong:
            high, last = middle, rewrites[-1]
        else:
            low = middle
    return Culprit(last, high, total)
