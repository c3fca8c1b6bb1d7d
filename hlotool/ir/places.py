"""The places of operands in one wide instruction, so that replacing all of them one by one does not search for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

__all__ = ["Places"]

Item = TypeVar("Item")


class Places(Generic[Item]):
    """Replaces items of tuples, and remembers the places of the items in the tuple that it returned last.

    >>> places = Places()
    >>> first = places.replaced(("a", "b", "a"), "a", "c")
    >>> first, places.replaced(first, "c", "b")
    (('c', 'b', 'c'), ('b', 'b', 'b'))
    """

    def __init__(self) -> None:
        self._items: Sequence[Item] = ()
        self._places: dict[Item, list[int]] = {}

    def replaced(self, items: Sequence[Item], old: Item, new: Item) -> tuple[Item, ...]:
        """The items with `new` wherever `old` is."""
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
