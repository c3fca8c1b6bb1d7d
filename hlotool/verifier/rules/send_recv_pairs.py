"""A023, A024, A025 and A037: sends, receives and the instructions that wait for them."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.ir.async_chain import passes_on
from hlotool.ir.model import Computation, Instruction
from hlotool.opdefs.table import OPS
from hlotool.opdefs.traits import FORWARDS, STRUCTURAL, TRANSFER
from hlotool.shapes.shape import compatible
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

# The attributes in which transfers on the same channel may differ.
_UNCOMPARED = frozenset({"metadata", "sharding", "control-predecessors", "origin"})


@module_rule("A023", "A024", "A025", "A037", stage="module")
def send_recv_pairs(facts: Facts) -> Iterator[Finding]:
    """Each send and recv is finished once, by its own kind of done instruction.

    Checks: a send or recv that is not the root of an asynchronous computation has one user: its
    done instruction, or a tuple, barrier, copy, marker or loop that passes the value on (A024); the
    operand of a done instruction is a send or recv, or a value passed on by such an instruction
    (A037); a done instruction has the same `is_host_transfer` as its send or recv (A023); transfers
    to or from the host on the same channel have the same direction, shape and attributes (A025).
    """
    channels: dict[int | None, Instruction] = {}
    for begin, done in [(op.name, op.done) for op in OPS.values() if TRANSFER in op.traits and op.done is not None]:
        for computation, x in facts.instructions_of(begin):
            yield from _check_users(facts, computation, x, done)
            if x.attributes.get("is_host_transfer", False):
                channel = x.attributes.get("channel_id")
                other_use = _difference(channels.setdefault(channel, x), x) if channel is not None else ""
                if other_use:
                    yield Finding("A025", computation, x, "instruction", f"channel {channel} is also used by {other_use}")
        for computation, x in facts.instructions_of(done):
            yield from _check_done(computation, x, begin)


def _difference(first: Instruction, x: Instruction) -> str:
    """Describes how `first` differs from `x`; returns "" if only their data may differ."""
    if first.op is not x.op:
        return f"the {first.op.name} '{first.name}'"
    if not compatible(first.shape, x.shape):
        return f"'{first.name}', which transfers {first.shape.elements[0].text_without_layout}"
    names = sorted(first.attributes.keys() | x.attributes.keys())
    other = next((name for name in names if name not in _UNCOMPARED and first.attributes.get(name) != x.attributes.get(name)), None)
    return "" if other is None else f"'{first.name}', which differs in {other}"


def _check_users(facts: Facts, computation: Computation, x: Instruction, done: str) -> Iterator[Finding]:
    users = facts.users(computation).get(x, [])
    if not users and x is computation.root and any(caller.op.name == "async-start" for _, caller in facts.callers.get(computation, ())):
        return
    wrong = next((user for user in users if user.op.name != done and not passes_on(user)), None)
    if not users:
        yield Finding("A024", computation, x, "operands", f"'{x.name}' has no {done}", f"every {x.op.name} must have a matching {done}")
    elif wrong is not None:
        yield Finding("A024", computation, wrong, "operands", f"'{wrong.op.name}' cannot use '{x.name}' before {done} waits for it")
    elif len(users) > 1:
        names = " and ".join(f"'{user.name}'" for user in users[:2])
        yield Finding("A024", computation, x, "operands", f"'{x.name}' has {len(users)} users, including {names}, but may have only one")


def _check_done(computation: Computation, x: Instruction, begin: str) -> Iterator[Finding]:
    source = x.operands[0]
    ours, theirs = (bool(y.attributes.get("is_host_transfer", False)) for y in (x, source))
    if source.op.name == begin and ours != theirs:
        message = f"'{source.name}' is {'' if theirs else 'not '}a host transfer, but '{x.name}' is {'not ' if theirs else ''}one"
        yield Finding("A023", computation, x, "operands", message, "write is_host_transfer=true on both")
    # A loop may carry a transfer in its state, so that the next iteration finishes it.
    elif source.op.name != begin and not (STRUCTURAL in source.op.traits and FORWARDS in source.op.traits):
        yield Finding("A037", computation, x, "operands", f"the operand of '{x.op.name}' must come from '{begin}', got '{source.op.name}'")
