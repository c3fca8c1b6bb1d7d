"""Opcodes in which devices take part together: gathers, reductions and exchanges between them, and device ids.

Their result shapes depend on group sizes, which XLA's parser does not use: all but the ids must be written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hlotool.errors import Violation
from hlotool.opdefs.base import op
from hlotool.opdefs.inference import count, written_shape_needed
from hlotool.opdefs.kinds import (
    Always,
    Bool,
    CollectiveMode,
    Computation,
    FirstDim,
    IgnoredDims,
    Int,
    Pairs,
    ReplicaGroups,
    SingleDim,
    SliceSizeLists,
)
from hlotool.shapes.shape import Shape, array_shape

__all__ = [
    "all_gather",
    "all_gather_start",
    "all_reduce",
    "all_reduce_start",
    "all_to_all",
    "collective_broadcast",
    "collective_permute",
    "collective_permute_start",
    "ragged_all_to_all",
    "reduce_scatter",
]


@op(infers=False)
def all_gather(
    *operands: Shape,
    channel_id: Int | None = None,
    replica_groups: Always[ReplicaGroups] = (),
    constrain_layout: Bool = False,
    dimensions: FirstDim,
    use_global_device_ids: Bool = False,
) -> Shape:
    """Concatenates the operands of a group's members along one dimension, in the order in which the group lists them.

    r = f32[8] all-gather(f32[4] x), replica_groups={{0,1}}, dimensions={0}
    """
    written_shape_needed("all-gather")


@op(infers=False)
def all_gather_start(
    *operands: Shape,
    channel_id: Int | None = None,
    replica_groups: Always[ReplicaGroups] = (),
    constrain_layout: Bool = False,
    dimensions: FirstDim,
    use_global_device_ids: Bool = False,
) -> Shape:
    """Begins an all-gather; the result pairs the operands with the eventual results.

    s = (f32[4], f32[8]) all-gather-start(f32[4] x), replica_groups={{0,1}}, dimensions={0}
    """
    written_shape_needed("all-gather-start")


def _global_ids_need_channel(result: Shape | None, operands: tuple[Shape, ...], attributes: dict[str, Any]) -> None:
    # A written mode stands in for the one that XLA would derive from channel_id, so then nothing is refused.
    if attributes.get("use_global_device_ids") and "channel_id" not in attributes and "mode" not in attributes:
        raise Violation("P007", "use_global_device_ids", "use_global_device_ids needs channel_id")


@op(infers=False, parse_rule=_global_ids_need_channel)
def all_reduce(
    *operands: Shape,
    channel_id: Int | None = None,
    replica_groups: Always[ReplicaGroups] = (),
    constrain_layout: Bool = False,
    use_global_device_ids: Bool = False,
    to_apply: Computation,
    mode: CollectiveMode | None = None,
) -> Shape:
    """Gives every member of a group the combination of all members' operands.

    r = f32[4] all-reduce(f32[4] x), replica_groups={{0,1}}, to_apply=add
    """
    written_shape_needed("all-reduce")


@op(infers=False, parse_rule=_global_ids_need_channel)
def all_reduce_start(
    *operands: Shape,
    channel_id: Int | None = None,
    replica_groups: Always[ReplicaGroups] = (),
    constrain_layout: Bool = False,
    use_global_device_ids: Bool = False,
    to_apply: Computation,
    mode: CollectiveMode | None = None,
) -> Shape:
    """Begins an all-reduce; the result has the shape of the finished one.

    s = f32[4] all-reduce-start(f32[4] x), replica_groups={{0,1}}, to_apply=add
    """
    written_shape_needed("all-reduce-start")


@op(infers=False, parse_rule=_global_ids_need_channel)
def reduce_scatter(
    *operands: Shape,
    channel_id: Int | None = None,
    replica_groups: Always[ReplicaGroups] = (),
    constrain_layout: Bool = False,
    use_global_device_ids: Bool = False,
    dimensions: FirstDim,
    to_apply: Computation,
    mode: CollectiveMode | None = None,
) -> Shape:
    """Combines the operands of a group's members and gives each member its part along one dimension.

    r = f32[4] reduce-scatter(f32[8] x), replica_groups={{0,1}}, dimensions={0}, to_apply=add
    """
    written_shape_needed("reduce-scatter")


@op(infers=False)
def all_to_all(
    *operands: Shape,
    channel_id: Int | None = None,
    replica_groups: Always[ReplicaGroups] = (),
    constrain_layout: Bool = False,
    dimensions: SingleDim | None = None,
) -> Shape:
    """Sends the k-th part to the group's k-th member and collects what the members send in turn.

    With `dimensions` the one operand is split along that dimension; without it there is an operand for each member.

        r = f32[8] all-to-all(f32[8] x), replica_groups={{0,1}}, dimensions={0}
    """
    written_shape_needed("all-to-all")


@op(infers=False)
def ragged_all_to_all(
    *operands: Shape,
    channel_id: Int | None = None,
    replica_groups: Always[ReplicaGroups] = (),
    dimensions: IgnoredDims | None = None,
) -> Shape:
    """An exchange of slices whose offsets and sizes are operands too; XLA reads `dimensions` and forgets it.

    r = f32[8] ragged-all-to-all(f32[8] x, f32[8] out, s32[2] a, s32[2] b, s32[2] c, s32[2] d), replica_groups={{0,1}}
    """
    written_shape_needed("ragged-all-to-all")


@op(infers=False)
def collective_broadcast(
    *operands: Shape,
    channel_id: Int | None = None,
    replica_groups: Always[ReplicaGroups] = (),
    has_dynamic_root: Bool = False,
) -> Shape:
    """Gives every member of a group the operand of the group's first member, or of the one that the last operand names.

    r = f32[4] collective-broadcast(f32[4] x), replica_groups={{0,1}}
    """
    written_shape_needed("collective-broadcast")


def _permute_rule(result: Shape | None, operands: tuple[Shape, ...], attributes: dict[str, Any]) -> None:
    for pair in attributes["source_target_pairs"]:
        if len(pair) != 2:
            raise Violation("S017", "source_target_pairs", f"expected pairs, found a list of {len(pair)}")
    if "slice_sizes" in attributes and len(operands) != 4:
        raise Violation("P016", "operands", f"in-place form takes 4 operands, got {count(len(operands), 'operand')}")


@op(infers=False, parse_rule=_permute_rule)
def collective_permute(*operands: Shape, channel_id: Int | None = None, source_target_pairs: Pairs, slice_sizes: SliceSizeLists = ()) -> Shape:
    """Sends the operand from each source to its target; a device that is nobody's target gets zeros.

    The form with slice_sizes copies slices of operand 0 into operand 1, at the offsets that operands 2 and 3 hold.

        r = f32[4] collective-permute(f32[4] x), source_target_pairs={{0,1},{1,0}}
    """
    written_shape_needed("collective-permute")


@op(infers=False, parse_rule=_permute_rule)
def collective_permute_start(*operands: Shape, channel_id: Int | None = None, source_target_pairs: Pairs, slice_sizes: SliceSizeLists = ()) -> Shape:
    """Begins a collective-permute; the result holds operand, eventual result and contexts.

    s = (f32[4], f32[4], u32[], u32[]) collective-permute-start(f32[4] x), source_target_pairs={{0,1},{1,0}}
    """
    written_shape_needed("collective-permute-start")


_DONES = {
    "all-gather-done": """Waits for an all-gather and gives its result.

        r = f32[8] all-gather-done((f32[4], f32[8]) s)
    """,
    "all-reduce-done": """Waits for an all-reduce and gives its result.

        r = f32[4] all-reduce-done(f32[4] s)
    """,
    "collective-permute-done": """Waits for a collective-permute and gives its result.

        r = f32[4] collective-permute-done((f32[4], f32[4], u32[], u32[]) s)
    """,
}


def _done(opcode: str) -> Callable[[Shape], Shape]:
    def infer(operand: Shape) -> Shape:
        written_shape_needed(opcode)

    return infer


def _is_id(result: Shape | None, operands: tuple[Shape, ...], attributes: dict[str, Any]) -> None:
    # XLA aborts on any other type.
    if result is not None and (result.element_type != "u32" or result.dimensions):
        raise Violation("T086", "shape", "device ids are u32[]")


_IDS = {
    "partition-id": """Index of the partition that runs the program.

        r = u32[] partition-id()
    """,
    "replica-id": """Index of the replica that runs the program.

        r = u32[] replica-id()
    """,
}


def _device_id() -> Shape:
    return array_shape("u32")


for _opcode, _doc in _DONES.items():
    op(_opcode, infers=False, doc=_doc)(_done(_opcode))
for _opcode, _doc in _IDS.items():
    op(_opcode, parse_rule=_is_id, doc=_doc)(_device_id)
