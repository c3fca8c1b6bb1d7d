"""The text of constants: single numbers, and arrays whose elements all have the same text.

`analysis.simplify` computes values.
"""

from __future__ import annotations

from contextlib import suppress

from hlotool.literals.data import element_tokens
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.shapes.literal import Literal

__all__ = ["number_of", "uniform_spelling"]

_WORDS = {"true": 1, "false": 0}


def number_of(text: str) -> float | int | None:
    """The number that an element's text stands for, exact for integers; None if it is not a number.

    >>> number_of("3"), number_of("-inf"), number_of("true"), number_of("{...}")
    (3, -inf, 1, None)
    """
    if text in _WORDS:
        return _WORDS[text]
    with suppress(ValueError):
        return int(text)
    with suppress(ValueError):
        return float(text.partition("(")[0])
    return None


def uniform_spelling(literal: Literal) -> str | None:
    """The text that all elements of an array literal have in common; None if they differ or are unknown.

    >>> from hlotool.shapes.shape import array_shape
    >>> uniform_spelling(Literal(array_shape("s32", (2,)), "{7, 7}")), uniform_spelling(Literal(array_shape("s32", (2,)), "{7, 8}"))
    ('7', None)
    """
    if not literal.shape.is_array or literal.elided or not literal.element_count:
        return None
    if literal.data is not None:
        return _uniform_data(literal)
    if literal.shape.dimensions and not literal.text.startswith("{"):
        # XLA completes a number without braces with zeros.
        return None
    if ELEMENT_TYPES[literal.shape.element_type].kind == "complex":
        return None
    tokens = element_tokens(literal)
    first = tokens[0]
    return first if all(token == first for token in tokens) else None


def _uniform_data(literal: Literal) -> str | None:
    data, count = literal.data, literal.element_count
    if not data or ELEMENT_TYPES[literal.shape.element_type].kind not in ("pred", "signed", "unsigned"):
        return None
    size = len(data) // count
    if data != data[:size] * count:
        return None
    return str(int.from_bytes(data[:size], "little", signed=ELEMENT_TYPES[literal.shape.element_type].kind == "signed"))
