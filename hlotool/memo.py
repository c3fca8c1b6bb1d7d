"""A dictionary that computes missing values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Memo"]

Key = TypeVar("Key")
Value = TypeVar("Value")


class Memo(dict[Key, Value], Generic[Key, Value]):
    """Values by key, computed by `make` when a key is first looked up. Looking it up again runs no Python code.

    >>> Memo(len)["four"]
    4
    """

    def __init__(self, make: Callable[[Key], Value]) -> None:
        super().__init__()
        self.make = make

    def __missing__(self, key: Key) -> Value:
        value = self[key] = self.make(key)
        return value
