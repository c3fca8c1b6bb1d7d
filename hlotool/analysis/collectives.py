"""The groups of devices that take part in a collective, their sizes, and XLA's group modes.

A group mode determines what the ids in the groups mean.
"""

from __future__ import annotations

from hlotool.ir.model import Instruction, Module
from hlotool.opdefs.base import OpDef
from hlotool.opdefs.traits import COLLECTIVE
from hlotool.shapes.replica_groups import NO_GROUPS, ReplicaGroups

__all__ = [
    "CROSS_BOTH",
    "CROSS_PARTITION",
    "CROSS_REPLICA",
    "FLATTENED",
    "group_mode",
    "group_size",
    "groups_of",
    "ids_of_mode",
    "is_grouped",
    "permutes",
    "reduces",
]

CROSS_REPLICA, CROSS_PARTITION, CROSS_BOTH, FLATTENED = "replicas", "partitions", "replicas of all partitions", "devices"

_MODES = {
    "cross_replica": CROSS_REPLICA,
    "cross_partition": CROSS_PARTITION,
    "cross_replica_and_partition": CROSS_BOTH,
    "flattened_id": FLATTENED,
}
"""Group modes by the value of the `mode` attribute, which overrides other attributes."""


def is_grouped(op: OpDef) -> bool:
    """Returns whether an opcode is a collective with groups of devices."""
    return COLLECTIVE in op.traits and "replica_groups" in op.attributes


def permutes(op: OpDef) -> bool:
    """Returns whether an opcode is a collective in which a device sends to at most one other."""
    return COLLECTIVE in op.traits and "source_target_pairs" in op.attributes


def reduces(op: OpDef) -> bool:
    """Returns whether an opcode is a collective that combines operands of several devices.

    >>> from hlotool.opdefs.table import OPS
    >>> [name for name in OPS if reduces(OPS[name])]
    ['all-reduce', 'all-reduce-start', 'reduce-scatter', 'collective-reduce']
    """
    return COLLECTIVE in op.traits and "to_apply" in op.attributes


def groups_of(x: Instruction) -> ReplicaGroups:
    """Returns the groups as written, or `{}` if there are none."""
    groups = x.attributes.get("replica_groups")
    return groups if isinstance(groups, ReplicaGroups) else NO_GROUPS


def group_mode(x: Instruction) -> str:
    """Returns what the ids in the groups stand for.

    The ids are those of replicas, partitions, replicas of all partitions together, or devices.

    >>> from hlotool.text.parse.parser import parse
    >>> group_mode(parse("ENTRY e { p = f32[4] parameter(0) ROOT r = f32[4] all-to-all(p), channel_id=1, dimensions={0} }").entry.root)
    'partitions'
    """
    written = x.attributes.get("mode")
    if written is not None:
        return _MODES[written]
    has_channel = x.attributes.get("channel_id") is not None
    if "use_global_device_ids" not in x.op.attributes:
        return CROSS_PARTITION if has_channel else CROSS_REPLICA
    if x.attributes.get("use_global_device_ids"):
        return FLATTENED
    return CROSS_BOTH if has_channel else CROSS_REPLICA


def ids_of_mode(mode: str, module: Module) -> int:
    """Returns the number of ids in a mode, according to the counts in the header (1 by default)."""
    counts = {CROSS_PARTITION: module.num_partitions, FLATTENED: module.replica_count * module.num_partitions}
    return int(counts.get(mode, module.replica_count))


def group_size(x: Instruction, module: Module) -> int:
    """Returns the number of devices that exchange data with each other.

    Returns 1 if neither the groups nor the header determine it.
    """
    mode, groups = group_mode(x), groups_of(x)
    # A tile assignment without groups is invalid; the verifier reports it.
    first = len(groups.lists[0]) if groups.lists else groups.device_count // max(1, groups.group_count)
    size = first or ids_of_mode(mode, module)
    return size * int(module.num_partitions) if mode == CROSS_BOTH else size
