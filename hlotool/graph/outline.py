"""The groups of each computation, and the computations that are shown inside their callers."""

from __future__ import annotations

from collections.abc import Sequence

from hlotool.graph.groups import Group, make_group
from hlotool.graph.ordering import sort_items
from hlotool.graph.repeats import MAX_ITEMS, divide
from hlotool.graph.scopes import group_by_scope
from hlotool.ir.model import Computation, Instruction
from hlotool.opdefs.traits import CONVERTS, MOVES, RETURNS, RUNS_COMPUTATIONS

__all__ = ["Outline"]

_NESTED_TRAITS = frozenset({RUNS_COMPUTATIONS, RETURNS})
_FORWARDS_CONSTANTS = frozenset({MOVES, CONVERTS})


class Outline:
    """The groups of computations, each built on first use.

    Computations that are applied to elements, such as those of `reduce` and `sort`, are not shown
    inside their callers.
    """

    def __init__(self, *, with_constants: bool = True) -> None:
        self.with_constants = with_constants
        self._groups: dict[Computation, Group] = {}

    def group_of(self, computation: Computation) -> Group:
        """Returns a group of all instructions of a computation, divided into inner groups."""
        if computation not in self._groups:
            self._groups[computation] = self.group_part(computation.name, computation.instructions)
        return self._groups[computation]

    def group_part(self, title: str, instructions: Sequence[Instruction]) -> Group:
        """Returns a group of some instructions of a computation, divided if they are many."""
        shown = self.shown(instructions)
        items: Sequence[Instruction | Group] = shown if len(shown) <= _MAX_UNGROUPED else group_by_scope(shown)
        return make_group(title, "computation", _divide_inner_groups(items))

    def shown(self, instructions: Sequence[Instruction]) -> Sequence[Instruction]:
        """Returns the instructions that pictures show: all, or all except constants."""
        return instructions if self.with_constants else _without_constants(instructions)

    def bodies(self, x: Instruction) -> list[Group]:
        """Returns the computations that are shown inside an instruction."""
        return [] if _NESTED_TRAITS.isdisjoint(x.op.traits) else [self.group_of(called) for called in x.called]


_MAX_UNGROUPED = 24
"""The maximum number of instructions shown without groups, which so few do not require."""


def _without_constants(instructions: Sequence[Instruction]) -> list[Instruction]:
    """Returns all instructions except constants and those that only convert or move constants."""
    constants: set[Instruction] = set()
    for x in instructions:
        is_forwarded = bool(x.operands) and not _FORWARDS_CONSTANTS.isdisjoint(x.op.traits) and constants.issuperset(x.operands)
        if x.literal is not None or is_forwarded:
            constants.add(x)
    return [x for x in instructions if x not in constants]


def _divide_inner_groups(items: Sequence[Instruction | Group]) -> list[Instruction | Group]:
    """Returns the items after dividing all groups that have too many items."""
    root = make_group("", "part", items)
    order, pending = [], [root]
    while pending:
        group = pending.pop()
        order.append(group)
        pending += [item for item in group.items if isinstance(item, Group)]
    final: dict[Group, Group] = {}
    for group in reversed(order):
        inner: list[Instruction | Group] = [final[item] if isinstance(item, Group) else item for item in group.items]
        ordered = sort_items(inner)
        final[group] = make_group(group.title, group.kind, ordered if len(inner) <= MAX_ITEMS else divide(ordered))
    return list(final[root].items)
