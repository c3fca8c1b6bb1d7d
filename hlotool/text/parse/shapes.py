"""Parses a single shape: `hlotool.shape`."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import lru_cache

from hlotool.codes import CODE_NAMES
from hlotool.errors import Diagnostic, ParseError, Violation
from hlotool.opdefs.codecs.shapes import plain_array
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.shapes.shape import Shape
from hlotool.text.parse.parser import parse

__all__ = ["shape"]

# A static array, with or without a dimension order. Such shapes need no parser.
_PLAIN = re.compile(r"([a-z][a-z0-9]*)\[([0-9,]*)\](?:\{([0-9,]+)\})?")
_MAX_SHOWN = 60
_UNKNOWN_TYPE = "S036"


def shape(text: str | Shape) -> Shape:
    """Returns the shape that a string describes.

    The shape may be an array, a tuple, a token or a buffer, with or without layouts. A Shape object
    is returned unchanged, so that functions can accept either type. Raises ParseError if the string
    does not describe a shape, and TypeError for anything other than a string or a Shape.

    >>> shape("bf16[2,3]{1,0}").dimensions
    (2, 3)
    >>> shape("(s32[], f32[2,3]{0,1})").elements[1].layout.minor_to_major
    (0, 1)
    """
    if isinstance(text, Shape):
        return text
    if not isinstance(text, str):
        raise TypeError(f"expected a shape or its text, got {type(text).__name__}")
    return _parse(text)


@lru_cache(maxsize=4096)
def _parse(text: str) -> Shape:
    match = _PLAIN.fullmatch(text)
    if match is not None and match[1] in ELEMENT_TYPES:
        # If a size or a dimension order is invalid, the parser below reports it.
        with suppress(Violation, ValueError):
            return plain_array(*match.groups())
    try:
        instructions = list(parse(f"ENTRY e {{ ROOT p = {text} parameter(0) }}").all_instructions())
    except ParseError as error:
        hint = next((d.hint for d in error.diagnostics if d.code == _UNKNOWN_TYPE), None)
        raise _not_a_shape(text, hint) from error
    # A string such as `f32[] parameter(0) q = f32[2]` yields several instructions.
    if len(instructions) != 1:
        raise _not_a_shape(text)
    return instructions[0].shape


def _not_a_shape(text: str, hint: str | None = None) -> ParseError:
    message = f"'{text[:_MAX_SHOWN]}' is not a shape"
    hint = hint or "write a shape such as f32[2,3] or (s32[], f32[4]{0})"
    return ParseError([Diagnostic("S001", CODE_NAMES["S001"], "error", message, "<shape>", hint=hint)])
