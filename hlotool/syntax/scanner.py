"""The lexer of highlighters in Python: runs the table of contexts over a text. It needs no parser, and reads any text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from hlotool.syntax.contexts import START, Rule, contexts
from hlotool.syntax.places import Place
from hlotool.syntax.tokens import Token

__all__ = ["scan"]

_SPACE = re.compile(r"\s*+")


@lru_cache(maxsize=256)
def _pattern(place: Place) -> tuple[re.Pattern[str], dict[str, Rule]]:
    """One regular expression with a group for each rule of the context, and the rules by group. The group `close` is the end."""
    rules = {f"r{number}": rule for number, rule in enumerate(contexts()[place.context].rules)}
    groups = [f"(?P<{name}>{rule.pattern})" for name, rule in rules.items()]
    if place.close:
        groups.append(f"(?P<close>{place.close})")
    return re.compile("|".join(groups)), rules


def scan(text: str) -> Iterator[Token]:
    """The tokens and comments of a text with their kinds, as highlighters see them. What is no token in its context is left out.

    >>> text = "ROOT p = f32[]"
    >>> [(text[start:end], kind) for start, end, kind in scan(text)][:3]
    [('ROOT', 'keyword'), ('p', 'instruction'), ('=', 'operator')]
    """
    places, position, once = [Place(START)], 0, ""
    while True:
        # The conditions of some tokens look at what is before them, so the text is matched in place.
        start = _SPACE.match(text, position).end()  # type: ignore[union-attr]
        if start == len(text):
            return
        place = Place(once) if once else places[-1]
        pattern, rules = _pattern(place)
        match = pattern.match(text, start)
        if match is None:
            if once:
                # The value is of a form of its own: its tokens are those of the place.
                once, position = "", start
                continue
            default, position = contexts()[place.context].default, start + 1
            if text.startswith("/*", start) and not default:
                # A comment without an end. Without this, a text with many of them would be searched for the end again and again.
                yield Token(start, len(text), "comment")
                return
            if default:
                yield Token(start, position, default)
            continue
        position = match.end()
        if match.lastgroup == "close":
            places.pop()
            if position > start:
                yield Token(start, position, place.kind)
            continue
        rule = rules[str(match.lastgroup)]
        yield from _parts(rule, match)
        if rule.inside:
            places.append(Place(rule.inside, rule.close, rule.kinds[-1]))
        # A comment before the value is not the value.
        if rule.kinds != ("comment",):
            once = rule.then


def _parts(rule: Rule, match: re.Match[str]) -> Iterator[Token]:
    if len(rule.kinds) == 1:
        yield Token(*match.span(), rule.kinds[0])
        return
    number = match.re.groupindex[str(match.lastgroup)]
    for offset, kind in enumerate(rule.kinds, 1):
        yield Token(*match.span(number + offset), kind)
