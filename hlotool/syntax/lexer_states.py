"""Lexer states for programs whose lexer has a stack.

There is one state for each combination of a context and its end, and one for each context of a
single token.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from hlotool.syntax.contexts import START, contexts

__all__ = ["LexerState", "lexer_states"]


class LexerState(NamedTuple):
    """A context, the pattern of its end, and the kind of the token that matches this pattern.

    `is_once` is true for the context of a single token.
    """

    context: str
    close: str = ""
    kind: str = ""
    is_once: bool = False


@lru_cache(maxsize=1)
def lexer_states() -> dict[LexerState, str]:
    """Returns all lexer states with their unique names; the first one is the initial state.

    >>> list(lexer_states().values())[0]
    'file'
    """
    start = LexerState(START)
    names = {start: START}
    waiting = [start]
    while waiting:
        for rule in contexts()[waiting.pop().context].rules:
            found = []
            if rule.inside:
                found.append(LexerState(rule.inside, rule.close, rule.kinds[-1]))
            if rule.then:
                found.append(LexerState(rule.then, is_once=True))
            for lexer_state in found:
                if lexer_state not in names:
                    same = sum(name.startswith(f"in_{lexer_state.context}_") for name in names.values())
                    names[lexer_state] = f"next_{lexer_state.context}" if lexer_state.is_once else f"in_{lexer_state.context}_{same + 1}"
                    waiting.append(lexer_state)
    return names
