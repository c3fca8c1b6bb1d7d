"""Codecs of attributes that name computations, instructions or typed literals.

The text floor builds these values, because they refer to a module's parts; the printer hands their names to the writers here.
"""

from __future__ import annotations

from typing import Any

from hlotool.opdefs.codecs.base import Style, codec

__all__: list[str] = []


def _write_name(value: str, style: Style) -> str:
    return value


def _write_names(value: tuple[str, ...], style: Style) -> str:
    return "{" + ", ".join(value) + "}"


def _write_literal(value: Any, style: Style) -> str:
    return str(value)


codec("Computation", "called_computation", _write_name)
codec("ContinuedComputation", "called_computation", _write_name)
codec("Computations", "called_computations", _write_names)
codec("Names", "names", _write_names)
codec("TypedLiteral", "typed_literal", _write_literal)
