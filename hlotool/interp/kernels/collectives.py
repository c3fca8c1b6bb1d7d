"""Kernels of collectives, and of the opcodes that return the ids of the device.

Every collective waits for the whole group. So do the start operations of asynchronous collectives,
since their effect cannot be observed before the done operation. The ids in groups are computed in
`shapes.replica_groups`; `analysis.collectives` defines whether they denote replicas, partitions or
devices.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from hlotool.analysis.collectives import CROSS_BOTH, CROSS_PARTITION, CROSS_REPLICA, FLATTENED
from hlotool.errors import Violation
from hlotool.interp.arrays.dtypes import NUMBERS, Array
from hlotool.interp.arrays.values import Value, leaves, zeros
from hlotool.interp.devices import Device, exchange
from hlotool.interp.kernels.base import Invoke, Run, kernel, unchanged
from hlotool.interp.kernels.conversion import convert_values
from hlotool.interp.kernels.reduction import as_parameters, as_tuple
from hlotool.ir.model import Computation
from hlotool.opdefs.kinds import Bool, FirstDim, Int, Pairs, SingleDim, SliceSizeLists
from hlotool.shapes.replica_groups import ReplicaGroups
from hlotool.shapes.shape import Shape

__all__: list[str] = []

Groups = ReplicaGroups | tuple[()]
"""The value of the `replica_groups` attribute, or () if it is omitted."""

# ---- participants -------------------------------------------------------------------------------


def _numbers(device: Device, mode: str, ids: Sequence[int]) -> tuple[int, ...]:
    """Returns the numbers of the devices that `ids` denotes on `device`.

    Raises Violation for ids that do not exist in the run.
    """
    grid = device.grid
    counts = {CROSS_PARTITION: grid.partitions, FLATTENED: grid.count}
    limit = counts.get(mode, grid.replicas)
    if beyond := [k for k in ids if not 0 <= k < limit]:
        noun = {CROSS_PARTITION: "partition", FLATTENED: "device"}.get(mode, "replica")
        hint = "run the module on more devices, with hlotool.evaluate_replicas or with hlotool run --replicas and --partitions"
        raise Violation("R002", "opcode", f"{noun} {beyond[0]} takes part, but the run has {limit} {noun}{'s' if limit != 1 else ''}", hint)
    if mode == CROSS_REPLICA:
        return tuple(k * grid.partitions + device.partition for k in ids)
    if mode == CROSS_PARTITION:
        return tuple(device.replica * grid.partitions + k for k in ids)
    if mode == CROSS_BOTH:
        return tuple(k * grid.partitions + partition for k in ids for partition in range(grid.partitions))
    return tuple(ids)


def _own_id(device: Device, mode: str) -> int:
    return {CROSS_PARTITION: device.partition, FLATTENED: device.number}.get(mode, device.replica)


def _group(device: Device, mode: str, replica_groups: Groups) -> tuple[int, ...]:
    """Returns the numbers of all devices in this device's group, in the group's order.

    Returns () if the device is in no group.
    """
    groups = replica_groups.groups() if isinstance(replica_groups, ReplicaGroups) else ()
    if not groups:
        counts = {CROSS_PARTITION: device.grid.partitions, FLATTENED: device.grid.count}
        groups = (tuple(range(counts.get(mode, device.grid.replicas))),)
    own = _own_id(device, mode)
    return next((_numbers(device, mode, group) for group in groups if own in group), ())


def _members(device: Device, mode: str, replica_groups: Groups) -> tuple[int, ...]:
    members = _group(device, mode, replica_groups)
    if not members:
        raise Violation("R004", "replica_groups", f"device {device.number} is in no group", "every device must be in a group")
    return members


def _exchange_key(instruction_key: Hashable, channel_id: Int | None) -> Hashable:
    """Returns the key of an exchange: the channel if there is one, or else the instruction.

    Different instructions may take part in an exchange over the same channel.
    """
    return ("channel", channel_id) if channel_id is not None and channel_id > 0 else instruction_key


def _tuple_unless_single(values: Sequence[Value], single: bool) -> Value:
    return values[0] if single else tuple(values)


# ---- reductions --------------------------------------------------------------------------------


def _combine_values(values: Sequence[tuple[Array, ...]], to_apply: Computation) -> Run:
    """Combines the operands of all members in the order of the group: f(f(x0, x1), x2) ..."""
    total = values[0]
    for others in values[1:]:
        if len(to_apply.parameters) == 2 * len(total) and len(total) > 1:
            arguments = (*as_parameters(total, to_apply, 0), *as_parameters(others, to_apply, len(total)))
            total = as_tuple((yield Invoke(to_apply, arguments, total[0].shape)))
            continue
        sums: tuple[Array, ...] = ()
        for x, y in zip(total, others, strict=True):
            pair = (*as_parameters([x], to_apply, 0), *as_parameters([y], to_apply, 1))
            sums = (*sums, (yield Invoke(to_apply, pair, x.shape)))
        total = sums
    return total


def _combine_operands(device: Device, position: Hashable, members: tuple[int, ...], operands: tuple[Array, ...], to_apply: Computation) -> Run:
    """Returns the combined operands of all members; the first member computes them for all."""
    values = yield from exchange(device, position, members, operands)
    total = None
    if device.number == members[0]:
        total = yield from _combine_values(values, to_apply)
    return (yield from exchange(device, position, members, total))[0]


@kernel("all-reduce", "all-reduce-start")
def all_reduce(
    *operands: Array,
    channel_id: Int | None,
    replica_groups: Groups,
    to_apply: Computation,
    group_mode: str,
    device: Device,
    instruction_key: Hashable,
    result: Shape,
) -> Run:
    members = _members(device, group_mode, replica_groups)
    total = yield from _combine_operands(device, _exchange_key(instruction_key, channel_id), members, operands, to_apply)
    results = [convert_values(x, NUMBERS[shape.element_type]) for x, shape in zip(total, result.leaves(), strict=True)]
    return _tuple_unless_single(results, len(operands) == 1)


@kernel("reduce-scatter")
def reduce_scatter(
    *operands: Array,
    channel_id: Int | None,
    replica_groups: Groups,
    dimensions: FirstDim,
    to_apply: Computation,
    group_mode: str,
    device: Device,
    instruction_key: Hashable,
    result: Shape,
) -> Run:
    members = _members(device, group_mode, replica_groups)
    total = yield from _combine_operands(device, _exchange_key(instruction_key, channel_id), members, operands, to_apply)
    parts = [
        np.split(convert_values(x, NUMBERS[shape.element_type]), len(members), dimensions[0])[members.index(device.number)]
        for x, shape in zip(total, result.leaves(), strict=True)
    ]
    return _tuple_unless_single(parts, len(operands) == 1)


kernel("all-reduce-done")(unchanged)

# ---- gathers and exchanges ----------------------------------------------------------------------


@kernel("all-gather")
def all_gather(
    *operands: Array,
    channel_id: Int | None,
    replica_groups: Groups,
    dimensions: FirstDim,
    group_mode: str,
    device: Device,
    instruction_key: Hashable,
) -> Run:
    members = _members(device, group_mode, replica_groups)
    values = yield from exchange(device, _exchange_key(instruction_key, channel_id), members, operands)
    gathered = [np.concatenate(parts, axis=dimensions[0]) for parts in zip(*values, strict=True)]
    return _tuple_unless_single(gathered, len(operands) == 1)


@kernel("all-gather-start")
def all_gather_start(
    *operands: Array,
    channel_id: Int | None,
    replica_groups: Groups,
    dimensions: FirstDim,
    group_mode: str,
    device: Device,
    instruction_key: Hashable,
    result: Shape,
) -> Run:
    gathered = yield from all_gather(
        *operands,
        channel_id=channel_id,
        replica_groups=replica_groups,
        dimensions=dimensions,
        group_mode=group_mode,
        device=device,
        instruction_key=instruction_key,
    )
    return _tuple_unless_single(operands, len(operands) == 1), gathered, *(zeros(shape) for shape in result.elements[2:])


@kernel("all-gather-done", "collective-permute-done")
def second(started: Value) -> Value:
    """Returns the second element of the operand, which is the result."""
    return started[1]


@kernel("all-to-all")
def all_to_all(
    *operands: Array,
    channel_id: Int | None,
    replica_groups: Groups,
    dimensions: SingleDim | None,
    group_mode: str,
    device: Device,
    instruction_key: Hashable,
    result: Shape,
) -> Run:
    """Sends part k to member k of the group.

    The parts are sections of the operand along the dimension, or the operands themselves if there
    is no dimension.
    """
    members = _members(device, group_mode, replica_groups)
    parts: Sequence[Array] = operands if dimensions is None else np.split(operands[0], len(members), dimensions[0])
    if len(parts) != len(members):
        raise Violation("R004", "operands", f"the number of operands must equal the size of the group: expected {len(members)}, got {len(parts)}")
    values = yield from exchange(device, _exchange_key(instruction_key, channel_id), members, tuple(parts))
    received = [value[members.index(device.number)] for value in values]
    if dimensions is None:
        return _tuple_unless_single(received, not result.is_tuple)
    joined = np.concatenate(received, axis=dimensions[0])
    return (joined,) if result.is_tuple else joined


def _roots(operands: tuple[Array, ...], has_dynamic_root: Bool, members: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the position of the root in the group for each operand.

    If `has_dynamic_root` is true, the last operand contains one root for all other operands, or one
    for each. Otherwise, the first member is the root.
    """
    if not has_dynamic_root:
        return (0,) * len(operands)
    roots = tuple(np.broadcast_to(operands[-1], len(operands) - 1).tolist())
    outside = [root for root in roots if not 0 <= root < len(members)]
    if outside:
        raise Violation(
            "R004",
            f"operand {len(operands) - 1}",
            f"the root is {outside[0]}, but the group has {len(members)} member{'s' if len(members) != 1 else ''}",
        )
    return roots


