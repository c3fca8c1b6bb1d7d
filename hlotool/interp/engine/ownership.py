"""Decides which values may be overwritten in place.

Python's reference counts show whether there are other references to an array. The executor drops
its own reference to a value before it runs the last kernel that reads the value. So loops that
update a large array with dynamic-update-slice or scatter do not have to copy it.
"""

from __future__ import annotations

import sys

from hlotool.interp.arrays.values import Value, owns_memory

__all__ = ["can_alias"]


def can_alias(operands: list[Value]) -> bool:
    """Returns whether the result may be written into operand 0.

    Only this list may refer to the operand, and there must be no view of the operand.

    >>> import numpy as np
    >>> operands = [np.zeros(2)]
    >>> can_alias(operands)
    True
    >>> view = operands[0][1:]
    >>> can_alias(operands)
    False
    """
    # The list holds one reference, and the argument of getrefcount is another. A view of the
    # operand would hold a third.
    return sys.getrefcount(operands[0]) <= 2 and owns_memory(operands[0])
