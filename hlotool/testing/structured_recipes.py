"""Recipes for random operations with windows, dimension numbers or called computations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from hlotool.builder.dimension_numbers import DotDimensionNumbers, GatherDimensionNumbers, RaggedDotDimensionNumbers, ScatterDimensionNumbers
from hlotool.builder.op import Op
from hlotool.shapes.shape import array_shape
from hlotool.testing.generator import Generator, Recipes

__all__ = ["VALUES"]

VALUES = Recipes()
_recipe = VALUES.add


# ---- products ----------------------------------------------------------------------------------

_MIXED = (
    ("s8", "s8", "s32"), ("u8", "u8", "u32"), ("s32", "s32", "s64"), ("s16", "s16", "s32"), ("bf16", "bf16", "f32"), ("f16", "f16", "f32"),
    ("f8e4m3fn", "f8e4m3fn", "f32"), ("f8e4m3fn", "f8e4m3fn", "bf16"), ("f32", "f32", "f64"), ("s8", "s8", "f32"), ("bf16", "f32", "f32"),
    ("s32", "s32", "f32"), ("bf16", "bf16", "f64"), ("f32", "f32", "s32"), ("u8", "s8", "s32"), ("f8e5m2", "f8e4m3fn", "f32"),
)  # fmt: skip
"""Different types of two factors and their product."""


def _product_types(g: Generator) -> tuple[str, str, str]:
    mixed = [types for types in _MIXED if {*types} <= {*g.types}]
    element_type = g.element_type()
    return g.choice(mixed) if mixed and g.chance(0.2) else (element_type, element_type, element_type)


@_recipe(3)
def _dot(g: Generator) -> Op:
    """Builds a product in which each dimension of the first factor has a random role."""
    types = _product_types(g)
    x = g.new(types[0], g.sizes()) if len({*types}) > 1 else g.array()
    result = types[2] if len({*types}) > 1 else x.shape.element_type
    roles = [g.choice(("batch", "contracted", "contracted", "free")) for _ in x.shape.dimensions]
    batch, contracted = ([k for k in g.shuffled(range(x.shape.rank)) if roles[k] == role] for role in ("batch", "contracted"))
    sizes = [*(x.shape.dimensions[k] for k in (*batch, *contracted)), *g.sizes(g.choice((0, 1, 1, 2)))]
    order = g.shuffled(range(len(sizes)))
    y = g.new(types[1] if len({*types}) > 1 else result, [sizes[k] for k in order])
    positions = [order.index(k) for k in range(len(batch) + len(contracted))]
    numbers = DotDimensionNumbers(contracted, positions[len(batch) :], batch, positions[: len(batch)])
    return g.builder.dot_general(x, y, numbers, preferred_element_type=result)


@_recipe()
def _ragged_dot(g: Generator) -> Op:
    x = g.new("f32", [4, 3])
    groups = g.builder.constant([1, 3], "s32")
    numbers = RaggedDotDimensionNumbers(DotDimensionNumbers([1], [1]), [0], [0])
    return g.builder.ragged_dot(x, g.new("f32", [2, 3, 2]), groups, numbers)


@_recipe()
def _scaled_dot(g: Generator) -> Op:
    x, y = g.new("f8e4m3fn", [2, 4]), g.new("f8e4m3fn", [4, 3])
    scales = g.new("bf16", [2, 2]), g.new("bf16", [2, 3])
    return g.builder.scaled_dot(x, scales[0], y, scales[1], DotDimensionNumbers([1], [0]), preferred_element_type="bf16")


@_recipe(2)
def _convolution(g: Generator) -> Op:
    rank, (left, right, result) = g.choice((0, 1, 1, 2, 2, 3)), _product_types(g)
    groups, batch_groups = g.choice(((1, 1), (1, 1), (2, 1), (3, 1), (1, 2), (1, 3)))
    inputs, outputs = g.random.randint(1, 3), g.random.randint(1, 2) * groups * batch_groups
    area, kernel = ([g.random.randint(1, largest) for _ in range(rank)] for largest in (5, 3))
    digits, is_ordered = "".join(map(str, range(rank))), g.chance(0.3)

    def operand(element_type: str, labels: str, sizes: Sequence[int]) -> tuple[str, Op]:
        order = list(range(len(sizes))) if is_ordered else g.shuffled(range(len(sizes)))
        return "".join([labels[k] for k in order]), g.new(element_type, [sizes[k] for k in order])

    batch = g.random.randint(1, 2) * batch_groups
    lhs, x = operand(left, "bf" + digits, [batch, inputs * groups, *area])
    rhs, y = operand(right, "io" + digits, [inputs, outputs, *kernel])
    window = _window(g, rank)
    labels = f"{lhs}_{rhs}->{'bf' + digits if is_ordered else ''.join(g.shuffled('bf' + digits))}"
    reversal = [g.chance(0.2) for _ in range(rank)]
    return g.builder.conv_general_dilated(x, y, *window, labels, groups, batch_groups, None, result, reversal)


# ---- windows -----------------------------------------------------------------------------------


def _window(g: Generator, rank: int) -> tuple[list[int], list[tuple[int, int]], list[int], list[int]]:
    """Returns random strides, padding, base dilations and window dilations."""

    def some(*values: int) -> list[int]:
        return [g.choice(values) for _ in range(rank)]

    if g.chance(0.4):
        # Most windows in programs have no holes, and padding at most on both sides.
        padding = [(low, low) for low in some(0, 1)]
        return some(1, 1, 2), padding, some(1), some(1)
    padding = list(zip(some(0, 0, 1, 2, -1), some(0, 0, 1, 2, -1), strict=True))
    return some(1, 1, 2, 3), padding, some(1, 1, 1, 2, 3), some(1, 1, 1, 2)


@_recipe(2)
def _reduce_window(g: Generator) -> Op | list[Op]:
    x = g.array(min_rank=1)
    inputs = [x] if g.chance(0.8) else [x, g.like(x, g.element_type())]
    strides, padding, bases, dilations = _window(g, x.shape.rank)
    sizes, numbers = [g.choice((1, 2, 3, 4)) for _ in strides], [g.scalar(y.shape.element_type) for y in inputs]
    made = g.builder.reduce_window(
        inputs, numbers, _combiner(g, inputs), sizes, strides, padding, base_dilations=bases, window_dilations=dilations
    )  # fmt: skip
    return made if len(inputs) == 1 else list(made)


def _combiner(g: Generator, inputs: Sequence[Op]) -> Callable[..., Any]:
    """Returns a reducer for several inputs, each of which is combined with a reducer of its own."""
    reducers = [g.reducer(x.shape.element_type) for x in inputs]

    def combine(*values: Op) -> list[Op]:
        return [reducer(values[k], values[len(inputs) + k]) for k, reducer in enumerate(reducers)]

    return combine if len(inputs) > 1 else reducers[0]


@_recipe()
def _select_and_scatter(g: Generator) -> Op:
    x = g.array("float", "signed", "unsigned", min_rank=1)
    strides, padding, _, _ = _window(g, x.shape.rank)
    sizes = [g.choice((1, 2, 3)) for _ in strides]
    padding = [(max(low, 0), max(high, 0)) for low, high in padding]
    reach = [size + low + high - part for size, (low, high), part in zip(x.shape.dimensions, padding, sizes, strict=True)]
    source = g.new(x.shape.element_type, [max(0, rest // stride + 1) for rest, stride in zip(reach, strides, strict=True)])
    select: Callable[[Op, Op], Op] = getattr(g.builder, g.choice(("ge", "gt", "le", "lt")))
    number = g.scalar(x.shape.element_type)
    return g.builder.select_and_scatter(x, select, sizes, strides, padding, source, number, g.reducer(x.shape.element_type))


# ---- reductions --------------------------------------------------------------------------------


@_recipe(3)
def _reduce(g: Generator) -> Op:
    x = g.array()
    return g.builder.reduce(x, g.scalar(x.shape.element_type), g.reducer(x.shape.element_type), g.axes(x))


@_recipe()
def _reduce_pairs(g: Generator) -> list[Op]:
    """Reduces to the largest number and its index, as argmax does.

    Of equal numbers, the one with the smallest index wins.
    """
    x, b = g.array("float", "signed", "unsigned", min_rank=1), g.builder
    axis, kind = g.axis(x), g.choice(("s32", "s32", "u32", "s64"))
    numbers = b.iota(array_shape(kind, x.shape.dimensions), axis) if g.chance(0.5) else g.like(x, kind)

    def larger(value: Op, index: Op, other: Op, other_index: Op) -> tuple[Op, Op]:
        is_first = b.or_(b.gt(value, other), b.and_(b.eq(value, other), b.lt(index, other_index)))
        return b.select(is_first, value, other), b.select(is_first, index, other_index)

    return list(b.reduce([x, numbers], [g.scalar(x.shape.element_type), g.scalar(kind)], larger, g.axes(x)))


@_recipe(2, "reducers")
def _reduce_several(g: Generator) -> list[Op]:
    """Builds a reduction whose results depend on each other and on the order of the elements."""
    x = g.array("float", "signed", "unsigned", "pred", min_rank=1)
    inputs = [x, g.like(x)]
    numbers = [g.scalar(x.shape.element_type) for _ in inputs]

    def combined(a: Op, b: Op, c: Op, d: Op) -> list[Op]:
        parts = [g.combine_scalars(*g.random.sample((a, b, c, d), 2)) for _ in inputs]
        return [g.choice((part, a, b, c, d)) if g.chance(0.3) else part for part in parts]

    return list(g.builder.reduce(inputs, numbers, combined, g.axes(x)))


@_recipe()
def _map(g: Generator) -> Op:
    x = g.array("float", "signed", "unsigned", "pred")
    return g.builder.map([x, g.like(x)], g.combine_scalars)


@_recipe()
def _scan(g: Generator) -> list[Op]:
    if "schedule" in g.features:
        # Scans must be replaced with loops before a module is scheduled.
        return []
    x = g.array("float", "signed", min_rank=1)
    axis = g.axis(x)
    carry = g.new(x.shape.element_type, [size for k, size in enumerate(x.shape.dimensions) if k != axis])

    def step(row: Op, state: Op) -> tuple[Op, Op]:
        total = g.builder.add(row, state)
        return total, total

    return list(g.builder.scan([x], [carry], step, axis, is_reverse=g.chance(0.3)))


# ---- order -------------------------------------------------------------------------------------


@_recipe(2)
def _sort(g: Generator) -> Op | list[Op]:
    """Builds a sort of up to three arrays by one or two keys."""
    kinds, b = ("float", "signed", "unsigned", "pred"), g.builder
    x = g.array(*kinds, min_rank=1)
    axis = g.axis(x)
    if g.chance(0.3):
        return b.sort(x, dimension=axis, is_stable=True)
    arrays = [x, *(g.like(x, g.element_type(*kinds)) for _ in range(g.choice((0, 1, 1, 2))))]
    keys = g.shuffled(range(len(arrays)))[: g.choice((1, 1, 2))]
    orders = ["TOTALORDER" if g.kind(arrays[k]) == "float" and g.chance(0.5) else None for k in keys]
    for k, order in zip(keys, orders, strict=True):
        arrays[k] = g.without_nans(arrays[k]) if order else arrays[k]
    directions = [g.choice(("LT", "GT")) for _ in keys]

    def before(*pairs: Op) -> Op:
        parts = [b.compare(pairs[2 * k], pairs[2 * k + 1], (), d, order) for k, d, order in zip(keys, directions, orders, strict=True)]
        is_tie = b.eq(pairs[2 * keys[0]], pairs[2 * keys[0] + 1])
        return parts[0] if len(parts) == 1 else b.or_(parts[0], b.and_(is_tie, parts[1]))

    made = b.sort(arrays, before, axis, is_stable=True)
    return made if len(arrays) == 1 else list(made)


@_recipe()
def _topk(g: Generator) -> list[Op]:
    x = g.array("float", "signed", "unsigned", min_rank=1)
    return list(g.builder.top_k(x, g.part(x.shape.dimensions[-1]), g.chance(0.7)))


# ---- gather and scatter ------------------------------------------------------------------------


class _Slices:
    """Slices of an array at positions that an array of indices contains."""

    def __init__(self, g: Generator, x: Op) -> None:
        sizes, batch = x.shape.dimensions, list(g.sizes(g.choice((0, 1, 1, 2))))
        shared = min(len(sizes), len(batch), g.choice((0, 0, 0, 1, 2)))
        self.batching = sorted(g.shuffled(range(len(sizes)))[:shared])
        positions = g.shuffled(range(len(batch)))[:shared]
        for dimension, position in zip(self.batching, positions, strict=True):
            batch[position] = sizes[dimension]
        others = [k for k in range(len(sizes)) if k not in self.batching]
        self.dropped = [k for k in others if sizes[k] > 0 and g.chance(0.4)]
        self.sizes = [min(1, size) if k in {*self.batching, *self.dropped} else g.part(size) for k, size in enumerate(sizes)]
        self.mapped = g.shuffled(others)[: g.random.randint(0, len(others))]
        vector = g.random.randint(0, len(batch))
        # Vectors of one index may also be scalars.
        is_scalar = len(self.mapped) == 1 and g.chance(0.5)
        self.vector = len(batch) if is_scalar else vector
        self.indices = g.indices(batch if is_scalar else [*batch[:vector], len(self.mapped), *batch[vector:]])
        self.indices_batching = [k if is_scalar else k + (k >= vector) for k in positions]
        window = [size for k, size in enumerate(self.sizes) if k in others and k not in self.dropped]
        self.offsets = sorted(g.shuffled(range(len(batch) + len(window)))[: len(window)])
        rest, kept = iter(batch), iter(window)
        self.result = [next(kept) if k in self.offsets else next(rest) for k in range(len(batch) + len(window))]

    @property
    def numbers(self) -> tuple[Any, ...]:
        """The fields of the dimension numbers, in the order of gather and of scatter."""
        return self.offsets, self.dropped, self.mapped, self.vector, self.batching, self.indices_batching


@_recipe(2)
def _gather(g: Generator) -> Op:
    x = g.array()
    slices = _Slices(g, x)
    return g.builder.gather(x, slices.indices, GatherDimensionNumbers(*slices.numbers), slices.sizes)


@_recipe(2)
def _scatter(g: Generator) -> Op | list[Op]:
    x = g.array()
    slices, arrays = _Slices(g, x), [x] if g.chance(0.8) else [x, g.like(x, g.element_type())]
    if prod(slices.result) > prod(x.shape.dimensions) * 20:
        return []
    updates = [g.new(y.shape.element_type, slices.result) for y in arrays]
    made = g.builder.scatter(arrays, slices.indices, updates, _combiner(g, arrays), ScatterDimensionNumbers(*slices.numbers))
    return made if len(arrays) == 1 else list(made)
