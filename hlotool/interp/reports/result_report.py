"""Formats results as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from hlotool.interp.arguments.argument_files import output_names
from hlotool.interp.arrays.dtypes import Array
from hlotool.interp.arrays.values import Value, leaves
from hlotool.interp.reports.array_statistics import plain, statistics
from hlotool.shapes.shape import Shape

__all__ = ["as_json", "as_rows", "as_text"]

_SHOWN_IN_FULL = 64
"""Arrays with more elements are abbreviated as in NumPy and shown with their statistics."""


def as_text(value: Value, shape: Shape, width: int, devices: int = 1) -> Iterator[str]:
    """Yields lines for each array of a result: its name, its type and its values.

    For large arrays, only the corners and the statistics are shown.

    >>> from hlotool.shapes.shape import array_shape
    >>> print(*as_text(np.array([1, 2], np.int32), array_shape("s32", (2,)), 80), sep="\\n")
    output  s32[2]  [1 2]
    """
    pairs = zip(output_names(shape, devices), leaves(value), strict=True)
    rows = [(name, leaf_shape.text_without_layout, leaf) for (name, leaf_shape), leaf in pairs]
    names, types = (max((len(row[k]) for row in rows), default=0) for k in range(2))
    for name, type_text, leaf in rows:
        head = f"{name:{names}}  {type_text:{types}}  "
        if not isinstance(leaf, np.ndarray):
            yield head.rstrip()
            continue
        lines = _values(leaf, width - 2)
        if leaf.size > _SHOWN_IN_FULL:
            yield head + _range(leaf)
        elif len(lines) == 1 and len(head) + len(lines[0]) <= width:
            yield head + lines[0]
            continue
        else:
            yield head.rstrip()
        yield from (f"  {line}".rstrip() for line in lines)


def _values(array: Array, width: int) -> list[str]:
    if array.ndim == 0:
        return [str(array[()]).replace("True", "true").replace("False", "false")]
    return np.array2string(plain(array), max_line_width=width, threshold=_SHOWN_IN_FULL, edgeitems=3 if array.ndim < 3 else 1, precision=6).split(
        "\n"
    )


def _range(array: Array) -> str:
    if array.dtype.kind == "b":
        return f"true {int(array.sum())} of {array.size}"
    numbers = statistics(array)
    return numbers.text if numbers.least is not None else f"{array.size - numbers.nans - numbers.infinities} finite  {numbers.text}".rstrip()


def as_rows(value: Value, shape: Shape, devices: int = 1) -> list[dict[str, Any]]:
    """Returns the arrays of a result in a form that JSON can represent.

    The fields of an array are its name, type and dimensions, and its values as nested lists.
    Complex numbers are pairs. Numbers that JSON lacks are strings: "nan", "inf", "-inf".

    >>> from hlotool.shapes.shape import array_shape
    >>> as_rows(np.array([1, np.inf], np.float32), array_shape("f32", (2,)))
    [{'name': 'output', 'type': 'f32', 'dimensions': [2], 'values': [1.0, 'inf']}]
    """
    rows = []
    for (name, leaf_shape), leaf in zip(output_names(shape, devices), leaves(value), strict=True):
        row: dict[str, Any] = {"name": name, "type": leaf_shape.element_type}
        if isinstance(leaf, np.ndarray):
            row |= {"dimensions": list(leaf.shape), "values": _nested(leaf)}
        rows.append(row)
    return rows


def as_json(rows: Iterable[dict[str, Any]]) -> str:
    """Returns a JSON array with one row per line."""
    return "[\n" + ",\n".join(f"  {json.dumps(row)}" for row in rows) + "\n]\n"


def _nested(array: Array) -> Any:
    values = plain(array)
    if values.dtype.kind == "c":
        values = np.stack([values.real, values.imag], axis=-1)
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return values.tolist()
    named = values.astype(object)
    for k in np.argwhere(~np.isfinite(values)):
        named[tuple(k)] = str(float(values[tuple(k)]))
    return named.tolist()
