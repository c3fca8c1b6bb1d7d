"""The groups of each computation, and which computations are shown inside of the instructions that call them."""

from __future__ import annotations

from collections.abc import Sequence

from hlotool.graph.groups import Group, make_group
from hlotool.graph.ordering import in_order
from hlotool.graph.repeats import MOST_ITEMS, divided
from hlotool.graph.scopes import grouped_by_scope
from hlotool.ir.model import Computation, Instruction
from hlotool.opdefs.traits import CONVERTS, MOVES, RETURNS, RUNS_COMPUTATIONS

__all__ = ["Outline"]

_SHOWN_INSIDE = frozenset({RUNS_COMPUTATIONS, RETURNS})
_FORWARDS_CONSTANTS = frozenset({MOVES, CONVERTS})


class Outline:
    """Groups of computations, made when they are asked for.

    Computations that a single operation applies to elements, as those of `reduce` and `sort`, are not shown inside of it.
    """

    def __init__(self, *, with_constants: bool = True) -> None:
        self.with_constants = with_constants
        self._groups: dict[Computation, Group] = {}

    def group_of(self, computation: Computation) -> Group:
        """All instructions of a computation, in groups."""
        if computation not in self._groups:
            self._groups[computation] = self.group_of_some(computation.name, computation.instructions)
        return self._groups[computation]

    def group_of_some(self, title: str, instructions: Sequence[Instruction]) -> Group:
        """Some instructions of a computation, in groups if they are many."""
        shown = self.shown(instructions)
        items: Sequence[Instruction | Group] = shown if len(shown) <= _MOST_UNGROUPED else grouped_by_scope(shown)
        return make_group(title, "computation", _divided_inside(items))

    def shown(self, instructions: Sequence[Instruction]) -> Sequence[Instruction]:
        """Those of the instructions that are shown at all."""
        return instructions if self.with_constants else _without_constants(instructions)

    def bodies(self, x: Instruction) -> list[Group]:
        """The computations that are shown inside of an instruction."""
        return [] if _SHOWN_INSIDE.isdisjoint(x.op.traits) else [self.group_of(called) for called in x.called]


_MOST_UNGROUPED = 24
"""So many instructions are easier to read without groups."""


def _without_constants(instructions: Sequence[Instruction]) -> list[Instruction]:
    """The instructions without constants, and without what only converts or repeats them."""
    constants: set[Instruction] = set()
    for x in instructions:
        is_forwarded = bool(x.operands) and not _FORWARDS_CONSTANTS.isdisjoint(x.op.traits) and constants.issuperset(x.operands)
        if x.literal is not None or is_forwarded:
            constants.add(x)
    return [x for x in instructions if x not in constants]


def _divided_inside(items: Sequence[Instruction | Group]) -> list[Instruction | Group]:
    """The items with each group that has too many of them divided."""
    root = make_group("", "part", items)
    order, pending = [], [root]
    while pending:
        group = pending.pop()
        order.append(group)
        pending += [item for item in group.items if isinstance(item, Group)]
    final: dict[Group, Group] = {}
    for group in reversed(order):
        inner: list[Instruction | Group] = [final[item] if isinstance(item, Group) else item for item in group.items]
        ordered = in_order(inner)
        final[group] = make_group(group.title, group.kind, ordered if len(inner) <= MOST_ITEMS else divided(ordered))
    return list(final[root].items)
