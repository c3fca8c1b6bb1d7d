"""A013 to A015: starts of collectives and copies, and their dones."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.ir.async_chain import passes_on, producer
from hlotool.opdefs.table import OPS
from hlotool.opdefs.traits import COLLECTIVE
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

# The target of custom calls that only order instructions and do not use the value of their operand.
_ORDER = "control_dep"


@module_rule("A013", "A014", "A015", stage="module")
def start_done_pairs(facts: Facts) -> Iterator[Finding]:
    """Each start is used once, by the matching done.

    Checks: starts of all-gather, all-reduce, collective-permute and copy have one user (A013,
    A014): the matching done, or a tuple, barrier, copy, marker or loop that passes the value on;
    dones take the matching start (A015). The done of a collective may receive the value of the
    start through such instructions.
    """
    for start, done in [(op.name, op.done) for op in OPS.values() if op.start_of is not None and op.done is not None]:
        for computation, x in facts.instructions_of(start):
            users = [user for user in facts.users(computation).get(x, []) if user.attributes.get("custom_call_target") != _ORDER]
            dones = [user for user in users if user.op.name == done]
            if len(users) == 1 and passes_on(users[0]):
                continue
            if not dones:
                yield Finding("A013", computation, x, "operands", f"'{x.name}' has no {done}", f"every {start} must have a matching {done}")
            elif len(users) > 1:
                other = next(user for user in users if user is not dones[0])
                yield Finding("A014", computation, other, "instruction", f"'{x.name}' is already used by '{dones[0].name}'")
        for computation, x in facts.instructions_of(done):
            opcode = x.operands[0].op.name
            is_carried = COLLECTIVE in OPS[start].traits and producer(x.operands[0], facts.loops, start) is not None
            if opcode != start and not is_carried:
                yield Finding("A015", computation, x, "operands", f"the operand of '{done}' must be '{start}', got '{opcode}'")
