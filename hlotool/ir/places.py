"""Replaces the operands of a wide instruction one by one without searching for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

__all__ = ["Places"]

Item = TypeVar("Item")


class Places(Generic[Item]):
    """An editor of tuples that remembers the positions of items in the last tuple it returned.

    >>> places = Places()
    >>> first = places.replaced(("a", "b", "a"), "a", "c")
    >>> first, places.replaced(first, "c", "b")
    (('c', 'b', 'c'), ('b', 'b', 'b'))
    """

    def __init__(self) -> None:
        self._items: Sequence[Item] = ()
        self._places: dict[Item, list[int]] = {}

    def replaced(self, items: Sequence[Item], old: Item, new: Item) -> tuple[Item, ...]:
        """Returns the items with every `old` replaced by `new`."""
        if items is not self._items:
            self._places = {}
            for k, item in enumerate(items):
                self._places.setdefault(item, []).append(k)
        # Copying all items takes much less time than comparing them.
        result = list(items)
        places = self._places.pop(old, [])
        for k in places:
            result[k] = new
        self._places.setdefault(new, []).extend(places)
        self._items = changed = tuple(result)
        return changed
