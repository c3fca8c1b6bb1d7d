"""Optimizes modules: `hlotool.optimize`."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

from hlotool.collection import no_garbage_collection
from hlotool.ir.model import Module
from hlotool.optimizer.context import Context
from hlotool.optimizer.options import OptimizeOptions
from hlotool.optimizer.pipeline import PIPELINES, run_pipeline
from hlotool.optimizer.registry import FAST_MATH
from hlotool.optimizer.report import Report
from hlotool.record import replace

__all__ = ["optimize", "optimize_with_report"]

_DEFAULTS = OptimizeOptions()


def optimize(module: Module, passes: Sequence[str] | None = None, *, fast_math: bool = False, options: OptimizeOptions = _DEFAULTS) -> Module:
    """A smaller module that computes the same, bit for bit. The module itself is not changed.

    `passes` are names of passes, by default those of `-O2`; they are repeated until nothing changes. With `fast_math`, rules that may
    change rounding, NaNs, infinities or signs of zeros run, too.

    >>> import hlotool
    >>> module = hlotool.parse("ENTRY e { p = f32[2] parameter(0) a = f32[2] negate(p) ROOT b = f32[2] negate(a) }")
    >>> optimize(module).entry.instructions
    [<p = f32[2]{0} parameter>]
    """
    if fast_math:
        options = replace(options, fast_math=frozenset(FAST_MATH))
    return optimize_with_report(module, passes, options)[0]


def optimize_with_report(module: Module, passes: Sequence[str] | None = None, options: OptimizeOptions = _DEFAULTS) -> tuple[Module, Report]:
    """As `optimize`, with the record of what has been done."""
    result = copy(module)
    report = Report(options.bisect_limit)
    with no_garbage_collection():
        context = Context(result, options, report)
        run_pipeline(context, PIPELINES[2] if passes is None else tuple(passes))
        context.rewriter.finish()
    report.remarks += context.rewriter.remarks
    return result, report
