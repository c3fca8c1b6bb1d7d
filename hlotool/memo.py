"""Helpers that compute a value only once: a dictionary that fills itself, and a cached property."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

__all__ = ["Memo", "cached_property"]

Key = TypeVar("Key")
Value = TypeVar("Value")


class Memo(dict[Key, Value], Generic[Key, Value]):
    """A dictionary that computes the value of a key with `make` when the key is first looked up.

    Looking the key up again runs no Python code.

    >>> Memo(len)["four"]
    4
    """

    def __init__(self, make: Callable[[Key], Value]) -> None:
        super().__init__()
        self.make = make

    def __missing__(self, key: Key) -> Value:
        value = self[key] = self.make(key)
        return value

    def close(self) -> None:
        """Drops `make` but keeps the values; from then on, all other keys raise KeyError.

        The object that `make` belongs to often refers to the memo, and such a reference cycle is
        not freed until the next garbage collection.

        >>> sizes = Memo(len)
        >>> sizes["four"], sizes.close()
        (4, None)
        >>> sizes.get("four"), sizes["other"]
        Traceback (most recent call last):
          ...
        KeyError: 'other'
        """
        self.make = _raise_key_error


def _raise_key_error(key: Any) -> Any:
    raise KeyError(key)


class cached_property(Generic[Value]):  # noqa: N801  # named after `functools.cached_property`
    """An attribute computed when it is first read, like `functools.cached_property` in Python 3.12.

    In Python 3.11, `functools.cached_property` holds a lock, shared by all instances, while it
    computes a value: threads wait for each other, and a process forked in the meantime waits
    forever. Without the lock, two threads may compute the same value.

    >>> class Circle:
    ...     radius = 2
    ...     @cached_property
    ...     def area(self):
    ...         return 3 * self.radius**2
    >>> circle = Circle()
    >>> circle.area, vars(circle)
    (12, {'area': 12})
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> Value: ...
    def __get__(self, instance: object | None, owner: type | None = None) -> Self | Value:
        if instance is None:
            return self
        # From now on, lookups find the value in the instance, before this descriptor.
        value = instance.__dict__[self.name] = self.compute(instance)
        return value
