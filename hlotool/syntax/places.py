"""The states of a lexer with a stack, for programs that have one: a state for each context with what ends it, and for each value that comes next."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from hlotool.syntax.contexts import START, contexts

__all__ = ["Place", "places"]


class Place(NamedTuple):
    """A context, and what ends it: a pattern and the kind of its match. The context of a single token has `is_once`."""

    context: str
    close: str = ""
    kind: str = ""
    is_once: bool = False


@lru_cache(maxsize=1)
def places() -> dict[Place, str]:
    """All places that a text can be at, each with a name of its own; the first is where it begins.

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
