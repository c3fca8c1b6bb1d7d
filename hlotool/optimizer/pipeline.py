"""The passes by name, and the pipelines of `-O1` and `-O2`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from inspect import getdoc

from hlotool.optimizer.context import Context
from hlotool.optimizer.pass_list import PassError, PassSpec, is_pass_name
from hlotool.optimizer.pass_table import BUILT_IN, meant_pass
from hlotool.optimizer.registry import FAILURES, RuleError, all_rules, location_of_failure, rules_by_op
from hlotool.optimizer.simplify import simplify
from hlotool.record import Record

__all__ = [
    "DEFAULT_LEVEL",
    "PASSES",
    "PIPELINES",
    "Pass",
    "PassError",
    "PassObserver",
    "PassRun",
    "named_pass",
    "pass_names",
    "pass_of",
    "pass_summary",
    "run_pipeline",
    "topics_of",
]

Pass = Callable[[Context], bool]


class PassRun(Record):
    """One run of a pass: its name, the pipeline round (from 1), and the number of rewrites."""

    name: str
    round: int
    rewrites: int


PassObserver = Callable[[PassRun, Context], None]
"""A callback for each run of a pass. The context's Rewriter is flushed, but not finished."""


def apply_all_rules(context: Context) -> bool:
    """Applies all rewrite rules until none of them matches."""
    return simplify(context, "algsimp", rules_by_op(None, context.options.fast_math))


class _LatePass:
    """A pass whose module is imported only when the pass runs."""

    def __init__(self, module: str, function: str) -> None:
        self.module = f"hlotool.optimizer.{module}"
        self.function = function

    def resolve(self) -> Pass:
        run: Pass = getattr(import_module(self.module), self.function)
        return run

    def __call__(self, context: Context) -> bool:
        return self.resolve()(context)


PASSES: dict[str, Pass] = {name: _LatePass(*location) for name, location in BUILT_IN.items()}
"""The passes by their names in `--passes`, without the topics of rules."""

PIPELINES: dict[int, tuple[str, ...]] = {
    0: (),
    1: ("dce", "algsimp", "dce"),
    2: ("dce", "inline", "arguments", "loops", "conditionals", "variadic", "dedup", "zero-sized", "algsimp", "fold", "cse", "dce"),
}
"""The passes of each level, which are repeated until nothing changes."""

DEFAULT_LEVEL = 2
"""The level whose pipeline runs if no passes are given."""

_MAX_ROUNDS = 20


def named_pass(name: str) -> Callable[[Pass], Pass]:
    """Registers a pass under a name, which `--passes` then accepts.

    Raises PassError if the name is taken, or if a list of passes could not contain it.

    >>> @named_pass("nothing")
    ... def nothing(context):
    ...     "Changes nothing."
    ...     return False
    >>> pass_summary("nothing"), PASSES.pop("nothing") is nothing
    ('Changes nothing.', True)
    """
    if not isinstance(name, str) or not is_pass_name(name):
        raise PassError(f'@named_pass expects a name that a list of passes can contain, as in @named_pass("drop-copies"); found {name!r}')
    if name in pass_names():
        raise PassError(f"there is already a pass '{name}'")

    def register(run: Pass) -> Pass:
        PASSES[name] = run
        return run

    return register


def pass_names() -> list[str]:
    """Returns the names of all passes: those of PASSES, then the groups of rewrite rules.

    >>> "algsimp" in pass_names(), "identities" in pass_names()
    (True, True)
    """
    return [*PASSES, *sorted({entry.topic for entry in all_rules().values()} - PASSES.keys())]


def pass_summary(name: str) -> str:
    """Returns one line about a pass.

    >>> pass_summary("algsimp")
    'Applies all rewrite rules until none of them matches.'
    """
    run = PASSES.get(name)
    if run is not None:
        doc = getdoc(run.resolve() if isinstance(run, _LatePass) else run)
    else:
        doc = sys.modules[next(entry.rewrite.__module__ for entry in all_rules().values() if entry.topic == name)].__doc__
    return (doc or "").strip().partition("\n")[0]


