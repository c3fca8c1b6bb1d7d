"""Methods that apply a computation to the elements or slices of arrays."""

from __future__ import annotations

from collections.abc import Sequence

from hlotool.builder.arguments import Called, Operand, Operands
from hlotool.builder.composites.slicing import SlicingMethods
from hlotool.builder.op import Op
from hlotool.builder.windows import Padding, make_window
from hlotool.errors import Violation
from hlotool.ir.model import Instruction
from hlotool.opdefs.inference import bounds, count
from hlotool.opdefs.table import OPS
from hlotool.shapes.shape import Shape, array_shape
from hlotool.shapes.values import WindowDimension

__all__ = ["ReductionMethods", "scalar_shapes"]

_MAP, _REDUCE, _REDUCE_WINDOW, _SCAN = OPS["map"], OPS["reduce"], OPS["reduce-window"], OPS["scan"]
_SELECT_AND_SCATTER = OPS["select-and-scatter"]


class ReductionMethods(SlicingMethods):
    """Methods that apply a computation to the elements or slices of arrays."""

    def reduce(self, operands: Operands, init_values: Operands, computation: Called, dimensions_to_reduce: Sequence[int]) -> Op:
        """Combines the elements along the given dimensions.

        `computation` takes the accumulators and then the elements, all of them scalars. Each
        operand has an initial value; for several operands, the result is a tuple. Raises
        BuilderError if the computation does not fit, and for dimensions that do not exist.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.reduce(b.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), 0.0, lambda a, b: a + b, [1])), [])
        array([ 6., 15.], dtype=float32)
        >>> b = hlotool.Builder("demo")
        >>> sum_and_max = lambda s, m, x, y: (s + x, m.builder.max(m, y))
        >>> x = b.constant([3, 1, 2])
        >>> hlotool.evaluate(b.build(b.reduce([x, x], [0, 0], sum_and_max, [0])), [])
        (array(6, dtype=int32), array(3, dtype=int32))
        """
        inputs, inits, reducer = self._reduction(operands, init_values, computation)
        rank = inputs[0].shape.rank if inputs else 0
        dimensions = self._dimensions(dimensions_to_reduce, rank, "dimensions_to_reduce")
        return self._emit(_REDUCE, (*inputs, *inits), {"dimensions": dimensions, "to_apply": reducer})

    def reduce_all(self, operand: Operands, init_value: Operands, computation: Called) -> Op:
        """Combines all elements, like `reduce` over all dimensions.

        Raises BuilderError if the computation does not fit.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.reduce_all(b.constant([[1.0, 2.0], [3.0, 4.0]]), 0.0, lambda a, b: a + b)), [])
        array(10., dtype=float32)
        """
        inputs, inits, reducer = self._reduction(operand, init_value, computation)
        dimensions = range(inputs[0].shape.rank if inputs else 0)
        return self._emit(_REDUCE, (*inputs, *inits), {"dimensions": tuple(dimensions), "to_apply": reducer})

    def _reduction(
        self, operands: Operands, init_values: Operands, computation: Called
    ) -> tuple[tuple[Instruction, ...], tuple[Instruction, ...], object]:
        inputs = self._operands(operands, "operands")
        inits = self._operands(init_values, "init_values", inputs)
        same = len(inputs) == len(inits)
        self._require(same, "S013", "init_values", f"expected {count(len(inputs), 'init value')} (one per operand), got {len(inits)}")
        return inputs, inits, self._callee(computation, [*scalar_shapes(inits), *scalar_shapes(inputs)], "computation")

    def reduce_window(
        self,
        operands: Operands,
        init_values: Operands,
        computation: Called,
        window_dimensions: Sequence[int],
        window_strides: Sequence[int] | None,
        padding: Padding,
        *,
        base_dilations: Sequence[int] | None = None,
        window_dilations: Sequence[int] | None = None,
    ) -> Op:
        """Combines the elements inside the window at each of its positions.

        `padding` is SAME, VALID, or (low, high) for each dimension. For several operands, the
        result is a tuple, as in `reduce`. Raises BuilderError for lists of the wrong length, and if
        the computation does not fit.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> x = b.constant([1.0, 5.0, 2.0, 4.0])
        >>> hlotool.evaluate(b.build(b.reduce_window(x, b.min_value("f32"), b.max, [2], [1], "VALID")), [])
        array([5., 5., 4.], dtype=float32)
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.reduce_window(b.constant([1, 2, 3, 4, 5]), 0, b.add, [2], [2], [(1, 0)])), [])
        array([1, 5, 9], dtype=int32)
        """
        inputs, inits, reducer = self._reduction(operands, init_values, computation)
        area = inputs[0].shape.dimensions if inputs else ()
        window = self._window(area, window_dimensions, window_strides, padding, base_dilations, window_dilations)
        return self._emit(_REDUCE_WINDOW, (*inputs, *inits), {"window": window, "to_apply": reducer})

    def _window(
        self,
        area: Sequence[int],
        sizes: Sequence[int],
        strides: Sequence[int] | None,
        padding: Padding,
        base_dilations: Sequence[int] | None = None,
        window_dilations: Sequence[int] | None = None,
        window_reversal: Sequence[bool] | None = None,
    ) -> tuple[WindowDimension, ...]:
        steps = None if strides is None else self._integers(strides, "window_strides")
        bases = None if base_dilations is None else self._integers(base_dilations, "base_dilations")
        dilations = None if window_dilations is None else self._integers(window_dilations, "window_dilations")
        if not isinstance(padding, str):
            padding = [self._integers(pair, "padding") for pair in self._list(padding, "padding")]
        try:
            return make_window(area, self._integers(sizes, "window_dimensions"), steps, padding, bases, dilations, window_reversal)
        except Violation as violation:
            self._reject(violation)

    def select_and_scatter(
        self,
        operand: Operand,
        select: Called,
        window_dimensions: Sequence[int],
        window_strides: Sequence[int] | None,
        padding: Padding,
        source: Operand,
        init_value: Operand,
        scatter: Called,
    ) -> Op:
        """Scatters the values of `source` to the elements that `select` chooses in each window.

        `scatter` combines the value at the chosen element of the result, initially `init_value`,
        with the value of `source` for the window. Raises BuilderError if `source` does not have
        exactly one value per window position, or if a computation does not fit.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> x, source = b.constant([[7, 2, 5], [3, 9, 4]]), b.constant([[10, 20]])
        >>> result = b.select_and_scatter(x, lambda a, b: a >= b, [2, 2], [1, 1], "VALID", source, 0, lambda a, b: a + b)
        >>> hlotool.evaluate(b.build(result), [])
        array([[ 0,  0,  0],
               [ 0, 30,  0]], dtype=int32)
        """
        x = self._operand(operand, "operand")
        y, init = self._operand(source, "source", x.shape), self._operand(init_value, "init_value", x.shape)
        chooser = self._callee(select, scalar_shapes((x, x)), "select")
        combiner = self._callee(scatter, scalar_shapes((init, y)), "scatter")
        window = self._window(x.shape.dimensions, window_dimensions, window_strides, padding)
        return self._emit(_SELECT_AND_SCATTER, (x, y, init), {"window": window, "select": chooser, "scatter": combiner})

    def map(self, operands: Operands, computation: Called, dimensions: Sequence[int] | None = None, static_operands: Operands = ()) -> Op:
        """Applies a computation on scalars to the elements of the operands at each index.

        `dimensions` must list all dimensions, in order. Scalars in `static_operands` are passed to
        every call, after the elements. Raises BuilderError if the computation does not fit.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.map([b.constant([1.0, 2.0])], lambda x, scale: x * scale, [0], [b.constant(3.0)])), [])
        array([3., 6.], dtype=float32)
        """
        inputs = self._operands(operands, "operands")
        shape = inputs[0].shape if inputs else array_shape("f32")
        extra = [self._broadcast_scalar(x, shape) for x in self._operands(static_operands, "static_operands")]
        numbers = range(shape.rank) if dimensions is None else self._dimensions(dimensions, shape.rank, "dimensions")
        mapped = self._callee(computation, scalar_shapes((*inputs, *extra)), "computation")
        return self._emit(_MAP, (*inputs, *extra), {"dimensions": tuple(numbers), "to_apply": mapped})

    def scan(
        self, inputs: Operands, inits: Operands, to_apply: Called, scan_dimension: int, is_reverse: bool = False, is_associative: bool | None = None
    ) -> Op:
        """Iterates along one dimension, with carried values.

        `to_apply` takes one slice of each input and then the carried values; it returns outputs and
        new carried values. The result is a tuple of the stacked outputs and the last carried
        values.
        `is_associative=True` promises that `to_apply` is associative; False and None do not. Raises
        BuilderError if the computation does not fit.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.scan(b.constant([1.0, 2.0, 3.0]), 10.0, lambda x, carry: (x + carry, x + carry), 0)), [])
        (array([11., 13., 16.], dtype=float32), array(16., dtype=float32))
        """
        arrays = self._operands(inputs, "inputs")
        carries = self._operands(inits, "inits", arrays)
        dimension = self._dimension(scan_dimension, arrays[0].shape.rank if arrays else 0, "scan_dimension")
        slices = [_remove_dimension(x.shape, dimension) for x in arrays]
        body = self._callee(to_apply, [*slices, *(x.shape for x in carries)], "to_apply")
        attributes = {
            "dimensions": (dimension,),
            "num_carries": len(carries),
            "is_reverse": bool(is_reverse),
            "is_associative": bool(is_associative),
            "to_apply": body,
        }
        operands = (*arrays, *carries)
        return self._emit(_SCAN, operands, attributes, self._inferred_shape(_SCAN, operands, attributes))


def scalar_shapes(operands: Sequence[Instruction]) -> list[Shape]:
    """Returns the parameter shapes of a computation that takes single elements of the operands.

    Shapes that are not arrays are unchanged.

    >>> scalar_shapes([])
    []
    """
    return [array_shape(x.shape.element_type) if x.shape.is_array else x.shape for x in operands]


def _remove_dimension(shape: Shape, dimension: int) -> Shape:
    """Returns the shape of a slice at one index of a dimension, without that dimension."""
    kept = [bound for k, bound in enumerate(bounds(shape)) if k != dimension]
    return array_shape(shape.element_type, tuple(size for size, _ in kept), tuple(dynamic for _, dynamic in kept))
