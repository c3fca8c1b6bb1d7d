"""The passes by name, and the pipelines of `-O1` and `-O2`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from hlotool.errors import HlotoolError, nearest
from hlotool.optimizer.context import Context
from hlotool.optimizer.registry import all_rules, rules_by_op
from hlotool.optimizer.simplify import simplify

__all__ = ["PASSES", "PIPELINES", "PassError", "pass_of", "run_pipeline"]

Pass = Callable[[Context], bool]


def _algsimp(context: Context) -> bool:
    return simplify(context, "algsimp", rules_by_op(None, context.options.fast_math))


def _late(module: str, function: str) -> Pass:
    def run(context: Context) -> bool:
        result: bool = getattr(import_module(f"hlotool.optimizer.passes.{module}"), function)(context)
        return result

    return run


PASSES: dict[str, Pass] = {
    "inline": _late("inline", "inline_calls"),
    "loops": _late("loops", "simplify_loops"),
    "conditionals": _late("conditionals", "simplify_conditionals"),
    "arguments": _late("arguments", "simplify_arguments"),
    "variadic": _late("variadic", "remove_unneeded_operands"),
    "dedup": _late("cse", "merge_computations"),
    "zero-sized": _late("zero_sized", "replace_empty_arrays"),
    "algsimp": _algsimp,
    "fold": _late("fold", "fold_constants"),
    "cse": _late("cse", "merge_instructions"),
    "dce": _late("dce", "remove_dead_code"),
    "defuse": _late("defuse", "undo_fusions"),
    "hoist": _late("loops", "hoist_invariants"),
    "unroll": _late("trip_counts", "unroll_loops"),
    "annotate": _late("trip_counts", "annotate_trip_counts"),
}
"""What each name in `--passes` runs."""

PIPELINES: dict[int, tuple[str, ...]] = {
    0: (),
    1: ("dce", "algsimp", "dce"),
    2: ("dce", "inline", "arguments", "loops", "conditionals", "variadic", "dedup", "zero-sized", "algsimp", "fold", "cse", "dce"),
}
"""The passes of each level, which are repeated until nothing changes."""

_MOST_ROUNDS = 20


class PassError(HlotoolError):
    """There is no such pass."""


def pass_of(name: str) -> Pass:
    """The pass of a name: one of PASSES, or the rules of one topic, which is a file in the folder `rules`.

    >>> pass_of("identitys")
    Traceback (most recent call last):
    hlotool.optimizer.pipeline.PassError: no pass is called 'identitys'; did you mean 'identities'?
    """
    known = PASSES.get(name)
    if known is not None:
        return known
    topics = sorted({entry.topic for entry in all_rules().values()})
    if name in topics:
        return lambda context: simplify(context, name, rules_by_op(frozenset((name,)), context.options.fast_math))
    meant = nearest(name, [*PASSES, *topics])
    raise PassError(f"no pass is called '{name}'; " + (f"did you mean '{meant}'?" if meant else f"there are {', '.join([*PASSES, *topics])}"))


def run_pipeline(context: Context, names: tuple[str, ...]) -> None:
    """Runs the passes in turn until none of them changes anything. Raises PassError for an unknown name."""
    passes = [pass_of(name) for name in names]
    # Each pass reaches its own fixed point, so it runs again only if another one has changed something since.
    finished: dict[Pass, int] = {}
    for _ in range(_MOST_ROUNDS):
        before = context.report.count
        for run in passes:
            if context.report.is_exhausted:
                return
            if finished.get(run) != context.report.count:
                run(context)
                finished[run] = context.report.count
        if context.report.count == before:
            return
    context.report.remarks.append(f"the pipeline has been stopped after {_MOST_ROUNDS} rounds")
