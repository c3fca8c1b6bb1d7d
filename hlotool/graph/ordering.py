"""The order of the items of a group: that of the text, but with users after their operands."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

from hlotool.graph.groups import Group, instructions_of
from hlotool.ir.model import Instruction

__all__ = ["edges_between", "sort_items"]

Item = Instruction | Group


def edges_between(items: Sequence[Item]) -> list[tuple[int, int]]:
    """Returns the data and control edges between items, by position, from operand to user.

    >>> from hlotool.text.parse.parser import parse
    >>> edges_between(parse("ENTRY e { p = f32[] parameter(0) ROOT a = f32[] add(p, p) }").entry.instructions)
    [(0, 1)]
    """
    home = {x: k for k, item in enumerate(items) for x in (instructions_of(item) if isinstance(item, Group) else (item,))}
    edges = ((home[operand], k) for x, k in home.items() for operand in (*x.operands, *x.control_predecessors) if home.get(operand, k) != k)
    return list(dict.fromkeys(edges))


def sort_items(items: Sequence[Item]) -> Sequence[Item]:
    """Returns the items, each after the items that it uses, except for groups that form a cycle."""
    if not any(isinstance(item, Group) for item in items):
        return items
    users: list[list[int]] = [[] for _ in items]
    missing = [0] * len(items)
    for source, target in edges_between(items):
        users[source].append(target)
        missing[target] += 1
    ready = [k for k, number in enumerate(missing) if not number]
    order: list[int] = []
    done: set[int] = set()
    rest = iter(range(len(items)))
    while len(order) < len(items):
        # If groups use each other, continue with the first remaining item.
        k = heappop(ready) if ready else next(rest)
        if k in done:
            continue
        done.add(k)
        order.append(k)
        for user in users[k]:
            missing[user] -= 1
            if not missing[user]:
                heappush(ready, user)
    return [items[k] for k in order]
