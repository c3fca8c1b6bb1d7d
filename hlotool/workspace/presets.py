"""Presets: selections and modes under one name, for what people verify most.

What the names mean to the rules is said here only; settings and options come over a preset.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from hlotool.codes import CODE_NAMES, severity_of

__all__ = ["PRESETS", "Preset"]


class Preset(NamedTuple):
    """Codes that are selected beside the default ones, or instead of them; codes that are ignored; and fields of `VerifyModes`.

    >>> PRESETS["tpu"].modes
    {'target': 'tpu'}
    """

    doc: str
    modes: Mapping[str, Any] = {}
    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


_WARNINGS_OF_SYNTAX = tuple(code for code in CODE_NAMES if code[0] == "S" and severity_of(code) != "error")

PRESETS: dict[str, Preset] = {
    "parse": Preset("What keeps a text from being read.", select=("S",), ignore=_WARNINGS_OF_SYNTAX),
    "default": Preset("All errors, and the warnings without false alarms."),
    "strict": Preset("Every rule.", select=("ALL",)),
    "gpu": Preset(
        "For GPUs: also deadlocks of collectives and what could overlap.",
        {"target": "gpu", "collective_deadlocks": True},
        extend_select=("W023", "W024"),
    ),
    "tpu": Preset("For TPUs: also memory lost to tiles.", {"target": "tpu"}, extend_select=("W027", "W040")),
    "before-opt": Preset(
        "Dumps from before optimizations: layouts are not fixed, and what is dead or double goes anyway.",
        {"stage": "before-opt"},
        ignore=("L", "W001", "W003", "W004", "W005", "W007", "W008"),
    ),
    "after-opt": Preset("Dumps from after optimizations: what should not be left over.", {"stage": "after-opt"}, extend_select=("W041", "W042")),
}
"""By the name that `--preset` takes."""
