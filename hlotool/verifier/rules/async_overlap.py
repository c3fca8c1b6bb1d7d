"""A030 and A034: schedules that run too little or too much at the same time."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.analysis.async_chains import written_opcode
from hlotool.analysis.schedule import Span, spans
from hlotool.ir.model import Computation, Instruction
from hlotool.opdefs.inference import count
from hlotool.opdefs.traits import COLLECTIVE, FREE, TRANSFER
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

# The number of instructions after a done instruction that are searched for work to run before it.
_LOOKAHEAD = 100


@module_rule("A030", "A034", stage="lint")
def async_overlap(facts: Facts) -> Iterator[Finding]:
    """Asynchronous operations overlap with other work, and not too many are in flight.

    Checks: in scheduled modules, an instruction that takes time comes between a start and its done
    instruction (A030); the number of collectives, copies, transfers or asynchronous computations in
    flight does not exceed `in_flight_limit` (A034, reported once for each kind and computation).
    """
    if not facts.module.is_scheduled:
        return
    for computation in dict.fromkeys(computation for computation, _ in facts.instructions_where(lambda op: op.done)):
        pairs = spans(computation, facts.users(computation))
        for span in pairs:
            if all(FREE in computation.instructions[k].op.traits for k in range(span.first + 1, span.last)):
                yield _idle_finding(facts, computation, span)
        if facts.modes.in_flight_limit is not None:
            yield from _check_in_flight(computation, pairs, facts.modes.in_flight_limit)


def _idle_finding(facts: Facts, computation: Computation, span: Span) -> Finding:
    other = _independent(computation, span)
    hint = f"'{other.name}' is independent and could run in between" if other is not None else None
    done = written_opcode(span.done, facts.module) if span.done.op.name == "async-done" else span.done.op.name
    return Finding("A030", computation, span.done, "instruction", f"nothing runs between '{span.start.name}' and its {done}", hint)


def _independent(computation: Computation, span: Span) -> Instruction | None:
    """Returns an instruction that takes time and could move from after the span into it."""
    dependent = {span.done}
    for x in computation.instructions[span.last + 1 : span.last + 1 + _LOOKAHEAD]:
        if not dependent.isdisjoint(x.operands) or not dependent.isdisjoint(x.control_predecessors):
            dependent.add(x)
        elif not x.op.is_asynchronous and FREE not in x.op.traits:
            return x
    return None


def _kind(x: Instruction) -> tuple[str, str]:
    """Returns the kind of an asynchronous operation, in the singular and in the plural."""
    if x.op.start_of == "copy":
        return "copy", "copies"
    if TRANSFER in x.op.traits:
        return "transfer", "transfers"
    return ("collective", "collectives") if COLLECTIVE in x.op.traits else ("asynchronous computation", "asynchronous computations")


def _check_in_flight(computation: Computation, pairs: list[Span], limit: int) -> Iterator[Finding]:
    """Reports the point with the most operations in flight, for each kind above the limit."""
    steps = sorted([(span.first, 1, span) for span in pairs] + [(span.last, -1, span) for span in pairs], key=lambda step: step[:2])
    in_flight: dict[tuple[str, str], int] = {}
    most: dict[tuple[str, str], tuple[int, Span]] = {}
    for _, change, span in steps:
        kind = _kind(span.start)
        in_flight[kind] = in_flight.get(kind, 0) + change
        if in_flight[kind] > max(limit, most[kind][0] if kind in most else 0):
            most[kind] = in_flight[kind], span
    for kind, (number, span) in most.items():
        message = f"in flight at '{span.start.name}': {count(number, *kind)} (limit {limit})"
        yield Finding("A034", computation, span.start, "name", message, "wait for one of them first")
