"""A005, A007, A008 and A011: the computations that asynchronous operations run."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hlotool.analysis.async_chains import written_opcode
from hlotool.ir.async_chain import continues, producer
from hlotool.ir.model import Computation, Instruction
from hlotool.opdefs.inference import count
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

_MAIN = "main"
_GROUPED = "_collectives_group"
_THREAD = re.compile(r'execution_thread\s*=\s*"([^"]*)"')


@module_rule("A005", "A007", "A008", "A011", stage="module")
def async_computations(facts: Facts) -> Iterator[Finding]:
    """An asynchronous operation runs one instruction on one thread, with all its operands.

    Checks: no operands are missing at the async-done (A005); a computation on the main thread
    contains only parameters, get-tuple-elements and a root (A007), unless the computation is marked
    as a group of collectives; the `execution_thread` of a computation is the thread of its
    async-start (A008); no other instructions call the computation (A011).
    """
    for computation, x in facts.instructions_of("async-done"):
        before = producer(x.operands[0], facts.loops)
        if before is None or not x.called:
            continue
        needed, bound = len(facts.program_shape(x.called[0]).parameters), len(before.shape.elements[0].elements)
        if bound < needed:
            what = _quoted_name(facts, x)
            yield Finding(
                "A005",
                computation,
                x,
                "operands",
                f"{what} takes {count(needed, 'operand')}, but its start and updates pass only {bound}",
            )
    checked: set[Computation] = set()
    for computation, x in facts.instructions_of("async-start"):
        called = x.called[0]
        yield from _check_threads(facts, computation, x)
        if called in checked:
            continue
        checked.add(called)
        yield from _check_other_calls(facts, x)
        if called.execution_thread != _MAIN or _GROUPED in (x.attributes.get("frontend_attributes") or {}):
            continue
        extra = next((y for y in called.instructions if y is not called.root and not _is_argument(y)), None)
        if extra is not None:
            message = f"'{called.name}' runs asynchronously and must contain only parameters and one operation"
            yield Finding("A007", called, extra, "instruction", message)


def _quoted_name(facts: Facts, x: Instruction) -> str:
    """Returns the quoted opcode of the wrapped operation or, in the long form, its computation."""
    called = x.called[0]
    return f"'{called.root.op.name}'" if called in facts.module.hidden else f"'{called.name}'"


def _is_argument(x: Instruction) -> bool:
    """Returns whether an instruction is a parameter or a get-tuple-element."""
    return x.op.name in ("parameter", "get-tuple-element")


def _check_threads(facts: Facts, computation: Computation, x: Instruction) -> Iterator[Finding]:
    called = x.called[0]
    thread = x.attributes.get("async_execution_thread", _MAIN)
    written = _written_thread(facts, called)
    runs_on = written if written is not None else called.execution_thread
    if runs_on != thread:
        at = "async_execution_thread" if "async_execution_thread" in x.attributes else "calls"
        message = f"'{written_opcode(x, facts.module)}' specifies thread '{thread}', but '{called.name}' runs on '{runs_on}'"
        yield Finding("A008", computation, x, at, message)


def _written_thread(facts: Facts, called: Computation) -> str | None:
    """Returns the thread written after the closing brace of a computation, or None.

    XLA's parser replaces this thread with the thread of the async-start. The text may omit the
    thread, as compiler tests do.
    """
    source = facts.module.source
    if source is None or called.end < 0 or not called.instructions:
        return None
    match = _THREAD.search(source.text, max(0, called.instructions[-1].end), called.end)
    return match[1] if match is not None else None


def _check_other_calls(facts: Facts, x: Instruction) -> Iterator[Finding]:
    called = x.called[0]
    for computation, caller in facts.callers.get(called, ()):
        if caller.op.name != "async-start" and not continues(caller):
            at = next(
                (key for key, value in caller.attributes.items() if value is called or (isinstance(value, tuple) and called in value)), "opcode"
            )
            message = f"'{called.name}' is wrapped by {x.op.name} '{x.name}' and must not be called elsewhere"
            yield Finding("A011", computation, caller, at, message, "call a copy of the computation")
