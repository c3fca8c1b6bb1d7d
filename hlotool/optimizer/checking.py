"""Compares the results of a module before and after optimization, bit for bit, on random inputs."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np

from hlotool.errors import EvaluationError
from hlotool.interp.arguments.inputs import random_arguments
from hlotool.interp.arrays.dtypes import NUMBERS, Array
from hlotool.interp.arrays.values import Value, leaves
from hlotool.interp.evaluator import evaluate
from hlotool.interp.reports.comparison import compare, tolerance_of
from hlotool.interp.run_options import RunOptions
from hlotool.ir.model import Module
from hlotool.record import Record
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.shapes.shape import array_shape

__all__ = ["Trials", "difference", "same_bits", "same_up_to_rounding", "special_arguments", "trials"]

_SPECIAL = {
    "float": (0.0, -0.0, 1.0, -1.0, float("inf"), float("-inf"), float("nan"), 1e-45, 65504.0, 3.4e38, 0.5, 3.0),
    "signed": (0, 1, -1, 2, 127, -128, 2**31 - 1, -(2**31)),
    "unsigned": (0, 1, 2, 255, 2**32 - 1),
}


def difference(before: Module, after: Module, count: int, seed: int = 0, options: RunOptions | None = None) -> str | None:
    """Describes the first difference between the results of two modules on `count` random inputs.

    Returns None if the results are equal bit for bit, apart from the payloads of NaNs. Every second
    input contains special numbers: zeros of both signs, infinities, NaNs, and the limits of integer
    types. Inputs on which the first module fails are skipped.

    >>> import hlotool
    >>> text = "ENTRY e { p = f32[3] parameter(0) z = f32[] constant(%s) b = f32[3] broadcast(z), dimensions={} ROOT r = f32[3] add(p, b) }"
    >>> difference(hlotool.parse(text % "0"), hlotool.parse(text % "-0.0"), 8)
    'input 1: element 2 of the result is 0 before and -0 after'
    """
    return trials(before, after, count, seed, options).difference


class Trials(Record):
    """The outcome of running two modules on the same inputs.

    `difference` describes the first difference between the results; it is None if they are equal.
    `compared` is the number of inputs whose results were compared. `failure` is the first error of
    the first module; it is None if the module failed on no input.
    """

    difference: str | None
    compared: int
    failure: str | None


def trials(before: Module, after: Module, count: int, seed: int = 0, options: RunOptions | None = None, *, within_rounding: bool = False) -> Trials:
    """Runs two modules on `count` random inputs, up to the first difference between their results.

    If `within_rounding` is True, differences that rounding can explain are accepted, and inputs
    contain no special numbers.
    """
    options = options or RunOptions(elided_fill="iota", max_iterations=100_000)
    same = same_up_to_rounding if within_rounding else same_bits
    compared, failure = 0, None
    for k in range(count):
        arguments = random_arguments(before, seed + k) if k % 2 == 0 or within_rounding else special_arguments(before, seed + k)
        try:
            expected = evaluate(before, arguments, options=options)
        except EvaluationError as error:
            failure = failure or str(error)
            continue
        compared += 1
        try:
            actual = evaluate(after, arguments, options=options)
        except EvaluationError as error:
            return Trials(f"input {k}: the optimized module fails: {error}", compared, failure)
        for number, (a, b) in enumerate(zip(_arrays(expected), _arrays(actual), strict=True)):
            if not same(a, b):
                return Trials(f"input {k}: {_describe(a, b, number)}", compared, failure)
    return Trials(None, compared, failure)


def special_arguments(module: Module, seed: int) -> tuple[Value, ...]:
    """Returns random arguments in which about half of the numbers are special.

    Integers may lie outside the ranges that the instructions using them expect.
    """
    random = Random(seed)
    return tuple(_insert_special(value, p.shape, random) for value, p in zip(random_arguments(module, seed), module.entry.parameters, strict=True))


def _insert_special(value: Any, shape: Any, random: Random) -> Any:
    if shape.is_tuple:
        return tuple(_insert_special(part, element, random) for part, element in zip(value, shape.elements, strict=True))
    row = ELEMENT_TYPES.get(shape.element_type)
    numbers = _SPECIAL.get(row.kind) if row is not None else None
    if numbers is None or not isinstance(value, np.ndarray) or not value.size:
        return value
    flat = np.array(value).reshape(-1)
    chosen = [random.choice(numbers) for _ in range(min(flat.size, 1000))]
    mask = [random.random() < 0.5 for _ in chosen]
    with np.errstate(all="ignore"):
        special = np.array(chosen if row is not None and row.kind == "float" else _wrap(chosen, row)).astype(flat.dtype)
    flat[: len(chosen)] = np.where(mask, special, flat[: len(chosen)])
    return flat.reshape(value.shape)


def _wrap(numbers: list[Any], row: Any) -> list[int]:
    """Wraps integers around to the range of their type."""
    return [(number - row.minimum) % (1 << row.bits) + row.minimum for number in numbers]


def _arrays(value: Value) -> Iterator[Array]:
    return (np.asarray(leaf) for leaf in leaves(value) if isinstance(leaf, np.ndarray | np.generic))


def same_bits(a: Array, b: Array) -> bool:
    """Returns whether two arrays have the same type, shape and bits; all NaNs count as equal.

    >>> same_bits(np.array([0.0, np.nan]), np.array([0.0, -np.nan])), same_bits(np.array([0.0]), np.array([-0.0]))
    (True, False)
    """
    return a.dtype == b.dtype and a.shape == b.shape and bool(_same_elements(a, b).all())


def same_up_to_rounding(a: Array, b: Array) -> bool:
    """Returns whether two arrays have the same type and shape, and differ at most by rounding.

    >>> one = np.float32(1)
    >>> same_up_to_rounding(np.array([one]), np.array([np.nextafter(one, np.float32(2))])), same_up_to_rounding(np.array([one]), np.array([-one]))
    (True, False)
    """
    element_type = next((name for name, number in NUMBERS.items() if number.held == a.dtype), None)
    if element_type is None or a.dtype != b.dtype or a.shape != b.shape:
        return same_bits(a, b)
    return compare("", array_shape(element_type, a.shape), a, b, tolerance_of(element_type)).agrees


def _same_elements(a: Array, b: Array) -> Array:
    """Returns, for each element, whether the bits are equal or both elements are NaN.

    Bits of a byte that do not belong to the element are ignored.
    """
    first, second = (np.ascontiguousarray(x).reshape(-1) for x in (a, b))
    if a.dtype.kind == "c":
        parts = f"f{a.dtype.itemsize // 2}"
        both = _same_elements(first.view(parts), second.view(parts)).reshape(-1, 2)
        return both[:, 0] & both[:, 1]
    with np.errstate(all="ignore"):
        equal = np.asarray(first == second, bool)
        if not a.dtype.name.startswith(("float", "bfloat")):
            return equal
        # This conversion is exact for all types. It exposes the signs of zeros even for types that
        # NumPy does not know.
        wide, other = first.astype(np.float64), second.astype(np.float64)
        result: Array = (equal & (np.signbit(wide) == np.signbit(other))) | (np.isnan(wide) & np.isnan(other))
    return result


def _describe(a: Array, b: Array, number: int) -> str:
    part = "the result" if not number else f"leaf {number} of the result"
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"{part} is {a.dtype}{list(a.shape)} before and {b.dtype}{list(b.shape)} after"
    at = int(np.argmin(_same_elements(a, b)))
    return f"element {at} of {part} is {_number(a.reshape(-1)[at])} before and {_number(b.reshape(-1)[at])} after"


def _number(x: Any) -> str:
    return f"{float(x):.9g}" if np.asarray(x).dtype.kind == "f" else str(x)
