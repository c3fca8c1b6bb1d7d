"""Selects the codes to report, from layers of settings.

Settings files, a preset and the command line are layers; each can select, add and ignore codes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from hlotool.codes import CODE_NAMES, is_default
from hlotool.errors import HlotoolError, nearest

__all__ = ["Layer", "Selection", "SelectionError", "codes_of", "known_codes", "nearest_rule"]

_EVERYTHING = "ALL"
_CODES = {name: code for code, name in reversed(CODE_NAMES.items())}
"""Maps the name of a rule to its code, or to the first code if two rules share the name."""
_PREFIXES = frozenset(code[:length] for code in CODE_NAMES for length in range(len(code) + 1))


class SelectionError(HlotoolError):
    """Raised for a word in a selection other than a code, a prefix of codes, a rule's name or ALL."""

    exit_code = 2


class Layer(NamedTuple):
    """The selection in one source of settings.

    `select` replaces the selection of lower layers; `extend` adds to it, and `ignore` removes from
    it.
    """

    select: tuple[str, ...] | None = None
    extend: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


class Selection:
    """The codes to report.

    The longest matching prefix decides. Among prefixes of equal length, the higher layer wins;
    within a layer, `ignore` wins.

    >>> chosen = Selection(["T"], ["T08"])
    >>> chosen.has("T003"), chosen.has("T083"), chosen.has("C001")
    (True, False, False)
    >>> Selection.layered([Layer(ignore=("T003",)), Layer(extend=("result-shape",))]).has("T003")
    True
    """

    def __init__(self, select: Sequence[str] | None = None, ignore: Sequence[str] | None = None) -> None:
        self.codes, self._wanted = _select_codes((Layer(None if select is None else tuple(select), (), tuple(ignore or ())),))

    @classmethod
    def layered(cls, layers: Iterable[Layer]) -> Selection:
        """Combines layers, from lowest to highest. Raises SelectionError for unknown words."""
        selection = cls()
        selection.codes, selection._wanted = _select_codes(tuple(layers))
        return selection

    def with_errors(self, codes: Iterable[str]) -> Selection:
        """Returns the selection with these codes added, unless the settings exclude them.

        A mode turns findings of these codes into errors.

        >>> Selection().with_errors(["T019"]).has("T019"), Selection(ignore=["T"]).with_errors(["T019"]).has("T019")
        (True, False)
        """
        selection = Selection.__new__(Selection)
        selection.codes, selection._wanted = self.codes | self._wanted.intersection(codes), self._wanted
        return selection

    def only(self, codes: Iterable[str]) -> Selection:
        """Returns the selection restricted to these codes.

        >>> sorted(Selection().only(["T003", "W012"]).codes)
        ['T003']
        """
        selection = Selection.__new__(Selection)
        selection.codes, selection._wanted = self.codes.intersection(codes), self._wanted
        return selection

    def has(self, code: str) -> bool:
        return code in self.codes


def codes_of(name: str) -> list[str]:
    """Returns the codes for a word: a code, a prefix of codes, the name of a rule, or ALL.

    Raises SelectionError for other words.

    >>> codes_of("result-shape"), codes_of("T00")[:2]
    (['T003'], ['T001', 'T002'])
    """
    prefix = _prefix(name)
    return [code for code in CODE_NAMES if code.startswith(prefix)]


@lru_cache(maxsize=64)
def _select_codes(layers: tuple[Layer, ...]) -> tuple[frozenset[str], frozenset[str]]:
    """Returns the codes to report, and those that would be reported if all codes were defaults."""
    lowest = max((k for k, layer in enumerate(layers) if layer.select is not None), default=None)
    # Prefixes of codes, with True for codes to report; later entries override earlier entries.
    rules: dict[str, bool] = {}
    for k, layer in enumerate(layers):
        names = (*(layer.select or ()), *layer.extend) if lowest is None or k >= lowest else ()
        rules.update((_prefix(name), True) for name in names)
        rules.update((_prefix(name), False) for name in layer.ignore)
    chosen = frozenset(code for code in CODE_NAMES if _has(code, rules, by_default=lowest is None and is_default(code)))
    return chosen, frozenset(code for code in CODE_NAMES if _has(code, rules, by_default=lowest is None))


def _has(code: str, rules: dict[str, bool], *, by_default: bool) -> bool:
    for length in range(len(code), -1, -1):
        if code[:length] in rules:
            return rules[code[:length]]
    return by_default


def known_codes(name: str) -> list[str]:
    """Returns the codes for a word, like `codes_of`, but an empty list for an unknown word."""
    prefix = _known_prefix(name)
    return [] if prefix is None else [code for code in CODE_NAMES if code.startswith(prefix)]


def nearest_rule(word: str, *others: str) -> str | None:
    """Returns the code, the name of a rule, or the word in `others` that was probably meant.

    Zeros may be missing from a code.

    >>> nearest_rule("t3"), nearest_rule("result-shap"), nearest_rule("transpse", "transpose")
    ('T003', 'result-shape', 'transpose')
    """
    padded = word[:1].upper() + word[1:].zfill(3)
    return padded if padded in CODE_NAMES else nearest(word, [*others, *CODE_NAMES.values(), *CODE_NAMES])


def _prefix(name: str) -> str:
    prefix = _known_prefix(name)
    if prefix is not None:
        return prefix
    meant = nearest_rule(name.strip())
    raise SelectionError(f"no rule is called '{name.strip()}'" + (f"; did you mean '{meant}'?" if meant else ""))


def _known_prefix(name: str) -> str | None:
    name = name.strip()
    if name == _EVERYTHING:
        return ""
    code = _CODES.get(name)
    if code is not None:
        return code
    return name if name and name in _PREFIXES else None
