"""Optimizes modules: `hlotool.optimize`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hlotool.collection import no_garbage_collection
from hlotool.errors import HlotoolError, nearest
from hlotool.ir.model import Module
from hlotool.optimizer.context import Context
from hlotool.optimizer.opt_options import FAST, OptimizeOptions
from hlotool.optimizer.opt_report import OptimizedModule, Report
from hlotool.optimizer.pass_list import PassSpec, parse_passes
from hlotool.optimizer.pipeline import DEFAULT_LEVEL, PIPELINES, PassObserver, run_pipeline
from hlotool.optimizer.registry import fast_math_flags
from hlotool.optimizer.why_not import explain_why_not
from hlotool.record import replace

__all__ = ["OptimizeError", "optimize", "run_specs"]

_DEFAULTS = OptimizeOptions()


class OptimizeError(HlotoolError):
    """Raised if an option contains a name that does not occur in the module."""

    exit_code = 2


def optimize(
    module: Module,
    passes: str | Sequence[str] | None = None,
    *,
    fast_math: bool | Iterable[str] = False,
    options: OptimizeOptions = _DEFAULTS,
    observer: PassObserver | None = None,
) -> OptimizedModule:
    """Returns a smaller module with the same results, bit for bit unless `fast_math` is set.

    The given module is not changed. The new one has a `report` of the rewrites. `passes` contains
    names of passes, in one string or in several; the default is the pipeline of `-O2`. The passes
    are repeated until nothing changes. A number in braces limits the rounds of a pass, as in
    `fold,algsimp{max=3},dce`. `fast_math` enables rules that may change rounding, NaNs, infinities
    or the signs of zeros: it contains the flags to set, or is True for all flags except
    `precision`. The observer is called after each run of a pass.

    Raises PassError for an unknown pass, RuleError for an unknown flag, and OptimizeError if
    `options.only` contains the name of a computation that the module does not have.

    >>> import hlotool
    >>> module = hlotool.parse("ENTRY e { p = f32[2] parameter(0) a = f32[2] negate(p) ROOT b = f32[2] negate(a) }")
    >>> result = optimize(module)
    >>> result.entry.instructions, result.report.instructions_before, result.report.instructions_after
    ([<p = f32[2]{0} parameter>], 3, 1)
    >>> len(optimize(module, "cse,dce").entry.instructions)
    3
    >>> report = optimize(module, "algsimp", options=OptimizeOptions(explain=True)).report
    >>> [(rewrite.rule, rewrite.before, rewrite.after) for rewrite in report.rewrites]
    [('two-inversions', 'b = f32[2] negate(a)', ('p = f32[2] parameter(0)',))]
    """
    if fast_math:
        options = replace(options, fast_math=fast_math_flags((FAST,) if fast_math is True else fast_math))
    return run_specs(module, parse_passes(PIPELINES[DEFAULT_LEVEL] if passes is None else passes), options, observer)


def run_specs(
    module: Module, specs: Sequence[PassSpec], options: OptimizeOptions = _DEFAULTS, observer: PassObserver | None = None
) -> OptimizedModule:
    """Does the same as `optimize`, but for a list of passes that has already been parsed."""
    _check_only(module, options)
    report = Report(options.bisect_limit)
    report.instructions_before = _size(module)
    result = OptimizedModule.copy_of(module, report)
    with no_garbage_collection():
        with Context(result, _recording_options(options), report) as context:
            run_pipeline(context, specs, observer)
        report.remarks += context.rewriter.remarks
        report.instructions_after = _size(result)
        if options.explain_why_not is not None:
            report.reasons = explain_why_not(options.explain_why_not, module, result, specs, options, report)
    return result


def _recording_options(options: OptimizeOptions) -> OptimizeOptions:
    """Returns the options with which the passes run.

    Rewrites must be recorded for `explain_why_not`, which reports what replaced an instruction.
    """
    return options if options.explain_why_not is None else replace(options, explain=True)


def _size(module: Module) -> int:
    return sum(len(computation.instructions) for computation in module.computations)


def _check_only(module: Module, options: OptimizeOptions) -> None:
    names = [computation.name for computation in module.computations]
    for name in sorted(options.only.difference(names)):
        meant = nearest(name, names)
        raise OptimizeError(f"module '{module.name}' has no computation '{name}'" + (f"; did you mean '{meant}'?" if meant else ""))
