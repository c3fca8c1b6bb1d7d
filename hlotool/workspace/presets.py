"""Presets: predefined selections of rules, with modes, for common kinds of modules.

Settings and options override a preset.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from hlotool.codes import CODE_NAMES, severity_of

__all__ = ["PRESETS", "Preset"]


class Preset(NamedTuple):
    """A selection of codes, and fields of `VerifyModes`.

    `select` replaces the default codes. The codes in `extend_select` are added to the selection,
    and the codes in `ignore` are removed from it.

    >>> PRESETS["tpu"].modes
    {'target': 'tpu'}
    """

    doc: str
    modes: Mapping[str, Any] = {}
    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


_SYNTAX_WARNINGS = tuple(code for code in CODE_NAMES if code[0] == "S" and severity_of(code) != "error")

PRESETS: dict[str, Preset] = {
    "parse": Preset("Only errors that keep a file from being parsed.", select=("S",), ignore=_SYNTAX_WARNINGS),
    "default": Preset("All errors, and the warnings that are worth reading in nearly every module."),
    "strict": Preset("Every rule.", select=("ALL",)),
    "gpu": Preset(
        "For GPUs: also deadlocks of collectives and operations that could overlap.",
        {"target": "gpu", "collective_deadlocks": True},
        extend_select=("W023", "W024"),
    ),
    "tpu": Preset("For TPUs: also memory lost to padding of tiles.", {"target": "tpu"}, extend_select=("W027", "W040")),
    "before-opt": Preset(
        "Dumps from before optimizations: layouts are not assigned yet, and dead or repeated code will be removed.",
        {"stage": "before-opt"},
        ignore=("L", "W001", "W003", "W004", "W005", "W007", "W008"),
    ),
    "after-opt": Preset(
        "Dumps from after optimizations: also instructions that should have been optimized away.",
        {"stage": "after-opt"},
        extend_select=("W041", "W042"),
    ),
}
"""The presets, by the names that `--preset` takes."""
