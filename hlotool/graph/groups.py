"""Groups of instructions, which a picture shows closed, as one box, or open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from hlotool.ir.model import Instruction
from hlotool.opdefs.traits import CONTROL_FLOW, EXPENSIVE
from hlotool.record import Record

__all__ = ["Group", "instructions_of", "is_leading", "leading_opcodes", "make_group"]


class Group(Record):
    """Items in the order of the text, under a title. `size` is the number of instructions, also in groups inside.

    `kind` is "computation", "scope" for a common beginning of op_name, "layers" for groups that repeat each other, or "part".
    Groups are equal only to themselves.
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
    """A group of these items."""
    return Group(title, kind, tuple(items), sum(item.size if isinstance(item, Group) else 1 for item in items))


def instructions_of(group: Group) -> Iterator[Instruction]:
    """The instructions of a group and of the groups inside, in the order in which they are shown."""
    stack: list[Instruction | Group] = [group]
    while stack:
        item = stack.pop()
        if isinstance(item, Group):
            stack.extend(reversed(item.items))
        else:
            yield item


def is_leading(x: Instruction) -> bool:
    """Whether an instruction says more about what is around it than others: it takes long, or runs other computations."""
    return not _LEADING.isdisjoint(x.op.traits)


_LEADING = frozenset({CONTROL_FLOW, EXPENSIVE})


def leading_opcodes(group: Group, count: int = 3) -> str:
    """The opcodes that say most about a group, with their numbers: those that take long, else the most frequent ones.

    >>> from hlotool.text.parse.parser import parse
    >>> entry = parse("ENTRY e { p = f32[2,2] parameter(0) n = f32[2,2] negate(p) ROOT d = f32[2,2] dot(n, p) }").entry
    >>> leading_opcodes(make_group("e", "computation", entry.instructions))
    'dot'
    """
    members = list(instructions_of(group))
    known = Counter(x.opcode for x in members if is_leading(x)) or Counter(x.opcode for x in members if x.operands)
    return ", ".join(f"{number} {opcode}" if number > 1 else opcode for opcode, number in known.most_common(count))
