"""Lexer states for programs whose lexer has a stack.

There is one state for each combination of a context and its end, and one for each context of a
single token.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from hlotool.syntax.contexts import START, contexts

__all__ = ["Place", "places"]


class Place(NamedTuple):
    """A context, the pattern of its end, and the kind of the token that matches this pattern.

    `is_once` is true for the context of a single token.
    """

    context: str
    close: str = ""
    kind: str = ""
    is_once: bool = False


@lru_cache(maxsize=1)
def places() -> dict[Place, str]:
    """Returns all lexer states with their unique names; the first one is the initial state.

    >>> list(places().values())[0]
    'file'
    """
    start = Place(START)
    names = {start: START}
    waiting = [start]
    while waiting:
        for rule in contexts()[waiting.pop().context].rules:
            found = []
            if rule.inside:
                found.append(Place(rule.inside, rule.close, rule.kinds[-1]))
            if rule.then:
                found.append(Place(rule.then, is_once=True))
            for place in found:
                if place not in names:
                    same = sum(name.startswith(f"in_{place.context}_") for name in names.values())
                    names[place] = f"next_{place.context}" if place.is_once else f"in_{place.context}_{same + 1}"
                    waiting.append(place)
    return names
