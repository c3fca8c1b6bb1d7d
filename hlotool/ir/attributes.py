"""The attributes of an instruction, as one immutable value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

__all__ = ["NO_ATTRIBUTES", "AttributeSet"]


class AttributeSet(dict[str, Any]):
    """An immutable dictionary of an instruction's attributes, keyed by their names in HLO text.

    Instructions with equal attributes can share one set.

    >>> attributes = AttributeSet({"index": 1})
    >>> attributes["index"], attributes.get("dimensions", ())
    (1, ())
    >>> attributes["index"] = 2
    Traceback (most recent call last):
      ...
    TypeError: attributes are immutable; use Rewriter.update(instruction, attributes={...})
    """

    __slots__ = ()

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("attributes are immutable; use Rewriter.update(instruction, attributes={...})")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return AttributeSet, (dict(self),)

    def __copy__(self) -> AttributeSet:
        return self

    def changed(self, changes: Mapping[str, Any]) -> AttributeSet:
        """Returns a copy of the set with the given changes; None removes an attribute.

        >>> AttributeSet({"index": 1}).changed({"index": 2, "sharding": None})
        {'index': 2}
        """
        values = {**self, **changes}
        return AttributeSet({name: value for name, value in values.items() if value is not None})


NO_ATTRIBUTES = AttributeSet({})
