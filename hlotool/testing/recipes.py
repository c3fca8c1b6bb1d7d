"""Recipes for random modules.

Each function adds an operation on existing or new values. A BuilderError means that the values are
not valid operands.
"""

from __future__ import annotations

from collections.abc import Callable

from hlotool.builder.dimension_numbers import DotDimensionNumbers, GatherDimensionNumbers, RaggedDotDimensionNumbers, ScatterDimensionNumbers
from hlotool.builder.op import Op
from hlotool.shapes.shape import array_shape
from hlotool.testing.generator import BINARY_METHODS, UNARY_METHODS, Generator, Recipes

__all__ = ["VALUES"]

VALUES = Recipes()
_recipe = VALUES.add
_FREQUENT = 4
"""Weight of the most common recipes."""


# ---- elementwise -------------------------------------------------------------------------------

_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


@_recipe(_FREQUENT)
def _unary(g: Generator) -> Op:
    x = g.array()
    result: Op = getattr(g.builder, g.choice(UNARY_METHODS[g.kind(x)]))(x)
    return result


@_recipe(2 * _FREQUENT)
def _binary(g: Generator) -> Op:
    x = g.array()
    result: Op = getattr(g.builder, g.choice(BINARY_METHODS[g.kind(x)]))(x, g.like(x))
    return result


@_recipe(_FREQUENT)
def _binary_with_scalar(g: Generator) -> Op:
    x = g.array(min_rank=1)
    operands = [x, g.scalar(x.shape.element_type)]
    if g.chance(0.3):
        operands.reverse()
    result: Op = getattr(g.builder, g.choice(BINARY_METHODS[g.kind(x)]))(*operands)
    return result


@_recipe()
def _binary_with_vector(g: Generator) -> Op:
    """Builds an operation that broadcasts a vector along a given dimension."""
    x = g.array(min_rank=2)
    axis = g.axis(x)
    vector = g.new(x.shape.element_type, [x.shape.dimensions[axis]])
    result: Op = getattr(g.builder, g.choice(BINARY_METHODS[g.kind(x)]))(x, vector, [axis])
    return result


@_recipe(2)
def _compare(g: Generator) -> Op:
    x = g.array()
    method = g.choice(_COMPARISONS[:2] if g.kind(x) == "complex" else _COMPARISONS)
    if g.kind(x) == "float" and g.chance(0.3):
        operands = [_replace_nans(g, x), _replace_nans(g, g.like(x))]
        total: Op = getattr(g.builder, f"{method}_total_order")(*operands)
        return total
    result: Op = getattr(g.builder, method)(x, g.like(x))
    return result


def _replace_nans(g: Generator, x: Op) -> Op:
    """Replaces NaNs with 1; optimizations may change their bits, which a total order compares."""
    return g.builder.select(g.builder.eq(x, x), x, 1.0)


@_recipe(2)
def _select(g: Generator) -> Op:
    x = g.array()
    return g.builder.select(g.scalar("pred") if g.chance(0.2) else g.like(x, "pred"), x, g.like(x))


@_recipe()
def _clamp(g: Generator) -> Op:
    x = g.array("float", "signed", "unsigned")
    low, high = (g.scalar(x.shape.element_type), g.scalar(x.shape.element_type)) if g.chance(0.5) else (g.like(x), g.like(x))
    return g.builder.clamp(low, x, high)


@_recipe(2)
def _convert(g: Generator) -> Op:
    return g.builder.convert_element_type(g.array(), g.element_type())


@_recipe()
def _bitcast_convert(g: Generator) -> Op:
    x = g.array()
    return g.builder.bitcast_convert_type(x, {"f32": "s32", "s32": "f32", "f64": "u64", "s8": "u8"}.get(x.shape.element_type, x.shape.element_type))


@_recipe()
def _reduce_precision(g: Generator) -> Op:
    return g.builder.reduce_precision(g.array("float"), g.choice((2, 5, 8)), g.choice((0, 3, 10)))


@_recipe()
def _stochastic_convert(g: Generator) -> Op:
    x = g.new(g.choice(("f32", "bf16")), g.sizes())
    return g.builder.stochastic_convert(x, g.like(x, "u32" if x.shape.element_type == "f32" else "u16"), g.choice(("s8", "s16")))


