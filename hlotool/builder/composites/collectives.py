"""Collectives that gather or exchange data among several devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hlotool.builder.arguments import Groups, Operand, Operands
from hlotool.builder.composites.convolution import ConvolutionMethods
from hlotool.builder.op import Op
from hlotool.ir.model import Instruction
from hlotool.opdefs.inference import bounds
from hlotool.opdefs.inference import count as counted
from hlotool.opdefs.table import OPS
from hlotool.shapes.layout import Layout
from hlotool.shapes.shape import Shape, array_shape, tuple_shape

__all__ = ["CollectiveMethods", "join_shapes"]

_ALL_GATHER, _ALL_TO_ALL = OPS["all-gather"], OPS["all-to-all"]
_COLLECTIVE_BROADCAST, _COLLECTIVE_PERMUTE = OPS["collective-broadcast"], OPS["collective-permute"]
_ELEMENT, _RAGGED, _RESHAPE, _TRANSPOSE = OPS["get-tuple-element"], OPS["ragged-all-to-all"], OPS["reshape"], OPS["transpose"]


class CollectiveMethods(ConvolutionMethods):
    """Collectives that gather or exchange data among several devices.

    `replica_groups` contains the groups of devices, as lists or text; if it is empty, all devices
    form one group. With `channel_id`, partitions participate, too. With `use_global_device_ids`,
    the ids in the groups identify devices across replicas and partitions.
    """

    def all_gather(
        self,
        operand: Operands,
        all_gather_dimension: int,
        shard_count: int,
        replica_groups: Groups = (),
        channel_id: int | None = None,
        layout: Layout | None = None,
        use_global_device_ids: bool = False,
    ) -> Op:
        """Concatenates the operands of the members of each group along one dimension.

        Each group has `shard_count` members, whose operands are concatenated in group order. For a
        tuple or several operands, the result is a tuple. Raises BuilderError for dimensions that do
        not exist.

        >>> import hlotool
        >>> b = hlotool.Builder("demo", replica_count=2)
        >>> module = b.build(b.all_gather(b.parameter(0, "f32[2]"), 0, 2))
        >>> hlotool.evaluate_replicas(module, [[[1.0, 2.0]], [[3.0, 4.0]]])
        [array([1., 2., 3., 4.], dtype=float32), array([1., 2., 3., 4.], dtype=float32)]
        """
        parts = self._leaves(operand)
        dimension = self._dimension(all_gather_dimension, parts[0].shape.rank, "all_gather_dimension")
        count = self._integer(shard_count, "shard_count")
        self._check_count(count, replica_groups, "shard_count")
        results = [self._rescaled_shape(x.shape, dimension, count, 1, layout) for x in parts]
        attributes = {
            "channel_id": self._optional_integer(channel_id, "channel_id"),
            "replica_groups": self._groups(replica_groups),
            "constrain_layout": layout is not None,
            "dimensions": (dimension,),
            "use_global_device_ids": bool(use_global_device_ids),
        }
        return self._emit(_ALL_GATHER, parts, attributes, join_shapes(results))

    def all_to_all(
        self,
        operand: Operand,
        split_dimension: int,
        concat_dimension: int,
        split_count: int,
        replica_groups: Groups = (),
        layout: Layout | None = None,
        channel_id: int | None = None,
    ) -> Op:
        """Splits the operand into parts, sends part k to member k, and joins the received parts.

        Raises BuilderError unless the size of `split_dimension` is a multiple of `split_count`, the
        number of parts.

        >>> import hlotool
        >>> b = hlotool.Builder("demo", replica_count=2)
        >>> module = b.build(b.all_to_all(b.parameter(0, "s32[1,4]"), 1, 0, 2))
        >>> [value.tolist() for value in hlotool.evaluate_replicas(module, [[[[1, 2, 3, 4]]], [[[5, 6, 7, 8]]]])]
        [[[1, 2], [5, 6]], [[3, 4], [7, 8]]]
        """
        x = self._operand(operand, "operand")
        rank, sizes = x.shape.rank, x.shape.dimensions
        split = self._dimension(split_dimension, rank, "split_dimension")
        concat = self._dimension(concat_dimension, rank, "concat_dimension")
        for name, number in (("split_dimension", split), ("concat_dimension", concat)):
            self._require(0 <= number < rank, "P009", name, f"there is no dimension {number} in {x.shape.text_without_layout}")
        count = self._integer(split_count, "split_count")
        self._check_count(count, replica_groups, "split_count")
        fits = sizes[split] % count == 0
        self._require(fits, "P011", "split_count", f"dimension {split} of size {sizes[split]} cannot be split into {count} equal parts")
        attributes = {
            "channel_id": self._optional_integer(channel_id, "channel_id"),
            "replica_groups": self._groups(replica_groups),
            "constrain_layout": layout is not None,
            "dimensions": (split,),
        }
        exchanged = self._emit(_ALL_TO_ALL, (x,), attributes, self._rescaled_shape(x.shape, split, 1, 1, layout))
        return exchanged if split == concat else self._move_parts(exchanged.instruction, split, concat, count)

    def _move_parts(self, x: Instruction, split: int, concat: int, count: int) -> Op:
        """Moves the received parts from dimension `split` to dimension `concat`.

        This is necessary because HLO's all-to-all concatenates the parts along `split`.
        """
        sizes, kind = list(x.shape.dimensions), x.shape.element_type
        split_shape = array_shape(kind, (*sizes[:split], count, sizes[split] // count, *sizes[split + 1 :]))
        parts = self._emit(_RESHAPE, (x,), None, split_shape).instruction
        order: list[int] = []
        for k in range(len(sizes)):
            order += [split] * (k == concat) + [k + (k >= split)]
        transposed = self._emit(_TRANSPOSE, (parts,), {"dimensions": tuple(order)}, self._transposed_shape(split_shape, order)).instruction
        sizes[split] //= count
        sizes[concat] *= count
        return self._emit(_RESHAPE, (transposed,), None, array_shape(kind, tuple(sizes)))

    def ragged_all_to_all(
        self,
        input: Operand,  # noqa: A002
        input_offsets: Operand,
        send_sizes: Operand,
        output: Operand,
        output_offsets: Operand,
        recv_sizes: Operand,
        replica_groups: Groups = (),
        channel_id: int | None = None,
    ) -> Op:
        """Exchanges different numbers of rows among the members of a group.

        `send_sizes[k]` rows of the input, starting at `input_offsets[k]`, are written to the output
        of member k at `output_offsets[k]`. In HLO text, the output is operand 1. Raises
        BuilderError if offsets and sizes have different shapes.

        >>> import hlotool
        >>> b = hlotool.Builder("demo", replica_count=2)
        >>> x, out = b.parameter(0, "s32[3]"), b.parameter(1, "s32[4]")
        >>> offsets = b.broadcast(b.convert_element_type(b.replica_id(), "s32") * 2, [2])
        >>> module = b.build(b.ragged_all_to_all(x, [0, 1], [1, 2], out, offsets, [1, 2]))
        >>> hlotool.evaluate_replicas(module, [[[1, 2, 3], [0] * 4], [[4, 5, 6], [0] * 4]])
        [array([1, 0, 4, 0], dtype=int32), array([2, 3, 5, 6], dtype=int32)]
        """
        named = (("input", input), ("output", output), ("input_offsets", input_offsets), ("send_sizes", send_sizes))
        rest = (("output_offsets", output_offsets), ("recv_sizes", recv_sizes))
        operands = tuple([self._operand(value, name) for name, value in (*named, *rest)])
        attributes = {"channel_id": self._optional_integer(channel_id, "channel_id"), "replica_groups": self._groups(replica_groups)}
        return self._emit(_RAGGED, operands, attributes, operands[1].shape)

    def collective_broadcast(self, operand: Operand, replica_groups: Groups, channel_id: int | None = None) -> Op:
        """Sends the operand of each group's first member to all members of the group.

        Devices that are not in any group get zeros.

        >>> import hlotool
        >>> b = hlotool.Builder("demo", replica_count=2)
        >>> module = b.build(b.collective_broadcast(b.parameter(0, "f32[2]"), [[1, 0]]))
        >>> hlotool.evaluate_replicas(module, [[[1.0, 2.0]], [[3.0, 4.0]]])
        [array([3., 4.], dtype=float32), array([3., 4.], dtype=float32)]
        """
        x = self._operand(operand, "operand")
        attributes = {"channel_id": self._optional_integer(channel_id, "channel_id"), "replica_groups": self._groups(replica_groups)}
        return self._emit(_COLLECTIVE_BROADCAST, (x,), attributes, x.shape)

    def collective_permute(
        self,
        operand: Operands,
        source_target_pairs: Sequence[Sequence[int]],
        channel_id: int | None = None,
        inplace: bool = False,
        *,
        slice_sizes: Sequence[Sequence[int]] = (),
    ) -> Op:
        """Sends the operand from each source to its target.

        Devices that are not targets get zeros. With `inplace`, there are four operands: the input,
        the output, and a tuple of scalar offsets into each of them. `slice_sizes` then contains the
        sizes of the slices to copy. Raises BuilderError for any other number of operands.

        >>> import hlotool
        >>> b = hlotool.Builder("demo", replica_count=2)
        >>> module = b.build(b.collective_permute(b.parameter(0, "f32[2]"), [(0, 1)]))
        >>> hlotool.evaluate_replicas(module, [[[1.0, 2.0]], [[3.0, 4.0]]])
        [array([0., 0.], dtype=float32), array([1., 2.], dtype=float32)]
        """
        operands = self._operands(operand, "operand")
        expected = 4 if inplace else 1
        described = "4 operands (the input, the output, and the offsets into each)" if inplace else "1 operand"
        self._require(len(operands) == expected, "P016", "operand", f"expected {described}, got {len(operands)}")
        attributes = {
            "channel_id": self._optional_integer(channel_id, "channel_id"),
            "source_target_pairs": tuple(
                [self._integers(pair, "source_target_pairs") for pair in self._list(source_target_pairs, "source_target_pairs")]
            ),
        }
        if inplace:
            attributes["slice_sizes"] = tuple([self._integers(sizes, "slice_sizes") for sizes in self._list(slice_sizes, "slice_sizes")])
            self._require(attributes["slice_sizes"], "P016", "slice_sizes", "inplace=True requires slice_sizes")
        return self._emit(_COLLECTIVE_PERMUTE, operands, attributes, operands[1 if inplace else 0].shape)

    # ---- parts ----------------------------------------------------------------------------------

    def _leaves(self, operand: Any) -> tuple[Instruction, ...]:
        """Returns the operands, or the elements of a single tuple operand."""
        parts = self._operands(operand, "operand")
        self._require(parts, "S013", "operand", "expected at least one operand")
        if len(parts) > 1 or not parts[0].shape.is_tuple:
            return parts
        count = len(parts[0].shape.elements)
        self._require(count, "S013", "operand", "expected at least one operand, got an empty tuple")
        return tuple([self._emit(_ELEMENT, parts, {"index": k}).instruction for k in range(count)])

    def _check_count(self, count: int, groups: Groups, argument: str) -> None:
        self._require(count > 0, "P008", argument, f"expected a positive number, got {count}")
        sizes = sorted(self._group_sizes(groups))
        members = f"groups have {' and '.join(map(str, sizes))} members" if len(sizes) > 1 else f"each group has {counted(sum(sizes), 'member')}"
        self._require(not sizes or sizes == [count], "P005", argument, f"{members}, but {argument} is {count}")

    def _rescaled_shape(self, shape: Shape, dimension: int, factor: int, divisor: int, layout: Layout | None) -> Shape:
        """Returns a shape with the size of one dimension multiplied and divided.

        A dimension that does not exist is ignored here; the check of the instruction reports it.
        """
        sizes = bounds(shape)
        if 0 <= dimension < shape.rank:
            sizes[dimension] = sizes[dimension][0] * factor // divisor, sizes[dimension][1]
        return array_shape(shape.element_type, tuple(size for size, _ in sizes), tuple(dynamic for _, dynamic in sizes), layout)


def join_shapes(shapes: Sequence[Shape]) -> Shape:
    """Returns the shape of a result with one part per operand: a tuple if there are several."""
    return shapes[0] if len(shapes) == 1 else tuple_shape(shapes)
