"""Determines which devices of a run have equal arguments, and whether their results can differ."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.analysis.callgraph import reachable
from hlotool.interp.kernels.libraries.partitions import JOINS_OR_SPLITS, placement_of
from hlotool.interp.kernels.libraries.xla import PARTITIONER_TARGETS
from hlotool.ir.model import Instruction, Module
from hlotool.opdefs.traits import COLLECTIVE, COMMUNICATES, DEVICE_ID, EFFECT, NONDETERMINISTIC
from hlotool.shapes.sharding import Sharding

__all__ = ["first_holder", "is_device_independent", "is_whole", "part_hint"]

_DEVICE_DEPENDENT = frozenset({COMMUNICATES, DEVICE_ID, EFFECT, NONDETERMINISTIC})


def _instructions(module: Module) -> Iterator[Instruction]:
    return (x for computation in reachable([module.entry]) for x in computation.instructions)


def part_hint(module: Module, parameter: Instruction) -> str | None:
    """Returns a hint for an argument that does not fit a parameter.

    The hint applies to parameters that take one device's part of an array. For all other
    parameters, returns None.
    """
    if module.num_partitions < 2 or is_whole(module) or not parameter.shape.is_array or "sharding" not in parameter.attributes:
        return None
    return "the module is partitioned, so each device takes its part of the array; in Python, pass all parts to hlotool.evaluate_replicas"


def is_whole(module: Module) -> bool:
    """Returns whether a module for several partitions computes with whole arrays.

    This is the case until a partitioner has divided the arrays.

    >>> import hlotool
    >>> text = "HloModule m, num_partitions=2 ENTRY e { x = f32[4] parameter(0), sharding={devices=[2]<=[2]} ROOT r = f32[4] negate(x) }"
    >>> is_whole(hlotool.parse(text)), is_whole(hlotool.parse(text.replace("m,", "m, is_scheduled=true,")))
    (True, False)
    """
    if module.num_partitions < 2 or module.is_scheduled:
        return False
    has_shardings = False
    for x in _instructions(module):
        if x.attributes.get("custom_call_target") in PARTITIONER_TARGETS:
            return True
        has_shardings = has_shardings or "sharding" in x.attributes
    return has_shardings and not any(COLLECTIVE in x.op.traits or DEVICE_ID in x.op.traits for x in _instructions(module))


def is_device_independent(module: Module) -> bool:
    """Returns whether devices with equal arguments compute the same results.

    The module must not communicate, use device numbers, have side effects, or be nondeterministic.
    """
    return not any(
        not _DEVICE_DEPENDENT.isdisjoint(x.op.traits) or x.attributes.get("custom_call_target") in JOINS_OR_SPLITS for x in _instructions(module)
    )


def first_holder(parameter: Instruction, leaf: int, device: int, partitions: int, *, whole: bool) -> int:
    """Returns the first device of the same replica that has the same value of a parameter's leaf.

    The sharding determines the devices with the same value. If `whole` is set, all devices of the
    replica have the same value.
    """
    replica, partition = divmod(device, partitions)
    sharding = parameter.attributes.get("sharding")
    if isinstance(sharding, Sharding) and sharding.is_tuple:
        sharding = sharding.elements[leaf] if leaf < len(sharding.elements) else None
    if whole or (isinstance(sharding, Sharding) and sharding.kind == "replicated"):
        return replica * partitions
    parts = placement_of(sharding).parts
    return replica * partitions + (parts.index(parts[partition]) if len(parts) == partitions else partition)
