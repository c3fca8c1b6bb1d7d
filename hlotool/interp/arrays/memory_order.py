"""Puts operands into the memory order that functions require.

The results of NumPy and its libraries depend on the order of elements in memory: for a different
order, NumPy may add in a different sequence or call other functions. But equal operands must give
equal results, whether they were computed, broadcast or transposed. So no value runs backward in
memory or is unaligned, and kernels that declare `in_layout` receive arrays without gaps, in the
order of the operands' layouts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from hlotool.interp.arrays.dtypes import Array
from hlotool.ir.model import Instruction
from hlotool.shapes.shape import Shape

__all__ = [
    "Order",
    "arrange",
    "forward",
    "function_in_layout",
    "is_row_major",
    "memory_order",
    "operands_in_layout",
    "orders_of",
    "row_major",
    "separate",
]

Order: TypeAlias = "tuple[tuple[int, ...], tuple[int, ...]] | None"
"""The dimensions from slowest to fastest in memory, and the inverse permutation.

It is None for row-major arrays, and for values other than arrays.
"""


def forward(x: Array) -> Array:
    """Returns the array, or a copy if it runs backward in memory or is unaligned.

    >>> forward(np.arange(3)[::-1]).strides
    (8,)
    """
    is_backwards = bool(x.strides) and min(x.strides) < 0
    return np.array(x, order="C") if is_backwards or not x.flags.aligned else x


def row_major(x: Array) -> Array:
    """Returns the array if it is row-major without gaps, or else a row-major copy.

    >>> x = np.arange(6.0).reshape(2, 3)
    >>> row_major(x) is x, row_major(x.T).strides
    (True, (16, 8))
    """
    return np.asarray(x, order="C") if x.size < _LARGE or x.flags.c_contiguous else _fill(np.empty(x.shape, x.dtype), x)


def _fill(copy: Array, x: Array) -> Array:
    """Copies the elements of `x` to the row-major array `copy`, and returns `copy`."""
    if x.size < _LARGE or x.strides[-1] == x.itemsize:
        copy[...] = x
        return copy
    # NumPy copies row by row, and would read a different part of memory for each element of a row.
    for start in range(0, x.shape[-1], _SLAB):
        copy[..., start : start + _SLAB] = x[..., start : start + _SLAB]
    return copy


_LARGE, _SLAB = 1 << 14, 32
"""The minimum size of arrays that are copied in slabs, and the row length of a slab.

Copying in slabs takes at most a third of the time.
"""


def separate(lhs: Array, rhs: Array) -> Array:
    """Returns `rhs`, or a copy if it shares memory with `lhs`.

    NumPy computes the product of a matrix and its own transpose with a different function, which is
    meant for symmetric results.
    """
    is_from_one = (lhs if lhs.base is None else lhs.base) is (rhs if rhs.base is None else rhs.base)
    return rhs.copy(order="K") if is_from_one and np.may_share_memory(lhs, rhs) else rhs


# ---- layouts -----------------------------------------------------------------------------------


def memory_order(shape: Shape) -> list[int]:
    """Returns the dimensions of an array from slowest to fastest in memory."""
    order = shape.layout.minor_to_major if shape.layout is not None else ()
    return list(reversed(order)) if len(order) == shape.rank else list(range(shape.rank))


def is_row_major(shape: Shape) -> bool:
    """Returns whether the order of elements in memory is row-major."""
    return memory_order(shape) == list(range(shape.rank))


def orders_of(x: Instruction) -> tuple[Order, ...]:
    """Returns the memory orders that the layouts of an instruction's operands specify."""
    return tuple([_order_of(operand.shape) for operand in x.operands])


def _order_of(shape: Shape) -> Order:
    if not shape.is_array or is_row_major(shape):
        return None
    order = memory_order(shape)
    return tuple(order), tuple([order.index(k) for k in range(len(order))])


@cache
def operands_in_layout(orders: tuple[Order, ...]) -> Callable[..., list[Any]]:
    """Returns a function that returns its operands as a list, in these orders and without gaps.

    The first two operands in the list do not share memory.

    >>> x, y = operands_in_layout((((1, 0), (1, 0)), None))(np.ones((2, 3)), np.ones((3, 4)))
    >>> x.strides, y.strides
    ((8, 16), (32, 8))
    """

    def in_layout(*operands: Any) -> list[Any]:
        # The fast path matters: most operands are dense, and loops call this in each iteration.
        arranged = [
            x if order is None and type(x) is np.ndarray and x.flags.c_contiguous else arrange(x, order)
            for x, order in zip(operands, orders, strict=True)
        ]
        if len(arranged) > 1 and isinstance(arranged[0], np.ndarray) and isinstance(arranged[1], np.ndarray) and arranged[1].ndim > 1:
            arranged[1] = separate(arranged[0], arranged[1])
        return arranged

    return in_layout


@cache
def function_in_layout(function: Callable[..., Any], orders: tuple[Order, ...]) -> Callable[..., Any]:
    """Returns a version of the function that accepts operands in any memory order.

    The function itself receives the operands in the given orders.
    """
    in_layout = operands_in_layout(orders)

    def reordering(*operands: Any, **keywords: Any) -> Any:
        return function(*in_layout(*operands), **keywords)

    return reordering


def arrange(operand: Any, order: Order) -> Any:
    """Returns the array, or a copy, in this order without gaps.

    Arrays in tuples are returned in row-major order.
    """
    if not isinstance(operand, np.ndarray):
        return tuple([arrange(element, None) for element in operand]) if isinstance(operand, tuple) else operand
    if order is None or operand.ndim != len(order[0]):
        return row_major(operand)
    view = operand.transpose(order[0])
    if view.flags.c_contiguous:
        return operand
    # The copy owns its memory, so that loops may overwrite it.
    copy = np.empty_like(np.empty(view.shape, view.dtype).transpose(order[1]))
    _fill(copy.transpose(order[0]), view)
    return copy
