"""Methods that extract parts of arrays or join arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hlotool.builder.arguments import Operand, Operands
from hlotool.builder.composites.shaping import ShapingMethods
from hlotool.builder.indexing import Part, select_part
from hlotool.builder.op import Op
from hlotool.errors import Violation
from hlotool.opdefs.table import OPS
from hlotool.shapes.shape import array_shape
from hlotool.shapes.values import PaddingDimension, SliceRange

__all__ = ["SlicingMethods"]

_CONCATENATE, _DYNAMIC_SLICE, _DYNAMIC_UPDATE_SLICE = OPS["concatenate"], OPS["dynamic-slice"], OPS["dynamic-update-slice"]
_PAD, _RESHAPE, _SLICE = OPS["pad"], OPS["reshape"], OPS["slice"]


class SlicingMethods(ShapingMethods):
    """Methods that extract parts of arrays or join arrays."""

    def slice(self, operand: Operand, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int] | None = None) -> Op:
        """Takes every stride-th element from the start index up to the limit of each dimension.

        The limits are exclusive. Strides are 1 by default. Raises BuilderError for ranges that are
        out of bounds.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.slice([0, 1, 2, 3, 4], [0], [5], [2])), [])
        array([0, 2, 4], dtype=int32)
        """
        x, starts = self._operand(operand, "operand"), self._integers(start_indices, "start_indices")
        limits = self._integers(limit_indices, "limit_indices")
        steps = (1,) * len(starts) if strides is None else self._integers(strides, "strides")
        for name, values in (("limit_indices", limits), ("strides", steps)):
            same = len(values) == len(starts)
            self._require(same, "T025", name, f"expected as many entries as start_indices ({len(starts)}), got {len(values)}")
        self._require(min(starts, default=0) >= 0, "T026", "start_indices", f"indices cannot be negative, got {list(starts)}")
        self._require(min(steps, default=1) > 0, "T027", "strides", f"strides must be positive, got {list(steps)}")
        return self._emit(_SLICE, (x,), {"slice": tuple(map(SliceRange, starts, limits, steps))})

    def part(self, operand: Operand, index: Any) -> Op:
        """Takes a part of an array, indexed as in Python.

        `b.part(x, (0, slice(1, 3)))` is `x[0, 1:3]`. An integer removes its dimension. Raises
        BuilderError for indices that are out of range, and for negative steps.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.constant([[1, 2, 3], [4, 5, 6]])[1, ::2]), [])
        array([4, 6], dtype=int32)
        """
        x = self._operand(operand, "operand")
        try:
            part: Part = select_part(x.shape, index)
        except Violation as violation:
            self._reject(violation, "index")
        if part.ranges is not None:
            x = self._emit(_SLICE, (x,), {"slice": part.ranges}).instruction
        if part.dimensions is not None:
            x = self._emit(_RESHAPE, (x,), None, array_shape(x.shape.element_type, part.dimensions, part.dynamic)).instruction
        return Op(self._innermost(), x)

    def dynamic_slice(self, operand: Operand, start_indices: Operands, slice_sizes: Sequence[int]) -> Op:
        """Takes a slice at indices computed at run time, clamped so that the slice is in bounds.

        `start_indices` contains one integer scalar per dimension, or is a single vector, as in
        older documentation. Raises BuilderError for sizes that are larger than the operand's.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> start = b.parameter(0, "s32[]")
        >>> module = b.build(b.dynamic_slice([0.0, 1.0, 2.0, 3.0], [start], [2]))
        >>> hlotool.evaluate(module, [1]), hlotool.evaluate(module, [9])
        (array([1., 2.], dtype=float32), array([2., 3.], dtype=float32))
        """
        x, starts = self._operand(operand, "operand"), self._operands(start_indices, "start_indices")
        return self._emit(_DYNAMIC_SLICE, (x, *starts), {"dynamic_slice_sizes": self._integers(slice_sizes, "slice_sizes")})

    def dynamic_update_slice(self, operand: Operand, update: Operand, start_indices: Operands) -> Op:
        """Replaces a slice of the operand with `update`, at indices computed at run time.

        `start_indices` is given as in `dynamic_slice`; the indices are clamped so that the slice is
        in bounds. Raises BuilderError for an update that is larger than the operand.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.dynamic_update_slice([0, 1, 2, 3], [8, 9], [b.constant(1)])), [])
        array([0, 8, 9, 3], dtype=int32)
        """
        x, new = self._pair(operand, update, ("operand", "update"))
        return self._emit(_DYNAMIC_UPDATE_SLICE, (x, new, *self._operands(start_indices, "start_indices")))

    def pad(self, operand: Operand, padding_value: Operand, padding_config: Any) -> Op:
        """Adds the padding value around the operand and between its elements.

        Negative padding removes elements. For each dimension, `padding_config` contains
        (edge_padding_low, edge_padding_high), optionally followed by interior_padding; HLO text
        such as "1_2x0_0_1" is accepted, too. Raises BuilderError if `padding_config` has the wrong
        length, and for negative interior padding.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.pad([1.0, 2.0], 0.0, [(1, 2, 3)])), [])
        array([0., 1., 0., 0., 0., 2., 0., 0.], dtype=float32)
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.pad([1.0, 2.0, 3.0], 0.0, [(-1, 1)])), [])
        array([2., 3., 0.], dtype=float32)
        """
        x = self._operand(operand, "operand")
        config = self._list(self._text("padding", padding_config), "padding_config")
        amounts = tuple([row if isinstance(row, PaddingDimension) else self._padding(row) for row in config])
        return self._emit(_PAD, (x, self._operand(padding_value, "padding_value", x.shape)), {"padding": amounts})

    def _padding(self, row: Any) -> PaddingDimension:
        numbers = self._integers(row, "padding_config")
        self._require(len(numbers) in (2, 3), "T036", "padding_config", f"expected (low, high) or (low, high, interior), got {list(numbers)}")
        return PaddingDimension(*numbers)

    def concat_in_dim(self, operands: Operands, dimension: int) -> Op:
        """Joins the operands along one dimension.

        Raises BuilderError if their other dimensions or their types differ.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.concat_in_dim([b.constant([[1, 2]]), b.constant([[3, 4]])], 1)), [])
        array([[1, 2, 3, 4]], dtype=int32)
        """
        parts = self._operands(operands, "operands")
        rank = parts[0].shape.rank if parts else 0
        return self._emit(_CONCATENATE, parts, {"dimensions": (self._dimension(dimension, rank, "dimension"),)})
