"""Converts constants to bytes, the form in which NumPy values and constant folding create them.

This changes nothing in a module except the spelling of its numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hlotool.ir.model import Module, set_field
from hlotool.literals.literal import Literal, decode, literal_from_bytes, tuple_literal

__all__ = ["as_held", "constants_as_bytes", "is_held_as_bytes", "with_bytes"]

_HELD_AS_BYTES = [False]


@contextmanager
def constants_as_bytes() -> Iterator[None]:
    """Enables the conversions of `as_held` inside the `with` block."""
    _HELD_AS_BYTES.append(True)
    try:
        yield
    finally:
        _HELD_AS_BYTES.pop()


def is_held_as_bytes() -> bool:
    return _HELD_AS_BYTES[-1]


def as_held(module: Module) -> Module:
    """Returns the module, with its constants as bytes if the test enables that."""
    return with_bytes(module) if is_held_as_bytes() else module


def with_bytes(module: Module) -> Module:
    """Converts the constants of a module to bytes, and returns the module."""
    for computation in module.computations:
        for x in computation.instructions:
            if isinstance(x.immediate, Literal):
                set_field(x, "immediate", _in_bytes(x.immediate))
                # The printer must not copy the old text.
                module.notes.spans.pop(computation, None)
    return module


def _in_bytes(literal: Literal) -> Literal:
    if literal.shape.is_tuple:
        return tuple_literal([_in_bytes(element) for element in literal.elements])
    # Only the text form can abbreviate an array to a single number.
    return literal if literal.elided or literal.is_abbreviated else literal_from_bytes(literal.shape, decode(literal))
