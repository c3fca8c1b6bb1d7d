"""P001 to P006 and P030: groups of devices."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.analysis.collectives import group_mode, groups_of, ids_of_mode, is_grouped
from hlotool.opdefs.inference import count
from hlotool.opdefs.traits import UNIFORM_GROUPS
from hlotool.shapes.replica_groups import ReplicaGroups
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

_AT = "replica_groups value"


@module_rule("P001", "P002", "P003", "P004", "P005", "P006", "P030", stage="module")
def replica_groups(facts: Facts) -> Iterator[Finding]:
    """The groups of a collective contain each id once.

    Checks: no group is empty (P001); no id occurs twice (P002), is out of range or is missing
    (P003); the number of ids is the number in the header (P004; not checked if the header's number
    is 1); groups have the same size if the op requires it (P005); if ids are global, the groups are
    listed (P006). An iota has as many ids as its groups have members, and its transposition is a
    permutation (P030).
    """
    if not facts.modes.check_replica_groups:
        return
    for computation, x in facts.instructions_where(is_grouped):
        groups, mode = groups_of(x), group_mode(x)
        if not groups:
            if mode == "devices":
                message = "use_global_device_ids=true requires explicit replica_groups"
                yield Finding("P006", computation, x, "replica_groups", message, "list the groups, or remove use_global_device_ids")
            continue
        # Devices that are in no group receive zeros.
        may_leave_out = x.op.name == "collective-broadcast"
        fault = _first_fault(groups, may_leave_out) or _iota_fault(groups)
        listed, available = groups.device_count, ids_of_mode(mode, facts.module)
        if fault is None and available not in (1, listed) and not (may_leave_out and listed < available):
            fault = "P004", f"groups list {count(listed, 'id')}, but the module has {available} {mode}"
        sizes = sorted({len(group) for group in groups.lists})
        if fault is None and UNIFORM_GROUPS in x.op.traits and len(sizes) > 1:
            fault = "P005", f"groups of '{x.op.name}' must have the same size, got sizes {' and '.join(map(str, sizes))}"
        if fault is not None:
            yield Finding(fault[0], computation, x, _location(fault[0], groups), fault[1])


def _location(code: str, groups: ReplicaGroups) -> str:
    """Returns the position of the first group with an id out of range, or of all groups."""
    limit = sum(map(len, groups.lists))
    outside = (k for k, group in enumerate(groups.lists) if any(not 0 <= device < limit for device in group))
    return f"replica_groups[{next(outside, 0)}]" if code == "P003" else _AT


def _iota_fault(groups: ReplicaGroups) -> tuple[str, str] | None:
    tile = groups.tile
    if tile is None:
        return None
    if not tile.is_permuted:
        return "P030", f"the transposition of {tile.text} is not a permutation of its dimensions"
    if tile.size == tile.device_count:
        return None
    return "P030", f"the groups need {'*'.join(map(str, tile.dimensions))} = {count(tile.size, 'id')}, but the iota has {tile.device_count}"


def _first_fault(groups: ReplicaGroups, may_leave_out: bool) -> tuple[str, str] | None:
    """Returns the first fault of groups written as lists; the iota forms cannot repeat an id."""
    seen: dict[int, int] = {}
    for number, group in enumerate(groups.lists):
        if not group:
            return "P001", f"group {number} is empty"
        for device in group:
            if device in seen:
                where = f"twice in group {number}" if seen[device] == number else f"in groups {seen[device]} and {number}"
                return "P002", f"id {device} is {where}"
            seen[device] = number
    negative = next((device for device in seen if device < 0), None)
    if negative is not None:
        return "P003", f"id {negative} is negative"
    outside = [] if may_leave_out else [device for device in seen if device >= len(seen)]
    if outside:
        missing = next(device for device in range(len(seen)) if device not in seen)
        return "P003", f"id {outside[0]} is out of range [0,{len(seen)}); id {missing} is missing"
    return None
