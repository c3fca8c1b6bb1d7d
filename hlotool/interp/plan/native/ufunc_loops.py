"""The C loops of NumPy's functions.

Machine code calls them in the same way as NumPy does, so that results have the same bits.
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np

__all__ = ["UfuncLoop", "ufunc_loop"]

_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


class _Head(ctypes.Structure):
    """The head of NumPy's `PyUFuncObject`, part of its stable ABI (`numpy/ufuncobject.h`)."""

    _fields_ = [
        ("reference_count", ctypes.c_ssize_t),
        ("type", ctypes.c_void_p),
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("ntypes", ctypes.c_int),
    ]


class UfuncLoop(NamedTuple):
    """The loop of a ufunc for certain operand types: `function(addresses, count, steps, data)`.

    `addresses` points to the addresses of the operands and of the result, `count` to the number of
    elements, and `steps` to the strides in bytes, one for each address.
    """

    function: Any
    data: int


def ufunc_loop(ufunc: np.ufunc, types: str) -> UfuncLoop | None:
    """Returns the loop for a signature in NumPy's type characters, such as `f->f`.

    Returns None if there is no such loop, or if it is not at the expected location.

    >>> x, y, one = np.array([0.5], np.float32), np.empty(1, np.float32), np.array([1])
    >>> addresses, steps = np.array([x.ctypes.data, y.ctypes.data]), np.array([4, 4])
    >>> loop = ufunc_loop(np.cos, "f->f")
    >>> loop.function(addresses.ctypes.data, one.ctypes.data, steps.ctypes.data, loop.data)
    >>> bool(y[0] == np.cos(x[0]))
    True
    """
    head = _Head.from_address(id(ufunc))
    is_known = (head.nin, head.nout, head.nargs, head.ntypes) == (ufunc.nin, ufunc.nout, ufunc.nargs, len(ufunc.types))
    if not is_known or types not in ufunc.types:
        return None
    k = ufunc.types.index(types)
    address = head.functions[k]
    return None if not address else UfuncLoop(_FUNCTION(address), head.data[k] or 0)
