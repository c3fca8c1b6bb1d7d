"""Names of instructions and computations: legal names, free names, and XLA's unique names.

In XLA, the names of all instructions of a module are unique, and so are the names of all
computations. XLA makes names unique by adding numbers, in textual order.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable

from hlotool.ir.model import Computation, Instruction, Module
from hlotool.shapes.dtype import ELEMENT_TYPES

__all__ = ["GivenNames", "NameTable", "free_name", "is_legal_name", "unique_names"]

_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")


def is_legal_name(name: str) -> bool:
    """Returns whether XLA accepts this name for an instruction.

    A legal name is not an element type and does not begin with `__`, unless it begins with
    `__xla_`.

    >>> [is_legal_name(name) for name in ("add.1", "f32", "__tmp", "__xla_tmp")]
    [True, False, False, True]
    """
    return name not in ELEMENT_TYPES and (not name.startswith("__") or name.startswith("__xla_"))


def free_name(name: str, taken: Container[str], counters: dict[str, int]) -> str:
    """Returns the first of `name`, `name.1`, `name.2`, ... that is not in `taken`.

    `counters` records the number at which the last search for each name ended.

    >>> free_name("add", {"add", "add.1"}, {})
    'add.2'
    """
    free, k = name, counters.get(name, 0)
    if k:
        free = f"{name}.{k}"
    while free in taken:
        k += 1
        free = f"{name}.{k}"
    counters[name] = k
    return free


class NameTable:
    """A multiset of the names in use, which finds free names.

    Instructions of several computations may have the same name; each of them counts.

    >>> names = NameTable(["add", "add.1"])
    >>> names.take("add"), names.take("mul")
    ('add.2', 'mul')
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        # Not a Counter, because a Counter runs Python code to look up or delete missing names.
        self._used: dict[str, int] = dict(Counter(names))
        self._counters: dict[str, int] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._used

    def count(self, name: str) -> int:
        """Returns how many instructions or computations have this name.

        >>> NameTable(["add", "add"]).count("add")
        2
        """
        return self._used.get(name, 0)

    def take(self, name: str) -> str:
        """Marks a name as in use and returns it.

        If the name is already in use, the first free number is added after a dot.
        """
        free = free_name(name, self._used, self._counters)
        self.add(free)
        return free

    def add(self, name: str) -> None:
        """Marks a name as in use; several marks of the same name add up."""
        self._used[name] = self._used.get(name, 0) + 1

    def release(self, name: str) -> None:
        """Undoes one `add` or `take`. The name is free once all of them are undone."""
        count = self._used[name] - 1
        if count:
            self._used[name] = count
        else:
            del self._used[name]


class GivenNames(NameTable):
    """A table for names that need not be unique and never change.

    >>> names = GivenNames()
    >>> names.take("p"), names.take("p")
    ('p', 'p')
    """

    def take(self, name: str) -> str:
        """Returns the name unchanged; it stays free."""
        return name

    def release(self, name: str) -> None:
        """Does nothing, because all names stay free."""


class _Uniquifier:
    """XLA's NameUniquer: `root`, `root.1`, `root.2`. A number at the end of a name is kept if free."""

    def __init__(self) -> None:
        self._used: dict[str, set[int]] = {}
        self._next: dict[str, int] = {}

    def take(self, name: str) -> str:
        root, _, tail = name.rpartition(".")
        numbered = bool(root and _NUMBER.fullmatch(tail))
        if not numbered:
            root = name
        number = int(tail) if numbered else 0
        used = self._used.setdefault(root, set())
        if number in used:
            number = self._next.get(root, 0)
            while number in used:
                number += 1
            self._next[root] = number + 1
        used.add(number)
        return (f"{root}.0" if numbered else root) if number == 0 else f"{root}.{number}"


def _sanitize(name: str) -> str:
    """Returns the name that XLA gives to a computation with this name.

    XLA changes names that are not legal for instructions.
    """
    if is_legal_name(name):
        return name
    return "a" + name[1:] if name.startswith("__") else name + "_"


def unique_names(module: Module, first: Computation | None = None) -> tuple[dict[Instruction, str], dict[Computation, str]]:
    """Returns the names that XLA prints for all instructions and computations.

    The names of the computation `first` and its instructions are chosen before all other names.

    >>> from hlotool.text.parse.parser import parse
    >>> names, _ = unique_names(parse("f { ROOT p = f32[] parameter(0) } ENTRY e { ROOT p = f32[] parameter(0) }"))
    >>> list(names.values())
    ['p', 'p.1']
    """
    instruction_names, computation_names = _Uniquifier(), _Uniquifier()
    instructions: dict[Instruction, str] = {}
    computations: dict[Computation, str] = {}
    order = module.computations if first is None else [first, *(c for c in module.computations if c is not first)]
    for computation in order:
        computations[computation] = computation_names.take(_sanitize(computation.name))
        for x in computation.instructions:
            instructions[x] = instruction_names.take(x.name)
    return instructions, computations
