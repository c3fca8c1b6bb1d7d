"""Which codes a verification reports: `--select` and `--ignore`.

Knows codes and prefixes only, no rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hlotool.codes import CODE_NAMES, DEFAULT_LINTS, severity_of
from hlotool.errors import HlotoolError, nearest

__all__ = ["Selection", "SelectionError"]

_EVERYTHING = "ALL"


class SelectionError(HlotoolError):
    """Something was selected that is no code, no name of one and no beginning of one."""

    exit_code = 2


class Selection:
    """The codes that are reported; the longest matching prefix decides, and `ignore` wins over an equally long `select`.

    >>> chosen = Selection(["T"], ["T08"])
    >>> chosen.has("T003"), chosen.has("T083"), chosen.has("C001")
    (True, False, False)
    """

    def __init__(self, select: Sequence[str] | None = None, ignore: Sequence[str] | None = None) -> None:
        wanted = None if select is None else _prefixes(select)
        unwanted = _prefixes(ignore or ())
        self.codes = frozenset(code for code in CODE_NAMES if _longest(code, unwanted) < _wanted(code, wanted))

    def has(self, code: str) -> bool:
        return code in self.codes


def _wanted(code: str, prefixes: list[str] | None) -> int:
    """Length of the longest prefix that selects the code, -1 when none does; by default the errors and a few warnings are selected."""
    if prefixes is None:
        return 0 if severity_of(code) == "error" or code in DEFAULT_LINTS else -1
    return _longest(code, prefixes)


def _longest(code: str, prefixes: Iterable[str]) -> int:
    return max((len(prefix) for prefix in prefixes if code.startswith(prefix)), default=-1)


def _prefixes(names: Iterable[str]) -> list[str]:
    """Codes and beginnings of codes, from what the user wrote; a rule's name stands for its code."""
    return [_prefix(name.strip()) for name in names]


def _prefix(name: str) -> str:
    if name == _EVERYTHING:
        return ""
    by_name = next((code for code, slug in CODE_NAMES.items() if slug == name), None)
    if by_name is not None:
        return by_name
    if name and any(code.startswith(name) for code in CODE_NAMES):
        return name
    meant = nearest(name, [*CODE_NAMES, *CODE_NAMES.values()])
    raise SelectionError(f"no rule is called '{name}'" + (f"; did you mean '{meant}'?" if meant else ""))
