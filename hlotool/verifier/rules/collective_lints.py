"""W023 to W026, P032 to P034 and P038: collectives that could be fewer, smaller or safer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hlotool.analysis.callgraph import Call, reachable
from hlotool.analysis.collectives import groups_of, permutes
from hlotool.analysis.simplify import binary_root, constant_value
from hlotool.analysis.sizes import bytes_of
from hlotool.ir.model import Computation, Instruction
from hlotool.opdefs.traits import COLLECTIVE, COMBINABLE, DEVICE_ID
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

_SMALL = 1 << 20
# The search for a device id in the computation of an index stops after this many instructions.
_MAX_STEPS = 32


@module_rule("W023", stage="lint")
def synchronous_collectives(facts: Facts) -> Iterator[Finding]:
    """A scheduled program computes while it communicates.

    Checks: each collective of a scheduled module is a pair of start and done instructions, or
    is run by an async-start.
    """
    if not facts.module.is_scheduled:
        return
    wrapped = {called for _, x in facts.instructions_of("async-start") for called in x.called}
    for computation, x in facts.instructions_where(lambda op: COLLECTIVE in op.traits and not op.is_asynchronous):
        if computation not in wrapped:
            yield Finding(
                "W023",
                computation,
                x,
                "opcode",
                f"synchronous {x.op.name}: the device waits for it",
                "check whether asynchronous collectives are disabled in the backend",
            )


@module_rule("W024", stage="lint")
def combinable_collectives(facts: Facts) -> Iterator[Finding]:
    """Small collectives are combined.

    Checks: no two all-gathers, all-reduces or reduce-scatters of less than 1 MiB in a computation
    have the same groups and reducer and do not depend on each other.
    """
    for computation in dict.fromkeys(computation for computation, _ in facts.instructions_with(COMBINABLE)):
        # The number of collectives on the longest path to an instruction. Collectives with the same
        # number do not depend on each other.
        levels: dict[Instruction, int] = {}
        first: dict[Any, Instruction] = {}
        for x in computation.instructions:
            level = max((levels[y] for y in (*x.operands, *x.control_predecessors)), default=0)
            levels[x] = level + (COMBINABLE in x.op.traits)
            if COMBINABLE not in x.op.traits or bytes_of(x.shape) >= _SMALL:
                continue
            other = first.setdefault((level, *_combination(x)), x)
            if other is not x:
                yield Finding("W024", computation, x, "name", f"'{x.name}' could be combined with '{other.name}'")


def _combination(x: Instruction) -> tuple[Any, ...]:
    """Returns the properties that two collectives must share to be combined."""
    reducer = x.attributes.get("to_apply")
    root = binary_root(reducer) if isinstance(reducer, Computation) else None
    combines = reducer if root is None else (root.op.name, root.shape)
    kept = tuple(x.attributes.get(name) for name in ("dimensions", "use_global_device_ids", "constrain_layout"))
    return (x.op.name, combines, groups_of(x).text, x.attributes.get("channel_id") is None, *kept)


@module_rule("W025", "W026", stage="lint")
def sliced_collectives(facts: Facts) -> Iterator[Finding]:
    """Devices exchange only data that they keep.

    Checks: the only user of an all-reduce is not a dynamic-slice at an index computed from the
    device's id (W025); the users of an all-gather are not only such dynamic-slices, with results as
    large as the operand of the all-gather (W026).
    """
    for computation, x in facts.instructions_of("all-reduce", "all-gather"):
        users = facts.users(computation).get(x, [])
        if not users or x is computation.root or not all(_takes_shard(user, x) for user in users):
            continue
        if x.op.name == "all-reduce" and len(users) == 1:
            message = f"only a shard of '{x.name}' is used: a reduce-scatter would move only a fraction of the bytes"
            yield Finding("W025", computation, x, "opcode", message)
        elif x.op.name == "all-gather" and all(user.shape.dimensions == x.operands[0].shape.dimensions for user in users):
            yield Finding("W026", computation, x, "opcode", f"the result of '{x.name}' is sliced back to shards")


def _takes_shard(user: Instruction, x: Instruction) -> bool:
    return user.op.name == "dynamic-slice" and user.operands[0] is x and any(_follows_from_id(index) for index in user.operands[1:])


def _follows_from_id(index: Instruction) -> bool:
    stack, seen = [index], {index}
    while stack and len(seen) < _MAX_STEPS:
        x = stack.pop()
        if DEVICE_ID in x.op.traits:
            return True
        fresh = [y for y in x.operands if y not in seen]
        seen.update(fresh)
        stack += fresh
    return False


@module_rule("P032", stage="lint")
def channel_reuse(facts: Facts) -> Iterator[Finding]:
    """Each collective has its own channel.

    Checks: no two collectives have the same channel_id. The start and done instructions of a
    collective count as one.
    """
    first: dict[int, Instruction] = {}
    for computation, x in facts.instructions_with(COLLECTIVE):
        channel = x.attributes.get("channel_id")
        if channel is not None and first.setdefault(channel, x) is not x:
            yield Finding("P032", computation, x, "opcode", f"channel {channel} is already used by '{first[channel].name}'")


@module_rule("P033", "P034", stage="lint")
def idle_collectives(facts: Facts) -> Iterator[Finding]:
    """Collectives move data between devices.

    Checks: at least one group has several members (P033); in permutations, at least one device
    sends to another device (P034).
    """
    for computation, x in facts.instructions_with(COLLECTIVE):
        groups = groups_of(x)
        if groups and groups.group_count == groups.device_count:
            yield Finding("P033", computation, x, "replica_groups value", "every group has one member, so nothing is exchanged")
    for computation, x in facts.instructions_where(permutes):
        pairs = x.attributes["source_target_pairs"]
        if pairs and all(source == target for source, target in pairs):
            yield Finding("P034", computation, x, "source_target_pairs value", "each device sends only to itself")


@module_rule("P038", stage="lint")
def collectives_in_branches(facts: Facts) -> Iterator[Finding]:
    """All devices of a group reach a collective.

    Checks: the branches of a conditional and the computations that they call contain no
    collectives, unless the selector is a constant.
    """
    branches: dict[Computation, Call] = {}
    for call in facts.instructions_of("conditional"):
        for called in call[1].called if constant_value(call[1].operands[0]) is None else ():
            branches.setdefault(called, call)
    inside: dict[Computation, tuple[Computation, Instruction]] = {}
    for branch, (_, conditional) in branches.items():
        inside.update(dict.fromkeys(reachable([branch], inside), (branch, conditional)))
    for computation, x in facts.instructions_with(COLLECTIVE):
        if computation in inside:
            branch, conditional = inside[computation]
            message = f"'{x.name}' completes only if all devices take branch '{branch.name}' of '{conditional.name}'"
            yield Finding("P038", computation, x, "instruction", message)
