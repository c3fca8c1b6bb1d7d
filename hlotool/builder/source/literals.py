"""Conversion of literals to arguments of `Builder.constant`: numbers, HLO text or bytes."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

from hlotool.builder.literals import as_literal, shaped_literal
from hlotool.builder.source.calls import Argument
from hlotool.builder.source.values import shape_text
from hlotool.errors import Violation
from hlotool.literals.data import element_tokens
from hlotool.literals.literal import Literal, decode
from hlotool.literals.print import literal_text
from hlotool.opdefs.inference import kind_of
from hlotool.shapes.shape import Shape, array_shape

__all__ = ["constant_arguments"]

_MAX_NUMBERS = 64
_MAX_DIMENSIONS = 8
_MAX_TEXT_LENGTH = 400
# The default element types of Python numbers.
_DEFAULT_TYPES = frozenset({"pred", "s32", "f32", "c64"})
_WORDS = {"true": True, "false": False}


def constant_arguments(literal: Literal) -> tuple[Argument, ...]:
    """Returns arguments for which `Builder.constant` creates an equal literal with the same text.

    >>> from hlotool.shapes.shape import Shape, array_shape
    >>> constant_arguments(Literal(array_shape("s8", (2,)), "{1, 2}"))
    (('', [1, 2]), ('', 's8'))
    >>> constant_arguments(Literal(array_shape("f32"), "nan(0x7fc00001)"))
    (('', 'nan(0x7fc00001)'), ('shape', 'f32[]'))
    """
    text = literal_text(literal)
    for arguments in _candidates(literal, text):
        value, named = arguments[0][1], dict(arguments[1:])
        try:
            created = shaped_literal(value, literal.shape) if "shape" in named else as_literal(value, named.get(""))
        except Violation:
            continue
        # Different complex values may have the same text.
        if literal_text(created) == text and created == literal:
            return arguments
    return ("", text), ("shape", shape_text(literal.shape))


def _candidates(literal: Literal, text: str) -> Iterator[tuple[Argument, ...]]:
    shape = literal.shape
    if not shape.is_array or literal.elided:
        return
    if literal.element_count <= _MAX_NUMBERS and shape.rank <= _MAX_DIMENSIONS:
        numbers = _numbers(shape, text)
        if numbers is not None:
            if shape != array_shape(shape.element_type, shape.dimensions):
                yield ("", numbers), ("shape", shape_text(shape))
            if shape.element_type in _DEFAULT_TYPES:
                yield (("", numbers),)
            yield ("", numbers), ("", shape.element_type)
    if len(text) > _MAX_TEXT_LENGTH:
        yield ("", decode(literal)), ("shape", shape_text(shape))


def _numbers(shape: Shape, text: str) -> Any:
    """Returns the numbers of an array as a nested list, or None if they have no such form."""
    kind, sizes = kind_of(shape.element_type), shape.dimensions
    try:
        values: list[Any] = [_number(token, kind) for token in element_tokens(text)]
    except ValueError:
        return None
    if kind == "complex":
        values = [complex(*pair) for pair in zip(values[::2], values[1::2], strict=False)]
    if len(values) != prod(sizes) or min(sizes, default=1) < 1:
        return None
    for size in reversed(sizes):
        values = [values[k : k + size] for k in range(0, len(values), size)]
    return values[0]


def _number(token: str, kind: str) -> complex:
    if kind == "pred":
        return _WORDS[token] if token in _WORDS else bool(int(token))
    if kind in ("float", "complex"):
        return float(token)
    return int(token)