@_recipe()
def _complex(g: Generator) -> Op:
    x = g.new(g.choice(("f32", "f64")), g.sizes())
    return g.builder.complex(x, g.like(x))


@_recipe()
def _mulhi(g: Generator) -> Op:
    x = g.array("signed", "unsigned")
    return g.builder.mulhi(x, g.like(x))


# ---- shapes ------------------------------------------------------------------------------------


@_recipe(2)
def _broadcast(g: Generator) -> Op:
    return g.builder.broadcast(g.array(), g.sizes(g.choice((0, 1, 2))))


@_recipe()
def _broadcast_in_dim(g: Generator) -> Op:
    x = g.array(rank=1)
    sizes = g.sizes(2)
    axis = g.choice((0, 1))
    return g.builder.broadcast_in_dim(x, [x.shape.dimensions[0] if k == axis else size for k, size in enumerate(sizes)], [axis])


@_recipe(2)
def _reshape(g: Generator) -> Op:
    x = g.array(min_rank=1)
    return g.builder.collapse(x, range(x.shape.rank)) if g.chance(0.5) else g.builder.reshape(x, [1, *x.shape.dimensions])


@_recipe()
def _bitcast(g: Generator) -> Op:
    x = g.array(min_rank=1)
    return g.builder.bitcast(x, array_shape(x.shape.element_type, (*x.shape.dimensions, 1)))


@_recipe(2)
def _transpose(g: Generator) -> Op:
    x = g.array(min_rank=1)
    return g.builder.transpose(x, g.random.sample(range(x.shape.rank), x.shape.rank))


@_recipe()
def _reverse(g: Generator) -> Op:
    x = g.array(min_rank=1)
    return g.builder.rev(x, [g.axis(x)])


@_recipe(2)
def _slice(g: Generator) -> Op:
    x = g.array(min_rank=1)
    starts = [size - g.part(size) for size in x.shape.dimensions]
    limits = [start + g.part(size - start) for start, size in zip(starts, x.shape.dimensions, strict=True)]
    return g.builder.slice(x, starts, limits, [g.choice((1, 1, 2)) for _ in starts])


@_recipe()
def _pad(g: Generator) -> Op:
    x = g.array(min_rank=1)
    return g.builder.pad(
        x, g.scalar(x.shape.element_type), [(g.choice((0, 1, -1)), g.choice((0, 2)), g.choice((0, 0, 1))) for _ in x.shape.dimensions]
    )


@_recipe(2)
def _concatenate(g: Generator) -> Op:
    x = g.array(min_rank=1)
    return g.builder.concat_in_dim([x, g.like(x), x][: g.choice((1, 2, 3))], g.axis(x))


@_recipe()
def _copy(g: Generator) -> Op:
    return g.builder.copy(g.array())


@_recipe()
def _tuple(g: Generator) -> list[Op]:
    return list(g.builder.tuple([g.array(), g.array()]))


@_recipe()
def _barrier(g: Generator) -> list[Op]:
    return list(g.builder.optimization_barrier(g.builder.tuple([g.array(), g.array()])))


@_recipe()
def _dimension_sizes(g: Generator) -> Op:
    """Sets the size of a dimension and reads it; nothing else reads the resized array."""
    x = g.array(min_rank=1)
    axis = g.axis(x)
    size = g.builder.constant(g.random.randint(0, x.shape.dimensions[axis]), "s32")
    return g.builder.get_dimension_size(g.builder.set_dimension_size(x, size, axis), axis)


# ---- contractions, windows and reductions ------------------------------------------------------


@_recipe(2)
def _dot(g: Generator) -> Op:
    x = g.array(min_rank=1)
    axis = g.axis(x)
    y = g.new(x.shape.element_type, [x.shape.dimensions[axis], *g.sizes(g.choice((0, 1)))])
    return g.builder.dot_general(x, y, DotDimensionNumbers([axis], [0]))


@_recipe()
def _batched_dot(g: Generator) -> Op:
    x = g.array("float", rank=3)
    y = g.new(x.shape.element_type, [x.shape.dimensions[0], *g.sizes(1), x.shape.dimensions[2]])
    return g.builder.dot_general(x, y, DotDimensionNumbers([2], [2], [0], [0]))


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