def topics_of(name: str) -> frozenset[str]:
    """Returns the topics whose rewrite rules a pass applies.

    >>> sorted(topics_of("identities")), topics_of("dce")
    (['identities'], frozenset())
    """
    if name == "algsimp":
        return frozenset(entry.topic for entry in all_rules().values())
    return frozenset() if name in PASSES else frozenset((name,))


def pass_of(name: str) -> Pass:
    """Returns the pass called `name`: one of PASSES, or one that applies the rules of a topic.

    A topic is a file in the folder `rules`. Raises PassError if there is no such pass.

    >>> pass_of("identitys")
    Traceback (most recent call last):
    hlotool.optimizer.pass_list.PassError: no pass is called 'identitys'; did you mean 'identities'?
    """
    known = PASSES.get(name)
    if known is not None:
        return known
    names = pass_names()
    if name in names:
        return lambda context: simplify(context, name, rules_by_op(frozenset((name,)), context.options.fast_math))
    meant = meant_pass(name, names)
    raise PassError(f"no pass is called '{name[:60]}'; " + (f"did you mean '{meant}'?" if meant else f"the passes are {', '.join(names)}"))


def run_pipeline(context: Context, specs: Sequence[PassSpec], observer: PassObserver | None = None) -> None:
    """Runs the passes in turn until none changes anything. Raises PassError for an unknown name."""
    passes = [(spec, pass_of(spec.name), bool(topics_of(spec.name))) for spec in specs]
    # Most passes reach their own fixed points, so they run again only if another pass has changed
    # something since.
    finished: dict[str, tuple[int, int]] = {}
    for number in range(1, _MAX_ROUNDS + 1):
        context.refresh()
        before = context.progress
        for spec, run, has_rules in passes:
            if context.report.is_exhausted:
                return
            if finished.get(spec.name) == context.progress or (spec.rounds is not None and number > spec.rounds):
                continue
            # Rules have not looked at everything around their last rewrites. An instruction that a
            # pass has erased may also have kept other instructions in place through control
            # dependencies.
            may_continue = has_rules or context.rewriter.has_control_dependencies
            result = _run(context, spec.name, number, run)
            if not (may_continue and result.rewrites):
                finished[spec.name] = context.progress
            if observer is not None:
                context.rewriter.flush()
                observer(result, context)
        if context.progress == before:
            return
    context.report.remarks.append(f"the pipeline was stopped after {_MAX_ROUNDS} rounds")


def _is_built_in(run: Pass) -> bool:
    return (getattr(run, "__module__", None) or "").startswith("hlotool.optimizer.")


def _with_checks(name: str, run: Pass) -> Pass:
    """Wraps a user's pass with checks.

    The wrapper raises RuleError if the pass fails or leaves a cycle behind. It adds a remark if the
    pass does not count its changes.
    """

    def checked(context: Context) -> bool:
        before, changes = context.report.count, context.rewriter.change_count
        try:
            result = bool(run(context))
            context.rewriter.finish()
        except (MemoryError, RuleError):
            raise
        except FAILURES as error:
            raise RuleError(f"pass '{name}' failed{location_of_failure(error, run)}: {type(error).__name__}: {error}") from error
        if context.rewriter.change_count != changes and context.report.count == before:
            context.report.remark(f"pass '{name}' changed the module without `context.allows`, so its rewrites are not counted")
        return result

    return checked


def _run(context: Context, name: str, number: int, run: Pass) -> PassRun:
    before, changes, start = context.report.count, context.rewriter.change_count, time.perf_counter()
    (run if _is_built_in(run) else _with_checks(name, run))(context)
    context.erase_unused_fusion_parameters(changes)
    statistics = context.report.pass_statistics(name)
    statistics.tries += 1
    statistics.hits += context.report.count - before
    statistics.seconds += time.perf_counter() - start
    return PassRun(name, number, context.report.count - before)
