"""Windows that slide over an array: the elements that the results read through each tap.

All functions work on one dimension.
"""

from __future__ import annotations

from math import gcd

from hlotool.shapes.values import WindowDimension

__all__ = ["phases", "positions", "taps", "transpose_window"]


def positions(window: WindowDimension, tap: int, size: int, base: int) -> tuple[slice, slice]:
    """Returns the results whose windows have an element at `tap`, and these elements.

    Result `o` reads position `o * stride + offset`. Elements are at multiples of the base dilation,
    so the results that read an element are the solutions of a congruence.

    >>> positions(WindowDimension(3, stride=2, padding_low=1), 0, 4, 8)
    (slice(1, 4, 1), slice(1, 6, 2))
    """
    stride, dilation = window.stride, window.base_dilation
    offset = tap * window.window_dilation - window.padding_low
    common = gcd(stride, dilation)
    if offset % common:
        return slice(0, 0), slice(0, 0)
    step = dilation // common
    first = -offset // common * pow(stride // common, -1, step) % step
    least = max(0, -(offset // stride))
    first += -(-(least - first) // step) * step
    last = min(size - 1, ((base - 1) * dilation - offset) // stride)
    if last < first:
        return slice(0, 0), slice(0, 0)
    hits = (last - first) // step
    element, element_step = (first * stride + offset) // dilation, step * stride // dilation
    return slice(first, first + hits * step + 1, step), slice(element, element + hits * element_step + 1, element_step)


def taps(window: WindowDimension, size: int, base: int) -> list[tuple[int, slice, slice]]:
    """Returns the taps at which any of `size` results reads one of `base` elements.

    Each tap comes with its `positions`. If a window is much larger than the array, most of its taps
    read nothing.

    >>> [tap for tap, _, _ in taps(WindowDimension(10**9), 3, 2)]
    [0, 1]
    """
    if size < 1 or base < 1:
        return []
    first = -(((size - 1) * window.stride - window.padding_low) // window.window_dilation)
    last = ((base - 1) * window.base_dilation + window.padding_low) // window.window_dilation
    triples = []
    for tap in range(max(0, first), min(window.size - 1, last) + 1):
        targets, elements = positions(window, tap, size, base)
        if targets.start < targets.stop:
            triples.append((tap, targets, elements))
    return triples


def phases(w: WindowDimension, size: int) -> list[tuple[slice, slice, WindowDimension]]:
    """Groups positions that read elements through the same taps.

    Returns the positions and the taps of each group, and the window of a convolution that computes
    these positions from these taps.

    >>> [(positions, taps) for positions, taps, _ in phases(WindowDimension(3, base_dilation=2), 8)]
    [(slice(0, None, 2), slice(0, None, 2)), (slice(1, None, 2), slice(1, None, 2))]
    """
    base = w.base_dilation
    position_step, tap_step = base // gcd(w.stride, base), base // gcd(w.window_dilation, base)
    parts = []
    for position in range(min(position_step, size)):
        # Through tap t, this position reads first + t * window_dilation; elements are at the
        # multiples of base.
        first = position * w.stride - w.padding_low
        tap = next((t for t in range(min(tap_step, w.size)) if (first + t * w.window_dilation) % base == 0), w.size)
        padding = -(first + tap * w.window_dilation) // base if tap < w.size else 0
        taps = len(range(tap, w.size, tap_step))
        inner = WindowDimension(taps, position_step * w.stride // base, padding, 0, tap_step * w.window_dilation // base)
        parts.append((slice(position, None, position_step), slice(tap, None, tap_step), inner))
    return parts


def transpose_window(w: WindowDimension, size: int) -> WindowDimension:
    """Returns the window dimension that swaps the roles of the `size` positions and `w.size` taps.

    >>> transpose_window(WindowDimension(3, stride=2, window_dilation=5), 7).stride
    5
    """
    return WindowDimension(size, w.window_dilation, w.padding_low, w.padding_high, w.stride, w.base_dilation)
