"""P001 to P006 and P030: groups of devices."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.analysis.collectives import group_mode, groups_of, ids_of_mode, is_grouped
from hlotool.opdefs.traits import UNIFORM_GROUPS
from hlotool.shapes.replica_groups import ReplicaGroups
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

_AT = "replica_groups value"


@module_rule("P001", "P002", "P003", "P004", "P005", "P006", "P030", stage="module")
def replica_groups(facts: Facts) -> Iterator[Finding]:
    """The groups of a collective name each id once.

    Checks: no group is empty (P001), no id occurs twice (P002) or is missing (P003), their number is that of the header (P004, not where
    the header leaves it at 1), groups have one size where the op needs it (P005), and ids of devices come with groups (P006). An iota has as many
    ids as its groups have places, and transposes each dimension once (P030).
    Why: a device that is in no group, or in two, waits forever.
    Bad: `replica_groups={{0,1},{1,2}}`
    Good: `replica_groups={{0,1},{2,3}}`
    """
    if not facts.modes.check_replica_groups:
        return
    for computation, x in facts.instructions_where(is_grouped):
        groups, mode = groups_of(x), group_mode(x)
        if not groups:
            if mode == "devices":
                message = "ids of devices need explicit replica_groups"
                yield Finding("P006", computation, x, "replica_groups", message, "list the groups, or drop use_global_device_ids")
            continue
        # Devices in no group get zeros.
        may_leave_out = x.op.name == "collective-broadcast"
        found = _first_fault(groups, may_leave_out) or _miscounted(groups)
        given, wanted = groups.device_count, ids_of_mode(mode, facts.module)
        if found is None and wanted not in (1, given) and not (may_leave_out and given < wanted):
            found = "P004", f"groups name {given} ids, the module has {wanted} {mode}"
        sizes = sorted({len(group) for group in groups.lists})
        if found is None and UNIFORM_GROUPS in x.op.traits and len(sizes) > 1:
            found = "P005", f"groups of '{x.op.name}' have the sizes {' and '.join(map(str, sizes))}"
        if found is not None:
            yield Finding(found[0], computation, x, _place(found[0], groups), found[1])


def _place(code: str, groups: ReplicaGroups) -> str:
    """The group with an id that is out of range, else all of them."""
    limit = sum(map(len, groups.lists))
    strange = (k for k, group in enumerate(groups.lists) if any(not 0 <= device < limit for device in group))
    return f"replica_groups[{next(strange, 0)}]" if code == "P003" else _AT


def _miscounted(groups: ReplicaGroups) -> tuple[str, str] | None:
    tile = groups.tile
    if tile is None:
        return None
    if not tile.is_permuted:
        return "P030", f"the transposition of {tile.text} is not a permutation of its dimensions"
    if tile.size == tile.device_count:
        return None
    return "P030", f"{'*'.join(map(str, tile.dimensions))} = {tile.size} ids, the iota has {tile.device_count}"


def _first_fault(groups: ReplicaGroups, may_leave_out: bool) -> tuple[str, str] | None:
    """What is wrong with written lists; the other forms name each id once by what they are."""
    seen: dict[int, int] = {}
    for number, group in enumerate(groups.lists):
        if not group:
            return "P001", f"group {number} is empty"
        for device in group:
            if device in seen:
                return "P002", f"id {device} is in groups {seen[device]} and {number}"
            seen[device] = number
    negative = next((device for device in seen if device < 0), None)
    if negative is not None:
        return "P003", f"id {negative} is negative"
    outside = [] if may_leave_out else [device for device in seen if device >= len(seen)]
    if outside:
        missing = next(device for device in range(len(seen)) if device not in seen)
        return "P003", f"id {outside[0]} is out of range [0,{len(seen)}); id {missing} is missing"
    return None
