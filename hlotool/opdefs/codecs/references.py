"""Codecs for attributes that refer to computations, instructions or typed literals.

`text.parse` builds these values, since building them requires the module; the printer passes names
to the writers here.
"""

from __future__ import annotations

from typing import Any

from hlotool.opdefs.codecs.base import WriteStyle, codec

__all__: list[str] = []


def _write_name(value: str, style: WriteStyle) -> str:
    return value


def _write_names(value: tuple[str, ...], style: WriteStyle) -> str:
    return "{" + ", ".join(value) + "}"


def _write_literal(value: Any, style: WriteStyle) -> str:
    return str(value)


codec("Computation", "called_computation", _write_name)
codec("ContinuedComputation", "called_computation", _write_name)
codec("Computations", "called_computations", _write_names)
codec("Names", "names", _write_names)
codec("TypedLiteral", "typed_literal", _write_literal)