@kernel("collective-broadcast")
def collective_broadcast(
    *operands: Array,
    channel_id: Int | None,
    replica_groups: Groups,
    has_dynamic_root: Bool,
    group_mode: str,
    device: Device,
    instruction_key: Hashable,
    result: Shape,
) -> Run:
    """Returns the operands of the root.

    The root is the group's first member, unless the last operand selects another member for each
    operand. Devices that are in no group get zeros.
    """
    members = _group(device, group_mode, replica_groups)
    if not members:
        return zeros(result)
    values = yield from exchange(device, _exchange_key(instruction_key, channel_id), members, operands)
    roots = _roots(operands, has_dynamic_root, members)
    return _tuple_unless_single([values[root][k] for k, root in enumerate(roots)], not result.is_tuple)


@kernel("collective-reduce")
def collective_reduce(
    *operands: Array,
    channel_id: Int | None,
    replica_groups: Groups,
    has_dynamic_root: Bool,
    to_apply: Computation,
    group_mode: str,
    device: Device,
    instruction_key: Hashable,
    result: Shape,
) -> Run:
    """Returns, on the root of each operand, the combination of that operand over all members.

    Returns zeros on all other members, where XLA does not define the value.
    """
    members = _members(device, group_mode, replica_groups)
    roots = _roots(operands, has_dynamic_root, members)
    total = yield from _combine_operands(device, _exchange_key(instruction_key, channel_id), members, operands[: len(roots)], to_apply)
    parts = [
        convert_values(x, NUMBERS[shape.element_type]) if members[root] == device.number else zeros(shape)
        for x, shape, root in zip(total, result.leaves(), roots, strict=True)
    ]
    return _tuple_unless_single(parts, not result.is_tuple)


