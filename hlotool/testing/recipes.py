"""Recipes for random modules.

Each function adds an operation on existing or new values. A BuilderError means that the values are
not valid operands.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from hlotool.builder.op import Op
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.shapes.shape import array_shape
from hlotool.testing.generator import BINARY_METHODS, Generator
from hlotool.testing.structured_recipes import VALUES

__all__ = ["VALUES"]

_recipe = VALUES.add
_FREQUENT = 4
"""Weight of the most common recipes."""


# ---- elementwise -------------------------------------------------------------------------------

_DIRECTIONS = ("EQ", "NE", "LT", "LE", "GT", "GE")
_ORDERS: dict[str, tuple[str | None, ...]] = {
    "float": (None, "FLOAT", "TOTALORDER"),
    "complex": (None, "FLOAT"),
    "signed": (None, "SIGNED"),
    "unsigned": (None, "UNSIGNED"),
}


@_recipe(_FREQUENT)
def _unary(g: Generator) -> Op:
    return g.unary(g.array())


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
    y = g.like(x)
    order = g.choice(_ORDERS.get(g.kind(x), (None,)))
    if order == "TOTALORDER":
        x, y = g.without_nans(x), g.without_nans(y)
    return g.builder.compare(x, y, (), g.choice(_DIRECTIONS[:2] if g.kind(x) == "complex" else _DIRECTIONS), order)


@_recipe(2)
def _select(g: Generator) -> Op:
    x = g.array()
    return g.builder.select(g.scalar("pred") if g.chance(0.2) else g.like(x, "pred"), x, g.like(x))


@_recipe()
def _clamp(g: Generator) -> Op:
    x = g.array("float", "signed", "unsigned", "pred")
    low, high = (g.scalar(x.shape.element_type) if g.chance(0.4) else g.like(x) for _ in range(2))
    return g.builder.clamp(low, x, high)


@_recipe(2)
def _convert(g: Generator) -> Op:
    return g.builder.convert_element_type(g.array(), g.element_type())


@_recipe()
def _bitcast_convert(g: Generator) -> Op:
    """Builds a conversion of bits; if the result is wider, the last dimension contains its parts."""
    x, kinds = g.array("float", "signed", "unsigned"), ("float", "signed", "unsigned")
    target = g.element_type(*kinds)
    ratio = ELEMENT_TYPES[target].bits // ELEMENT_TYPES[x.shape.element_type].bits
    return g.builder.bitcast_convert_type(g.new(x.shape.element_type, [*g.sizes(), ratio]) if ratio > 1 else x, target)


@_recipe()
def _reduce_precision(g: Generator) -> Op:
    return g.builder.reduce_precision(g.array("float"), g.choice((1, 2, 3, 4, 5, 8, 8, 11, 15)), g.choice((0, 1, 2, 3, 7, 10, 23, 30, 52)))


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
    """Builds a broadcast whose new dimensions may be anywhere, in any order."""
    x = g.array()
    sizes = [*x.shape.dimensions, *g.sizes(g.choice((0, 1, 2)))]
    order = g.shuffled(range(len(sizes)))
    shape = array_shape(x.shape.element_type, tuple([sizes[k] for k in order]))
    positions = [order.index(k) for k in range(x.shape.rank)]
    return g.builder.instruction("broadcast", [x], shape, {"dimensions": sorted(positions) if g.chance(0.5) and len({*sizes}) == 1 else positions})


@_recipe(2)
def _reshape(g: Generator) -> Op:
    x, sizes = g.array(), list[int]()
    rest = prod(x.shape.dimensions)
    while rest > 1 and g.chance(0.6):
        sizes.append(g.choice([size for size in range(1, rest + 1) if rest % size == 0]))
        rest //= sizes[-1]
    return g.builder.reshape(x, [*sizes, rest] if rest != 1 or g.chance(0.3) else sizes)


@_recipe()
def _bitcast(g: Generator) -> Op:
    x = g.array(min_rank=1)
    return g.builder.bitcast(x, array_shape(x.shape.element_type, (*x.shape.dimensions, 1)))


@_recipe(2)
def _transpose(g: Generator) -> Op:
    x = g.array()
    return g.builder.transpose(x, g.shuffled(range(x.shape.rank)))


@_recipe()
def _reverse(g: Generator) -> Op:
    x = g.array()
    return g.builder.rev(x, g.axes(x))


@_recipe(2)
def _slice(g: Generator) -> Op:
    x = g.array()
    starts = [size - g.part(size) for size in x.shape.dimensions]
    limits = [start + g.part(size - start) for start, size in zip(starts, x.shape.dimensions, strict=True)]
    return g.builder.slice(x, starts, limits, [g.choice((1, 1, 2, 3)) for _ in starts])


@_recipe()
def _pad(g: Generator) -> Op:
    x = g.array(min_rank=1)
    rows = [(g.choice((0, 0, 1, 2, -1, -2)), g.choice((0, 0, 1, 2, -1, -3)), g.choice((0, 0, 0, 1, 2))) for _ in x.shape.dimensions]
    return g.builder.pad(x, g.scalar(x.shape.element_type), rows)


@_recipe(2)
def _concatenate(g: Generator) -> Op:
    x = g.array(min_rank=1)
    axis, arrays = g.axis(x), [x, x]
    sizes = list(x.shape.dimensions)
    for _ in range(g.choice((0, 1, 2))):
        sizes[axis] = g.random.randint(0, 3)
        arrays.insert(1, g.like(x) if g.chance(0.6) else g.new(x.shape.element_type, sizes))
    return g.builder.concat_in_dim(arrays[: g.random.randint(1, len(arrays))], axis)


@_recipe()
def _iota(g: Generator) -> Op:
    shape = array_shape(g.element_type("float", "signed", "unsigned", "complex"), g.sizes(g.choice((1, 2, 3))))
    return g.builder.iota(shape, g.random.randrange(shape.rank))


@_recipe()
def _copy(g: Generator) -> Op:
    return g.builder.copy(g.array())


@_recipe()
def _tuple(g: Generator) -> list[Op]:
    return list(g.builder.tuple([g.array(), g.array()]))


@_recipe()
def _opt_barrier(g: Generator) -> list[Op]:
    return list(g.builder.optimization_barrier(g.builder.tuple([g.array(), g.array()])))


@_recipe()
def _get_dimension_size(g: Generator) -> Op:
    """Reads the size of a dimension; if the size is set first, nothing else reads the resized array."""
    x = g.array(min_rank=1)
    axis = g.axis(x)
    size = g.builder.constant(g.random.randint(0, x.shape.dimensions[axis]), "s32")
    return g.builder.get_dimension_size(g.builder.set_dimension_size(x, size, axis) if g.chance(0.7) else x, axis)


# ---- indexing ----------------------------------------------------------------------------------


@_recipe(2)
def _dynamic_slice(g: Generator) -> Op:
    x = g.array(min_rank=1)
    return g.builder.dynamic_slice(x, g.starts(x), [g.part(size) for size in x.shape.dimensions])


@_recipe(2)
def _dynamic_update_slice(g: Generator) -> Op:
    x = g.array()
    update = g.new(x.shape.element_type, [g.part(size) for size in x.shape.dimensions])
    return g.builder.dynamic_update_slice(x, update, g.starts(x))


# ---- linear algebra, normalization, random numbers ---------------------------------------------


_FACTORED = ("f32", "f32", "f64", "c64", "c128")


@_recipe()
def _cholesky(g: Generator) -> Op:
    rows = g.random.randint(1, 4)
    return g.builder.cholesky(g.new(g.choice(_FACTORED), [*g.sizes(g.choice((0, 0, 1, 2))), rows, rows]), lower=g.chance(0.5))


@_recipe()
def _triangular_solve(g: Generator) -> Op:
    element_type, batch, is_left = g.choice(_FACTORED), g.sizes(g.choice((0, 0, 1, 2))), g.chance(0.5)
    rows, columns = g.random.randint(1, 4), g.random.randint(1, 3)
    x, y = g.new(element_type, [*batch, rows, rows]), g.new(element_type, [*batch, *((rows, columns) if is_left else (columns, rows))])
    return g.builder.triangular_solve(x, y, is_left, g.chance(0.5), g.chance(0.4), g.choice(("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")))


@_recipe()
def _fft(g: Generator) -> Op:
    kind, (real, whole) = g.choice(("FFT", "IFFT", "RFFT", "IRFFT")), g.choice((("f32", "c64"), ("f64", "c128")))
    lengths = [g.choice((1, 2, 3, 4, 5, 8)) for _ in range(g.choice((1, 1, 2, 3)))]
    given = [*lengths[:-1], lengths[-1] // 2 + 1 if kind == "IRFFT" else lengths[-1]]
    return g.builder.fft(g.new(real if kind == "RFFT" else whole, [*g.sizes(g.choice((0, 1))), *given]), kind, lengths)


@_recipe()
def _normalization(g: Generator) -> Op | list[Op]:
    x = g.new(g.choice(("f32", "f32", "f64", "f16", "bf16")), [max(1, size) for size in g.sizes(g.choice((1, 2, 3)))])
    axis, epsilon = g.axis(x), g.choice((0.0009765625, 0.125, 0.5, 1))
    scale, offset, mean, variance = (g.new(x.shape.element_type, [x.shape.dimensions[axis]]) for _ in range(4))
    kind = g.choice(("training", "inference", "grad"))
    if kind == "training":
        return list(g.builder.batch_norm_training(x, scale, offset, epsilon, axis))
    if kind == "inference":
        return g.builder.batch_norm_inference(x, scale, offset, mean, variance, epsilon, axis)
    return list(g.builder.batch_norm_grad(x, scale, mean, variance, g.like(x), epsilon, axis))


@_recipe()
def _random_numbers(g: Generator) -> Op | list[Op]:
    shape = array_shape("f32", g.sizes())
    draw = g.choice((g.builder.rng_uniform, g.builder.rng_normal, None))
    if draw is not None:
        return draw(g.scalar("f32"), g.scalar("f32"), shape)
    return g.builder.rng_get_and_update_state(1)


@_recipe()
def _random_bits(g: Generator) -> list[Op]:
    algorithm = g.choice(("RNG_THREE_FRY", "RNG_PHILOX", "RNG_DEFAULT"))
    state = g.new("u64", [2 if algorithm == "RNG_THREE_FRY" else g.choice((2, 3))])
    return list(g.builder.rng_bit_generator(algorithm, state, array_shape(g.choice(("u8", "u16", "u32", "u32", "u64")), g.sizes())))


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
