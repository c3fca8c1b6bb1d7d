"""Highlighting lexer: runs the table of contexts over any text, without a parser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from hlotool.syntax.contexts import START, Rule, contexts
from hlotool.syntax.lexer_states import LexerState

__all__ = ["Token", "scan"]

_SPACE = re.compile(r"\s*+")


class Token(NamedTuple):
    """A token: its offsets and its kind, which is one of `KINDS`."""

    start: int
    end: int
    kind: str


@lru_cache(maxsize=256)
def _pattern(lexer_state: LexerState) -> tuple[re.Pattern[str], dict[str, Rule]]:
    """Returns a regular expression with a group for each rule of the context, and these rules.

    The group `close` matches the end of the context.
    """
    rules = {f"r{number}": rule for number, rule in enumerate(contexts()[lexer_state.context].rules)}
    groups = [f"(?P<{name}>{rule.pattern})" for name, rule in rules.items()]
    if lexer_state.close:
        groups.append(f"(?P<close>{lexer_state.close})")
    return re.compile("|".join(groups)), rules


def scan(text: str) -> Iterator[Token]:
    """Yields the tokens and comments in HLO text with their kinds, as highlighters see them.

    Skips text that is not a token in its context.

    >>> text = "ROOT p = f32[]"
    >>> [(text[start:end], kind) for start, end, kind in scan(text)][:3]
    [('ROOT', 'keyword'), ('p', 'instruction'), ('=', 'operator')]
    """
    lexer_states, position, once = [LexerState(START)], 0, ""
    while True:
        # Some patterns have lookbehinds, so they are matched at an offset in the whole text.
        start = _SPACE.match(text, position).end()  # type: ignore[union-attr]
        if start == len(text):
            return
        lexer_state = LexerState(once) if once else lexer_states[-1]
        pattern, rules = _pattern(lexer_state)
        match = pattern.match(text, start)
        if match is None:
            if once:
                # No rule matches the next token, so it belongs to the surrounding context.
                once, position = "", start
                continue
            default, position = contexts()[lexer_state.context].default, start + 1
            if text.startswith("/*", start) and not default:
                # An unclosed comment covers the rest of the text. Without this rule, each of many
                # unclosed comments would cause a search for its end.
                yield Token(start, len(text), "comment")
                return
            if default:
                yield Token(start, position, default)
            continue
        position = match.end()
        if match.lastgroup == "close":
            lexer_states.pop()
            if position > start:
                yield Token(start, position, lexer_state.kind)
            continue
        rule = rules[str(match.lastgroup)]
        yield from _parts(rule, match)
        if rule.inside:
            lexer_states.append(LexerState(rule.inside, rule.close, rule.kinds[-1]))
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
