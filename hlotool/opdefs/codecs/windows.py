"""Codecs for windows, paddings, slices and convolution dimension labels."""

from __future__ import annotations

from typing import Any

from hlotool.errors import Violation
from hlotool.opdefs.codecs.base import WriteStyle, builds, codec
from hlotool.opdefs.codecs.scalars import integer_at, integers, sizes
from hlotool.shapes.values import (
    ConvolutionDimensions,
    PaddingDimension,
    SliceRange,
    WindowDimension,
)

__all__: list[str] = []


def _padding_items(token: Any) -> list[tuple[int, ...]]:
    return [tuple([integer_at(number, token.start_pos) for number in item.split("_")]) for item in token.split("x")]


@builds("window_field")
def build_window_field(children: list[Any]) -> tuple[Any, tuple[Any, ...]]:
    key, token = children
    if key == "pad=":
        items = _padding_items(token)
        if any(len(item) != 2 for item in items):
            raise Violation("S017", token.start_pos, "a window does not support interior padding: expected low_high for each dimension")
        return key, tuple(items)
    return key, integers([token]) if token.type == "INT" else sizes(token)


@builds("window")
def build_window(children: list[Any]) -> tuple[WindowDimension, ...]:
    fields: dict[str, tuple[Any, ...]] = {}
    for key, values in children:
        if key in fields:
            raise Violation("S016", key.start_pos, f"'{key}' occurs twice in this window")
        fields[key] = values
    sizes = fields.get("size=", ())
    for key, values in fields.items():
        if len(values) != len(sizes):
            raise Violation(
                "S017", children[0][0].start_pos, f"'{key}' and 'size=' must have the same number of dimensions, got {len(values)} and {len(sizes)}"
            )
    ones, zeros = (1,) * len(sizes), (0,) * len(sizes)
    return tuple(
        WindowDimension(size, stride, pad[0], pad[1], rhs, lhs, bool(reversal))
        for size, stride, pad, rhs, lhs, reversal in zip(
            sizes,
            fields.get("stride=", ones),
            fields.get("pad=", ((0, 0),) * len(sizes)),
            fields.get("rhs_dilate=", ones),
            fields.get("lhs_dilate=", ones),
            fields.get("rhs_reversal=", zeros),
            strict=True,
        )
    )


def _write_window(value: tuple[WindowDimension, ...], style: WriteStyle) -> str:
    parts = []

    def add(key: str, texts: list[str], default: str) -> None:
        if any(text != default for text in texts):
            parts.append(f"{key}={'x'.join(texts)}")

    if value:
        parts.append("size=" + "x".join(str(d.size) for d in value))
    add("stride", [str(d.stride) for d in value], "1")
    add("pad", [f"{d.padding_low}_{d.padding_high}" for d in value], "0_0")
    add("lhs_dilate", [str(d.base_dilation) for d in value], "1")
    add("rhs_dilate", [str(d.window_dilation) for d in value], "1")
    add("rhs_reversal", [str(int(d.window_reversal)) for d in value], "0")
    return "{" + " ".join(parts) + "}"


@builds("padding")
def build_padding(children: list[Any]) -> tuple[PaddingDimension, ...]:
    token = children[0]
    padding = tuple(PaddingDimension(*item) for item in _padding_items(token))
    if any(dimension.interior < 0 for dimension in padding):
        raise Violation("T038", token.start_pos, "interior padding cannot be negative", "only low and high padding can be negative")
    return padding


def _write_padding(value: tuple[PaddingDimension, ...], style: WriteStyle) -> str:
    interior = any(d.interior for d in value)
    return "x".join(f"{d.low}_{d.high}" + (f"_{d.interior}" if interior else "") for d in value)


@builds("slice_range")
def build_slice_range(children: list[Any]) -> SliceRange:
    bracket, *numbers = children
    if not 2 <= len(numbers) <= 3:
        raise Violation("S017", bracket.start_pos, f"expected 2 or 3 numbers, [start:limit] or [start:limit:stride], found {len(numbers)}")
    return SliceRange(*integers(numbers))


@builds("slice_ranges")
def build_slice_ranges(children: list[Any]) -> tuple[SliceRange, ...]:
    return tuple(children)


def _write_slice_ranges(value: tuple[SliceRange, ...], style: WriteStyle) -> str:
    strides = any(r.stride != 1 for r in value)
    return "{" + ", ".join(f"[{r.start}:{r.limit}" + (f":{r.stride}]" if strides else "]") for r in value) + "}"


def _positions(word: str, names: str, side: str, at: int) -> tuple[int, int, tuple[int, ...]]:
    """Returns the positions of the letters in `names` and of the digits in a word of dim_labels.

    `side` is the array that the word describes.
    """
    letters = word.replace("?", "")
    if len(set(letters)) != len(letters):
        raise Violation("T050", at, f"a label occurs twice in the dimensions of the {side}: '{word}'")
    digits = sorted(c for c in letters if c.isdigit())
    if digits != [str(k) for k in range(len(digits))]:
        raise Violation("T050", at, f"the spatial dimensions of the {side} are not numbered from 0 to {len(digits) - 1}: got '{word}'")
    return max(0, word.find(names[0])), max(0, word.find(names[1])), tuple(word.index(d) for d in digits)


@builds("dim_labels")
def build_dim_labels(children: list[Any]) -> ConvolutionDimensions:
    token = children[0]
    at = token.start_pos
    lhs, rest = token.split("_")
    rhs, out = rest.split("->")
    inputs, kernel, output = (
        _positions(lhs, "bf", "lhs", at),
        _positions(rhs, "io", "kernel", at),
        _positions(out, "bf", "output", at),
    )
    if not len(inputs[2]) == len(kernel[2]) == len(output[2]):
        raise Violation("T050", at, f"lhs, kernel and output of {token} do not have the same number of spatial dimensions")
    text = f"{_labels(inputs, 'bf')}_{_labels(kernel, 'io')}->{_labels(output, 'bf')}"
    return ConvolutionDimensions(*inputs, *kernel, *output, text)


def _labels(positions: tuple[int, int, tuple[int, ...]], names: str) -> str:
    """Returns a word of `dim_labels` as XLA prints it.

    Dimensions without a label are printed as `?`, but only before the last label.
    """
    first, second, spatial = positions
    word = ["?"] * (max(first, second, *spatial) + 1)
    word[first], word[second] = names[0], names[1]
    for k, position in enumerate(spatial):
        word[position] = str(k)
    return "".join(word)


codec("Window", "window", _write_window)
codec("Padding", "padding", _write_padding)
codec("SliceRanges", "slice_ranges", _write_slice_ranges)
codec("DimLabels", "dim_labels", lambda value, style: value.text)
