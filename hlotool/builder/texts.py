"""Values given as text, which the parser reads: shapes and attributes."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import lru_cache
from operator import index
from typing import Any

from hlotool.errors import HlotoolError, ParseError, Violation
from hlotool.opdefs.codecs.shapes import plain_array
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.shapes.layout import Layout
from hlotool.shapes.shape import UNBOUNDED, Shape, array_shape
from hlotool.text.parse.parser import parse

__all__ = ["ShapeLike", "as_attribute", "as_shape", "make_shape"]

ShapeLike = Shape | str
"""A shape, or its text: `f32[2,3]{1,0}`."""

# An instruction in which each of these attributes may be written.
_CARRIERS = {
    "dim_labels": "convolution(p, p), dim_labels={}",
    "replica_groups": "all-to-all(p), dimensions={{0}}, replica_groups={}",
    "window": 'custom-call(p), custom_call_target="", window={}',
    "padding": "pad(p, p), padding={}",
}
_ANY_CARRIER = "negate(p), {}={}"


# A static array, with or without an order of dimensions, which needs no parser.
_PLAIN = re.compile(r"([a-z][a-z0-9]*)\[([0-9,]*)\](?:\{([0-9,]+)\})?")


@lru_cache(maxsize=4096)
def _parsed_shape(text: str) -> Shape:
    match = _PLAIN.fullmatch(text)
    if match is not None and match[1] in ELEMENT_TYPES:
        # What it refuses, and odd commas, the parser reports.
        with suppress(Violation, ValueError):
            return plain_array(*match.groups())
    try:
        return parse(f"ENTRY e {{ ROOT p = {text} parameter(0) }}").entry.root.shape
    except ParseError as error:
        raise Violation("S001", "shape", f"'{text[:60]}' is not a shape", "write it as in f32[2,3] or (s32[], f32[4]{0})") from error


def as_shape(shape: ShapeLike) -> Shape:
    """The shape that a text stands for; shapes are returned unchanged. Raises Violation if the text is not a shape.

    >>> as_shape("(s32[], f32[2,3]{0,1})").elements[1].layout.minor_to_major
    (0, 1)
    """
    if isinstance(shape, Shape):
        return shape
    if not isinstance(shape, str):
        raise Violation("S017", "shape", f"expected a shape or its text, found {type(shape).__name__}", 'make_shape("f32", [2, 3]) makes one')
    return _parsed_shape(shape)


def make_shape(element_type: str, dimensions: Any = (), minor_to_major: Any = None, *, dynamic: Any = ()) -> Shape:
    """The shape of an array: sizes in the order of dimension numbers, by default row-major. `dynamic` are the numbers of dynamic dimensions.

    Raises HlotoolError for an unknown type, for negative sizes, and for a list of another length.

    >>> make_shape("f32", [2, 3]).text, make_shape("f32", [2, 3], [0, 1], dynamic=[1]).text
    ('f32[2,3]{1,0}', 'f32[2,<=3]{0,1}')
    """
    sizes = tuple(map(index, dimensions))
    if not (element_type in ELEMENT_TYPES and ELEMENT_TYPES[element_type].bits):
        raise HlotoolError(f"'{element_type}' is not an element type of arrays")
    if any(size < 0 and size != UNBOUNDED for size in sizes) or (minor_to_major is not None and sorted(minor_to_major) != list(range(len(sizes)))):
        raise HlotoolError(f"there is no shape of sizes {list(sizes)}" + (f" in order {list(minor_to_major)}" if minor_to_major is not None else ""))
    layout = None if minor_to_major is None else Layout(tuple(minor_to_major))
    return array_shape(element_type, sizes, tuple(k in dynamic for k in range(len(sizes))), layout)


@lru_cache(maxsize=4096)
def as_attribute(name: str, text: str) -> Any:
    """The value of an attribute that a text stands for. Raises Violation if it cannot be read.

    >>> as_attribute("sharding", "{devices=[2,1]0,1}").text
    '{devices=[2,1]0,1}'
    """
    carrier = _CARRIERS[name].format(text) if name in _CARRIERS else _ANY_CARRIER.format(name, text)
    try:
        return parse(f"ENTRY e {{ p = f32[2,2] parameter(0) ROOT r = f32[2,2] {carrier} }}").entry.root.attributes[name]
    except ParseError as error:
        raise Violation("S017", name, f"'{text[:60]}' cannot be read: {error.diagnostics[0].message}") from error
