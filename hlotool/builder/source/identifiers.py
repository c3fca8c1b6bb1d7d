"""Names of Python variables, derived from HLO names."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable

from hlotool.ir.names import NameTable

__all__ = ["Identifiers"]

_ILLEGAL = re.compile(r"[^A-Za-z0-9_]")
_RESERVED = frozenset({*keyword.kwlist, *keyword.softkwlist, *dir(builtins)})


class Identifiers:
    """The variable names in a scope.

    A new name is not yet taken, is not a Python keyword, and does not shadow a built-in.

    >>> names = Identifiers(["b"])
    >>> [names.take(name) for name in ("add.1", "add_1", "lambda", "sum", "0x", "b", "__class__")]
    ['add_1', 'add_1_1', 'lambda_', 'sum_', 'v0x', 'b_', 'v__class__']
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._fixed = frozenset(taken)
        self._names = NameTable()

    def take(self, name: str) -> str:
        """Returns an unused variable name for an HLO name."""
        word = _ILLEGAL.sub("_", name)
        if not word[:1].isalpha():
            # Names that begin with underscores have special meanings in Python.
            word = f"v{word}"
        while word in _RESERVED or word in self._fixed:
            word += "_"
        free = self._names.take(word)
        if free == word:
            return free
        # The free name contains a dot before its number, so it is not an identifier yet.
        return self.take(free)
