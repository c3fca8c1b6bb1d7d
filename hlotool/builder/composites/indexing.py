"""Methods for gather, scatter and sort."""

from __future__ import annotations

from typing import Any, TypeVar

from hlotool.builder.arguments import Called, Operand, Operands
from hlotool.builder.composites.reductions import ReductionMethods, scalar_shapes
from hlotool.builder.dimension_numbers import GatherDimensionNumbers, ScatterDimensionNumbers
from hlotool.builder.op import Op
from hlotool.opdefs.table import OPS
from hlotool.record import Record

__all__ = ["IndexingMethods"]

Numbers = TypeVar("Numbers", bound=Record)

_GATHER, _SCATTER, _SORT = OPS["gather"], OPS["scatter"], OPS["sort"]


class IndexingMethods(ReductionMethods):
    """Methods for gather, scatter and sort."""

    def gather(
        self,
        operand: Operand,
        start_indices: Operand,
        dimension_numbers: GatherDimensionNumbers | dict[str, Any],
        slice_sizes: Any,
        indices_are_sorted: bool = False,
    ) -> Op:
        """Gathers the slices of the operand that start at the index vectors in `start_indices`.

        The indices are clamped so that all slices are in bounds. Raises BuilderError for dimension
        numbers that do not fit.

        >>> import hlotool
        >>> from hlotool.builder import GatherDimensionNumbers
        >>> b = hlotool.Builder("demo")
        >>> rows = GatherDimensionNumbers(offset_dims=[1], collapsed_slice_dims=[0], start_index_map=[0], index_vector_dim=1)
        >>> hlotool.evaluate(b.build(b.gather([[1, 2], [3, 4], [5, 6]], [[2], [0], [9]], rows, [1, 2])), [])
        array([[5, 6],
               [1, 2],
               [5, 6]], dtype=int32)
        """
        x, indices = self._operand(operand, "operand"), self._operand(start_indices, "start_indices")
        attributes = self._fields(GatherDimensionNumbers, dimension_numbers)
        attributes |= {"slice_sizes": self._integers(slice_sizes, "slice_sizes"), "indices_are_sorted": bool(indices_are_sorted)}
        return self._emit(_GATHER, (x, indices), attributes)

    def scatter(
        self,
        operands: Operands,
        scatter_indices: Operand,
        updates: Operands,
        update_computation: Called,
        dimension_numbers: ScatterDimensionNumbers | dict[str, Any],
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
    ) -> Op:
        """Combines the operands with `updates` at the index vectors in `scatter_indices`.

        `update_computation` takes the current values and then the updates. Updates that are out of
        bounds are skipped. Raises BuilderError for dimension numbers or computations that do not
        fit.

        >>> import hlotool
        >>> from hlotool.builder import ScatterDimensionNumbers
        >>> b = hlotool.Builder("demo")
        >>> rows = ScatterDimensionNumbers([1], inserted_window_dims=[0], scatter_dims_to_operand_dims=[0], index_vector_dim=1)
        >>> table, updates = b.constant([[1, 2], [3, 4], [5, 6]]), b.constant([[10, 20], [30, 40], [50, 60]])
        >>> hlotool.evaluate(b.build(b.scatter(table, [[2], [2], [9]], updates, lambda old, new: old + new, rows)), [])
        array([[ 1,  2],
               [ 3,  4],
               [45, 66]], dtype=int32)
        """
        arrays, indices = self._operands(operands, "operands"), self._operand(scatter_indices, "scatter_indices")
        changes = self._operands(updates, "updates", arrays)
        scalars = scalar_shapes((*arrays, *changes))
        combiner = self._callee(update_computation, scalars, "update_computation")
        attributes = self._fields(ScatterDimensionNumbers, dimension_numbers)
        attributes |= {"indices_are_sorted": bool(indices_are_sorted), "unique_indices": bool(unique_indices), "to_apply": combiner}
        return self._emit(_SCATTER, (*arrays, indices, *changes), attributes)

    def _fields(self, kind: type[Numbers], value: Numbers | dict[str, Any], argument: str = "dimension_numbers") -> dict[str, Any]:
        """Returns the fields of dimension numbers in a dictionary, with lists as tuples."""
        if isinstance(value, dict):
            try:
                value = kind(**value)
            except TypeError as error:
                self._fail("S017", argument, str(error))
        self._require(isinstance(value, kind), "S017", argument, f"expected {kind.__name__}, found {type(value).__name__}")
        fields = {name: getattr(value, name) for name in kind._fields}
        return {name: part if isinstance(part, int) else self._integers(part, name) for name, part in fields.items()}

    def sort(self, operands: Operands, comparator: Called | Op | None = None, dimension: int = -1, is_stable: bool = False) -> Op:
        """Sorts the operands along one dimension, reordering all of them in the same way.

        `comparator` takes two elements of the first operand, two of the second, and so on. By
        default, the first operand is sorted in ascending order. For several operands, the result is
        a tuple. `sort(keys, values)` is the form used in 2019. Raises BuilderError if the
        comparator does not fit.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.sort([b.constant([1, 3, 2]), b.constant([42, 50, 49])], lambda x, y, v, w: x > y)), [])
        (array([3, 2, 1], dtype=int32), array([50, 49, 42], dtype=int32))
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.sort(b.constant([3, 1]), b.constant([42, 50]))), [])
        (array([1, 3], dtype=int32), array([50, 42], dtype=int32))
        """
        if isinstance(comparator, Op):
            operands, comparator = [operands, comparator], None
        parts = self._operands(operands, "operands")
        rank = parts[0].shape.rank if parts else 0
        scalars = [shape for shape in scalar_shapes(parts) for _ in range(2)]
        order = self._callee(_ascending if comparator is None else comparator, scalars, "comparator")
        dimensions = (self._dimension(dimension, rank, "dimension"),)
        return self._emit(_SORT, parts, {"dimensions": dimensions, "is_stable": bool(is_stable), "to_apply": order})


def _ascending(lhs: Op, rhs: Op, *others: Op) -> Op:
    return lhs < rhs
