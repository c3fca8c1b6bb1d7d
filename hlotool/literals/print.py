"""The printer of literals, either lossless or byte for byte as in XLA."""

from __future__ import annotations

import re
from collections.abc import Callable

from hlotool.literals.data import INDEX_COMMENT, PART_TYPES
from hlotool.literals.floats import float_digits, unpack_numbers
from hlotool.literals.literal import ELIDED, MAX_WRITTEN, Literal, abbreviated, decode
from hlotool.literals.parse import brace_frame
from hlotool.shapes.dtype import ELEMENT_TYPES

__all__ = ["literal_text", "xla_literal_text"]

# XLA rejects parts of c64 that exceed the largest f32 before rounding; for f32, it accepts them.
_LARGEST_C64_PARTS = {f"{sign}3.40282347e+38": f"{sign}3.4028234663852886e+38" for sign in ("", "-")}
_MAX_UNELIDED = 10
"""XLA elides arrays with more elements than this unless it prints large constants."""

# Integers that XLA may print differently from their spelling: leading zeros, -0, and numbers that
# wrap, such as negative u64 numbers.
_ODD_INTEGERS = {"signed": re.compile(r"\b0[0-9]|-0|[0-9]{19}"), "unsigned": re.compile(r"\b0[0-9]|-|[0-9]{19}")}


def literal_text(literal: Literal) -> str:
    """Returns text that XLA reads back as exactly this literal: the literal's own text, if any.

    Two kinds of values have no text that preserves them: an imaginary part whose real part is a
    NaN, and a signaling imaginary NaN in c64.

    >>> from hlotool.shapes.shape import array_shape
    >>> literal_text(Literal(array_shape("f32", (2,)), packed=bytes.fromhex("cdcccc3d00000080")))
    '{0.1, -0.0}'
    """
    return _tuple_text(literal, lambda leaf: leaf.spelling or _from_data(leaf, decode(leaf), exact=True))


def xla_literal_text(literal: Literal, *, print_large_constants: bool, typed: bool = False) -> str:
    """Returns the literal as XLA prints it, which loses -0 and digits of narrow types.

    An elided literal always becomes `{...}`. With `typed`, the result has the form of the attribute
    `literal=`: each array is preceded by its shape, and no other array is elided.

    >>> from hlotool.shapes.shape import array_shape
    >>> xla_literal_text(Literal(array_shape("f32", (2,)), "{1e5, 0.10}"), print_large_constants=True, typed=True)
    'f32[2]{0} {100000, 0.1}'
    """
    if typed:
        return _tuple_text(literal, lambda leaf: f"{leaf.shape.text} {_xla_array(leaf)}")
    if not print_large_constants and (literal.shape.is_tuple or (literal.shape.rank and literal.element_count > _MAX_UNELIDED)):
        return ELIDED
    return _tuple_text(literal, _xla_array)


def _tuple_text(literal: Literal, write: Callable[[Literal], str]) -> str:
    """Prints arrays with `write` and tuples in parentheses.

    Uses an explicit stack, because tuples may be nested more deeply than Python's recursion limit
    allows.
    """
    if not literal.shape.is_tuple:
        return write(literal)
    parts: list[str] = []
    stack: list[Literal | str] = [literal]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            parts.append(item)
        elif not item.shape.is_tuple:
            parts.append(write(item))
        else:
            stack.append(" )")
            for k in range(len(item.elements) - 1, -1, -1):
                stack.append(item.elements[k])
                stack.append(", " if k else "( ")
            if not item.elements:
                stack.append("( ")
    return "".join(parts)


def _xla_array(literal: Literal) -> str:
    if literal.spelling == ELIDED:
        return ELIDED
    if literal.element_count > MAX_WRITTEN and literal.is_abbreviated:
        # XLA would write all zeros, but reads the abbreviated text as the same array.
        return _xla_array(abbreviated(literal)).strip("{}")
    if literal.packed is None and _prints_as_written(literal):
        return literal.spelling
    return _from_data(literal, decode(literal), exact=False)


def _prints_as_written(literal: Literal) -> bool:
    """Returns whether XLA is known to print the literal as written.

    If so, a large integer array need not be decoded.
    """
    odd = _ODD_INTEGERS.get(ELEMENT_TYPES[literal.shape.element_type].kind)
    if odd is None or literal.is_abbreviated:
        return False
    return not odd.search(literal.spelling if literal.shape.rank <= 3 else INDEX_COMMENT.sub("", literal.spelling))


def _from_data(literal: Literal, data: bytes, *, exact: bool) -> str:
    shape = literal.shape
    element = ELEMENT_TYPES[shape.element_type]
    frame_element = "%s"
    if element.kind == "pred":
        texts = ["1" if value else "0" for value in data] if shape.rank else ["true" if value else "false" for value in data]
    elif element.kind == "float":
        texts = float_digits(element.name, data, exact=exact)
    elif element.kind == "complex":
        frame_element = "(%s, %s)"
        texts = float_digits(PART_TYPES[element.name], data, exact=exact)
        if exact and element.name == "c64":
            texts = [_LARGEST_C64_PARTS.get(text, text) for text in texts]
            if "nan(" in " ".join(texts):
                texts[1::2] = map(_widened_payload, texts[1::2])
    else:
        code = {8: "b", 16: "h", 32: "i", 64: "q"}[max(element.bits, 8)]
        texts = [str(value) for value in unpack_numbers(code if element.kind == "signed" else code.upper(), data)]
    return brace_frame((max(size, 0) for size in shape.dimensions), frame_element) % tuple(texts)


def _widened_payload(text: str) -> str:
    """Returns the text of an imaginary part with its NaN payload widened to a double's.

    XLA drops the low 29 bits when it converts the part.
    """
    sign, separator, payload = text.partition("nan(")
    return f"{sign}nan(0x{int(payload[2:-1], 16) << 29:x})" if separator else text