@_recipe()
def _convolution(g: Generator) -> Op:
    element_type = g.element_type("float", "signed")
    rank = g.choice((1, 2))
    x, kernel = g.new(element_type, [2, 2, *g.sizes(rank)]), g.new(element_type, [3, 2, *[g.choice((1, 2, 3)) for _ in range(rank)]])
    return g.builder.conv(x, kernel, [g.choice((1, 2)) for _ in range(rank)], g.choice(("SAME", "VALID")))


@_recipe(3)
def _reduce(g: Generator) -> Op:
    x = g.array(min_rank=1)
    return g.builder.reduce(x, g.scalar(x.shape.element_type), g.reducer(x.shape.element_type), g.random.sample(range(x.shape.rank), 1))


@_recipe()
def _reduce_pairs(g: Generator) -> list[Op]:
    """Reduces to the largest number and its index, as argmax does."""
    x = g.array("float", "signed", min_rank=1)
    axis = g.axis(x)
    numbers = g.builder.iota(array_shape("s32", x.shape.dimensions), axis)

    def larger(value: Op, index: Op, other: Op, other_index: Op) -> tuple[Op, Op]:
        is_first = g.builder.ge(value, other)
        return g.builder.select(is_first, value, other), g.builder.select(is_first, index, other_index)

    return list(g.builder.reduce([x, numbers], [g.scalar(x.shape.element_type), g.builder.constant(0, "s32")], larger, [axis]))


@_recipe(2, "reducers")
def _reduce_several(g: Generator) -> list[Op]:
    """Builds a reduction whose results depend on each other and on the order of the elements."""
    x = g.array("float", "signed", "unsigned", "pred", min_rank=1)
    inputs = [x, g.like(x)]
    numbers = [g.scalar(x.shape.element_type) for _ in inputs]

    def combined(a: Op, b: Op, c: Op, d: Op) -> list[Op]:
        parts = [g.combine_scalars(*g.random.sample((a, b, c, d), 2)) for _ in inputs]
        return [g.choice((part, a, b, c, d)) if g.chance(0.3) else part for part in parts]

    return list(g.builder.reduce(inputs, numbers, combined, g.random.sample(range(x.shape.rank), 1)))


@_recipe()
def _reduce_window(g: Generator) -> Op:
    x = g.array(min_rank=1)
    windows = [g.choice((1, 2, 3)) for _ in x.shape.dimensions]
    strides = [g.choice((1, 2)) for _ in windows]
    return g.builder.reduce_window(x, g.scalar(x.shape.element_type), g.reducer(x.shape.element_type), windows, strides, g.choice(("SAME", "VALID")))


@_recipe()
def _select_and_scatter(g: Generator) -> Op:
    x = g.new(g.element_type("float"), [4, 4])
    source = g.new(x.shape.element_type, [2, 2])
    return g.builder.select_and_scatter(x, g.builder.ge, [2, 2], [2, 2], "VALID", source, g.scalar(x.shape.element_type), g.builder.add)


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


@_recipe(2)
def _sort(g: Generator) -> Op | list[Op]:
    x = g.array("float", "signed", "unsigned", min_rank=1)
    axis = g.axis(x)
    if g.chance(0.5):
        return g.builder.sort(x, dimension=axis, is_stable=True)
    return list(g.builder.sort([x, g.like(x, "s32")], lambda a, b, i, j: g.builder.gt(a, b), axis, is_stable=True))


@_recipe()
def _top_k(g: Generator) -> list[Op]:
    x = g.array("float", "signed", min_rank=1)
    return list(g.builder.top_k(x, g.part(x.shape.dimensions[-1])))


# ---- indexing ----------------------------------------------------------------------------------


@_recipe(2)
def _dynamic_slice(g: Generator) -> Op:
    x = g.array(min_rank=1)
    return g.builder.dynamic_slice(x, [g.index(size) for size in x.shape.dimensions], [g.part(size) for size in x.shape.dimensions])