@kernel("ragged-all-to-all")
def ragged_all_to_all(
    operand: Array,
    output: Array,
    input_offsets: Array,
    send_sizes: Array,
    output_offsets: Array,
    receive_sizes: Array,
    *,
    channel_id: Int | None,
    replica_groups: Groups,
    group_mode: str,
    device: Device,
    instruction_key: Hashable,
) -> Run:
    """Sends rows to each member, in one or more pieces.

    The sender determines the offsets and sizes of the pieces. Rows of the output that receive
    nothing are unchanged.
    """
    members = _members(device, group_mode, replica_groups)
    pieces = np.stack([x.astype(np.int64).reshape(len(members), -1) for x in (input_offsets, send_sizes, output_offsets)], axis=-1)
    values = yield from exchange(device, _exchange_key(instruction_key, channel_id), members, (operand, pieces))
    updated, own = np.array(output), members.index(device.number)
    for rows, sent in values:
        for start, size, target in sent[own].tolist():
            if min(start, size, target) < 0 or start + size > len(rows) or target + size > len(updated):
                message = f"cannot copy a slice of size {size} from row {start} of {len(rows)} to row {target} of {len(updated)}"
                raise Violation("R004", "operands", message)
            updated[target : target + size] = rows[start : start + size]
    return updated


