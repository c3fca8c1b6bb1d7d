"""Python's operators and indexing on operations, compared with NumPy's."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hlotool
from hlotool.builder.op import Op

FLOATS = np.array([[1.5, -2.0, 3.0], [0.5, 4.0, -7.0]], np.float32)
OTHERS = np.array([[2.0, 3.0, -1.5], [0.25, 4.0, 2.0]], np.float32)
INTS = np.array([[7, -8, 9], [1, 0, -5]], np.int32)
BITS = np.array([[1, 2, 3], [1, 2, 1]], np.int32)

BINARY: list[tuple[Callable[[Any, Any], Any], Any, Any]] = [
    *((op, FLOATS, OTHERS) for op in (operator.add, operator.sub, operator.mul, operator.truediv)),
    *((op, FLOATS, OTHERS) for op in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)),
    *((op, INTS, BITS) for op in (operator.add, operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift)),
    (operator.pow, np.abs(FLOATS), OTHERS),
    (operator.rshift, INTS.astype(np.uint32), BITS.astype(np.uint32)),
]


def run(build: Callable[..., Any], *values: Any) -> Any:
    b = hlotool.Builder("m")
    arguments = [b.parameter(k, b.constant(value).shape) for k, value in enumerate(values)]
    return np.asarray(hlotool.evaluate(b.build(build(*arguments)), values))


@pytest.mark.parametrize(("op", "lhs", "rhs"), BINARY, ids=[f"{op.__name__}-{x.dtype}" for op, x, _ in BINARY])
def test_binary_operators(op: Callable[[Any, Any], Any], lhs: Any, rhs: Any) -> None:
    expected = op(lhs, rhs)
    np.testing.assert_allclose(run(op, lhs, rhs), expected, rtol=1e-6)
    # A number or an array on either side becomes a constant of the other operand's type.
    scalar = rhs[1, 0].item()
    np.testing.assert_allclose(run(lambda x: op(x, scalar), lhs), op(lhs, rhs[1, 0]), rtol=1e-6)
    np.testing.assert_allclose(run(lambda y: op(scalar, y), np.abs(rhs)), op(rhs[1, 0], np.abs(rhs)), rtol=1e-6)
    np.testing.assert_allclose(run(lambda y: op(lhs, y), rhs), expected, rtol=1e-6)
    np.testing.assert_allclose(run(lambda x: op(x, rhs), lhs), expected, rtol=1e-6)


def test_division_of_integers_truncates() -> None:
    x, y = np.array([7, -7, 7, -7], np.int32), np.array([2, 2, -2, -2], np.int32)
    assert run(lambda x, y: x / y, x, y).tolist() == [3, -3, -3, 3]
    assert run(lambda x, y: x % y, x, y).tolist() == [1, -1, 1, -1]


def test_unary_operators() -> None:
    assert run(lambda x: -x, INTS).tolist() == (-INTS).tolist()
    assert run(lambda x: +x, INTS).tolist() == INTS.tolist()
    assert run(abs, INTS).tolist() == abs(INTS).tolist()
    assert run(lambda x: ~x, INTS).tolist() == (~INTS).tolist()
    assert run(lambda x: ~(x > 0), INTS).tolist() == (~(INTS > 0)).tolist()


@pytest.mark.parametrize(
    ("lhs", "rhs"), [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (5, 3, 4)), ((2, 5, 2, 3), (2, 5, 3, 1))]
)
def test_matrix_products(lhs: tuple[int, ...], rhs: tuple[int, ...]) -> None:
    x = np.arange(np.prod(lhs), dtype=np.float32).reshape(lhs)
    y = np.arange(np.prod(rhs), dtype=np.float32).reshape(rhs) - 4
    np.testing.assert_allclose(run(operator.matmul, x, y), x @ y)


INDICES: list[Any] = [
    0, -1, slice(None), slice(1, 3), slice(None, None, 2), slice(-2, None), slice(3, 1), slice(0, 100, 3), ..., None,
    (1, 2), (0, ..., 1), (slice(1), 2, slice(None, None, 2)), (..., -1), (None, 0, None), (slice(None), None, slice(1, 2)),
    (0, 0, 0), (..., slice(2, 3), 0), (slice(None, None, 5), slice(1, None, 2), slice(0, 0)),
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_indexing_matches_numpy(index: Any) -> None:
    x = np.arange(4 * 5 * 6, dtype=np.int32).reshape(4, 5, 6)
    found = run(lambda op: op[index], x)
    assert found.shape == x[index].shape
    assert found.tolist() == x[index].tolist()


def test_whole_slices_add_no_instructions() -> None:
    b = hlotool.Builder("m")
    x = b.parameter(0, "f32[2,3]")
    assert x[:, ...].instruction is x.instruction


def test_tuples_are_unpacked() -> None:
    b = hlotool.Builder("m")
    whole = b.tuple([b.constant(1.0), b.constant(2)])
    first, second = whole
    assert (first.element_type, second.element_type, len(whole), whole[-1].element_type) == ("f32", "s32", 2, "s32")


WRONG: list[tuple[Callable[[Op], Any], type[Exception], str]] = [
    (bool, TypeError, "use select, conditional or while_"),
    (np.asarray, TypeError, "cannot become an array"),
    (lambda x: x in [1, 2], TypeError, "has no value"),
    (lambda x: x[2], hlotool.BuilderError, "index 2 is out of range for dimension 0 of size 2"),
    (lambda x: x[0, 0, 0], hlotool.BuilderError, "expected at most 2 indices for f32[2,3], got 3"),
    (lambda x: len(x[0, 0]), TypeError, "is a scalar f32[] and has no length"),
    (lambda x: x[::-1], hlotool.BuilderError, "steps must be positive, got -1"),
    (lambda x: x["a"], hlotool.BuilderError, "found str"),
    (lambda x: x[x], hlotool.BuilderError, "dynamic_slice or gather"),
    (lambda x: x[..., ...], hlotool.BuilderError, "only one '...'"),
    (list, hlotool.BuilderError, "is not a tuple"),
    (lambda x: x + "a", hlotool.BuilderError, "add: rhs: expected a number, a list or an array, found str"),
    (lambda x: x & 1, hlotool.BuilderError, "'and' must have pred or integer elements"),
]


@pytest.mark.parametrize(("use", "error", "part"), WRONG)
def test_unsupported_uses_of_operations(use: Callable[[Op], Any], error: type[Exception], part: str) -> None:
    x = hlotool.Builder("m").parameter(0, "f32[2,3]", "x")
    with pytest.raises(error) as caught:
        use(x)
    assert part in str(caught.value)


def test_operations_are_keys() -> None:
    b = hlotool.Builder("m")
    x = b.parameter(0, "f32[]")
    assert {x: 1}[x] == 1
