"""C038: calls that change the execution thread."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.opdefs.traits import SAME_THREAD, SAME_THREAD_ON_REQUEST
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []


@module_rule("C038", stage="calls")
def thread_mismatch(facts: Facts) -> Iterator[Finding]:
    """A called computation runs on the thread of its caller.

    Checks: the computations of fusions, whiles and conditionals have the same `execution_thread` as
    their caller; in the mode `nested_thread_names`, so do the computations of custom calls and all
    computations in `to_apply`.
    """
    checks_all = facts.modes.nested_thread_names
    checked = {SAME_THREAD, SAME_THREAD_ON_REQUEST} if checks_all else {SAME_THREAD}
    for called, calls in facts.callers.items():
        for computation, x in calls:
            is_checked = not checked.isdisjoint(x.op.traits) or (checks_all and x.attributes.get("to_apply") is called)
            if is_checked and computation.execution_thread != called.execution_thread:
                message = f"'{called.name}' runs on thread '{called.execution_thread}', but its caller runs on '{computation.execution_thread}'"
                yield Finding("C038", called, None, _thread_location(facts, called.end), message, "use async-start with async_execution_thread")
                break


def _thread_location(facts: Facts, end: int) -> int:
    """Returns the offset of the thread of the computation that ends at `end`."""
    source = facts.module.source
    start = source.text.rfind("execution_thread", 0, end) if source is not None else -1
    return max(start, 0)
