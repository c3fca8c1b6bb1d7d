"""Collectives that combine the operands of several devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hlotool.builder.arguments import Called, Groups, Operand, Operands
from hlotool.builder.composites.collectives import CollectiveMethods, join_shapes
from hlotool.builder.composites.reductions import scalar_shapes
from hlotool.builder.op import Op
from hlotool.builder.texts import ShapeLike
from hlotool.ir.model import Instruction
from hlotool.opdefs.table import OPS
from hlotool.shapes.layout import Layout

__all__ = ["CollectiveReductionMethods"]

_ALL_REDUCE, _COLLECTIVE_REDUCE, _REDUCE_SCATTER = OPS["all-reduce"], OPS["collective-reduce"], OPS["reduce-scatter"]


class CollectiveReductionMethods(CollectiveMethods):
    """Collectives that combine elements with a binary computation, such as a sum."""

    def all_reduce(
        self,
        operand: Operands,
        computation: Called,
        replica_groups: Groups = (),
        channel_id: int | None = None,
        shape_with_layout: ShapeLike | None = None,
        use_global_device_ids: bool = False,
    ) -> Op:
        """Combines the operands of all members of a group, and returns the result to each of them.

        For a tuple or several operands, the result is a tuple. `shape_with_layout` fixes the layout
        of the data that is sent. Raises BuilderError if the computation does not take two scalars.

        >>> import hlotool
        >>> b = hlotool.Builder("demo", replica_count=2)
        >>> module = b.build(b.all_reduce(b.parameter(0, "f32[2]"), lambda x, y: x + y))
        >>> hlotool.evaluate_replicas(module, [[[1.0, 2.0]], [[3.0, 4.0]]])
        [array([4., 6.], dtype=float32), array([4., 6.], dtype=float32)]
        """
        parts = self._leaves(operand)
        attributes = {
            "channel_id": self._optional_integer(channel_id, "channel_id"),
            "replica_groups": self._groups(replica_groups),
            "constrain_layout": shape_with_layout is not None,
            "use_global_device_ids": bool(use_global_device_ids),
            "to_apply": self._combiner(computation, parts[0]),
        }
        shape = join_shapes([x.shape for x in parts]) if shape_with_layout is None else self._shape(shape_with_layout, "shape_with_layout")
        return self._emit(_ALL_REDUCE, parts, attributes, shape)

    def cross_replica_sum(self, operand: Operands, replica_groups: Groups = (), *, replica_group_ids: Sequence[int] = ()) -> Op:
        """Sums over the replicas of each group; pred values are combined with a logical `or`.

        `replica_group_ids` contains the group number of each replica; XLA's documentation of 2019
        uses this form. Raises BuilderError for groups of different sizes.

        >>> import hlotool
        >>> b = hlotool.Builder("demo", replica_count=4)
        >>> total = b.cross_replica_sum(b.parameter(0, "f32[]"), replica_group_ids=[0, 1, 0, 1])
        >>> total.instruction.attributes["replica_groups"].text
        '{{0,2},{1,3}}'
        >>> [float(value) for value in hlotool.evaluate_replicas(b.build(total), [[1.0], [2.0], [30.0], [40.0]])]
        [31.0, 42.0, 31.0, 42.0]
        """
        parts = self._leaves(operand)
        ids = self._integers(replica_group_ids, "replica_group_ids")
        if ids:
            replica_groups = self._groups_by_id(ids)
        is_truth = parts[0].shape.element_type == "pred"
        computation = _or if is_truth else _sum
        return self.all_reduce([Op(self._innermost(), x) for x in parts], computation, replica_groups)

    def _groups_by_id(self, ids: Sequence[int]) -> list[list[int]]:
        """Returns the groups, given the group number of each replica."""
        groups: dict[int, list[int]] = {}
        for replica, group in enumerate(ids):
            groups.setdefault(group, []).append(replica)
        lists = [groups[group] for group in sorted(groups)]
        sizes = sorted({len(group) for group in lists})
        self._require(len(sizes) == 1, "P005", "replica_group_ids", f"groups must have the same size, got sizes {' and '.join(map(str, sizes))}")
        return lists

    def reduce_scatter(
        self,
        operand: Operands,
        computation: Called,
        scatter_dimension: int,
        shard_count: int,
        replica_groups: Groups = (),
        channel_id: int | None = None,
        layout: Layout | None = None,
        use_global_device_ids: bool = False,
    ) -> Op:
        """Combines the operands of all members of a group, and returns one part to each member.

        The combined array is split along `scatter_dimension` into `shard_count` parts. Raises
        BuilderError unless the size of this dimension is a multiple of `shard_count`.

        >>> import hlotool
        >>> b = hlotool.Builder("demo", replica_count=2)
        >>> module = b.build(b.reduce_scatter(b.parameter(0, "f32[4]"), lambda x, y: x + y, 0, 2))
        >>> hlotool.evaluate_replicas(module, [[[1.0, 2.0, 3.0, 4.0]], [[10.0, 20.0, 30.0, 40.0]]])
        [array([11., 22.], dtype=float32), array([33., 44.], dtype=float32)]
        """
        parts = self._leaves(operand)
        dimension = self._dimension(scatter_dimension, parts[0].shape.rank, "scatter_dimension")
        count = self._integer(shard_count, "shard_count")
        self._check_count(count, replica_groups, "shard_count")
        for x in parts:
            size = x.shape.dimensions[dimension] if 0 <= dimension < x.shape.rank else 0
            self._require(size % count == 0, "P010", "shard_count", f"dimension {dimension} of size {size} cannot be split into {count} equal parts")
        attributes = {
            "channel_id": self._optional_integer(channel_id, "channel_id"),
            "replica_groups": self._groups(replica_groups),
            "constrain_layout": layout is not None,
            "use_global_device_ids": bool(use_global_device_ids),
            "dimensions": (dimension,),
            "to_apply": self._combiner(computation, parts[0]),
        }
        return self._emit(
            _REDUCE_SCATTER, parts, attributes, join_shapes([self._rescaled_shape(x.shape, dimension, 1, count, layout) for x in parts])
        )

    def collective_reduce(
        self,
        operand: Operands,
        computation: Called,
        replica_groups: Groups = (),
        channel_id: int | None = None,
        use_global_device_ids: bool = False,
        roots: Operand | None = None,
    ) -> Op:
        """Combines the operands of all group members for one member; all other members get zeros.

        By default, the result goes to the first member of the group. `roots` (s32) chooses another
        member for each operand, by its position in the group. For a tuple or several operands, the
        result is a tuple. Raises BuilderError if the computation does not take two scalars.

        >>> import hlotool
        >>> b = hlotool.Builder("demo", replica_count=2)
        >>> module = b.build(b.collective_reduce(b.parameter(0, "f32[2]"), lambda x, y: x + y))
        >>> hlotool.evaluate_replicas(module, [[[1.0, 2.0]], [[3.0, 4.0]]])
        [array([4., 6.], dtype=float32), array([0., 0.], dtype=float32)]
        """
        parts = self._leaves(operand)
        attributes = {
            "channel_id": self._optional_integer(channel_id, "channel_id"),
            "replica_groups": self._groups(replica_groups),
            "use_global_device_ids": bool(use_global_device_ids),
            "has_dynamic_root": roots is not None,
            "to_apply": self._combiner(computation, parts[0]),
        }
        operands = parts if roots is None else (*parts, self._operand(roots, "roots"))
        return self._emit(_COLLECTIVE_REDUCE, operands, attributes, join_shapes([x.shape for x in parts]))

    def _combiner(self, computation: Called, x: Instruction) -> Any:
        return self._callee(computation, scalar_shapes((x, x)), "computation")


def _sum(x: Op, y: Op) -> Op:
    return x + y


def _or(x: Op, y: Op) -> Op:
    return x | y
