"""A001, A002, A003, A009, A010 and A012: continuations and ends of asynchronous operations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hlotool.analysis.async_chains import AsyncFlow, written_opcode
from hlotool.ir.async_chain import MARKER_TARGETS, continues, producer
from hlotool.ir.model import Computation, Instruction
from hlotool.opdefs.traits import FORWARDS
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

# Custom calls that partitioners and schedulers insert. They do not use the value of their operand.
_MARKERS = MARKER_TARGETS | {"SPMDFullToShardShape", "SPMDShardToFullShape", "control_dep"}


@module_rule("A001", "A002", "A003", "A009", "A010", "A012", stage="module")
def async_chains(facts: Facts) -> Iterator[Finding]:
    """An operation has one async-start, at most one chain of updates, and one async-done.

    Checks: the value of an async-start (A001) or async-update (A010) reaches an async-done,
    possibly through tuples, barriers, calls and loops; a start has only one async-done (A002); the
    first operand of an async-update or async-done comes from a start or update (A003); a start or
    update is continued only once (A009); no other instruction uses the value of a start or update,
    and an async-update or async-done takes the value only as its first operand (A012).
    """
    flow = AsyncFlow(facts.users, facts.callers)
    forked: set[Instruction] = set()
    for opcode, code in (("async-start", "A001"), ("async-update", "A010")):
        for computation, x in facts.instructions_of(opcode):
            users = facts.users(computation).get(x, ())
            yield from _check_later_operands(facts, computation, x, users)
            if len(users) == 1 and continues(users[0]):
                continue
            foreign = [user for user in users if not _forwards(user)]
            for user in foreign:
                message = f"'{user.op.name}' cannot use the value of '{written_opcode(x, facts.module)}' before it is done"
                yield Finding("A012", computation, user, "operands", message, f"use the result of {written_opcode(x, facts.module, 'done')} instead")
            continuations = [user for user in users if user.operands[0] is x and _continues_operation(facts, computation, user)]
            forks = list(_forks(facts, computation, x, continuations))
            if forks:
                forked.add(x)
                yield from forks
            if not (continuations or foreign or _is_ended(flow, computation, x)):
                at = "operands" if code == "A001" else "instruction"
                yield Finding(code, computation, x, at, f"'{x.name}' has no {written_opcode(x, facts.module, 'done')}")
    yield from _trace_back(facts, forked)


def _check_later_operands(facts: Facts, computation: Computation, x: Instruction, users: Sequence[Instruction]) -> Iterator[Finding]:
    for user in users:
        if continues(user) and x in user.operands[1:]:
            message = f"'{x.name}' is not done, so '{written_opcode(user, facts.module)}' can only take it as its first operand"
            yield Finding("A012", computation, user, "operands", message)


def _trace_back(facts: Facts, forked: set[Instruction]) -> Iterator[Finding]:
    """Follows each operation backward from its async-done; skips chains with reported forks."""
    ended: dict[Instruction, Instruction] = {}
    updated: set[Instruction] = set()
    for computation, x in facts.instructions_of("async-update", "async-done"):
        source = producer(x.operands[0], facts.loops)
        if source is None:
            opcode, first = written_opcode(x, facts.module), x.operands[0]
            message = (
                f"the operand of '{opcode}' must come from an async-start or async-update, but '{first.name}' is the result of '{first.op.name}'"
            )
            yield Finding("A003", computation, x, "opcode", message)
            continue
        chain = [x]
        while source is not None and source.op.update_of is not None and source not in updated and x.op.done_of is not None:
            updated.add(source)
            chain.append(source)
            source = producer(source.operands[0], facts.loops)
        if x.op.done_of is None or source is None or not forked.isdisjoint((source, *chain)):
            continue
        if source.op.update_of is not None:
            yield Finding("A009", computation, x, "instruction", f"'{source.name}' already continues in another chain")
        elif ended.setdefault(source, x) is not x:
            yield Finding("A002", computation, x, "instruction", f"'{source.name}' is already ended by '{ended[source].name}'")


def _forwards(user: Instruction) -> bool:
    if user.op.name == "copy" or (FORWARDS in user.op.traits and user.op.name != "fusion"):
        return True
    return user.attributes.get("custom_call_target") in _MARKERS


def _continues_operation(facts: Facts, computation: Computation, user: Instruction) -> bool:
    """Returns whether a user of an asynchronous operation continues the operation.

    Unused updates do not count, since they are reported separately.
    """
    return user.op.name == "async-done" or (user.op.name == "async-update" and (user is computation.root or user in facts.users(computation)))


def _forks(facts: Facts, computation: Computation, x: Instruction, continuations: list[Instruction]) -> Iterator[Finding]:
    for other in continuations[1:]:
        first = continuations[0]
        if first.op.name == other.op.name == "async-done":
            yield Finding("A002", computation, other, "instruction", f"'{x.name}' is already ended by '{first.name}'")
        else:
            yield Finding("A009", computation, other, "instruction", f"'{x.name}' already continues in '{first.name}'")


def _is_ended(flow: AsyncFlow, computation: Computation, x: Instruction) -> bool:
    """Returns whether the value reaches an async-done or async-update, or is carried by a loop.

    In a loop, the async-done may come before the start.
    """
    arrivals = flow.arrivals(computation, x)
    return any(arrival is not x and (continues(arrival) or arrival.op.name == "while") for _, arrival in arrivals)