@_recipe(2)
def _dynamic_update_slice(g: Generator) -> Op:
    x = g.array(min_rank=1)
    update = g.new(x.shape.element_type, [g.part(size) for size in x.shape.dimensions])
    return g.builder.dynamic_update_slice(x, update, [g.index(size) for size in x.shape.dimensions])


@_recipe()
def _gather(g: Generator) -> Op:
    x = g.array(rank=2)
    rows = g.new("s32", [*g.sizes(1), 1])
    numbers = GatherDimensionNumbers([1], [0], [0], 1)
    return g.builder.gather(x, rows, numbers, [1, x.shape.dimensions[1]])


@_recipe()
def _scatter(g: Generator) -> Op:
    x = g.array(rank=2)
    rows = g.new("s32", [*g.sizes(1), 1])
    updates = g.new(x.shape.element_type, [rows.shape.dimensions[0], x.shape.dimensions[1]])
    numbers = ScatterDimensionNumbers([1], [0], [0], 1)
    return g.builder.scatter(x, rows, updates, g.reducer(x.shape.element_type), numbers)


# ---- linear algebra, normalization, random numbers ---------------------------------------------


@_recipe()
def _linear_algebra(g: Generator) -> Op:
    x = g.new("f32", [3, 3])
    if g.chance(0.5):
        return g.builder.cholesky(x, lower=g.chance(0.5))
    transpose = g.choice(("NO_TRANSPOSE", "TRANSPOSE"))
    return g.builder.triangular_solve(x, g.new("f32", [3, 2]), True, g.chance(0.5), g.chance(0.5), transpose)


@_recipe()
def _fft(g: Generator) -> Op:
    kind = g.choice(("FFT", "IFFT", "RFFT", "IRFFT"))
    x = g.new("f32" if kind == "RFFT" else "c64", [2, 3 if kind == "IRFFT" else 4])
    return g.builder.fft(x, kind, [4])


@_recipe()
def _normalization(g: Generator) -> Op | list[Op]:
    x = g.new("f32", [*g.sizes(1), 3])
    scale, offset, mean, variance = (g.new("f32", [3]) for _ in range(4))
    kind = g.choice(("training", "inference", "grad"))
    if kind == "training":
        return list(g.builder.batch_norm_training(x, scale, offset, 0.0009765625, 1))
    if kind == "inference":
        return g.builder.batch_norm_inference(x, scale, offset, mean, variance, 0.0009765625, 1)
    return list(g.builder.batch_norm_grad(x, scale, mean, variance, g.like(x), 0.0009765625, 1))


@_recipe()
def _random_numbers(g: Generator) -> Op | list[Op]:
    shape = array_shape("f32", g.sizes())
    draw = g.choice((g.builder.rng_uniform, g.builder.rng_normal, None))
    if draw is not None:
        return draw(g.scalar("f32"), g.scalar("f32"), shape)
    if g.chance(0.2):
        return g.builder.rng_get_and_update_state(1)
    state = g.new("u64", [2])
    return list(g.builder.rng_bit_generator("RNG_THREE_FRY", state, array_shape("u32", g.sizes())))


@_recipe()
def _devices(g: Generator) -> Op:
    return g.builder.replica_id() if g.chance(0.5) else g.builder.partition_id()


@_recipe()
def _collective(g: Generator) -> Op:
    """Builds a collective on a single device."""
    x = g.array(min_rank=1)
    axis, b = g.axis(x), g.builder
    collectives: tuple[Callable[[], Op], ...] = (
        lambda: b.all_reduce(x, g.reducer(x.shape.element_type), [[0]]),
        lambda: b.all_gather(x, axis, 1, [[0]]),
        lambda: b.reduce_scatter(x, g.reducer(x.shape.element_type), axis, 1, [[0]]),
        lambda: b.all_to_all(x, axis, axis, 1, [[0]]),
        lambda: b.collective_permute(x, [(0, 0)]),
        lambda: b.collective_broadcast(x, [[0]]),
        lambda: b.collective_reduce(x, g.reducer(x.shape.element_type), [[0]]),
    )
    return g.choice(collectives)()


@_recipe(8, "chains")
def _chain(g: Generator) -> Op:
    return g.chain(g.array(), VALUES[""])
