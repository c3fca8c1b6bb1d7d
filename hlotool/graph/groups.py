"""Groups of instructions; a picture shows a group either closed, as one box, or open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from hlotool.ir.model import Instruction
from hlotool.opdefs.traits import CONTROL_FLOW, EXPENSIVE
from hlotool.record import Record

__all__ = ["Group", "instructions_of", "is_leading", "leading_opcodes", "make_group"]


class Group(Record):
    """A group of instructions and inner groups, with a title.

    The items are in display order. `size` is the number of instructions, including those in inner
    groups. `kind` is "computation", "scope" (instructions with a common prefix of `op_name`),
    "layers" (inner groups with the same structure) or "part". A group is equal only to itself.
    """

    title: str
    kind: str
    items: tuple[Instruction | Group, ...]
    size: int

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


def make_group(title: str, kind: str, items: Sequence[Instruction | Group]) -> Group:
    """Returns a group of these items."""
    return Group(title, kind, tuple(items), sum(item.size if isinstance(item, Group) else 1 for item in items))


def instructions_of(group: Group) -> Iterator[Instruction]:
    """Yields the instructions of a group and of its inner groups, in display order."""
    stack: list[Instruction | Group] = [group]
    while stack:
        item = stack.pop()
        if isinstance(item, Group):
            stack.extend(reversed(item.items))
        else:
            yield item


def is_leading(x: Instruction) -> bool:
    """Returns whether an instruction characterizes the code around it.

    Such instructions are expensive or run other computations.
    """
    return not _LEADING.isdisjoint(x.op.traits)


_LEADING = frozenset({CONTROL_FLOW, EXPENSIVE})


def leading_opcodes(group: Group, count: int = 3) -> str:
    """Returns the opcodes that characterize a group, with their counts.

    These are the opcodes of leading instructions if there are any, or else the most frequent ones.

    >>> from hlotool.text.parse.parser import parse
    >>> entry = parse("ENTRY e { p = f32[2,2] parameter(0) n = f32[2,2] negate(p) ROOT d = f32[2,2] dot(n, p) }").entry
    >>> leading_opcodes(make_group("e", "computation", entry.instructions))
    'dot'
    """
    members = list(instructions_of(group))
    known = Counter(x.opcode for x in members if is_leading(x)) or Counter(x.opcode for x in members if x.operands)
    return ", ".join(f"{number} {opcode}" if number > 1 else opcode for opcode, number in known.most_common(count))
