"""Methods that repeat or rearrange elements, build tuples and iotas, or access dimension sizes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from hlotool.builder.arguments import Operand, Operands
from hlotool.builder.broadcasting import broadcast_in_dimensions
from hlotool.builder.composites.selection import SelectionMethods
from hlotool.builder.op import Op
from hlotool.builder.texts import ShapeLike
from hlotool.errors import Violation
from hlotool.opdefs.inference import bounds
from hlotool.opdefs.table import OPS
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.shapes.shape import Shape, array_shape

__all__ = ["ShapingMethods"]

_BROADCAST, _DYNAMIC_RESHAPE, _IOTA, _RESHAPE = OPS["broadcast"], OPS["dynamic-reshape"], OPS["iota"], OPS["reshape"]
_REVERSE, _TRANSPOSE, _TUPLE = OPS["reverse"], OPS["transpose"], OPS["tuple"]
_GET_SIZE, _SET_SIZE = OPS["get-dimension-size"], OPS["set-dimension-size"]


class ShapingMethods(SelectionMethods):
    """Methods that repeat or rearrange elements, build tuples and iotas, or access sizes."""

    def broadcast(self, operand: Operand, broadcast_sizes: Sequence[int]) -> Op:
        """Repeats the operand along new leading dimensions of the given sizes.

        Raises BuilderError for negative sizes.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.broadcast([1.0, 2.0], [3])), [])
        array([[1., 2.],
               [1., 2.],
               [1., 2.]], dtype=float32)
        """
        x, sizes = self._operand(operand, "operand"), self._sizes(broadcast_sizes, "broadcast_sizes", "T017")
        new = [*((size, False) for size in sizes), *bounds(x.shape)]
        shape = array_shape(x.shape.element_type, tuple(size for size, _ in new), tuple(dynamic for _, dynamic in new))
        return self._emit(_BROADCAST, (x,), {"dimensions": tuple(range(len(sizes), len(new)))}, shape)

    def broadcast_in_dim(self, operand: Operand, out_dim_size: Sequence[int], broadcast_dimensions: Sequence[int]) -> Op:
        """Broadcasts the operand to an array with the sizes `out_dim_size`.

        Dimension k of the operand becomes dimension `broadcast_dimensions[k]` of the result; a
        dimension of size 1 is repeated. Raises BuilderError if the sizes do not fit, or if the
        dimensions are not strictly increasing.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.broadcast_in_dim([1, 2], [2, 3], [0])), [])
        array([[1, 1, 1],
               [2, 2, 2]], dtype=int32)
        """
        x, sizes = self._operand(operand, "operand"), self._sizes(out_dim_size, "out_dim_size", "T017")
        positions = self._dimensions(broadcast_dimensions, len(sizes), "broadcast_dimensions")
        try:
            shape, kept = broadcast_in_dimensions(x.shape, sizes, positions)
        except Violation as violation:
            self._reject(violation)
        return Op(self._innermost(), self._repeat(x, kept, [positions[k] for k in kept], shape))

    # ---- rearranging elements -------------------------------------------------------------------

    def reshape(self, operand: Operand, dimensions: Sequence[int] | None = None, new_sizes: Sequence[int] | None = None) -> Op:
        """Arranges the elements in row-major order in an array with the sizes `dimensions`.

        In an older form, which also has `new_sizes`, `dimensions` is a permutation: the operand is
        transposed by it and then reshaped to `new_sizes`. Raises BuilderError if the number of
        elements changes.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.reshape([[1, 2, 3], [4, 5, 6]], [3, 2])), [])
        array([[1, 2],
               [3, 4],
               [5, 6]], dtype=int32)
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.reshape([[1, 2, 3], [4, 5, 6]], [1, 0], [6])), [])
        array([1, 4, 2, 5, 3, 6], dtype=int32)
        """
        x = self._operand(operand, "operand")
        pairs = [(name, values) for name, values in (("dimensions", dimensions), ("new_sizes", new_sizes)) if values is not None]
        given = [
            self._integers(values, name) if len(pairs) > 1 and name == "dimensions" else self._sizes(values, name, "T021") for name, values in pairs
        ]
        self._require(given, "S014", "dimensions", "the sizes of the result are missing")
        if len(given) == 2 and given[0] != tuple(range(x.shape.rank)):
            x = self.transpose(Op(self._innermost(), x), given[0]).instruction
        return self._emit(_RESHAPE, (x,), None, array_shape(x.shape.element_type, given[-1]))

    def reshape_explicit(self, shape: ShapeLike, operand: Operand) -> Op:
        """Arranges the elements in an array of an explicit shape, as in `Reshape(shape, operand)`.

        The shape may have dynamic dimensions and a layout. Raises BuilderError if the number of
        elements or the element type changes.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> column_major = b.reshape_explicit("s32[2,2]{0,1}", [1, 2, 3, 4])
        >>> column_major.shape.text
        's32[2,2]{0,1}'
        >>> hlotool.evaluate(b.build(column_major), [])
        array([[1, 2],
               [3, 4]], dtype=int32)
        """
        return self._emit(_RESHAPE, (self._operand(operand, "operand"),), None, self._shape(shape))

    def collapse(self, operand: Operand, dimensions: Sequence[int]) -> Op:
        """Joins adjacent dimensions into one; with fewer than two dimensions, returns the operand.

        Raises BuilderError unless the dimensions are consecutive and in order.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.collapse([[[1, 2], [3, 4]], [[5, 6], [7, 8]]], [0, 1])), [])
        array([[1, 2],
               [3, 4],
               [5, 6],
               [7, 8]], dtype=int32)
        """
        x = self._operand(operand, "operand")
        numbers, sizes = self._dimensions(dimensions, x.shape.rank, "dimensions"), x.shape.dimensions
        adjacent = list(numbers) == list(range(numbers[0], numbers[0] + len(numbers))) if numbers else True
        known = not numbers or (numbers[0] >= 0 and numbers[-1] < x.shape.rank)
        message = f"dimensions must be consecutive dimensions of {x.shape.text_without_layout}, got {list(dimensions)}"
        self._require(adjacent and known, "T021", "dimensions", message)
        if len(numbers) < 2:
            return Op(self._innermost(), x)
        joined = (*sizes[: numbers[0]], prod(sizes[k] for k in numbers), *sizes[numbers[-1] + 1 :])
        return self._emit(_RESHAPE, (x,), None, array_shape(x.shape.element_type, joined))

    def dynamic_reshape(self, operand: Operand, dim_sizes: Operands, new_size_bounds: Sequence[int], dims_are_dynamic: Sequence[bool]) -> Op:
        """Arranges the elements in an array whose dimensions have the given bounds.

        `dim_sizes` contains the actual sizes as s32 scalars. Raises BuilderError unless the product
        of the bounds is the number of elements of the operand.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> matrix = b.dynamic_reshape([1.0, 2.0, 3.0, 4.0], [b.constant(2), b.constant(2)], [2, 2], [True, False])
        >>> matrix.shape.text
        'f32[<=2,2]{1,0}'
        >>> hlotool.evaluate(b.build(matrix), [])
        array([[1., 2.],
               [3., 4.]], dtype=float32)
        """
        x, sizes = self._operand(operand, "operand"), self._operands(dim_sizes, "dim_sizes")
        limits, marks = self._sizes(new_size_bounds, "new_size_bounds", "T021"), tuple(map(bool, self._list(dims_are_dynamic, "dims_are_dynamic")))
        self._require(len(limits) == len(marks), "T090", "dims_are_dynamic", f"expected one entry per bound ({len(limits)}), got {len(marks)}")
        return self._emit(_DYNAMIC_RESHAPE, (x, *sizes), None, array_shape(x.shape.element_type, limits, marks))

    def transpose(self, operand: Operand, permutation: Sequence[int]) -> Op:
        """Permutes the dimensions.

        Dimension k of the result is dimension `permutation[k]` of the operand. Raises BuilderError
        unless `permutation` is a permutation of the dimension numbers.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.transpose([[1, 2, 3], [4, 5, 6]], [1, 0])), [])
        array([[1, 4],
               [2, 5],
               [3, 6]], dtype=int32)
        """
        x = self._operand(operand, "operand")
        order = self._dimensions(permutation, x.shape.rank, "permutation")
        return self._emit(_TRANSPOSE, (x,), {"dimensions": order}, self._transposed_shape(x.shape, order))

    def _transposed_shape(self, shape: Shape, order: Sequence[int]) -> Shape | None:
        """Returns the transposed shape in row-major order, as XLA's builder does.

        Returns None for a wrong order, which inference reports.
        """
        if not shape.is_array or sorted(order) != list(range(shape.rank)):
            return None
        sizes = bounds(shape)
        return array_shape(shape.element_type, tuple(sizes[k][0] for k in order), tuple(sizes[k][1] for k in order))

    def rev(self, operand: Operand, dimensions: Sequence[int]) -> Op:
        """Reverses the order of the elements along the given dimensions.

        Raises BuilderError for dimensions that do not exist.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.rev([[1, 2, 3], [4, 5, 6]], [1])), [])
        array([[3, 2, 1],
               [6, 5, 4]], dtype=int32)
        """
        x = self._operand(operand, "operand")
        return self._emit(_REVERSE, (x,), {"dimensions": self._dimensions(dimensions, x.shape.rank, "dimensions")})

    # ---- tuples, numbers and sizes --------------------------------------------------------------

    def tuple(self, elements: Operands) -> Op:
        """Groups values into a tuple.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.tuple([b.constant(1.0), b.constant(5)])), [])
        (array(1., dtype=float32), array(5, dtype=int32))
        """
        return self._emit(_TUPLE, self._operands(elements, "elements"))

    def iota(self, shape: ShapeLike, iota_dimension: int = 0) -> Op:
        """Creates an array in which each element is its own index along one dimension.

        The form `iota("s32", 5)`, with a type and a size, is from 2019. Raises BuilderError for
        scalars and for pred arrays.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.iota("s32[2,3]", 1)), [])
        array([[0, 1, 2],
               [0, 1, 2]], dtype=int32)
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.iota("s32", 5)), [])
        array([0, 1, 2, 3, 4], dtype=int32)
        """
        if isinstance(shape, str) and shape in ELEMENT_TYPES:
            return self._emit(
                _IOTA, (), {"iota_dimension": 0}, array_shape(shape, self._sizes([self._integer(iota_dimension, "size")], "size", "T041"))
            )
        result = self._shape(shape)
        return self._emit(_IOTA, (), {"iota_dimension": self._dimension(iota_dimension, result.rank, "iota_dimension")}, result)

    def get_dimension_size(self, operand: Operand, dimension: int) -> Op:
        """Returns the actual size of one dimension as an s32 scalar.

        Raises BuilderError for dimensions that do not exist.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> row = b.set_dimension_size([1.0, 2.0, 3.0], 2, 0)
        >>> hlotool.evaluate(b.build(b.get_dimension_size(row, 0)), [])
        array(2, dtype=int32)
        """
        x = self._operand(operand, "operand")
        return self._emit(_GET_SIZE, (x,), {"dimensions": (self._dimension(dimension, x.shape.rank, "dimension"),)})

    def set_dimension_size(self, operand: Operand, val: Operand, dimension: int) -> Op:
        """Sets the actual size of one dimension to an s32 scalar.

        The bound is unchanged, and later operations ignore the elements beyond the size. Raises
        BuilderError for dimensions that do not exist, and for sizes of other types.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> row = b.set_dimension_size([1.0, 2.0, 3.0], 2, 0)
        >>> row
        <op set-dimension-size = f32[<=3] set-dimension-size>
        >>> hlotool.evaluate(b.build(b.reduce(row, 0.0, b.add, [0])), [])
        array(3., dtype=float32)
        """
        x = self._operand(operand, "operand")
        number = self._dimension(dimension, x.shape.rank, "dimension")
        return self._emit(_SET_SIZE, (x, self._operand(val, "val")), {"dimensions": (number,)})
