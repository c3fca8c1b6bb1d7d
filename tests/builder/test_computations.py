"""Computations: traced functions, `with` blocks, loops, branches, and errors in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hlotool
from hlotool.builder.op import Op

VALUES = np.arange(6, dtype=np.float32).reshape(2, 3)


def run(build: Callable[[hlotool.Builder, Op], Any], values: Any = VALUES) -> Any:
    b = hlotool.Builder("m")
    module = b.build(build(b, b.parameter(0, b.constant(values).shape, "x")))
    return hlotool.evaluate(hlotool.parse(str(module)), [values])


def add(x: Op, y: Op) -> Op:
    return x + y


def test_functions_blocks_and_computations_are_equivalent() -> None:
    def from_block(b: hlotool.Builder, x: Op) -> Op:
        with b.computation("sum", "f32[]", "f32[]") as c:
            first, second = c.parameters
            c.add(first, second)
        return b.reduce(x, 0.0, c, [1])

    def from_numbers(b: hlotool.Builder, x: Op) -> Op:
        c = b.computation("sum")
        c.add(c.parameter(0, "f32[]"), c.parameter(1, "f32[]"))
        return b.reduce(x, 0.0, c.finish(), [1])

    builds: list[Callable[[hlotool.Builder, Op], Op]] = [
        from_block,
        from_numbers,
        lambda b, x: b.reduce(x, 0.0, lambda a, b: a + b, [1]),
        lambda b, x: b.reduce(x, 0.0, add, [-1]),
        lambda b, x: b.reduce(x, 0.0, b.add, [1]),
        lambda b, x: b.reduce(x, 0.0, lambda p, q: b.add(p, b.mul(q, b.constant(1.0))), [1]),
        lambda b, x: b.reduce(x, 0.0, lambda p, q: b.call(lambda u, v: b.add(v, u), [p, q]), [1]),
        lambda b, x: b.reduce(x, 0.0, b.trace(add, "f32[]", "f32[]"), [1]),
    ]
    for build in builds:
        assert run(build).tolist() == [3.0, 12.0]


def test_traced_computations_have_the_names_of_functions_and_parameters() -> None:
    b = hlotool.Builder("m")
    reduced = b.reduce(b.parameter(0, "f32[4]"), 0.0, add, [0])
    computation = reduced.instruction.called[0]
    assert computation.name == "add"
    assert [p.name for p in computation.parameters] == ["x", "y"]


def test_one_computation_can_be_called_twice() -> None:
    b = hlotool.Builder("m")
    total = b.trace(add, "f32[]", "f32[]")
    x = b.parameter(0, "f32[2,3]")
    b.tuple([b.reduce(x, 0.0, total, [0]), b.reduce(x, 1.0, total, [1])])
    assert [c.name for c in b.build().computations] == ["add", "m"]


LOOPS: list[Callable[[hlotool.Builder, Op], Any]] = [
    lambda b, x: b.while_(lambda i, v: i < 3, lambda i, v: (i + 1, v * 2.0), (0, x))[1],
    lambda b, x: b.while_(lambda i, v: i < 3, lambda i, v: [i + 1, v * 2.0], [0, x])[1],
    lambda b, x: b.while_(lambda i, v: i < 3, lambda v, i: {"v": v * 2.0, "i": i + 1}, {"i": 0, "v": x})["v"],
    lambda b, x: b.while_(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * 2.0), b.tuple([b.constant(0), x]))[1],
]


@pytest.mark.parametrize("loop", LOOPS)
def test_loop_states(loop: Callable[[hlotool.Builder, Op], Any]) -> None:
    assert run(loop).tolist() == (VALUES * 8).tolist()


def test_a_state_can_be_a_single_array() -> None:
    assert run(lambda b, x: b.while_(lambda v: v[1, 2] < 100.0, lambda v: v * 2.0, x)).tolist() == (VALUES * 32).tolist()


def test_loops_nest() -> None:
    def body(i: Op, total: Op) -> tuple[Op, Op]:
        _, inner = i.builder.while_(lambda j, t: j < 4, lambda j, t: (j + 1, t + 1.0), (0, total))
        return i + 1, inner

    assert float(run(lambda b, x: b.while_(lambda i, t: i < 3, body, (0, x))[1], np.float32(0))) == 12.0


def test_conditionals() -> None:
    for value, expected in ((1.0, -2.0), (-1.0, 9.0)):
        found = run(lambda b, x: b.conditional(x > 0.0, 2.0, lambda y: -y, 3.0, lambda y: y * y), np.float32(value))
        assert float(found) == expected
    chosen = run(lambda b, x: b.conditional(x, [lambda y: y + 1.0, lambda y: y * 10.0], [x_float(b), x_float(b)]), np.int32(1))
    assert float(chosen) == 70.0


def x_float(b: hlotool.Builder) -> Op:
    return b.constant(7.0)


def test_composite_calls_keep_their_name() -> None:
    b = hlotool.Builder("m")
    b.composite_call(lambda x: x * x, b.parameter(0, "f32[]"), "my.square", "{n = 1 : i32}", 2)
    text = str(b.build())
    assert 'frontend_attributes={composite.attributes={n = 1 : i32},composite.name="my.square",composite.version="2"}' in text
    assert hlotool.parse(text).entry.root.attributes["is_composite"] is True


def test_variadic_reductions_return_tuples() -> None:
    def largest(v: Op, i: Op, w: Op, j: Op) -> tuple[Op, Op]:
        b = v.builder
        return b.select(w > v, w, v), b.select(w > v, j, i)

    def build(b: hlotool.Builder, x: Op) -> Op:
        return b.reduce([x, b.iota("s32[2,3]", 1)], [b.min_value("f32"), 0], largest, [1])

    values, positions = run(build, np.array([[1, 5, 3], [9, 2, 4]], np.float32))
    assert (values.tolist(), positions.tolist()) == ([5.0, 9.0], [1, 0])


def test_sort_by_the_second_operand() -> None:
    keys, values = run(lambda b, x: b.sort([x, b.constant([3, 1, 2])], lambda x, y, v, w: v < w), np.array([10, 20, 30], np.float32))
    assert (keys.tolist(), values.tolist()) == ([20.0, 30.0, 10.0], [1, 2, 3])


def test_scan_returns_outputs_and_carries() -> None:
    outputs, carry = run(lambda b, x: b.scan(x, 10.0, lambda x, c: (x + c, x + c), 0, True), np.array([1, 2, 3], np.float32))
    assert (outputs.tolist(), float(carry)) == ([16.0, 15.0, 13.0], 16.0)


# ---- mistakes ---------------------------------------------------------------------------------------------------------

WRONG: list[tuple[Callable[[hlotool.Builder, Op], Any], str]] = [
    (lambda b, x: b.reduce(x, 0.0, lambda a, c: a + x, [0]), "'x' belongs to computation 'm', but this operation is added to"),
    (lambda b, x: b.reduce(x, 0.0, lambda a, c: None, [0]), "the function returns nothing"),
    (lambda b, x: b.reduce(x, 0.0, lambda a, c: (a, c), [0]), "computation: to_apply of 'reduce' must return 1 scalar"),
    (lambda b, x: b.reduce(x, 0, lambda a, c: a > c, [0]), "computation: to_apply of 'reduce' returns pred[]"),
    (lambda b, x: b.reduce(x, [0.0, 1.0], add, [0]), "init_values: expected 1 init value (one per operand), got 2"),
    (lambda b, x: b.reduce(x, 0.0, add, [2]), "dimensions_to_reduce: dimension 2 in dimensions of 'reduce' is out of range"),
    (lambda b, x: b.reduce(x, 0.0, b.computation("open", "f32[]"), [0]), "computation 'open' is not finished"),
    (lambda b, x: b.reduce(x, 0.0, 5, [0]), "expected a computation, found int"),
    (lambda b, x: b.reduce(x, 0.0, hlotool.parse(str(other())).computations[0], [0]), "belongs to another module"),
    (lambda b, x: b.add(x, hlotool.Builder("other").parameter(0, "f32[2,3]", "y")), "'y' belongs to another module, 'other'"),
    (
        lambda b, x: b.while_(lambda v: v[0, 0] < 1.0, lambda v: v[0], x),
        "body: the body's result is f32[3], but the parameter of the body is f32[2,3]",
    ),
    (lambda b, x: b.while_(lambda v: v, lambda v: v, x), "condition: the condition of 'while' must return pred[]"),
    (lambda b, x: b.while_(lambda i: i["v"], lambda v: {"w": v}, {"v": x}), "got an unexpected keyword argument"),
    (lambda b, x: b.while_(lambda v: v[0, 0] < 1.0, lambda v: {"w": v}, {"v": x}), "expected the names ['v'], got ['w']"),
    (lambda b, x: b.conditional(x, [abs], [x]), "expected s32[], got f32[2,3]"),
    (lambda b, x: b.conditional(0, [abs, abs], [x]), "branch_operands: expected 2 operands (one per branch), got 1"),
    (lambda b, x: b.conditional(0, [abs]), "conditional() takes (predicate, true_operand"),
    (lambda b, x: b.call(lambda a: a, [x, x]), "takes 1 positional argument but 2 were given"),
    (lambda b, x: b.computation("sum").build(), "only the builder of a new module can build it"),
    (lambda b, x: b.finish(), "the entry computation is finished by build"),
    (lambda b, x: b.computation("1st"), "'1st' is not a valid name"),
    (lambda b, x: b.parameter(0, "f32[]"), "parameter number 0 is already used by 'x'"),
    (lambda b, x: b.parameter(-1, "f32[]"), "cannot be negative"),
    (lambda b, x: (b.parameter(2, "f32[]"), b.build()), "parameter number 1 is missing"),
    (lambda b, x: (b.build(), b.add(x, x)), "'m' is finished, so nothing can be added to it"),
    (lambda b, x: (b.build(), b.build()), "'m' is already finished"),
    (lambda b, x: x.named("f32"), "'f32' is reserved, so it cannot be used as a name"),
    (lambda b, x: x.named("a b"), "'a b' is not a valid name"),
    (lambda b, x: b.op("y"), "there is no instruction 'y' in 'm'"),
]


def other() -> Any:
    b = hlotool.Builder("other")
    b.call(lambda x: x, [1.0])
    return b.build()


@pytest.mark.parametrize(("call", "part"), WRONG)
def test_mistakes(call: Callable[[hlotool.Builder, Op], Any], part: str) -> None:
    b = hlotool.Builder("m")
    x = b.parameter(0, "f32[2,3]", "x")
    with pytest.raises((hlotool.BuilderError, TypeError)) as caught:
        call(b, x)
    assert part in str(caught.value)


def test_an_empty_computation_is_rejected() -> None:
    with pytest.raises(hlotool.BuilderError, match="'m' has no instructions"):
        hlotool.Builder("m").build()


def test_errors_of_the_whole_module_have_the_line_of_the_call() -> None:
    b = hlotool.Builder("m", replica_count=2)
    x = b.parameter(0, "f32[2]")
    b.all_reduce(x, add, [[0], [0]])
    with pytest.raises(hlotool.BuilderError) as caught:
        b.build()
    assert caught.value.diagnostics[0].filename == __file__
    assert caught.value.diagnostics[0].code == "P002"


def test_a_builder_can_be_used_after_an_error() -> None:
    b = hlotool.Builder("m")
    x = b.parameter(0, "f32[2]")
    with pytest.raises(hlotool.BuilderError):
        b.reduce(x, 0.0, lambda a, c: a + x, [0])
    assert float(hlotool.evaluate(b.build(b.reduce(x, 0.0, add, [0])), [[1.0, 2.0]])) == 3.0


def test_a_product_of_the_outer_builder_in_a_traced_function() -> None:
    b = hlotool.Builder("m")
    square = b.trace(lambda x: b.matmul(x, x), "f32[2,2]")
    assert hlotool.evaluate(b.build(b.call(square, [b.constant([[1.0, 1.0], [0.0, 1.0]])])), []).tolist() == [[1.0, 2.0], [0.0, 1.0]]
