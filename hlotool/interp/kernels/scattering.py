"""Kernels that combine values into an array at computed positions: scatter and select-and-scatter.

Updates are applied in order, each to the result of the updates before it. In a scatter, this is the
row-major order of the index vectors, and then of the elements of each window. The kernels loop over
repetitions of positions, not over updates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from hlotool.interp.arrays.dtypes import NUMBERS, Array, number_type
from hlotool.interp.arrays.monoids import monoid_of
from hlotool.interp.arrays.windows import taps
from hlotool.interp.kernels.base import Invoke, Run, kernel
from hlotool.interp.kernels.conversion import convert_values
from hlotool.interp.kernels.indexing import along, index_vectors, starts_of
from hlotool.interp.kernels.reduction import as_parameters, as_tuple
from hlotool.ir.model import Computation
from hlotool.opdefs.kinds import Dims, Int, Window
from hlotool.shapes.shape import Shape
from hlotool.shapes.values import WindowDimension

__all__: list[str] = []

_BLOCK = 1 << 16
"""The number of elements combined at the same time, few enough to stay in a core's cache."""

_MIN_PASS_SIZE = 2048
"""Minimum number of elements of a pass; fewer elements are combined faster one by one."""


def _combine(reducer: Computation, targets: list[Array], positions: Array, updates: list[Array]) -> Run:
    """Writes f(target, update) into flat arrays, one update after the other."""
    if reducer.root.parameter_number == 1 and len(targets) == 1:
        # NumPy assigns in order, so the last update at a position remains.
        targets[0][positions] = updates[0]
        return None
    monoid = monoid_of(reducer)
    if monoid is not None and monoid.works_in_place(targets[0]):
        monoid.combine_at(targets[0], positions, updates[0])
        return None
    for chosen in _passes(positions):
        here = positions[chosen]
        combined = yield Invoke(reducer, (*(t[here] for t in targets), *(u[chosen] for u in updates)), here.shape)
        for target, values in zip(targets, as_tuple(combined), strict=True):
            target[here] = values
    return None


def _passes(positions: Array) -> list[Array]:
    """Returns the indices of the updates in each pass.

    The first pass consists of the first update at each position, the second pass of the second
    update, and so on, so that no position is repeated within a pass.
    """
    if not len(positions):
        return []
    # NumPy sorts numbers much faster than indices of numbers; the lower bits keep equal numbers in
    # order.
    numbers, bits = np.arange(len(positions)), len(positions).bit_length()
    lower = (1 << bits) - 1
    ordered = np.sort((positions.astype(np.int64, copy=False) << bits) | numbers)
    order, sorted_positions = ordered & lower, ordered >> bits
    is_first = np.ones(len(positions), bool)
    is_first[1:] = sorted_positions[1:] != sorted_positions[:-1]
    if is_first.all():
        return [numbers]
    rank = numbers - np.maximum.accumulate(np.where(is_first, numbers, 0))
    by_rank = np.sort((rank << bits) | numbers) & lower
    return np.split(order[by_rank], np.cumsum(np.bincount(rank))[:-1])


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
    """Combines updates into the operands; windows that are not entirely in bounds are skipped."""
    count = len(operands) // 2
    inputs = as_parameters(operands[:count], to_apply, 0)
    updates = as_parameters(operands[count + 1 :], to_apply, count)
    if count == 1 and not input_batching_dims and not result.is_tuple:
        owned = inputs[0] if can_alias and inputs[0] is operands[0] else None
        dims = update_window_dims, inserted_window_dims, scatter_dims_to_operand_dims
        total = _scatter_one_slice(inputs[0], operands[1], updates[0], dims, index_vector_dim, to_apply, owned)
        if total is not None:
            return convert_values(total, NUMBERS[result.element_type])
    vectors = index_vectors(operands[count], index_vector_dim)
    sizes, rank, batch = inputs[0].shape, inputs[0].ndim, vectors.ndim - 1
    starts = starts_of(vectors, scatter_dims_to_operand_dims, input_batching_dims, scatter_indices_batching_dims, index_vector_dim, rank)
    # Move the scattered dimensions of the updates to the front, followed by the dimensions of the
    # window in the operand's order.
    moved = [np.moveaxis(u, update_window_dims, range(batch, u.ndim)) for u in updates]
    window = [k for k in range(rank) if k not in inserted_window_dims and k not in input_batching_dims]
    lengths = dict(zip(window, moved[0].shape[batch:], strict=True))
    fits = np.ones(vectors.shape[:-1], bool)
    for k, start in enumerate(starts):
        fits &= (start >= 0) & (start <= sizes[k] - lengths.get(k, 1))
    starts = [start[fits] for start in starts]
    # Avoid a copy if all windows fit.
    kept = [u.reshape(fits.size, *u.shape[batch:]) if fits.all() else u[fits] for u in moved]
    # Return the arrays themselves, not views of them, so that they can be updated in place again.
    totals = [x if can_alias and x is operands[0] and x.flags.c_contiguous else np.array(x, order="C") for x in inputs]
    indexed = [k for k in range(rank) if k in scatter_dims_to_operand_dims or k not in lengths]
    passes = _slice_passes(starts, indexed, sizes, lengths) if kept[0].size > len(kept[0]) else None
    if passes is None:
        positions = np.broadcast_to(_positions(starts, sizes, lengths), kept[0].shape).reshape(-1)
        yield from _combine(to_apply, [total.reshape(-1) for total in totals], positions, [u.reshape(-1) for u in kept])
    else:
        slices = [_move_indexed_first(total, indexed, lengths) for total in totals]
        single = tuple([0 if k in indexed else slice(None) for k in window])
        index = tuple([starts[k] for k in indexed])
        yield from _combine_slices(to_apply, slices, index, [u[(slice(None), *single)] for u in kept], passes)
    shapes = result.elements if result.is_tuple else (result,)
    results = tuple(convert_values(total, NUMBERS[shape.element_type]) for total, shape in zip(totals, shapes, strict=True))
    return results if result.is_tuple else results[0]


