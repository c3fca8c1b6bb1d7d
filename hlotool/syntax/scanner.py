"""Highlighting lexer: runs the table of contexts over any text, without a parser."""

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
    """Returns a regular expression with a group for each rule of the context, and these rules.

    The group `close` matches the end of the context.
    """
    rules = {f"r{number}": rule for number, rule in enumerate(contexts()[place.context].rules)}
    groups = [f"(?P<{name}>{rule.pattern})" for name, rule in rules.items()]
    if place.close:
        groups.append(f"(?P<close>{place.close})")
    return re.compile("|".join(groups)), rules


def scan(text: str) -> Iterator[Token]:
    """Yields the tokens and comments of a text with their kinds, as highlighters see them.

    Skips text that is not a token in its context.

    >>> text = "ROOT p = f32[]"
    >>> [(text[start:end], kind) for start, end, kind in scan(text)][:3]
    [('ROOT', 'keyword'), ('p', 'instruction'), ('=', 'operator')]
    """
    places, position, once = [Place(START)], 0, ""
    while True:
        # Some patterns have lookbehinds, so they are matched at an offset in the whole text.
        start = _SPACE.match(text, position).end()  # type: ignore[union-attr]
        if start == len(text):
            return
        place = Place(once) if once else places[-1]
        pattern, rules = _pattern(place)
        match = pattern.match(text, start)
        if match is None:
            if once:
                # The value has another form, so its tokens belong to the surrounding context.
                once, position = "", start
                continue
            default, position = contexts()[place.context].default, start + 1
            if text.startswith("/*", start) and not default:
                # An unclosed comment covers the rest of the text. Otherwise, each of many unclosed
                # comments would cause a search for its end.
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
