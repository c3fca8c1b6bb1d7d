"""Recipes for random modules with calls, side effects, or sizes known only at run time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hlotool.builder.op import Op
from hlotool.shapes.shape import Shape, array_shape, tuple_shape
from hlotool.testing.generator import Generator, Recipes

__all__ = ["CONTROL", "HOST_ITEM"]

CONTROL = Recipes()
_recipe = CONTROL.add

HOST_ITEM = array_shape("f32", (2,))
"""The shape of the values that the host provides for infeeds and receives."""


# ---- calls -------------------------------------------------------------------------------------


@_recipe(2)
def _call(g: Generator) -> Op:
    if not g.may_nest:
        return g.array()
    return g.builder.call(g.body(), [g.array(), g.array()])


@_recipe()
def _fusion(g: Generator) -> Op:
    """Builds a fusion of a chain of operations, since a fusion must not contain dead code."""
    x = g.array("float", "signed", "unsigned")
    return g.builder.fusion([x, g.like(x)], "kLoop", g.builder.trace(_chain(g, x.shape), x.shape, x.shape))


def _chain(g: Generator, shape: Shape) -> Callable[..., Op]:
    def fused(first: Op, second: Op) -> Op:
        value = g.combine_scalars(first, second)
        for _ in range(g.random.randint(0, 3)):
            value = g.unary(value)
            if value.shape.element_type != shape.element_type:
                break
        return value

    return fused


@_recipe()
def _fusion_with_several_results(g: Generator) -> list[Op]:
    """Builds a fusion with several results."""
    x = g.array("float")
    chain = _chain(g, x.shape)

    def fused(first: Op, second: Op) -> Any:
        value = g.combine_scalars(first, second)
        return [value, chain(value, second), value][: g.choice((2, 3))]

    return list(g.builder.fusion([x, g.like(x)], g.choice(("kLoop", "kInput", "kOutput")), g.builder.trace(fused, x.shape, x.shape)))


@_recipe()
def _composite(g: Generator) -> Op:
    if not g.may_nest:
        return g.array()
    return g.builder.composite_call(g.body(), [g.array()], "test.composite")


@_recipe()
def _asynchronous(g: Generator) -> Op:
    x = g.array()
    start = g.builder.async_start([x], g.unary)
    return g.builder.async_done(g.builder.async_update(start) if g.chance(0.3) else start)


@_recipe()
def _copy_start(g: Generator) -> Op:
    x = g.array()
    pair = tuple_shape([x.shape, x.shape, array_shape("u32")])
    return g.builder.copy_done(g.builder.copy_start(x, pair))


# ---- loops and branches ------------------------------------------------------------------------


@_recipe(2)
def _while(g: Generator) -> list[Op]:
    """Builds a loop with a known number of iterations."""
    if not g.may_nest:
        return []
    x, count = g.array(), g.random.randint(0, 4)
    body = g.body(x.shape)
    state = g.builder.while_(lambda k, y: g.builder.lt(k, count), lambda k, y: (g.builder.add(k, 1), body(y)), [g.builder.constant(0, "s32"), x])
    return list(state)


@_recipe()
def _while_unknown(g: Generator) -> list[Op]:
    """Builds a loop with at most four iterations, whose number depends on a value."""
    if not g.may_nest:
        return []
    x, b = g.array(), g.builder
    first = b.and_(g.array("signed", rank=0), 3)
    body, step = g.body(x.shape), g.choice((1, 2))
    if g.chance(0.3):
        # This loop counts down.
        return list(b.while_(lambda k, y: b.gt(k, 0), lambda k, y: (b.sub(k, step), body(y)), [first, x]))
    return list(b.while_(lambda k, y: b.lt(k, 4), lambda k, y: (b.add(k, step), body(y)), [first, x]))


@_recipe()
def _number_loop(g: Generator) -> list[Op]:
    """Builds a loop whose state consists of numbers, which are combined with constants."""
    kinds, b = ("float", "signed", "unsigned"), g.builder
    state = [g.array(*kinds, rank=0) for _ in range(g.choice((1, 2)))]
    count = g.random.randint(1, 4)

    def step(k: Op, *numbers: Op) -> Any:
        made = [g.combine_scalars(x, g.choice((x, g.scalar(x.shape.element_type)))) for x in numbers]
        return b.add(k, 1), *(g.combine_scalars(x, y) for x, y in zip(made, numbers, strict=True))

    return list(b.while_(lambda k, *numbers: b.lt(k, count), g.wrap_body(step), [b.constant(0, "s32"), *state]))


@_recipe(2)
def _conditional(g: Generator) -> Op | list[Op]:
    if not g.may_nest:
        return []
    x, result = g.array(), g.array().shape
    if g.chance(0.5):
        return g.builder.conditional(_predicate(g), x, g.body(result), g.array(), g.body(result))
    operands = [x, g.array(), x, g.array()][: g.choice((1, 2, 3, 3, 4))]
    return g.builder.conditional(_branch(g), [g.body(result) for _ in operands], operands)


def _predicate(g: Generator) -> Op:
    return g.scalar("pred") if g.chance(0.3) else g.array("pred", rank=0)


def _branch(g: Generator) -> Op:
    return g.index(3) if g.chance(0.3) else g.new("s32", ())


# ---- equal arguments and parts -----------------------------------------------------------------


@_recipe(2, "shared")
def _call_twice(g: Generator) -> list[Op]:
    """Builds two calls to the same computation that share arguments.

    The calls may differ in a constant, or one call may pass the same operand for several
    parameters.
    """
    if not g.may_nest:
        return []
    x, b = g.array(), g.builder
    numbers = [g.scalar(x.shape.element_type) for _ in range(2)]
    called = b.trace(g.body(), x.shape, numbers[0].shape, x.shape)
    return [b.call(called, [x, number, g.choice((x, g.like(x)))]) for number in numbers]


@_recipe(1, "shared")
def _fusion_with_equal_operands(g: Generator) -> Op:
    x = g.array("float")
    return g.builder.fusion([x, x], "kLoop", g.builder.trace(_chain(g, x.shape), x.shape, x.shape))


@_recipe(2, "shared")
def _loop_with_equal_state(g: Generator) -> list[Op]:
    """Builds a loop whose state has elements that are equal at first.

    The elements may change, stay equal or become different.
    """
    if not g.may_nest:
        return []
    x, b, body = g.array(), g.builder, g.body
    makers: list[Callable[[Op, Op], Op]] = [lambda y, z: y, lambda y, z: z, g.combine_scalars, body(x.shape)]
    chosen = [g.choice(makers) for _ in range(2)]

    def step(k: Op, y: Op, z: Op) -> Any:
        return b.add(k, 1), chosen[0](y, z), chosen[1](y, z)

    return list(b.while_(lambda k, y, z: b.lt(k, 3), step, [b.constant(g.choice((0, 0, 2, 3)), "s32"), x, x]))


@_recipe(3, "shared")
def _conditional_with_similar_branches(g: Generator) -> Op | list[Op]:
    """Builds a conditional whose branches can be simplified.

    The branches are equal, return equal constants, or contain conditionals with equal branches.
    """
    if not g.may_nest:
        return []
    x, b = g.array(), g.builder
    shape, sizes = g.array().shape, g.sizes(0) if g.chance(0.5) else g.sizes()
    element_type = g.element_type()
    literals = [g.literal(element_type, sizes) for _ in range(2)]

    def constants(number: int) -> Callable[[Op], Any]:
        literal = literals[number if g.chance(0.6) else 0]
        same = g.chance(0.5)
        return g.wrap_body(lambda y: [b.constant(literal), b.constant(literals[0]), y if same else g.value_of_shape(y.shape)])

    kind = g.random.randrange(3)
    if kind == 0:
        branches: list[Any] = [constants(number) for number in (0, 1, 0)]
    elif kind == 1:
        branches = [b.trace(g.body(shape), x.shape)] * 3
    else:
        inner = g.body(shape)
        branches = [g.wrap_body(lambda y: b.conditional(_predicate(g), y, inner, y, inner)) for _ in range(3)]
    if g.chance(0.5):
        return _elements(b.conditional(_predicate(g), x, branches[0], x, branches[1]))
    return _elements(b.conditional(_branch(g), branches, [x, g.choice((x, g.like(x))), x]))


def _elements(x: Op) -> Op | list[Op]:
    return list(x) if x.shape.is_tuple else x


@_recipe(1, "shared")
def _tuple_parameter(g: Generator) -> list[Op]:
    if g.depth:
        return []
    x = array_shape(g.element_type(), g.sizes())
    inner = g.parameter(tuple_shape([x, tuple_shape([x, g.array().shape])]))
    return [inner[0], inner[1][1]]


@_recipe(1, "shared")
def _nested_tuple(g: Generator) -> list[Op]:
    b, x = g.builder, g.array()
    inner = b.tuple([x, g.array()])
    outer = b.tuple([inner, g.array(), inner])
    if g.chance(0.5):
        outer = b.optimization_barrier(outer)
    first, second, third = outer
    return [second, first[0], third[1]]


# ---- unused values -----------------------------------------------------------------------------


@_recipe(1, "unused")
def _call_unused(g: Generator) -> list[Op]:
    """Builds a call with parameters and results that nothing reads."""
    if not g.may_nest:
        return []
    x, body = g.array(), g.body()
    result = g.builder.call(lambda y, z, dead: [body(y), z], [x, g.array(), g.array()])
    return [result[0]]


@_recipe(2, "unused")
def _loop_unused(g: Generator) -> list[Op]:
    """Builds a loop whose state has an element that never changes, and one that is never used."""
    if not g.may_nest:
        return []
    b = g.builder
    x, fixed, own = g.array(), g.array(), g.array()
    body, other = g.body(x.shape), g.body(own.shape)
    count = g.random.randint(0, 3)

    def step(k: Op, y: Op, z: Op, dead: Op) -> Any:
        return b.add(k, 1), body(y, z), z, other(dead)

    state = b.while_(lambda k, y, z, dead: b.lt(k, count), step, [b.constant(0, "s32"), x, fixed, own])
    return [state[1], *([state[2]] if g.chance(0.3) else [])]


@_recipe(1, "unused")
def _branches_unused(g: Generator) -> list[Op]:
    """Builds a conditional with operands and results that nothing reads."""
    if not g.may_nest:
        return []
    b, x, y = g.builder, g.array(), g.array()
    shapes = g.array().shape, g.array().shape
    operand = b.tuple([x, y])

    def branch() -> Callable[[Op], Any]:
        first, second = (g.body(shape) for shape in shapes)
        return lambda pair: [first(pair[0]), second(pair[0])]

    result = b.conditional(_predicate(g), operand, branch(), operand, branch())
    return [result[g.choice((0, 1))]]


# ---- sizes known only at run time --------------------------------------------------------------


@_recipe(3, "dynamic")
def _set_size(g: Generator) -> Op:
    x = g.array(min_rank=1)
    axis = g.axis(x)
    limit = x.shape.dimensions[axis]
    size = g.builder.constant(g.random.randint(0, limit), "s32") if g.chance(0.5) else g.builder.and_(g.array("signed", rank=0), limit)
    return g.builder.set_dimension_size(x, g.builder.convert_element_type(size, "s32"), axis)


@_recipe(1, "dynamic")
def _dynamic_parameter(g: Generator) -> Op | None:
    sizes = g.sizes(g.choice((1, 2)))
    return None if g.depth else g.parameter(array_shape(g.element_type(), sizes, (True, *[False] * (len(sizes) - 1))))


@_recipe(2, "dynamic")
def _get_size(g: Generator) -> Op:
    x = _dynamic(g)
    return g.builder.get_dimension_size(x, g.axis(x))


def _dynamic(g: Generator) -> Op:
    """Returns an array with a dynamic dimension."""
    fitting = [x for x in g.values if x.shape.is_array and any(x.shape.dynamic)]
    return g.choice(fitting) if fitting else g.keep(_set_size(g))


@_recipe(1, "dynamic")
def _pad_to_static(g: Generator) -> list[Op]:
    x = _dynamic(g)
    sizes = [array_shape("s32") for _ in x.shape.dimensions]
    padded = g.builder.custom_call("PadToStatic", [x], tuple_shape([array_shape(x.shape.element_type, x.shape.dimensions), *sizes]))
    return list(padded)


@_recipe(1, "dynamic")
def _dynamic_unary(g: Generator) -> Op:
    return g.unary(_dynamic(g))


@_recipe(1, "dynamic")
def _dynamic_reduce(g: Generator) -> Op:
    x = _dynamic(g)
    axes = [axis for axis, is_dynamic in enumerate(x.shape.dynamic) if is_dynamic]
    return g.builder.reduce(x, g.scalar(x.shape.element_type), g.reducer(x.shape.element_type), axes)


@_recipe(1, "dynamic")
def _make_static(g: Generator) -> Op:
    """Sets a dynamic dimension to its maximum size, so that the dimension is static again."""
    x = _dynamic(g)
    axis = next(axis for axis, is_dynamic in enumerate(x.shape.dynamic) if is_dynamic)
    return g.builder.set_dimension_size(x, g.builder.constant(x.shape.dimensions[axis], "s32"), axis)


# ---- effects -----------------------------------------------------------------------------------


@_recipe()
def _token(g: Generator) -> Op:
    token = g.builder.after_all([g.builder.after_all()])
    return g.builder.add_dependency(g.array(), token)


@_recipe(2, "effects")
def _infeed(g: Generator) -> Op:
    return g.builder.get_tuple_element(g.builder.infeed_with_token(_token_before(g), HOST_ITEM), 0)


@_recipe(2, "effects")
def _outfeed(g: Generator) -> Op:
    return g.builder.outfeed_with_token(g.array(), _token_before(g))


def _token_before(g: Generator) -> Op:
    tokens = [x for x in g.values if x.shape.element_type == "token"]
    return g.choice(tokens) if tokens and g.chance(0.5) else g.builder.after_all(tokens[:2] if g.chance(0.2) else ())


@_recipe(2, "effects")
def _custom_call(g: Generator) -> Op:
    """Builds a custom-call to a host function that returns its operand."""
    x, has_effect = g.array(), g.chance(0.6)
    return g.builder.custom_call("test.effect" if has_effect else "test.same", [x], x.shape, has_side_effect=has_effect)


@_recipe(1, "effects")
def _send(g: Generator) -> Op:
    channel, b = g.channel(), g.builder
    if g.chance(0.3):
        return b.send_to_host(x := g.array(), _token_before(g), x.shape, channel)
    return b.send_done(b.send_start(g.array(), _token_before(g), channel, is_host_transfer=True))


@_recipe(1, "effects")
def _receive(g: Generator) -> Op:
    return g.builder.get_tuple_element(g.builder.recv_done(g.builder.recv_start(_token_before(g), HOST_ITEM, g.channel(), is_host_transfer=True)), 0)
