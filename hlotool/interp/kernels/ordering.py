"""Kernels of opcodes that sort elements: sort and topk.

Both kernels are stable, regardless of the `is_stable` attribute. A comparator that only compares
elements of one operand is turned into keys for NumPy's sort. All other comparators are called by a
merge sort, which compares all pairs of a step at the same time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hlotool.interp.arrays.bits import total_order_keys
from hlotool.interp.arrays.dtypes import Array, number_type
from hlotool.interp.arrays.values import Value
from hlotool.interp.kernels.base import Invoke, Run, kernel
from hlotool.ir.model import Computation, Instruction
from hlotool.opdefs.kinds import Bool, Int, SingleDim

__all__: list[str] = []


@kernel("sort")
def sort(*operands: Array, dimensions: SingleDim, to_apply: Computation) -> Run:
    axis = dimensions[0]
    rows = [np.moveaxis(x, axis, -1) for x in operands]
    keys = yield from _keys(to_apply, rows)
    if keys is not None:
        order = np.argsort(keys, axis=-1, kind="stable")
    else:
        order = yield from _merge_sort(to_apply, rows)
    ordered = tuple(np.moveaxis(np.take_along_axis(row, order, axis=-1), -1, axis) for row in rows)
    return ordered if len(ordered) > 1 else ordered[0]


def _keys(comparator: Computation, rows: Sequence[Array]) -> Run:
    """Returns numbers whose ascending order is the comparator's order, or None.

    Such numbers exist if the comparator compares g(a) with g(b) for elements a and b of one
    operand.
    """
    root = comparator.root
    if root.opcode != "compare" or root.attributes["direction"] not in ("LT", "GT"):
        return None
    pairs = _paired_parameters(*root.operands)
    if pairs is None or len(pairs) != 1:
        return None
    ((first, second),) = pairs
    if first // 2 != second // 2 or first == second:
        return None
    values = yield from _evaluate(comparator, root.operands[0], rows)
    number = number_type(values)
    if number.kind == "complex":
        return None
    if root.attributes.get("type") == "TOTALORDER":
        keys = total_order_keys(values)
    else:
        keys = values.astype(number.computed, copy=False)
        # A NaN is neither before nor after any number, so there is no order.
        if number.kind == "float" and np.isnan(keys).any():
            return None
    descends = (root.attributes["direction"] == "GT") != (first > second)
    return _reverse(keys) if descends else keys


def _paired_parameters(left: Instruction, right: Instruction) -> set[tuple[int, int]] | None:
    """Returns the pairs of parameters in which two expressions differ.

    Returns None if the expressions differ in anything else.
    """
    pairs: set[tuple[int, int]] = set()
    seen: set[tuple[Instruction, Instruction]] = set()
    stack = [(left, right)]
    while stack:
        a, b = stack.pop()
        if (a, b) in seen:
            continue
        seen.add((a, b))
        if a.parameter_number is not None and b.parameter_number is not None:
            pairs.add((a.parameter_number, b.parameter_number))
        elif _own_properties(a) != _own_properties(b) or len(a.operands) != len(b.operands):
            return None
        stack.extend(zip(a.operands, b.operands, strict=True))
    return pairs


def _own_properties(x: Instruction) -> tuple[object, ...]:
    return x.op, x.attributes, x.immediate, x.shape, x.called


def _evaluate(comparator: Computation, key: Instruction, rows: Sequence[Array]) -> Run:
    """Returns the values of one of the comparator's instructions for all elements.

    Each element is passed as both members of a pair.
    """
    if key.parameter_number is not None:
        return rows[key.parameter_number // 2]
    return (yield Invoke(comparator, tuple(row for row in rows for _ in range(2)), rows[0].shape, root=key))


def _reverse(keys: Array) -> Array:
    """Returns keys for the opposite order; equal keys remain equal."""
    return np.asarray(np.negative(keys) if keys.dtype.kind == "f" else np.invert(keys))


def _merge_sort(comparator: Computation, rows: Sequence[Array]) -> Run:
    """Returns the order of each row, found by merging runs that double in length.

    Bisection finds the position of each element in the other run.
    """
    shape = rows[0].shape
    count = shape[-1]
    order = np.broadcast_to(np.arange(count), shape).copy()
    length = 1
    while length < count:
        position = np.arange(count)
        run = position // length
        is_left = run % 2 == 0
        other = np.where(is_left, run + 1, run - 1) * length
        low = np.broadcast_to(np.minimum(other, count), shape).copy()
        high = np.broadcast_to(np.minimum(other + length, count), shape).copy()
        start = low.copy()
        sorted_rows = [np.take_along_axis(row, order, axis=-1) for row in rows]
        while (low < high).any():
            middle = (low + high) // 2
            rivals = [np.take_along_axis(row, np.minimum(middle, count - 1), axis=-1) for row in sorted_rows]
            pairs = [pair for own, rival in zip(sorted_rows, rivals, strict=True) for pair in _comparator_arguments(is_left, own, rival)]
            before = yield Invoke(comparator, tuple(pairs), shape)
            # Equal elements of the left run stay before those of the right run.
            moves_up = (before == is_left) & (low < high)
            high = np.where(moves_up | (low >= high), high, middle)
            low = np.where(moves_up, middle + 1, low)
        target = position % length + (run // 2) * 2 * length + (low - start)
        # Sort by target instead of writing to targets: a comparator that is not an order may send
        # two elements to the same position.
        order = np.take_along_axis(order, np.argsort(target, axis=-1, kind="stable"), axis=-1)
        length *= 2
    return order


def _comparator_arguments(is_left: Array, own: Array, rival: Array) -> tuple[Array, Array]:
    """Returns the arguments of the comparator.

    For elements of the left run, the comparator decides whether the rival comes before the element;
    for elements of the right run, whether the element comes before the rival.
    """
    return np.where(is_left, rival, own), np.where(is_left, own, rival)


@kernel("topk")
def topk(operand: Array, *, k: Int, largest: Bool) -> Value:
    """Returns the k largest or smallest values of each row, in order, and their indices.

    The order is the total order, which includes NaNs and signed zeros. Equal values keep their
    order.
    """
    keys = total_order_keys(operand)
    order = np.argsort(_reverse(keys) if largest else keys, axis=-1, kind="stable")[..., :k]
    return np.take_along_axis(operand, order, axis=-1), order.astype(np.int32)
