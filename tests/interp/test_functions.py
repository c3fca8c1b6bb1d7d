"""Functions of the elementwise kernels, applied to error-prone numbers in several forms."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest

from hlotool.interp.arrays import arithmetic as functions
from hlotool.interp.arrays.dtypes import NUMBERS, Array
from hlotool.interp.arrays.special import erf
from hlotool.interp.kernels.contraction import matrix_product
from hlotool.interp.kernels.conversion import convert_values

FLOATS = (np.float32, np.float64)
SPECIAL = [
    *(0.0, -0.0, 0.25, 0.5, -0.5, 1.5, 2.5, -2.5, 7.0, 126.5, 127.5, 128.0, -128.5, -129.0, 255.5, 256.0, 1e30),
    *(2.0**31 - 1, 2.0**31, -(2.0**31), -(2.0**31) - 1, 2.0**32, 2.0**63, 2.0**64, math.inf, -math.inf, math.nan, 1e-45, -1e-45),
]


def numbers_of(dtype: Any) -> Array:
    """Returns special numbers and their neighbors on both sides."""
    numbers = np.array(SPECIAL, dtype)
    return np.concatenate([numbers, np.nextafter(numbers, dtype(np.inf)), np.nextafter(numbers, dtype(-np.inf))])


def forms(numbers: Array) -> list[Array]:
    """Returns the numbers as arrays in several forms.

    The forms are contiguous, strided and empty arrays, scalars, and arrays broadcast from a scalar.
    """
    spread = np.zeros((len(numbers), 3), numbers.dtype)
    spread[:, 1] = numbers
    return [numbers, spread[::-1, 1], numbers[:0], *map(np.array, numbers), *(np.broadcast_to(x, (2, 3)) for x in numbers)]


def assert_same(result: Any, expected: Any) -> None:
    """Checks that numbers and signs of zeros are equal; any NaN equals any other NaN."""
    np.testing.assert_array_equal(result, expected)
    assert np.asarray(result).dtype == np.asarray(expected).dtype
    np.testing.assert_array_equal(np.signbit(result) & ~np.isnan(result), np.signbit(expected) & ~np.isnan(expected))


def larger(x: float, y: float) -> float:
    if math.isnan(x) or math.isnan(y):
        return math.nan
    return max(x, y, key=lambda z: (z, math.copysign(1, z)))


def round_half_away(x: float) -> float:
    if not math.isfinite(x):
        return x
    return math.copysign(math.floor(abs(Fraction(x)) + Fraction(1, 2)), x)


def sign(x: float) -> float:
    return x if x == 0 or math.isnan(x) else math.copysign(1, x)


def each(function: Callable[..., Any], *arrays: Array) -> Array:
    """Applies a function of Python numbers to each element, and returns the results."""
    spread = np.broadcast_arrays(*arrays)
    values = [function(*(x.item() for x in row)) for row in zip(*(x.ravel() for x in spread), strict=True)]
    return np.array(values, spread[0].dtype).reshape(spread[0].shape)


@pytest.mark.parametrize("dtype", FLOATS)
def test_functions_of_one_float(dtype: Any) -> None:
    numbers = numbers_of(dtype)
    odd = np.array([2**22 + 1, 2**23 - 1, 2**23 + 1, 2**24 - 1, 2**52 - 1, 2**52 + 1], dtype)
    numbers = np.concatenate([numbers, odd, odd + dtype(0.5), -odd - dtype(0.5)])
    for x in forms(numbers):
        assert_same(functions.sign_floats(x), each(sign, x))
        assert_same(functions.round_half_away(x), each(round_half_away, x))
        with np.errstate(all="ignore"):
            assert_same(functions.logistic(x), 1 / (1 + np.exp(-x)))
            assert_same(functions.reciprocal_root(x), 1 / np.sqrt(x))


@pytest.mark.parametrize("dtype", FLOATS)
def test_erf_does_not_depend_on_the_form(dtype: Any) -> None:
    numbers = np.concatenate([numbers_of(dtype), np.linspace(-7, 7, 20_001, dtype=dtype)])
    together = erf(numbers)
    assert_same(together, np.array([erf(np.array(x)) for x in numbers]))
    assert_same(erf(numbers.reshape(-1, 4).T), together.reshape(-1, 4).T)
    assert erf(numbers[:0]).shape == (0,)


@pytest.mark.parametrize("dtype", FLOATS)
def test_maximum_and_minimum(dtype: Any) -> None:
    numbers = numbers_of(dtype)
    pairs = np.repeat(numbers, len(numbers)), np.tile(numbers, len(numbers))
    scalars = [(numbers, np.array(x)) for x in numbers]
    spread = [(numbers, np.broadcast_to(x, numbers.shape)) for x in numbers]
    for x, y in [pairs, *scalars, *spread, (numbers[:0], np.array(0, dtype)), (np.array(-0.0, dtype), np.array(0.0, dtype))]:
        before = x.copy(), y.copy()
        for lhs, rhs in ((x, y), (y, x)):
            assert_same(functions.maximum_floats(lhs, rhs), each(larger, lhs, rhs))
            assert_same(functions.minimum_floats(lhs, rhs), each(lambda a, b: -larger(-a, -b), lhs, rhs))
        assert_same(x, before[0])
        assert_same(y, before[1])


INTEGERS = [name for name, number in NUMBERS.items() if number.element.is_integral and number.kind != "pred"]


def wrap(value: int, name: str) -> int:
    element, count = NUMBERS[name].element, 2 ** NUMBERS[name].bits
    return (value - element.minimum) % count + element.minimum


@pytest.mark.parametrize("name", ["s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"])
def test_divide_integers(name: str) -> None:
    number = NUMBERS[name]
    least, most = number.element.minimum, number.element.maximum
    numbers = [x for x in (least, least + 1, -7, -3, -2, -1, 0, 1, 2, 3, 7, 100, most // 2, most - 1, most) if x >= least]

    def quotient(x: int, y: int) -> int:
        return wrap(-1 if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1), name)

    def remainder(x: int, y: int) -> int:
        return x if y == 0 else abs(x) % abs(y) * (-1 if x < 0 else 1)

    values = np.array(numbers, number.held)
    for y in [values[:, None], values[:0, None], *(np.array(x) for x in values)]:
        np.testing.assert_array_equal(functions.divide_integers(values, y), each(quotient, values, y))
        np.testing.assert_array_equal(functions.remainder_integers(values, y), each(remainder, values, y))
    assert functions.divide_integers(values, values).dtype == number.held


@pytest.mark.parametrize("source", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("name", INTEGERS)
def test_floats_to_integers(name: str, source: str) -> None:
    element = NUMBERS[name].element
    near_limits = [float(x) + d for x in (element.minimum, element.maximum) for d in (-1.5, -1, -0.5, 0, 0.5, 1, 1.5)]
    with np.errstate(over="ignore"):
        numbers = np.array([*SPECIAL, *near_limits]).astype(NUMBERS[source].held)

    def limit_number(x: float) -> int:
        if math.isnan(x):
            return 0
        return element.minimum if x < element.minimum else element.maximum if x > element.maximum else int(x)

    for x in (numbers, numbers[::-2], numbers[:0], *map(np.array, numbers[:3])):
        result = convert_values(x, NUMBERS[name])
        assert result.dtype == NUMBERS[name].held
        assert result.shape == x.shape
        assert [int(v) for v in result.ravel()] == [limit_number(float(v)) for v in x.ravel()]


@pytest.mark.parametrize("other", ["s4", "s8", "u8", "s32", "u32", "u64", "pred"])
@pytest.mark.parametrize("name", INTEGERS)
def test_products_of_integers_are_exact(name: str, other: str) -> None:
    random = Random(name + other)

    def draw(of: str, sizes: tuple[int, int], limit: int) -> Array:
        element = NUMBERS[of].element
        low, high = (0, 1) if of == "pred" else (max(element.minimum, -limit), min(element.maximum, limit))
        values = [random.choice((low, high, random.randint(low, high))) for _ in range(sizes[0] * sizes[1])]
        return np.array(values, object).reshape(sizes)

    # Sums up to 2^24, sums up to 2^53, and larger sums, in one block or in several blocks.
    for terms, limit in ((0, 3), (1, 2**64), (5, 3), (70, 2**12), (200, 2**15), (1100, 200), (130, 2**30)):
        lhs, rhs = draw(name, (2, terms), limit), draw(other, (terms, 3), limit)
        left, right = (x.astype(NUMBERS[of].computed).astype(NUMBERS[of].held) for x, of in ((lhs, name), (rhs, other)))
        exact = lhs.dot(rhs) if terms else np.zeros((2, 3), object)
        result = matrix_product(left, right, NUMBERS[name])
        assert result.dtype == NUMBERS[name].held
        assert [[int(x) for x in row] for row in result] == [[wrap(x, name) for x in row] for row in exact]