# ---- collective-permute ------------------------------------------------------------------------


def _permute(device: Device, instruction_key: Hashable, mode: str, pairs: Pairs, sent: Any) -> Run:
    """Returns a 1-tuple of the value from this device's source, or () if it has no source.

    Devices that are in no pair do not take part.
    """
    ids = tuple(sorted({k for pair in pairs for k in pair}))
    members = _numbers(device, mode, ids)
    if device.number not in members:
        return ()
    values = yield from exchange(device, instruction_key, members, sent)
    own = _own_id(device, mode)
    source = next((pair[0] for pair in pairs if pair[1] == own), None)
    return () if source is None else (values[ids.index(source)],)


def _copy_slices(buffers: Value, sent: Any, slice_sizes: SliceSizeLists) -> Value:
    """Returns the buffers with slices of the sender's arrays copied in, at the sender's offsets."""
    inputs, input_starts, output_starts = sent
    targets = [np.array(buffer) for buffer in as_tuple(buffers)]
    sources = as_tuple(inputs)
    per_array = max(len(slice_sizes) // len(targets), 1)
    read, written = (np.concatenate([np.ravel(x) for x in leaves(starts)]).tolist() for starts in (input_starts, output_starts))
    for k, sizes in enumerate(slice_sizes):
        source, target = sources[k // per_array], targets[k // per_array]
        here, there = (starts[k * len(sizes) : (k + 1) * len(sizes)] for starts in (read, written))
        target[_box(target, there, sizes)] = source[_box(source, here, sizes)]
    return tuple(targets) if isinstance(buffers, tuple) else targets[0]


def _box(array: Array, starts: Sequence[int], sizes: Sequence[int]) -> tuple[slice, ...]:
    """Returns the index of a slice of these sizes, clamped to the array as in dynamic-slice."""
    first = [min(max(start, 0), extent - size) for start, size, extent in zip(starts, sizes, array.shape, strict=True)]
    return tuple(slice(start, start + size) for start, size in zip(first, sizes, strict=True))


@kernel("collective-permute")
def collective_permute(
    *operands: Value,
    channel_id: Int | None,
    source_target_pairs: Pairs,
    slice_sizes: SliceSizeLists,
    group_mode: str,
    device: Device,
    instruction_key: Hashable,
    result: Shape,
) -> Run:
    """Returns the value of this device's source.

    If there is no source, returns zeros or, in the form with slices, the unchanged buffer.
    """
    position = _exchange_key(instruction_key, channel_id)
    if slice_sizes:
        sent = (operands[0], operands[2], operands[3])
        received = yield from _permute(device, position, group_mode, source_target_pairs, sent)
        return _copy_slices(operands[1], received[0], slice_sizes) if received else operands[1]
    received = yield from _permute(device, position, group_mode, source_target_pairs, operands)
    return _tuple_unless_single(received[0], not result.is_tuple) if received else zeros(result)


@kernel("collective-permute-start")
def collective_permute_start(
    *operands: Value,
    channel_id: Int | None,
    source_target_pairs: Pairs,
    slice_sizes: SliceSizeLists,
    group_mode: str,
    device: Device,
    instruction_key: Hashable,
    result: Shape,
) -> Run:
    moved = yield from collective_permute(
        *operands,
        channel_id=channel_id,
        source_target_pairs=source_target_pairs,
        slice_sizes=slice_sizes,
        group_mode=group_mode,
        device=device,
        instruction_key=instruction_key,
        result=result.elements[1],
    )
    source = operands[0] if slice_sizes else _tuple_unless_single(operands, len(operands) == 1)
    return source, moved, *(zeros(shape) for shape in result.elements[2:])


# ---- ids ---------------------------------------------------------------------------------------


@kernel("replica-id", batch="same")
def replica_id(*, device: Device) -> Array:
    return np.array(device.replica, np.uint32)


@kernel("partition-id", batch="same")
def partition_id(*, device: Device) -> Array:
    return np.array(device.partition, np.uint32)
