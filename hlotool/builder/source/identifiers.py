"""Names of Python variables, from names of HLO."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable

from hlotool.ir.names import NameTable

__all__ = ["Identifiers"]

_OTHER = re.compile(r"[^A-Za-z0-9_]")
_RESERVED = frozenset({*keyword.kwlist, *keyword.softkwlist, *dir(builtins)})


class Identifiers:
    """The variables of a scope: a new name is none of those that are taken, no word of Python, and hides no built-in function.

    >>> names = Identifiers(["b"])
    >>> [names.take(name) for name in ("add.1", "add_1", "lambda", "sum", "0x", "b", "__class__")]
    ['add_1', 'add_1_1', 'lambda_', 'sum_', 'v0x', 'b_', 'v__class__']
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._fixed = frozenset(taken)
        self._names = NameTable()

    def take(self, name: str) -> str:
        """A free variable for something of this name in HLO."""
        word = _OTHER.sub("_", name)
        if not word[:1].isalpha():
            # Names that begin with underscores mean something to Python.
            word = f"v{word}"
        while word in _RESERVED or word in self._fixed:
            word += "_"
        free = self._names.take(word)
        if free == word:
            return free
        # With a number, which may make it the name of something else.
        return self.take(free)
