"""What may be set: the options of files, rules and style under the keys of settings files."""

from __future__ import annotations

from collections.abc import Mapping

from hlotool.opdefs.modes import VerifyModes
from hlotool.options import Option, options_of
from hlotool.text.formatting.style import FormatStyle
from hlotool.workspace.presets import PRESETS

__all__ = ["FILE_OPTIONS", "KEYS", "MODES", "RULE_OPTIONS", "key_of"]

FILE_OPTIONS: Mapping[str, Option] = {
    "include": Option((), "Take the files of folders that match, instead of *.hlo and HLO dumps.", "list"),
    "exclude": Option((), "Leave out files and folders of folders that match.", "list"),
    "respect_gitignore": Option(True, "Leave out what git ignores; the default."),
}
"""Which files a folder stands for."""

RULE_OPTIONS: Mapping[str, Option] = {
    "select": Option((), "Report these only.", "list"),
    "extend_select": Option((), "Report these, too.", "list"),
    "ignore": Option((), "Do not report these.", "list"),
    "preset": Option("default", "A selection with modes, for what is verified most.", choices=tuple(PRESETS)),
}
"""Which rules are reported."""

MODES: Mapping[str, Option] = options_of(VerifyModes)
"""What rules assume; like presets, modes may stand in [lint] or above all tables."""

_TABLES: Mapping[str, Option] = {
    "severity": Option({}, "Other severities than the rules' own.", "severities", choices=("error", "warning", "info")),
    "per_file_ignores": Option({}, "Do not report these in files that match.", "patterns"),
}


def key_of(name: str) -> str:
    """How settings spell an option.

    >>> key_of("layout_sensitive")
    'layout-sensitive'
    """
    return name.replace("_", "-")


def _by_key(*groups: Mapping[str, Option]) -> dict[str, Option]:
    return {key_of(name): option for group in groups for name, option in group.items()}


KEYS: Mapping[str, Mapping[str, Option]] = {
    "": _by_key(FILE_OPTIONS, {"preset": RULE_OPTIONS["preset"]}, MODES),
    "fmt": _by_key(options_of(FormatStyle)),
    "lint": _by_key(RULE_OPTIONS, _TABLES, MODES),
}
"""By table, then by key; the table without a name is the file itself."""
