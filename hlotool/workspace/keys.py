"""The keys of settings files: options that choose files and rules, modes, and style."""

from __future__ import annotations

from collections.abc import Mapping

from hlotool.opdefs.modes import VerifyModes
from hlotool.option_fields import Option, options_of
from hlotool.text.formatting.style import FormatStyle
from hlotool.workspace.presets import PRESETS

__all__ = ["BASELINE_OPTIONS", "FILE_OPTIONS", "KEYS", "MODES", "RULE_OPTIONS", "key_of"]

FILE_OPTIONS: Mapping[str, Option] = {
    "include": Option((), "Files to choose in folders, instead of *.hlo files and HLO dumps.", "list"),
    "exclude": Option((), "Files and folders to skip inside folders.", "list"),
    "respect_gitignore": Option(True, "Skip files that git ignores (default)."),
}
"""The options that choose files in folders."""

RULE_OPTIONS: Mapping[str, Option] = {
    "select": Option((), "Report only these rules.", "list"),
    "extend_select": Option((), "Also report these rules.", "list"),
    "ignore": Option((), "Do not report these rules.", "list"),
    "preset": Option("default", "Predefined selection of rules and modes (default: default).", choices=tuple(PRESETS)),
}
"""The options that select rules."""

BASELINE_OPTIONS: Mapping[str, Option] = {
    "baseline": Option(None, "Hide the findings listed in FILE; only new ones are reported.", "path"),
}
"""The options about known findings."""

MODES: Mapping[str, Option] = options_of(VerifyModes)
"""The modes of a verification. Like the preset, modes can be set in [lint] or before all tables."""

_TABLES: Mapping[str, Option] = {
    "severity": Option({}, "Severities that override those of the rules.", "severities", choices=("error", "warning", "info")),
    "per_file_ignores": Option({}, "Rules to ignore in files that match a pattern.", "patterns"),
}


def key_of(name: str) -> str:
    """Returns the key of an option in settings files.

    >>> key_of("layout_sensitive")
    'layout-sensitive'
    """
    return name.replace("_", "-")


def _by_key(*groups: Mapping[str, Option]) -> dict[str, Option]:
    return {key_of(name): option for group in groups for name, option in group.items()}


KEYS: Mapping[str, Mapping[str, Option]] = {
    "": _by_key(FILE_OPTIONS, {"preset": RULE_OPTIONS["preset"]}, MODES),
    "fmt": _by_key(options_of(FormatStyle)),
    "lint": _by_key(RULE_OPTIONS, BASELINE_OPTIONS, _TABLES, MODES),
}
"""Options by table and key; the table `""` holds the keys before all tables."""
