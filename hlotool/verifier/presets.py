"""Presets: selections and modes under one name, for what people verify most.

What the names mean to the rules is said here only; a preset is a layer that settings and options come over.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from hlotool.codes import CODE_NAMES, severity_of
from hlotool.verifier.selection import Layer

__all__ = ["PRESETS", "Preset"]


class Preset(NamedTuple):
    """A layer of selection, fields of `VerifyModes`, and what it is for.

    >>> PRESETS["tpu"].modes
    {'target': 'tpu'}
    """

    doc: str
    layer: Layer
    modes: dict[str, Any]


_WARNINGS_OF_SYNTAX = tuple(code for code in CODE_NAMES if code[0] == "S" and severity_of(code) != "error")

PRESETS: dict[str, Preset] = {
    "parse": Preset("What keeps a text from being read.", Layer(("S",), (), _WARNINGS_OF_SYNTAX), {}),
    "default": Preset("All errors, and the warnings without false alarms.", Layer(), {}),
    "strict": Preset("Every rule.", Layer(("ALL",)), {}),
    "gpu": Preset("For GPUs: also deadlocks of collectives and what could overlap.", Layer(None, ("W023", "W024")), {
        "target": "gpu", "collective_deadlocks": True,
    }),
    "tpu": Preset("For TPUs: also memory lost to tiles.", Layer(None, ("W027", "W040")), {"target": "tpu"}),
    "before-opt": Preset(
        "Dumps from before optimizations: layouts are not fixed, and what is dead or double goes anyway.",
        Layer(None, (), ("L", "W001", "W003", "W004", "W005", "W007", "W008")),
        {"stage": "before-opt"},
    ),
    "after-opt": Preset("Dumps from after optimizations: what should not be left over.", Layer(None, ("W041", "W042")), {"stage": "after-opt"}),
}  # fmt: skip
"""By the name that `--preset` takes."""
