"""Reductions of sliding windows with operations that may be applied in any order.

One dimension is reduced at a time, in blocks that stay in the cache. A block is a part of the
dimensions over which no window slides, or a strip of the results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from hlotool.analysis.simplify import identity_of
from hlotool.interp.arrays.array_reductions import BLOCK, reduce_along
from hlotool.interp.arrays.dtypes import Array, NumberType, number_type
from hlotool.interp.arrays.monoids import Monoid, sign_keys
from hlotool.interp.arrays.windows import taps
from hlotool.opdefs.table import OPS
from hlotool.record import replace
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.shapes.values import WindowDimension

__all__ = ["reduce_windows", "reduce_windows_in_order"]

_FEW_TAPS = 16
"""Maximum length of windows whose elements are combined one after the other.

Longer windows are composed of shorter windows.
"""
_MAX_PADDING = 4
"""Maximum ratio of padded to original dimension size."""
_LONG_ROW, _SHORT_COLUMN = 256, 64
_EXACT_SUMS = {"f": np.dtype(np.float64), "c": np.dtype(np.complex128)}


def reduce_windows(monoid: Monoid, x: Array, init: Array, window: Sequence[WindowDimension], sizes: Sequence[int]) -> Array | None:
    """Returns the reductions of windows, each of which includes init once.

    Returns None if the order of elements matters, or if the windows are unusual or wrong. Sums of
    floats are computed one dimension at a time. Running sums of f32 are computed in f64 and rounded
    once.

    >>> from hlotool.interp.arrays.monoids import monoid_of
    >>> import hlotool
    >>> text = "f { a = s32[] parameter(0) b = s32[] parameter(1) ROOT r = add(a, b) } ENTRY e { ROOT p = s32[] parameter(0) }"
    >>> monoid = monoid_of(hlotool.parse(text).computations[0])
    >>> reduce_windows(monoid, np.array([1, 2, 3, 4]), np.array(10), [WindowDimension(2, stride=2)], [2])
    array([13, 17])
    """
    number = number_type(x)
    is_float = number.kind in ("float", "complex")
    order_matters = is_float and not monoid.compares and not (monoid.is_sum and number.computed == number.held)
    if order_matters or not x.size or 0 in sizes or not len(window) == len(sizes) == x.ndim:
        return None
    ufunc, fill = monoid.ufunc(number), _identity(monoid, number)
    result = _reduce_windows(ufunc, x, init, fill, window, sizes, number)
    if result is not None and monoid.may_have_wrong_zeros(result, x, init):
        # The smallest or largest integer would be useless as the result for an empty window, but
        # all results include init.
        keys = sign_keys(x)
        limits = np.iinfo(keys.dtype)
        least = np.array(limits.min if fill < 0 else limits.max, keys.dtype)
        signs = _reduce_windows(ufunc, keys, sign_keys(init), least, window, sizes, number_type(keys))
        result = monoid.with_signs(result, signs) if signs is not None else None
    return result


def _identity(monoid: Monoid, number: NumberType) -> Array:
    element = {"float": ELEMENT_TYPES["f32"], "complex": ELEMENT_TYPES["f32"]}.get(number.kind, number.element)
    identity = identity_of(OPS[monoid.opcode], element)
    return np.array(complex(-0.0, -0.0) if number.kind == "complex" else identity, number.computed)


def _reduce_windows(
    ufunc: Any, x: Array, init: Array, fill: Array, window: Sequence[WindowDimension], sizes: Sequence[int], number: NumberType
) -> Array | None:
    slides = [k for k, w in enumerate(window) if not _is_still(w)]
    steps: dict[tuple[int, int, int], Callable[[Array], Array] | None] = {}
    result = np.empty(sizes, number.held)
    start = init.astype(number.computed, copy=False)
    for block in _blocks(x, window, sizes, slides):
        part = x[_elements(block, slides)].astype(number.computed, copy=False)
        for k in slides:
            key = k, block[k].start, block[k].stop
            if key not in steps:
                steps[key] = _step(ufunc, number.computed, fill, _strip(window[k], block[k]), block[k].stop - block[k].start, x.shape[k])
            step = steps[key]
            if step is None:
                return None
            part = step(part.swapaxes(0, k)).swapaxes(0, k)
        if number.computed == number.held:
            ufunc(start, part, out=result[block])
        else:
            result[block] = ufunc(start, part)
    return result


def _blocks(x: Array, window: Sequence[WindowDimension], sizes: Sequence[int], slides: list[int]) -> Iterator[tuple[slice, ...]]:
    """Yields parts of the result whose windows have about BLOCK elements in total."""
    last = x.ndim - 1
    order = [k for k in range(last) if k not in slides]
    order += [k for k in slides[:1] if window[k].size <= _FEW_TAPS and k != last]
    order += [last] if last not in slides else []
    steps, rest = list(sizes), x.size
    for k in order:
        if rest > BLOCK:
            inner = max(1, rest // sizes[k])
            least = 64 if k == last else window[k].size
            steps[k] = min(sizes[k], max(least, BLOCK // inner))
            rest = inner * steps[k]
    return product(*([slice(low, min(low + step, size)) for low in range(0, size, step)] for step, size in zip(steps, sizes, strict=True)))


def reduce_windows_in_order(monoid: Monoid, x: Array, init: Array, window: Sequence[WindowDimension], sizes: Sequence[int]) -> Array:
    """Reduces windows of narrow floats in row-major order, rounding after each element."""
    number = number_type(x)
    ufunc, result = monoid.ufunc(number), np.empty(sizes, number.held)
    if 0 in sizes:
        return result
    start = init.astype(number.computed)
    slides = [k for k, w in enumerate(window) if not _is_still(w)]
    for block in _blocks(x, window, sizes, slides):
        part = x[_elements(block, slides)].astype(number.computed)
        strips = [_strip(w, where) for w, where in zip(window, block, strict=True)]
        current, rounded = np.full(result[block].shape, start), result[block]
        rounded[...] = init
        lengths: tuple[int, ...] = current.shape
        bases: tuple[int, ...] = part.shape
        for position in product(*(taps(w, size, base) for w, size, base in zip(strips, lengths, bases, strict=True))):
            targets, elements = tuple([target for _, target, _ in position]), tuple([element for _, _, element in position])
            ufunc(current[targets], part[elements], out=current[targets])
            rounded[targets] = current[targets]
            current[targets] = rounded[targets]
    return result


def _is_still(window: WindowDimension) -> bool:
    """Returns whether each result along the dimension depends only on the element at its index."""
    return window == WindowDimension(1, window_dilation=window.window_dilation)


def _elements(block: Sequence[slice], slides: Sequence[int]) -> tuple[slice, ...]:
    return tuple([slice(None) if k in slides else where for k, where in enumerate(block)])


def _strip(window: WindowDimension, where: slice) -> WindowDimension:
    """Returns the windows of a range of consecutive results.

    The windows slide over all elements, but begin later.
    """
    if _is_still(window):
        return window
    return replace(window, padding_low=window.padding_low - where.start * window.stride)


# ---- one dimension -----------------------------------------------------------------------------


def _step(ufunc: Any, dtype: np.dtype[Any], fill: Array, window: WindowDimension, size: int, base: int) -> Callable[[Array], Array] | None:
    """Returns a fast function that reduces windows along the first dimension, or None."""
    if window.size <= _FEW_TAPS and not (window.size > _FEW_TAPS // 4 and _accumulates(ufunc, dtype, window, size, base)):
        positions = [(targets, elements) for _, targets, elements in taps(window, size, base)]
        return partial(_combine_taps, ufunc, positions, size, fill)
    if window.window_dilation != 1 or window.base_dilation != 1:
        return None
    if _accumulates(ufunc, dtype, window, size, base):
        return partial(_accumulate, ufunc, window, size, fill)
    if window.stride == window.size and not window.padding_low and size * window.size <= base:
        return partial(_reduce_reshaped, ufunc, window, size)
    if (size - 1) * window.stride + window.size <= _MAX_PADDING * base:
        return partial(_compose_spans, ufunc, window, size, fill)
    return None


def _accumulates(ufunc: Any, dtype: np.dtype[Any], window: WindowDimension, size: int, base: int) -> bool:
    """Returns whether a running reduction contains the results of windows accurately.

    All windows must start at or before the first element, or end at or after the last element.
    """
    if window.window_dilation != 1 or window.base_dilation != 1 or window.stride != 1:
        return False
    reaches = _begins_early(window, size) or _begins_early(_reverse_window(window, size, base), size)
    return reaches and not (ufunc is np.add and dtype in _EXACT_SUMS.values())


def _combine_taps(ufunc: Any, positions: list[tuple[slice, slice]], size: int, fill: Array, x: Array) -> Array:
    """Combines the taps of the window one after the other.

    Taps that are within the array for all windows come first.
    """
    whole_range = slice(0, size, 1)
    whole = [x[elements] for targets, elements in positions if targets == whole_range]
    if len(whole) > 1:
        result = np.asarray(ufunc(whole[0], whole[1]))
    elif whole:
        result = whole[0].copy(order="K")
    else:
        result = np.full((size, *x.shape[1:]), fill)
    for part in whole[2:]:
        ufunc(result, part, out=result)
    for targets, elements in positions:
        if targets != whole_range:
            ufunc(result[targets], x[elements], out=result[targets])
    return result


def _begins_early(window: WindowDimension, size: int) -> bool:
    """Returns whether no window begins after the first element."""
    return window.padding_low >= (size - 1) * window.stride


def _reverse_window(window: WindowDimension, size: int, base: int) -> WindowDimension:
    """Returns the same windows, counted from the last element."""
    return replace(window, padding_low=(size - 1) * window.stride + window.size - base - window.padding_low)


def _accumulate(ufunc: Any, window: WindowDimension, size: int, fill: Array, x: Array) -> Array:
    """Returns the results of windows as parts of a running reduction, forward or in reverse."""
    if not _begins_early(window, size):
        return _accumulate(ufunc, _reverse_window(window, size, len(x)), size, fill, x[::-1])[::-1]
    running = _running_reduction(ufunc, x)
    first = window.size - window.padding_low
    empty = min(max(1 - first, 0), size)
    growing = min(max(len(x) - first + 1, empty), size)
    result = np.empty_like(x, shape=(size, *x.shape[1:]))
    result[:empty] = fill
    result[empty:growing] = running[empty + first - 1 : growing + first - 1]
    result[growing:] = running[-1]
    return result


def _running_reduction(ufunc: Any, x: Array) -> Array:
    """Returns the running reduction along the first dimension."""
    dtype = _EXACT_SUMS.get(x.dtype.kind, x.dtype) if ufunc is np.add else x.dtype
    if x[0].size < _LONG_ROW or (len(x) > _SHORT_COLUMN and abs(x.strides[0]) < abs(x.strides[-1])):
        return np.asarray(ufunc.accumulate(x, axis=0, dtype=dtype))
    # NumPy would process one column at a time.
    running = np.empty(x.shape, dtype)
    running[0] = x[0]
    for k in range(1, len(x)):
        ufunc(running[k - 1], x[k], out=running[k])
    return running


def _reduce_reshaped(ufunc: Any, window: WindowDimension, size: int, x: Array) -> Array:
    """Reduces adjacent windows as the rows of an array."""
    return reduce_along(ufunc, x[: size * window.size].reshape(size, window.size, *x.shape[1:]), (1,), x.dtype)


def _compose_spans(ufunc: Any, window: WindowDimension, size: int, fill: Array, x: Array) -> Array:
    """Composes each window from the reductions of 1, 2, 4, ... elements."""
    spans = np.full(((size - 1) * window.stride + window.size, *x.shape[1:]), fill)
    target, source = max(0, window.padding_low), max(0, -window.padding_low)
    count = max(0, min(len(spans) - target, len(x) - source))
    spans[target : target + count] = x[source : source + count]
    result: Array | None = None
    span, position = 1, 0
    while True:
        if window.size & span:
            part = spans[position : position + (size - 1) * window.stride + 1 : window.stride]
            result = part.copy() if result is None else np.asarray(ufunc(result, part, out=result))
            position += span
        if 2 * span > window.size and result is not None:
            return result
        spans = ufunc(spans[:-span], spans[span:])
        span *= 2
