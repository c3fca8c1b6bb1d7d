"""Differences within values: configurations, metadata, shapes, and the numbers of constants."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from hlotool.differ.matching.instruction_parts import configuration
from hlotool.errors import HlotoolError
from hlotool.interp.arrays.dtypes import Array
from hlotool.interp.arrays.literal_values import literal_array
from hlotool.literals.literal import Literal, abbreviated
from hlotool.literals.print import literal_text
from hlotool.shapes.metadata import Metadata, decode_metadata
from hlotool.shapes.shape import Shape

__all__ = [
    "Difference",
    "arrow",
    "configuration_differences",
    "constant_difference",
    "difference_lines",
    "leaf_differences",
    "mapping_differences",
    "metadata_differences",
]

Difference = tuple[str, str, str]
"""A path within a value, with the old and the new text at that path."""

_ABSENT = "absent"
_MAX_TEXT_SIZE = 60


def arrow(old: object, new: object) -> str:
    """Returns `old -> new`; None is shown as `absent`, and long values are shortened.

    >>> arrow(None, "{0}")
    'absent -> {0}'
    """
    return f"{_short(old)} -> {_short(new)}"


def _short(value: object) -> str:
    text = _ABSENT if value is None else str(value)
    return text if len(text) <= _MAX_TEXT_SIZE else f"{text[: _MAX_TEXT_SIZE - 3]}..."


# ---- configurations and metadata ---------------------------------------------------------------


def configuration_differences(old: str | None, new: str | None) -> list[Difference]:
    """Returns the differences between two configurations, by path in their JSON.

    >>> configuration_differences('{"a":{"b":1,"c":[2]}}', '{"a":{"b":3,"c":[2]}}')
    [('a.b', '1', '3')]
    """
    differences = []
    stack = [("", configuration(old), configuration(new))]
    while stack:
        path, first, second = stack.pop()
        if isinstance(first, dict) and isinstance(second, dict):
            keys = sorted(first.keys() | second.keys(), reverse=True)
            stack += [(f"{path}.{key}" if path else str(key), first.get(key, _NOTHING), second.get(key, _NOTHING)) for key in keys]
        elif isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
            stack += [(f"{path}[{k}]", first[k], second[k]) for k in reversed(range(len(first)))]
        elif first is not second and _json(first) != _json(second):
            differences.append((path, _json(first), _json(second)))
    return differences


_NOTHING = object()


def _json(value: Any) -> str:
    if value is _NOTHING or value is None:
        return _ABSENT if value is _NOTHING else "null"
    try:
        return json.dumps(value, sort_keys=True, ensure_ascii=False)
    except RecursionError:
        return repr(value)[:_MAX_TEXT_SIZE]


def metadata_differences(old: str | None, new: str | None) -> list[Difference]:
    """Returns the differences between the metadata of two instructions, by field.

    The numbers of stack frames are left out, since they mean nothing by themselves.

    >>> metadata_differences('{op_name="a" source_line=3}', '{op_name="b" source_line=3}')
    [('op_name', '"a"', '"b"')]
    """
    first, second = (decode_metadata(text or "{}") for text in (old, new))
    names = [name for name in Metadata._fields if getattr(first, name) != getattr(second, name)]
    return [(name, _field(first, name), _field(second, name)) for name in names if name != "stack_frame_id"]


def _field(metadata: Metadata, name: str) -> str:
    value = getattr(metadata, name)
    return json.dumps(value, ensure_ascii=False) if value or (name == "metadata_payload" and value is not None) else _ABSENT


def mapping_differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Difference]:
    """Returns the differences between two dictionaries, by key.

    >>> mapping_differences({"a": "x", "b": "y"}, {"a": "z", "b": "y"})
    [('a', '"x"', '"z"')]
    """
    keys = [key for key in sorted(old.keys() | new.keys()) if old.get(key) != new.get(key)]
    return [(key, _entry(old, key), _entry(new, key)) for key in keys]


def _entry(attributes: Mapping[str, Any], key: str) -> str:
    return _json(attributes[key]) if key in attributes else _ABSENT


# ---- shapes ------------------------------------------------------------------------------------


def leaf_differences(old: Shape, new: Shape, kind: str) -> list[Difference]:
    """Returns the leaves of two shapes that differ in `kind`: `shape`, `element_type` or `layout`.

    >>> from hlotool.shapes.shape import array_shape
    >>> leaf_differences(array_shape("f32", (2,)), array_shape("bf16", (2,)), "element_type")
    [('', 'f32', 'bf16')]
    """
    first, second = list(old.leaves()), list(new.leaves())
    if old.is_tuple != new.is_tuple or len(first) != len(second):
        return [("", old.text_without_layout, new.text_without_layout)]
    differences = []
    for k, (a, b) in enumerate(zip(first, second, strict=True)):
        x, y = (_aspect(leaf, kind) for leaf in (a, b))
        if x != y:
            differences.append((f"{{{k}}}" if old.is_tuple else "", x, y))
    return differences


def _aspect(leaf: Shape, kind: str) -> str:
    if kind == "element_type":
        return leaf.element_type
    if kind == "layout":
        return leaf.text.removeprefix(leaf.text_without_layout) or "default layout"
    return leaf.text_without_layout


# ---- constants ---------------------------------------------------------------------------------


def constant_difference(old: Literal, new: Literal) -> str:
    """Describes how the values of two constants of the same shape differ.

    >>> from hlotool.shapes.shape import array_shape
    >>> shape = array_shape("f32", (3,))
    >>> constant_difference(Literal(shape, "{1, 2, 3}"), Literal(shape, "{1, 2.5, 3}"))
    '1 of 3 elements differs: {1}: 2 -> 2.5'
    """
    if old.elided or new.elided:
        return "the values are elided"
    if old.shape.is_tuple or new.shape.is_tuple or old.element_count == 1 or old.shape.dimensions != new.shape.dimensions:
        return arrow(literal_text(old), literal_text(new))
    try:
        if old.is_abbreviated and new.is_abbreviated:
            # All elements but the first are 0 in both constants.
            return _array_difference(literal_array(abbreviated(old)), literal_array(abbreviated(new)), old.shape.dimensions)
        first, second = literal_array(old), literal_array(new)
    except (HlotoolError, ValueError, OverflowError):
        return arrow(literal_text(old), literal_text(new))
    return _array_difference(first, second, old.shape.dimensions)


def _array_difference(first: Array, second: Array, sizes: Sequence[int]) -> str:
    """Describes how the elements of two arrays with the given sizes differ.

    The arrays may contain only the first elements if all other elements are equal.
    """
    differs = _bits(first) != _bits(second)
    count = int(differs.sum())
    with np.errstate(all="ignore"):
        wide = np.complex128 if np.iscomplexobj(first) else np.float64
        distances = np.abs(first.astype(wide) - second.astype(wide)).reshape(-1)
    # The distance from a NaN to a number counts as larger than any distance between two numbers.
    # Among equal distances, the first one counts.
    distances = np.where(differs, np.nan_to_num(distances, nan=np.inf), -1)
    at = int(np.argmax(distances))
    index = ",".join(map(str, np.unravel_index(at, sizes)))
    change = f"{{{index}}}: {arrow(_number(first.flat[at]), _number(second.flat[at]))}"
    if count == 1:
        return f"1 of {prod(sizes)} elements differs: {change}"
    return f"{count} of {prod(sizes)} elements differ, largest difference at {change}"


def _bits(array: Array) -> Array:
    """Returns the bits of each element as one value, so that -0 and NaN payloads count."""
    rows = np.ascontiguousarray(array).view(np.uint8).reshape(array.size, -1)
    return rows.view([("", rows.dtype)] * rows.shape[1]).reshape(-1)


def _number(value: Any) -> str:
    text = str(value)
    return text.removesuffix(".0")


def difference_lines(differences: Sequence[Difference], most: int) -> Iterator[str]:
    """Yields `where: old -> new` for the first differences, and the number of remaining ones."""
    for where, old, new in differences[:most]:
        yield f"{_short(where)}: {arrow(old, new)}" if where else arrow(old, new)
    if len(differences) > most:
        yield f"and {len(differences) - most} more"
