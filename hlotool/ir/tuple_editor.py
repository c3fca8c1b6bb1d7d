"""An editor for the operands of a wide instruction, which finds each operand without a search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

__all__ = ["TupleEditor"]

Item = TypeVar("Item")


class TupleEditor(Generic[Item]):
    """An editor of tuples that remembers the positions of the items in the tuple returned last.

    >>> positions = TupleEditor()
    >>> first = positions.replaced(("a", "b", "a"), "a", "c")
    >>> first, positions.replaced(first, "c", "b")
    (('c', 'b', 'c'), ('b', 'b', 'b'))
    """

    def __init__(self) -> None:
        self._items: Sequence[Item] = ()
        self._positions: dict[Item, list[int]] = {}

    def replaced(self, items: Sequence[Item], old: Item, new: Item) -> tuple[Item, ...]:
        """Returns the items with every `old` replaced by `new`."""
        if items is not self._items:
            self._positions = {}
            for k, item in enumerate(items):
                self._positions.setdefault(item, []).append(k)
        # Copying all items takes much less time than comparing them.
        result = list(items)
        positions = self._positions.pop(old, [])
        for k in positions:
            result[k] = new
        self._positions.setdefault(new, []).extend(positions)
        self._items = changed = tuple(result)
        return changed
