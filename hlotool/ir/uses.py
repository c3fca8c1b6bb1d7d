"""The use tables of a module, updated one instruction at a time.

The tables hold users, control successors, callers and owners. A Rewriter has one set of these
tables. Read-only tools use `analysis.users`, which covers a single computation and takes less time.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import TypeVar

from hlotool.ir.model import Computation, Instruction, Module

__all__ = ["Uses"]

Key = TypeVar("Key", bound=Hashable)
Counts = dict[Key, dict[Instruction, int]]


class Uses:
    """Tables that map each instruction or computation to the instructions that use it.

    Each user is stored with the number of its uses. Users are in the order in which they were
    added.

    >>> from hlotool.text.parse.parser import parse
    >>> entry = parse("ENTRY e { p = f32[] parameter(0) ROOT s = f32[] add(p, p) }").entry
    >>> uses = Uses()
    >>> for x in entry.instructions:
    ...     uses.add(x, entry)
    >>> uses.users[entry.instructions[0]]
    {<s = f32[] add>: 2}
    """

    def __init__(self) -> None:
        self.users: Counts[Instruction] = {}
        self.successors: Counts[Instruction] = {}
        self.callers: Counts[Computation] = {}
        self.owners: dict[Instruction, Computation] = {}
        # Instructions whose operands, attributes, users or control edges have changed, one entry
        # for each change.
        self.changes: list[Instruction] = []

    @classmethod
    def of_module(cls, module: Module) -> Uses:
        """Returns the uses in all computations of a module."""
        uses = cls()
        for computation in module.computations:
            uses.owners.update(dict.fromkeys(computation.instructions, computation))
            uses.add_uses(*computation.instructions)
        uses.changes.clear()
        return uses

    def add(self, x: Instruction, owner: Computation) -> None:
        """Adds an instruction and its uses of other nodes."""
        self.owners[x] = owner
        self.add_uses(x)

    def remove(self, x: Instruction) -> None:
        """Removes an instruction and its uses of other nodes; its users stay in the tables."""
        self.remove_uses(x)
        del self.owners[x]

    def add_uses(self, *instructions: Instruction) -> None:
        """Adds the instructions' uses of other nodes, after operands or attributes have changed."""
        users = self.users
        self.changes += instructions
        for x in instructions:
            for operand in x.operands:
                by_user = users.get(operand)
                if by_user is None:
                    users[operand] = {x: 1}
                else:
                    by_user[x] = by_user.get(x, 0) + 1
            if "control-predecessors" in x.attributes:
                for node in x.control_predecessors:
                    _count(self.successors, node, x)
            if x.op.calls:
                for computation in x.called:
                    _count(self.callers, computation, x)

    def remove_uses(self, x: Instruction) -> None:
        """Removes an instruction's uses of other nodes, before operands or attributes change."""
        users = self.users
        self.changes += x.operands
        for operand in x.operands:
            by_user = users[operand]
            if by_user[x] > 1:
                by_user[x] -= 1
            elif len(by_user) > 1:
                del by_user[x]
            else:
                del users[operand]
        if "control-predecessors" in x.attributes:
            self.changes.extend(x.control_predecessors)
            for node in x.control_predecessors:
                _discount(self.successors, node, x)
        if x.op.calls:
            for computation in x.called:
                _discount(self.callers, computation, x)

    def replace_predecessor(self, x: Instruction, old: Instruction, new: Iterable[Instruction]) -> list[Instruction]:
        """Replaces `old` with `new` in the counts of an instruction's control predecessors.

        Returns the elements of `new` that were not control predecessors already.
        """
        self.changes += (x, old)
        successors = self.successors[old]
        del successors[x]
        if not successors:
            del self.successors[old]
        added = [y for y in dict.fromkeys(new) if x not in self.successors.get(y, ())]
        for y in added:
            _count(self.successors, y, x)
        return added

    def move_uses(self, user: Instruction, old: Instruction, new: Instruction) -> None:
        """Moves a user's count from `old` to `new`, after `new` replaced `old` as an operand."""
        self.changes += (user, old, new)
        users = self.users
        by_user = users[old]
        count = by_user.pop(user)
        if not by_user:
            del users[old]
        others = users.get(new)
        if others is None:
            users[new] = {user: count}
        else:
            others[user] = others.get(user, 0) + count

    def differences(self, other: Uses) -> Iterator[str]:
        """Yields a description of each difference from other use tables."""
        for name in ("users", "successors", "callers", "owners"):
            first, second = getattr(self, name), getattr(other, name)
            for key in {**first, **second}:
                if first.get(key) != second.get(key):
                    yield f"{name} of {key}: {first.get(key)} and {second.get(key)}"


def _count(table: Counts[Key], used: Key, user: Instruction) -> None:
    by_user = table.setdefault(used, {})
    by_user[user] = by_user.get(user, 0) + 1


def _discount(table: Counts[Key], used: Key, user: Instruction) -> None:
    by_user = table[used]
    if by_user[user] > 1:
        by_user[user] -= 1
    elif len(by_user) > 1:
        del by_user[user]
    else:
        del table[used]
