"""A001, A002, A009, A010 and A012: how asynchronous operations go on and end."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.analysis.async_chains import AsyncFlow, continues, written_opcode
from hlotool.ir.model import Computation, Instruction
from hlotool.opdefs.traits import FORWARDS
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

# Custom calls that partitioners and schedulers insert, and that do not use the value.
_MARKERS = frozenset({"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "control_dep"})


@module_rule("A001", "A002", "A009", "A010", "A012", stage="module")
def async_chains(facts: Facts) -> Iterator[Finding]:
    """An asynchronous operation has one async-start, at most one chain of updates, and one async-done.

    Checks: an async-start (A001) or async-update (A010) whose value never reaches a done, through tuples, barriers, calls and loops; a start with
    two dones (A002); a start or update that is continued twice (A009); other instructions that use the value of either (A012).
    """
    flow = AsyncFlow(facts.users, facts.callers)
    for opcode, code in (("async-start", "A001"), ("async-update", "A010")):
        for computation, x in facts.instructions_of(opcode):
            users = facts.users(computation).get(x, ())
            if len(users) == 1 and continues(users[0]):
                continue
            foreign = [user for user in users if not _hands_on(user)]
            for user in foreign:
                message = f"'{user.op.name}' cannot use the value of '{written_opcode(x, facts.module)}' before it is done"
                yield Finding("A012", computation, user, "operands", message, f"use the result of {written_opcode(x, facts.module, 'done')} instead")
            continuations = [user for user in users if _goes_on(facts, computation, user)]
            yield from _forks(facts, computation, x, continuations)
            if not (continuations or foreign or _is_ended(flow, computation, x)):
                at = "operands" if code == "A001" else "instruction"
                yield Finding(code, computation, x, at, f"'{x.name}' has no {written_opcode(x, facts.module, 'done')}")


def _hands_on(user: Instruction) -> bool:
    if user.op.name == "copy" or (FORWARDS in user.op.traits and user.op.name != "fusion"):
        return True
    return user.attributes.get("custom_call_target") in _MARKERS


def _goes_on(facts: Facts, computation: Computation, user: Instruction) -> bool:
    """Whether an instruction continues the operation; unused updates are reported separately and do not count."""
    return user.op.name == "async-done" or (user.op.name == "async-update" and (user is computation.root or user in facts.users(computation)))


def _forks(facts: Facts, computation: Computation, x: Instruction, continuations: list[Instruction]) -> Iterator[Finding]:
    for other in continuations[1:]:
        first = continuations[0]
        if first.op.name == other.op.name == "async-done":
            yield Finding("A002", computation, other, "instruction", f"'{x.name}' is already ended by '{first.name}'")
        else:
            yield Finding("A009", computation, other, "instruction", f"'{x.name}' already continues in '{first.name}'")


def _is_ended(flow: AsyncFlow, computation: Computation, x: Instruction) -> bool:
    """Whether the value reaches a done or an update, or is carried by a loop, where the done may be before the start."""
    ways = flow.arrivals(computation, x)
    return any(arrival is not x and (continues(arrival) or arrival.op.name == "while") for _, arrival in ways)