def _assign(target: Array, update: Array, out: Array) -> Array:
    """Combines elements with updates like a reducer that returns the update."""
    out[...] = update
    return out


def _in_place_function(reducer: Computation, target: Array) -> Any:
    """Returns a function that combines elements with updates, and takes `out` like a ufunc.

    Returns None if the reducer itself must be run.
    """
    if reducer.root.parameter_number == 1:
        return _assign
    monoid = monoid_of(reducer)
    return monoid.ufunc(number_type(target)) if monoid is not None and monoid.works_in_place(target) else None


def _scatter_one_slice(
    operand: Array, indices: Array, update: Array, dims: tuple[Dims, Dims, Dims], index_vector_dim: int, reducer: Computation, owned: Array | None
) -> Array | None:
    """Returns the result of a scatter with a single index vector; None for other scatters.

    The result is in the memory of `owned` if that is not None. `dims` contains the window
    dimensions, the inserted dimensions and the scattered dimensions.
    """
    window, _, scattered = dims
    if not indices.size == len(scattered) > 0 or not 0 <= index_vector_dim <= indices.ndim:
        return None
    batch_rank = indices.ndim - (index_vector_dim < indices.ndim)
    combine = _in_place_function(reducer, operand) if update.ndim == batch_rank + len(window) else None
    lengths = None if combine is None else _slice_lengths(operand, update, *dims)
    if lengths is None:
        return None
    total = np.array(operand, order="C") if owned is None else owned
    _combine_at(combine, total, dict(zip(scattered, indices.ravel().tolist(), strict=True)), lengths, update)
    return total


def _slice_lengths(operand: Array, update: Array, window: Dims, inserted: Dims, index_map: Dims) -> list[int] | None:
    """Returns the sizes of the slice for the only index vector, along all dimensions.

    Returns None if the dimensions are not valid.
    """
    dimensions = range(operand.ndim)
    if len(window) + len(inserted) != operand.ndim or any(list(numbers) != sorted(set(numbers)) for numbers in (window, inserted)):
        return None
    if not ({*inserted, *index_map} <= set(dimensions) and set(window) <= set(range(update.ndim))) or len(set(index_map)) != len(index_map):
        return None
    sizes = iter([update.shape[k] for k in window])
    lengths = [1 if k in inserted else next(sizes) for k in dimensions]
    return lengths if prod(lengths) == update.size else None


def _combine_at(combine: Any, total: Array, starts: Mapping[int, int], lengths: Sequence[int], update: Array) -> None:
    """Writes f(target, update) into a single slice, if it lies entirely within the array."""
    parts: list[Any] = []
    for k, (size, length) in enumerate(zip(total.shape, lengths, strict=True)):
        start = starts.get(k, 0)
        if not 0 <= start <= size - length:
            return
        parts.append(slice(start, start + length))
    part: Any = total[(*parts, ...)]
    combine(part, update.reshape(lengths), out=part)


def _positions(starts: Sequence[Array], sizes: Sequence[int], lengths: Mapping[int, int]) -> Array:
    """Returns the flat indices of the elements of each slice, in row-major order.

    The form is [update, window...], with size 1 for dimensions along which the indices are equal.
    """
    rank = 1 + len(lengths)
    positions = np.zeros((1,) * rank, np.int64)
    for k, start in enumerate(starts):
        at = start.reshape(-1, *(1,) * len(lengths))
        if k in lengths:
            at = at + along(np.arange(lengths[k]), 1 + list(lengths).index(k), rank)
        positions = positions * sizes[k] + at
    return positions


def _slice_passes(starts: Sequence[Array], indexed: Sequence[int], sizes: Sequence[int], lengths: Mapping[int, int]) -> list[Array] | None:
    """Like `_passes`, for whole slices.

    Returns None if slices may overlap partially, or if passes would have too few elements.
    """
    if any(lengths.get(k, 1) != 1 for k in indexed) or not indexed:
        return None
    numbers = np.zeros(len(starts[0]), np.int64)
    for k in indexed:
        numbers = numbers * sizes[k] + starts[k]
    passes = _passes(numbers)
    return passes if len(passes) <= 8 or len(numbers) * prod(lengths.values()) > _MIN_PASS_SIZE * len(passes) else None


