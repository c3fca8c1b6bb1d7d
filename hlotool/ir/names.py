"""Names: which ones are legal, which are free, and how XLA makes them unique when it prints.

XLA numbers instructions in the whole module, computations among themselves, in the order of parsing.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable

from hlotool.ir.model import Computation, Instruction, Module
from hlotool.shapes.dtype import ELEMENT_TYPES

__all__ = ["NameTable", "free_name", "is_legal_name", "unique_names"]

_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")


def is_legal_name(name: str) -> bool:
    """Whether XLA takes this as an instruction's name: no element type, and no leading `__` but in `__xla_`."""
    return name not in ELEMENT_TYPES and (not name.startswith("__") or name.startswith("__xla_"))


def free_name(name: str, taken: Container[str], counters: dict[str, int]) -> str:
    """The first of name, name.1, name.2 ... that is not taken; `counters` remembers where the last search for a name ended."""
    free, k = name, counters.get(name, 0)
    if k:
        free = f"{name}.{k}"
    while free in taken:
        k += 1
        free = f"{name}.{k}"
    counters[name] = k
    return free


class NameTable:
    """Names in use, and free ones like them.

    >>> names = NameTable(["add", "add.1"])
    >>> names.take("add"), names.take("mul")
    ('add.2', 'mul')
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._used = set(names)
        self._counters: dict[str, int] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._used

    def take(self, name: str) -> str:
        """The name if it is free, else it with the first free number after a dot; in use from now on."""
        free = free_name(name, self._used, self._counters)
        self._used.add(free)
        return free

    def add(self, name: str) -> None:
        """Puts a name in use."""
        self._used.add(name)

    def release(self, name: str) -> None:
        """Makes a name free again."""
        self._used.discard(name)


class _Uniquifier:
    """Hands out `root`, `root.1`, `root.2`; a wanted number is kept if it is free."""

    def __init__(self) -> None:
        self._used: dict[str, set[int]] = {}
        self._next: dict[str, int] = {}

    def take(self, name: str) -> str:
        root, _, tail = name.rpartition(".")
        numbered = bool(root and _NUMBER.fullmatch(tail))
        if not numbered:
            root = name
        wanted = int(tail) if numbered else 0
        used = self._used.setdefault(root, set())
        if wanted in used:
            wanted = self._next.get(root, 0)
            while wanted in used:
                wanted += 1
            self._next[root] = wanted + 1
        used.add(wanted)
        return (f"{root}.0" if numbered else root) if wanted == 0 else f"{root}.{wanted}"


def _sanitized(name: str) -> str:
    """As XLA renames a computation whose name an instruction could not have."""
    if is_legal_name(name):
        return name
    return "a" + name[1:] if name.startswith("__") else name + "_"


def unique_names(module: Module, first: Computation | None = None) -> tuple[dict[Instruction, str], dict[Computation, str]]:
    """The names that XLA prints, of every instruction and computation; `first` is named before the others."""
    instruction_names, computation_names = _Uniquifier(), _Uniquifier()
    instructions: dict[Instruction, str] = {}
    computations: dict[Computation, str] = {}
    order = module.computations if first is None else [first, *(c for c in module.computations if c is not first)]
    for computation in order:
        computations[computation] = computation_names.take(_sanitized(computation.name))
        for x in computation.instructions:
            instructions[x] = instruction_names.take(x.name)
    return instructions, computations
