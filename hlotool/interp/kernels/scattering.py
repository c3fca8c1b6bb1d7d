"""Kernels that combine values into an array at computed places: scatter and select-and-scatter.

Updates are applied in row-major order, each to the result of those before it. The loop is over repeated places, not over updates.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from hlotool.interp.dtypes import NUMBERS, Array
from hlotool.interp.kernels.base import Invoke, Run, kernel
from hlotool.interp.kernels.conversion import converted
from hlotool.interp.kernels.indexing import along, index_vectors, starts_of
from hlotool.interp.kernels.reduction import as_parameters, listed
from hlotool.interp.monoids import monoid_of
from hlotool.interp.windows import taps
from hlotool.ir.model import Computation
from hlotool.opdefs.kinds import Dims, Int, Window
from hlotool.shapes.shape import Shape
from hlotool.shapes.values import WindowDimension

__all__: list[str] = []


def _combine(reducer: Computation, targets: list[Array], places: Array, updates: list[Array]) -> Run:
    """Writes f(target, update) into flat arrays, one update after the other."""
    if reducer.root.parameter_number == 1 and len(targets) == 1:
        # NumPy assigns in order, so the last update of a place stays.
        targets[0][places] = updates[0]
        return None
    monoid = monoid_of(reducer)
    if monoid is not None and monoid.works_in_place(targets[0]):
        monoid.combine_at(targets[0], places, updates[0])
        return None
    for chosen in _passes(places):
        here = places[chosen]
        combined = yield Invoke(reducer, (*(t[here] for t in targets), *(u[chosen] for u in updates)), here.shape)
        for target, values in zip(targets, listed(combined), strict=True):
            target[here] = values
    return None


def _passes(places: Array) -> list[Array]:
    """The indices of the updates that come first at their places, of those that come second, and so on; no place is repeated in one."""
    order = np.argsort(places, kind="stable")
    sorted_places = places[order]
    is_first = np.ones(len(places), bool)
    is_first[1:] = sorted_places[1:] != sorted_places[:-1]
    numbers = np.arange(len(places))
    rank = numbers - np.maximum.accumulate(np.where(is_first, numbers, 0))
    by_rank = np.argsort(rank, kind="stable")
    return np.split(order[by_rank], np.cumsum(np.bincount(rank))[:-1]) if len(places) else []


@kernel("scatter")
def scatter(
    *operands: Array,
    update_window_dims: Dims,
    inserted_window_dims: Dims,
    scatter_dims_to_operand_dims: Dims,
    input_batching_dims: Dims,
    scatter_indices_batching_dims: Dims,
    index_vector_dim: Int,
    to_apply: Computation,
    result: Shape,
    can_alias: bool,
) -> Run:
    """Windows of updates that do not lie entirely within the operand are skipped."""
    count = len(operands) // 2
    inputs = as_parameters(operands[:count], to_apply, 0)
    updates = as_parameters(operands[count + 1 :], to_apply, count)
    vectors = index_vectors(operands[count], index_vector_dim)
    sizes, rank, batch = inputs[0].shape, inputs[0].ndim, vectors.ndim - 1
    starts = starts_of(vectors, scatter_dims_to_operand_dims, input_batching_dims, scatter_indices_batching_dims, index_vector_dim, rank)
    # Updates with the scattered dimensions first and those of the window after, in the operand's order.
    moved = [np.moveaxis(u, update_window_dims, range(batch, u.ndim)) for u in updates]
    window = [k for k in range(rank) if k not in inserted_window_dims and k not in input_batching_dims]
    lengths = dict(zip(window, moved[0].shape[batch:], strict=True))
    fits = np.ones(vectors.shape[:-1], bool)
    place = np.zeros((1,) * moved[0].ndim, np.int64)
    for k, start in enumerate(starts):
        fits &= (start >= 0) & (start <= sizes[k] - lengths.get(k, 1))
        at = start.reshape(start.shape + (1,) * len(window))
        if k in lengths:
            at = at + along(np.arange(lengths[k]), batch + window.index(k), moved[0].ndim)
        place = place * sizes[k] + at
    place = np.broadcast_to(place, moved[0].shape)
    # The arrays themselves are returned, and no views of them, so that they can be updated in place again.
    totals = [x if can_alias and x is operands[0] and x.flags.c_contiguous else np.array(x, order="C") for x in inputs]
    yield from _combine(to_apply, [total.reshape(-1) for total in totals], place[fits].reshape(-1), [u[fits].reshape(-1) for u in moved])
    shapes = result.elements if result.is_tuple else (result,)
    results = tuple(converted(total, NUMBERS[shape.element_type]) for total, shape in zip(totals, shapes, strict=True))
    return results if result.is_tuple else results[0]


_PART = 1 << 18
"""The number of elements of a part of an array that is worked on at a time."""


@kernel("select-and-scatter")
def select_and_scatter(operand: Array, source: Array, init_value: Array, *, window: Window, select: Computation, scatter: Computation) -> Run:
    """In each window, the element that `select` prefers to all that follow it receives the window's source value."""
    result = np.full(operand.shape, init_value)
    for part in _parts(operand, window):
        place, is_set = yield from _selected(select, operand[part], window, source[part].shape)
        yield from _combine(scatter, [result[part].reshape(-1)], place[is_set], [source[part][is_set]])
    return result


def _parts(operand: Array, window: Window) -> Iterator[Any]:
    """Parts along the first dimension that have nothing to do with each other since no window slides over it, or else the whole."""
    if not window or window[0] != WindowDimension(1, window_dilation=window[0].window_dilation):
        return iter((...,))
    step = max(1, _PART // max(1, operand[:1].size))
    return (slice(k, k + step) for k in range(0, len(operand), step))


def _selected(select: Computation, operand: Array, window: Window, sizes: tuple[int, ...]) -> Run:
    """The flat index of the element that is selected in each window, and which windows have one."""
    best = np.zeros(sizes, operand.dtype)
    numbers = np.arange(operand.size, dtype=np.int32 if operand.size < 1 << 31 else np.int64).reshape(operand.shape)
    place, is_set, all_set = np.zeros(sizes, numbers.dtype), np.zeros(sizes, bool), False
    for tap in product(*(taps(w, size, base) for w, size, base in zip(window, sizes, operand.shape, strict=True))):
        targets, sources = tuple([target for _, target, _ in tap]), tuple([element for _, _, element in tap])
        rivals = operand[sources]
        if not is_set.any():
            best[targets], place[targets] = rivals, numbers[sources]
        else:
            keeps = yield Invoke(select, (best[targets], rivals), rivals.shape)
            replaces = ~keeps if all_set else ~keeps | ~is_set[targets]
            _replace(best[targets], rivals, replaces)
            _replace(place[targets], numbers[sources], replaces)
        if not all_set:
            is_set[targets] = True
            all_set = bool(is_set.all())
    return place, is_set


def _replace(target: Array, values: Array, where: Array) -> None:
    """Like `np.copyto`, by arithmetic on bits: a branch for each element takes several times as long if the mask cannot be predicted."""
    size = target.itemsize
    if size > 8:
        np.copyto(target, values, where=where)
        return
    bits = target.view(f"i{size}")
    changes = bits ^ values.view(bits.dtype)
    changes &= np.negative(where.view(np.int8)).astype(bits.dtype, copy=False)
    bits ^= changes
