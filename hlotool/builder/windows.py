"""Windows built from sizes, strides, dilations and padding (explicit, SAME or VALID)."""

from __future__ import annotations

from collections.abc import Sequence

from hlotool.errors import Violation
from hlotool.shapes.values import WindowDimension

__all__ = ["Padding", "make_window"]

Padding = str | Sequence[Sequence[int]]
"""SAME, VALID, or (low, high) for each dimension."""

_SAME, _VALID = "SAME", "VALID"


def make_window(
    area: Sequence[int],
    sizes: Sequence[int],
    strides: Sequence[int] | None,
    padding: Padding,
    base_dilations: Sequence[int] | None = None,
    window_dilations: Sequence[int] | None = None,
    window_reversal: Sequence[bool] | None = None,
) -> tuple[WindowDimension, ...]:
    """Returns a window of the given sizes over an area.

    SAME pads the area so that the window has ceil(area / stride) positions; VALID does not pad.
    Raises Violation for lists of the wrong length, and for an unknown word as padding.

    >>> [(w.padding_low, w.padding_high) for w in make_window([5], [3], [2], "SAME")]
    [(1, 1)]
    """
    rank = len(sizes)
    columns = {
        "window_strides": strides,
        "base_dilations": base_dilations,
        "window_dilations": window_dilations,
        "window_reversal": window_reversal,
    }
    for name, values in columns.items():
        if values is not None and len(values) != rank:
            raise Violation("T095", name, f"expected one entry per dimension of the window ({rank}), got {len(values)}")
        if values is not None and name != "window_reversal" and min(values, default=1) < 1:
            raise Violation("T054", name, f"expected positive numbers, got {list(values)}")
    if len(area) != rank:
        raise Violation("T095", "window_dimensions", f"expected one entry per dimension of the operand ({len(area)}), got {rank}")
    ones = (1,) * rank
    steps, bases, dilations = strides or ones, base_dilations or ones, window_dilations or ones
    spans = [(_dilated_size(area[k], bases[k]), _dilated_size(sizes[k], dilations[k]), steps[k]) for k in range(rank)]
    pairs = _pairs(padding, spans)
    reversal = window_reversal or (False,) * rank
    return tuple(WindowDimension(sizes[k], steps[k], *pairs[k], dilations[k], bases[k], bool(reversal[k])) for k in range(rank))


def _dilated_size(size: int, dilation: int) -> int:
    return 0 if size <= 0 else (size - 1) * dilation + 1


def _pairs(padding: Padding, spans: Sequence[tuple[int, int, int]]) -> list[tuple[int, int]]:
    if isinstance(padding, str):
        # Also accepts the C++ names, such as kSame.
        word = padding.upper().removeprefix("K")
        if word not in (_SAME, _VALID):
            raise Violation(
                "S018", "padding", f"'{padding}' is neither SAME nor VALID", "use one of these words, or a list with (low, high) for each dimension"
            )
        return [_same(*span) if word == _SAME else (0, 0) for span in spans]
    if len(padding) != len(spans) or any(len(pair) != 2 for pair in padding):
        raise Violation("T053", "padding", f"expected (low, high) for each dimension ({len(spans)}), got {list(padding)!r:.60}")
    return [(pair[0], pair[1]) for pair in padding]


def _same(area: int, size: int, stride: int) -> tuple[int, int]:
    """Returns the padding for ceil(area / stride) positions; an odd element is at the high end."""
    total = max((-(-area // stride) - 1) * stride + size - area, 0)
    return total // 2, total - total // 2
