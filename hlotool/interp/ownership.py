"""Which values may be overwritten in place.

Python's reference counts tell whether there are other references to an array. The executor drops its own reference to a value before the last
kernel that reads it runs, so loops that update a large state, with dynamic-update-slice or scatter, need not copy it.
"""

from __future__ import annotations

import sys

from hlotool.interp.values import Value, owns_memory

__all__ = ["can_alias"]


def can_alias(operands: list[Value]) -> bool:
    """Whether the result may be written into operand 0, because only this list refers to it, and nothing refers to a view of it.

    >>> import numpy as np
    >>> operands = [np.zeros(2)]
    >>> can_alias(operands)
    True
    >>> view = operands[0][1:]
    >>> can_alias(operands)
    False
    """
    # Two references: one of the list, one of the argument of getrefcount. A view holds its base.
    return sys.getrefcount(operands[0]) <= 2 and owns_memory(operands[0])