def _move_indexed_first(total: Array, indexed: Sequence[int], lengths: Mapping[int, int]) -> Array:
    """Returns a view of the elements that slices may contain, with the indexed dimensions first."""
    others = [k for k in range(total.ndim) if k not in indexed]
    view = total.transpose(*indexed, *others)
    return view[(slice(None),) * len(indexed) + tuple([slice(lengths[k]) for k in others])]


def _combine_slices(reducer: Computation, targets: list[Array], index: tuple[Array, ...], updates: list[Array], passes: list[Array]) -> Run:
    """Writes f(target, update) into slices of arrays, one update of a slice after the other.

    `index` contains the indices of the slices along the first dimensions.
    """
    if reducer.root.parameter_number == 1 and len(targets) == 1:
        targets[0][index] = updates[0]
        return None
    combine = _in_place_function(reducer, targets[0]) if len(targets) == 1 else None
    step = max(1, _BLOCK // max(1, prod(updates[0].shape[1:])))
    for block in (chosen[k : k + step] for chosen in passes for k in range(0, len(chosen), step)):
        here = tuple([numbers[block] for numbers in index])
        old, new = [_take(t, here) for t in targets], [_take(u, (block,)) for u in updates]
        if combine is None:
            combined = as_tuple((yield Invoke(reducer, (*old, *new), new[0].shape)))
        else:
            combined = (combine(old[0], new[0], out=old[0]),)
        for target, values in zip(targets, combined, strict=True):
            target[here] = values
    return None


def _take(array: Array, index: tuple[Array, ...]) -> Array:
    """Returns the elements at these indices of the first dimensions; the indices are in range."""
    if len(index) > 1 or not array.flags.c_contiguous:
        return array[index]
    # `take` would copy an array in another memory order. Without a mode, it would check the
    # indices.
    return np.take(array, index[0], 0, mode="clip")


_PART = 1 << 18
"""The number of elements per part of an array."""


@kernel("select-and-scatter")
def select_and_scatter(operand: Array, source: Array, init_value: Array, *, window: Window, select: Computation, scatter: Computation) -> Run:
    """Scatters each window's source value to the element that `select` selects.

    The elements of a window are visited in order. The selected element is replaced if `select` does
    not prefer it to the next element.
    """
    result = np.full(operand.shape, init_value)
    for part in _parts(operand, window):
        position, is_set = yield from _select_elements(select, operand[part], window, source[part].shape)
        yield from _combine(scatter, [result[part].reshape(-1)], position[is_set], [source[part][is_set]])
    return result


def _parts(operand: Array, window: Window) -> Iterator[Any]:
    """Returns slices of the operand that can be computed independently.

    They divide the first dimension if no window slides over it. Otherwise, there is only one slice,
    which contains the whole array.
    """
    if not window or window[0] != WindowDimension(1, window_dilation=window[0].window_dilation):
        return iter((...,))
    step = max(1, _PART // max(1, operand[:1].size))
    return (slice(k, k + step) for k in range(0, len(operand), step))


def _select_elements(select: Computation, operand: Array, window: Window, sizes: tuple[int, ...]) -> Run:
    """Returns the flat index of the element selected in each window, and whether there is one."""
    best = np.zeros(sizes, operand.dtype)
    numbers = np.arange(operand.size, dtype=np.int32 if operand.size < 1 << 31 else np.int64).reshape(operand.shape)
    position, is_set, all_set = np.zeros(sizes, numbers.dtype), np.zeros(sizes, bool), False
    for tap in product(*(taps(w, size, base) for w, size, base in zip(window, sizes, operand.shape, strict=True))):
        targets, sources = tuple([target for _, target, _ in tap]), tuple([element for _, _, element in tap])
        rivals = operand[sources]
        if not is_set.any():
            best[targets], position[targets] = rivals, numbers[sources]
        else:
            keeps = yield Invoke(select, (best[targets], rivals), rivals.shape)
            replaces = ~keeps if all_set else ~keeps | ~is_set[targets]
            _replace(best[targets], rivals, replaces)
            _replace(position[targets], numbers[sources], replaces)
        if not all_set:
            is_set[targets] = True
            all_set = bool(is_set.all())
    return position, is_set


def _replace(target: Array, values: Array, where: Array) -> None:
    """Like `np.copyto`, but uses bit arithmetic.

    Branching for each element takes several times as long if the mask cannot be predicted.
    """
    size = target.itemsize
    if size > 8:
        np.copyto(target, values, where=where)
        return
    bits = target.view(f"i{size}")
    changes = bits ^ values.view(bits.dtype)
    changes &= np.negative(where.view(np.int8)).astype(bits.dtype, copy=False)
    bits ^= changes
