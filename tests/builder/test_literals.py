"""Constants from Python numbers, lists and arrays."""

from __future__ import annotations

import array
import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import hlotool
from hlotool.interp.arrays.dtypes import NUMPY_TYPES
from hlotool.ir.equal import differences


def value_of(constant: Any, element_type: str | None = None) -> Any:
    b = hlotool.Builder("m")
    module = b.build(b.constant(constant, element_type))
    again = hlotool.parse(str(module))
    assert list(differences(module, again)) == []
    return hlotool.evaluate(again, [])


ARRAYS: list[Any] = [
    *(np.array([[0, 1], [2, 3]], dtype) for dtype in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", "?")),
    np.array([-128, 127], np.int8),
    np.array([1, 2, 3], ">i4"),
    np.array([1.5, -2.5], ">f8"),
    np.array([1 + 2j, -3j], ">c8"),
    np.arange(12, dtype=np.int32).reshape(3, 4).T,
    np.arange(12, dtype=np.float32)[::-2],
    np.zeros((2, 0, 3), np.float32),
    np.float32(1.25),
    np.int64(1 << 40),
    np.array([np.nan, np.inf, -np.inf, -0.0], np.float32),
    np.array([1.5, -0.25, 3e38], ml_dtypes.bfloat16),
    np.array([-8, 7, 0], ml_dtypes.int4),
    np.array([15, 7, 0], ml_dtypes.uint4),
    np.array([0.5, -6.0], ml_dtypes.float4_e2m1fn),
    np.array([1.5, -448.0], ml_dtypes.float8_e4m3fn),
    np.array([1.5, -448.0], ml_dtypes.float8_e5m2),
]


@pytest.mark.parametrize("values", ARRAYS, ids=lambda values: f"{values.dtype}-{values.shape}")
def test_arrays_keep_type_and_values(values: Any) -> None:
    found = np.asarray(value_of(values))
    assert found.dtype == values.dtype.newbyteorder("=")
    assert found.shape == values.shape
    np.testing.assert_array_equal(found.astype(complex), values.astype(complex))


NUMBERS: list[Any] = [
    (1, None, "s32[]"),
    (1.5, None, "f32[]"),
    (True, None, "pred[]"),
    (1 + 2j, None, "c64[]"),
    ([1, 2.5], None, "f32[2]"),
    ([True, False], None, "pred[2]"),
    ([], None, "f32[0]"),
    ([[], []], None, "f32[2,0]"),
    ([[1, 2], [3, 4]], "s8", "s8[2,2]"),
    (1, "f64", "f64[]"),
    (1 << 40, "s64", "s64[]"),
    ((1, 2), "bf16", "bf16[2]"),
    (array.array("h", [1, -2]), None, "s16[2]"),
    pytest.param(memoryview(b"\1\2"), None, "u8[2]", id="memoryview"),
    (b"\1\2", None, "u8[2]"),
    (array.array("d", [1.5]), "f32", "f32[1]"),
    (array.array("i", [1, 0]), "f16", "f16[2]"),
    ([0, 1], "pred", "pred[2]"),
    (1, "c64", "c64[]"),
]


@pytest.mark.parametrize(("value", "element_type", "shape"), NUMBERS, ids=str)
def test_numbers_and_lists(value: Any, element_type: str | None, shape: str) -> None:
    b = hlotool.Builder("m")
    assert b.constant(value, element_type).shape.text_without_layout == shape


WRONG: list[tuple[Any, str | None, str]] = [
    (1 << 40, None, 'give the element type, as in constant(1099511627776, "s64")'),
    (300, "u8", "300 is out of range for u8"),
    (-1, "u8", "-1 is out of range for u8"),
    (1e300, "f32", "1e+300 is out of range for f32"),
    (1.5, "s32", "1.5 is not a value of s32"),
    (1j, "f32", "1j is not a value of f32"),
    (True, "s32", "True is not a value of s32"),
    (2, "pred", "2 is not a value of pred"),
    ([[1, 2], [3]], None, "the lists at depth 1 differ in length: 1 element and 2 elements"),
    ([[1], 2], None, "the values at depth 1 mix numbers and lists"),
    ([1, "a"], None, "expected a number, found str"),
    ("abc", None, "expected a number, a list or an array, found str"),
    (None, None, "found NoneType"),
    (np.array(["a"]), None, "no element type has the buffer format"),
    (np.array([None]), None, "no element type has the buffer format"),
    (np.array([1, 2], "M8[s]"), None, "expected a number, a list or an array, found ndarray of datetime64[s]"),
    (1, "f31", "'f31' is not an element type"),
    (1, "token", "'token' is not an element type"),
]


@pytest.mark.parametrize(("value", "element_type", "part"), WRONG, ids=str)
def test_values_that_are_not_constants(value: Any, element_type: str | None, part: str) -> None:
    with pytest.raises(hlotool.BuilderError) as caught:
        hlotool.Builder("m").constant(value, element_type)
    assert part in str(caught.value)


@pytest.mark.parametrize("element_type", [name for name in NUMPY_TYPES if not name.startswith("c")])
def test_extreme_values(element_type: str) -> None:
    b = hlotool.Builder("m")
    module = b.build(b.tuple([b.min_value(element_type), b.max_value(element_type)]))
    low, high = (np.asarray(value) for value in hlotool.evaluate(module, []))
    if element_type == "pred":
        assert (low.item(), high.item()) == (False, True)
    elif element_type[0] in "su":
        bits, signed = int(element_type[1:]), element_type[0] == "s"
        assert (int(low), int(high)) == (-(1 << bits - 1) * signed, (1 << bits - signed) - 1)
    else:
        info = ml_dtypes.finfo(low.dtype)
        assert (float(low), float(high)) in ((-math.inf, math.inf), (float(info.min), float(info.max)))


def test_complex_numbers_have_no_extremes() -> None:
    with pytest.raises(hlotool.BuilderError, match="have no order"):
        hlotool.Builder("m").max_value("c64")
