"""Converts the grammar's rules for tree-sitter.

Removes helper rules for repetitions, and rules that match nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from hlotool.text.parse.driver import shared_parser

__all__ = ["Alternatives", "Item", "rules"]

_STARTS = ("module", "headerless", "single_instruction")
# Prefixes of terminals for the fast path, which reads whole lines, and for literals read as text.
_SKIPPED_TERMINALS = ("FAST_", "LITERAL_TEXT")


class Item(NamedTuple):
    """A part of a rule: the name of a rule or a terminal, or the alternatives of a repetition."""

    name: str
    is_optional: bool = False
    repeated: Alternatives = ()


Expansion = tuple[Item, ...]
Alternatives = tuple[Expansion, ...]


def rules() -> dict[str, Alternatives]:
    """Returns the alternatives of each rule, in the order of the grammar.

    An alternative with its own name becomes a separate rule.

    >>> [[item.name for item in expansion] for expansion in rules()["name"]]
    [['IDENT'], ['PERCENT_NAME'], ['COLON_NAME']]
    """
    found: dict[str, list[Expansion]] = {}
    for rule in shared_parser().grammar.callbacks:
        names = [str(symbol.name) for symbol in rule.expansion]
        # A brace opens a layout only before a number or a colon.
        if any(name.startswith(_SKIPPED_TERMINALS) for name in names) or names[:2] == ["LAYOUT_OPEN", "RBRACE"]:
            continue
        origin, expansion = str(rule.origin.name), tuple(map(Item, names))
        if rule.alias:
            found.setdefault(str(rule.alias), []).append(expansion)
            expansion = (Item(str(rule.alias)),)
        if expansion not in found.setdefault(origin, []):
            found[origin].append(expansion)
    return _reachable(_without_empty(_without_helpers(found)))


def _merge(alternatives: Iterable[Expansion]) -> Alternatives:
    """Merges alternatives that differ only in a single part, which becomes optional."""
    kept = list(alternatives)
    merged = True
    while merged:
        merged = False
        for longer in kept:
            for at, item in enumerate(longer):
                shorter = longer[:at] + longer[at + 1 :]
                if shorter and not item.is_optional and shorter in kept:
                    kept[kept.index(longer)] = (*longer[:at], item._replace(is_optional=True), *longer[at + 1 :])
                    kept.remove(shorter)
                    merged = True
                    break
            if merged:
                break
    return tuple(kept)


def _without_helpers(found: dict[str, list[Expansion]]) -> dict[str, Alternatives]:
    """Replaces helper rules with repetitions: Lark writes a repetition of `x` as `h: x | h x`."""
    helpers = {
        name: _merge(expansion for expansion in alternatives if expansion[0].name != name)
        for name, alternatives in found.items()
        if name.startswith("__")
    }

    def resolve(expansion: Expansion) -> Expansion:
        # The repeated part may contain repetitions, one level deep.
        return tuple(item._replace(name="", repeated=tuple(map(resolve, helpers[item.name]))) if item.name in helpers else item for item in expansion)

    return {name: tuple(map(resolve, _merge(alternatives))) for name, alternatives in found.items() if name not in helpers}


def _without_empty(found: dict[str, Alternatives]) -> dict[str, Alternatives]:
    """Removes empty alternatives from rules, and makes the uses of these rules optional."""
    empty = {name for name, alternatives in found.items() if () in alternatives}

    def mark(expansion: Expansion) -> Expansion:
        return tuple(Item(item.name, item.is_optional or item.name in empty, tuple(map(mark, item.repeated))) for item in expansion)

    return {name: tuple(mark(expansion) for expansion in alternatives if expansion) for name, alternatives in found.items()}


def _reachable(found: dict[str, Alternatives]) -> dict[str, Alternatives]:
    waiting, reached = list(_STARTS), set(_STARTS)
    while waiting:
        for expansion in found[waiting.pop()]:
            for name in _names(expansion):
                if name in found and name not in reached:
                    reached.add(name)
                    waiting.append(name)
    return {name: alternatives for name, alternatives in found.items() if name in reached}


def _names(expansion: Expansion) -> Iterable[str]:
    for item in expansion:
        if item.name:
            yield item.name
        for inner in item.repeated:
            yield from _names(inner)
