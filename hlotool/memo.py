"""A dictionary that makes what it does not have yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Memo"]

Key = TypeVar("Key")
Value = TypeVar("Value")


class Memo(dict[Key, Value], Generic[Key, Value]):
    """Values by key, each made once by `make`; a hit costs no Python call.

    >>> Memo(len)["four"]
    4
    """

    def __init__(self, make: Callable[[Key], Value]) -> None:
        super().__init__()
        self.make = make

    def __missing__(self, key: Key) -> Value:
        value = self[key] = self.make(key)
        return value
