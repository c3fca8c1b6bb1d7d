"""The order of instructions: a linked list for edits, and a topological sort."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Generic, TypeVar

__all__ = ["LinkedOrder", "sorted_by_dependencies"]

Item = TypeVar("Item", bound=Hashable)


class LinkedOrder(Generic[Item]):
    """A linked list of distinct items with insertion and removal in constant time.

    >>> order = LinkedOrder("abd")
    >>> order.insert_before("c", "d")
    >>> order.remove("a")
    >>> order.items()
    ['b', 'c', 'd']
    """

    def __init__(self, items: Sequence[Item] = ()) -> None:
        first, last = [None, *items], [*items, None]
        self._next: dict[Item | None, Item | None] = dict(zip(first, last, strict=True))
        self._previous: dict[Item | None, Item | None] = dict(zip(last, first, strict=True))
        # The items in order, until the next change.
        self._items: list[Item] | None = None

    def append(self, item: Item) -> None:
        """Inserts a new item at the end."""
        self._link(item, self._previous[None], None)

    def insert_before(self, item: Item, anchor: Item) -> None:
        """Inserts a new item directly before another one."""
        self._link(item, self._previous[anchor], anchor)

    def insert_after(self, item: Item, anchor: Item) -> None:
        """Inserts a new item directly after another one."""
        self._link(item, anchor, self._next[anchor])

    def remove(self, item: Item) -> None:
        """Removes an item."""
        self._items = None
        before, after = self._previous.pop(item), self._next.pop(item)
        self._next[before], self._previous[after] = after, before

    def _link(self, item: Item, before: Item | None, after: Item | None) -> None:
        self._items = None
        self._next[before] = self._previous[after] = item
        self._previous[item], self._next[item] = before, after

    def items(self) -> list[Item]:
        """Returns a list of the items in order."""
        items = self._items
        if items is None:
            items, following = list[Item](), self._next
            item = following[None]
            while item is not None:
                items.append(item)
                item = following[item]
            self._items = items
        return items.copy()


def sorted_by_dependencies(items: Sequence[Item], dependencies: Callable[[Item], Iterable[Item]]) -> list[Item]:
    """Sorts items topologically: dependencies come first; otherwise, the order is unchanged.

    Dependencies that are not among the items are ignored. Raises ValueError for a cycle.

    >>> sorted_by_dependencies([3, 1, 2], lambda item: [item - 1])
    [1, 2, 3]
    """
    known, done, order = set(items), set[Item](), list[Item]()
    for start in items:
        stack = [start]
        waiting: set[Item] = set()
        while stack:
            item = stack[-1]
            if item in done:
                stack.pop()
                continue
            missing = [other for other in dependencies(item) if other in known and other not in done]
            if missing:
                if item in waiting:
                    raise ValueError(f"{item} depends on itself")
                waiting.add(item)
                stack.extend(reversed(missing))
                continue
            done.add(item)
            order.append(item)
    return order
