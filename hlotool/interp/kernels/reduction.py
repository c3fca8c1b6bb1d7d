"""Kernels of opcodes that apply a scalar function over arrays: reduce, reduce-window, scan and map.

Recognized reducers become NumPy reductions; all others run on batches, in the order in which XLA
applies them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np

from hlotool.interp.arrays.arg_reducers import arg_reducer_of
from hlotool.interp.arrays.dtypes import NUMBERS, Array, number_type
from hlotool.interp.arrays.monoids import Monoid, independent_results, monoid_of
from hlotool.interp.arrays.values import Value
from hlotool.interp.arrays.windows import taps
from hlotool.interp.kernels.base import Invoke, Run, kernel
from hlotool.interp.kernels.conversion import convert_values
from hlotool.interp.kernels.pooling import reduce_windows, reduce_windows_in_order
from hlotool.ir.model import Computation, Instruction
from hlotool.opdefs.kinds import Bool, Dims, Int, SingleDim, Window
from hlotool.shapes.shape import Shape
from hlotool.shapes.values import WindowDimension

__all__ = ["as_parameters", "as_tuple"]


def as_parameters(values: Sequence[Array], computation: Computation, first: int) -> tuple[Array, ...]:
    """Converts arrays to the types of a computation's parameters, from parameter `first` on.

    With mixed precision, the types may differ.
    """
    parameters = computation.parameters[first : first + len(values)]
    return tuple(convert_values(x, NUMBERS[p.shape.element_type]) for x, p in zip(values, parameters, strict=True))


def as_tuple(value: Value) -> tuple[Array, ...]:
    return value if isinstance(value, tuple) else (value,)


@kernel("map")
def map_(*operands: Array, to_apply: Computation, result: Shape) -> Run:
    # Dynamic dimensions may be smaller than in the result's shape.
    sizes = operands[0].shape if operands else result.dimensions
    return (yield Invoke(to_apply, as_parameters(operands, to_apply, 0), sizes))


# ---- reduce ------------------------------------------------------------------------------------

_LONG = 1024
"""Minimum number of steps for which it is worth testing whether a reducer is associative."""
_WINDOW = 32
_LIBRARY_TYPES, _LIBRARY_SIZE = ("f32", "f64"), 4096


def _depends_on_order(x: Instruction) -> bool:
    """Returns whether results depend on NumPy's order of additions or multiplications."""
    monoids = independent_results(x.attributes["to_apply"])
    kinds = [NUMBERS[operand.shape.element_type].kind for operand in x.operands]
    return any(monoid is not None and not monoid.compares and kinds[k] in ("float", "complex") for k, monoid in monoids.items())


@kernel("reduce", in_layout=_depends_on_order)
def reduce(*operands: Array, dimensions: Dims, to_apply: Computation, result: Shape) -> Run:
    """Computes acc = f(acc, x) over the reduced elements in row-major order, starting from init.

    The order of `dimensions` does not matter. HLO does not define how often an init value is
    included, or how elements are grouped. This makes a difference if init is not an identity of the
    reducer, or if the reducer is not associative. In both respects, the kernel follows XLA:CPU (see
    `_starts_once` and `_reduce_in_windows`). A single element is returned unchanged.
    """
    count = len(operands) // 2
    inits = as_parameters(operands[count:], to_apply, 0)
    inputs = as_parameters(operands[:count], to_apply, count)
    axes = tuple(sorted(dimensions))
    if all(inputs[0].shape[k] == 1 for k in axes):
        kept = [size for k, size in enumerate(inputs[0].shape) if k not in axes]
        unchanged = tuple(convert_values(x, number_type(init)).reshape(kept) for x, init in zip(inputs, inits, strict=True))
        return unchanged if result.is_tuple else unchanged[0]
    if count > 1:
        return (yield from _reduce_jointly(to_apply, inputs, inits, axes))
    results = yield from _reduce_separately(to_apply, inputs, inits, axes)
    # A reducer of single numbers may also return a tuple.
    return results if result.is_tuple else results[0]


def _reduce_jointly(reducer: Computation, inputs: Sequence[Array], inits: Sequence[Array], axes: tuple[int, ...]) -> Run:
    """Returns a tuple of the reduced inputs.

    Reducers such as argmax are only applied to the init values and the winning elements, and only
    if the init values might win.
    """
    arg_reducer = arg_reducer_of(reducer) if len(inputs) == 2 else None
    winners = arg_reducer.winners(inputs, inits, axes) if arg_reducer is not None else None
    if winners is None or arg_reducer is None:
        return (yield from _reduce_separately(reducer, inputs, inits, axes))
    if arg_reducer.wins_over(inits, winners):
        return winners
    kept = winners[0].shape
    return as_tuple((yield Invoke(reducer, (*(np.broadcast_to(init, kept) for init in inits), *winners), kept)))


def _reduce_separately(reducer: Computation, inputs: Sequence[Array], inits: Sequence[Array], axes: tuple[int, ...]) -> Run:
    """Returns a tuple of the reduced inputs.

    A result that does not depend on the other results is computed separately.
    """
    alone = independent_results(reducer)
    together = (yield from _fold(reducer, inputs, inits, axes)) if len(alone) < len(inputs) else inputs
    windows: Sequence[Array] | None = None
    folded: Sequence[Array] | None = None
    results = []
    for k, (x, init) in enumerate(zip(inputs, inits, strict=True)):
        if k not in alone:
            results.append(together[k])
            continue
        monoid, reduced = alone[k], x
        rounded = _rounds_each_step(x, monoid, axes)
        if monoid is None or rounded or not (monoid.may_repeat(init) or _starts_once(x, monoid, axes)):
            windows = windows or (yield from _reduce_in_windows(reducer, inputs, inits, axes))
            reduced = windows[k]
        if monoid is not None and not rounded:
            results.append(monoid.reduce(reduced, init, axes))
            continue
        folded = folded or (yield from _fold(reducer, windows or inputs, inits, axes))
        results.append(folded[k])
    return tuple(results)


def _starts_once(x: Array, monoid: Monoid, axes: tuple[int, ...]) -> bool:
    """Returns whether XLA:CPU includes init only once.

    XLA:CPU computes large sums with a library, and sums of equal elements as products.
    """
    if not monoid.is_sum:
        return False
    if number_type(x).element.name in _LIBRARY_TYPES and x.size >= _LIBRARY_SIZE:
        return True
    first = x[tuple([slice(0, 1) if k in axes else slice(None) for k in range(x.ndim)])]
    return bool((x == first).all())


def _is_rounded(x: Array, monoid: Monoid) -> bool:
    """Returns whether results of the operation must be rounded to the element type.

    If so, the final result depends on when they are rounded.
    """
    number = number_type(x)
    return not monoid.compares and number.kind == "float" and number.computed != number.held


def _rounds_each_step(x: Array, monoid: Monoid | None, axes: tuple[int, ...]) -> bool:
    """Returns whether sums and products of narrow floats are rounded after each step.

    XLA:CPU rounds after each step. If windows have so many elements that single steps would take
    too long, hlotool rounds only once, which is more exact.
    """
    return monoid is not None and _is_rounded(x, monoid) and prod(min(x.shape[k], _WINDOW) for k in axes) <= _LONG


def _reduce_in_windows(reducer: Computation, inputs: Sequence[Array], inits: Sequence[Array], axes: tuple[int, ...]) -> Run:
    """Reduces windows of 32 elements along each dimension, until no reduced dimension is longer."""
    while any(inputs[0].shape[k] > _WINDOW for k in axes):
        window, sizes = [], []
        for k, size in enumerate(inputs[0].shape):
            length = max(1, min(size, _WINDOW)) if k in axes else 1
            positions = -(-size // length)
            surplus = positions * length - size
            window.append(WindowDimension(length, length, surplus // 2, surplus - surplus // 2))
            sizes.append(positions)
        inputs = yield from _window_fold(reducer, inputs, inits, tuple(window), sizes)
    return inputs


def _fold(reducer: Computation, inputs: Sequence[Array], inits: Sequence[Array], axes: tuple[int, ...]) -> Run:
    """Returns a tuple of the reduced inputs, computed in one step per reduced element.

    Each step updates all results at once.
    """
    kept = tuple([size for k, size in enumerate(inputs[0].shape) if k not in axes])
    steps = prod(inputs[0].shape[k] for k in axes)
    rows = [np.moveaxis(x, axes, range(len(axes))).reshape(steps, *kept) for x in inputs]
    state = tuple(np.broadcast_to(init, kept) for init in inits)
    if steps >= _LONG and (yield from _is_associative(reducer, rows)):
        rows = yield from _combine_in_pairs(reducer, rows)
    for k in range(len(rows[0])):
        state = as_tuple((yield Invoke(reducer, (*state, *(row[k] for row in rows)), kept)))
    return state


def _is_associative(reducer: Computation, rows: list[Array]) -> Run:
    """Returns whether f(f(a, b), c) equals f(a, f(b, c)) up to rounding.

    The test uses triples of adjacent elements.
    """
    parameters = reducer.parameters
    if any(a.shape.element_type != b.shape.element_type for a, b in zip(parameters[: len(rows)], parameters[len(rows) :], strict=True)):
        return False
    triples = len(rows[0]) // 3
    a, b, c = ([row[k : 3 * triples : 3] for row in rows] for k in range(3))
    batch = a[0].shape
    left = as_tuple((yield Invoke(reducer, (*as_tuple((yield Invoke(reducer, (*a, *b), batch))), *c), batch)))
    right = as_tuple((yield Invoke(reducer, (*a, *as_tuple((yield Invoke(reducer, (*b, *c), batch)))), batch)))
    return all(_agree(x, y) for x, y in zip(left, right, strict=True))


def _agree(x: Array, y: Array) -> bool:
    if x.dtype.kind in "biu":
        return bool((x == y).all())
    wide = np.complex128 if x.dtype.kind == "c" else np.float64
    return bool(np.allclose(x.astype(wide), y.astype(wide), rtol=1e-2 if x.dtype.itemsize < 4 else 1e-4, equal_nan=True))


def _combine_in_pairs(reducer: Computation, rows: list[Array]) -> Run:
    """Combines adjacent rows, in order, until one row is left, and returns that row."""
    while (count := len(rows[0])) > 1:
        batch = (count // 2, *rows[0].shape[1:])
        even = [row[0 : count - 1 : 2] for row in rows]
        odd = [row[1:count:2] for row in rows]
        pairs = as_tuple((yield Invoke(reducer, (*even, *odd), batch)))
        rows = [np.concatenate([x, row[count - count % 2 :]]) for x, row in zip(pairs, rows, strict=True)]
    return rows


# ---- scan --------------------------------------------------------------------------------------


@kernel("scan")
def scan(*operands: Array, dimensions: SingleDim, num_carries: Int, is_reverse: Bool, to_apply: Computation, result: Shape) -> Run:
    """Calls the computation for each index along the dimension.

    An output is stored at the index of the inputs that it was computed from.
    """
    count, axis = len(operands) - num_carries, dimensions[0]
    rows = [np.moveaxis(x, axis, 0) for x in operands[:count]]
    carries = operands[count:]
    shapes = result.elements if result.is_tuple else (result,)
    kept = shapes[: len(shapes) - num_carries]
    steps = len(rows[0]) if rows else kept[0].dimensions[axis]
    # If the dimension is dynamic, there may be fewer steps than the result has elements.
    outputs = [np.zeros(shape.dimensions, NUMBERS[shape.element_type].held) for shape in kept]
    for k in range(steps - 1, -1, -1) if is_reverse else range(steps):
        results = as_tuple((yield Invoke(to_apply, (*(row[k] for row in rows), *carries))))
        for output, value in zip(outputs, results, strict=False):
            np.moveaxis(output, axis, 0)[k] = value
        carries = results[len(outputs) :]
    return (*outputs, *carries) if result.is_tuple else (*outputs, *carries)[0]


# ---- reduce-window -----------------------------------------------------------------------------

_LONG_WINDOW = 64
"""Maximum length of windows that are not composed of shorter windows.

JAX expresses a running sum with windows as long as the array.
"""


@kernel("reduce-window", in_layout=_depends_on_order)
def reduce_window(*operands: Array, window: Window, to_apply: Computation, result: Shape) -> Run:
    """Computes acc = f(acc, x) for each tap of the window, for all positions at once.

    Padding and holes are skipped.
    """
    count = len(operands) // 2
    inits = as_parameters(operands[count:], to_apply, 0)
    inputs = as_parameters(operands[:count], to_apply, count)
    sizes = result.elements[0].dimensions if result.is_tuple else result.dimensions
    if not window:
        # XLA:CPU returns a scalar unchanged.
        return inputs if result.is_tuple else inputs[0]
    monoid = monoid_of(to_apply) if count == 1 else None
    pools = reduce_windows(monoid, inputs[0], inits[0], window, sizes) if monoid is not None else None
    if pools is not None:
        return (pools,) if result.is_tuple else pools
    if all(w.window_dilation == 1 for w in window) and (yield from _may_be_grouped(to_apply, inputs, window)):
        state = yield from _long_window_fold(to_apply, inputs, inits, window, sizes)
    else:
        state = yield from _window_fold(to_apply, inputs, inits, window, sizes)
    return state if result.is_tuple else state[0]


def _window_fold(reducer: Computation, inputs: Sequence[Array], inits: Sequence[Array], window: Window, sizes: Sequence[int]) -> Run:
    """Returns a tuple of the reductions at `sizes` positions of the window.

    Padding and holes are skipped.
    """
    monoid = monoid_of(reducer) if len(inputs) == 1 else None
    if monoid is not None and _is_rounded(inputs[0], monoid):
        return (reduce_windows_in_order(monoid, inputs[0], inits[0], window, sizes),)
    state = tuple(np.array(np.broadcast_to(init, sizes)) for init in inits)
    positions = [taps(w, size, base) for w, size, base in zip(window, sizes, inputs[0].shape, strict=True)]
    for position in product(*positions):
        targets, sources = tuple(target for _, target, _ in position), tuple(source for _, _, source in position)
        chosen = [x[sources] for x in inputs]
        if chosen[0].size:
            current = [acc[targets] for acc in state]
            value = yield Invoke(reducer, (*current, *chosen), chosen[0].shape)
            for acc, combined in zip(state, as_tuple(value), strict=True):
                acc[targets] = combined
    return state


def _may_be_grouped(reducer: Computation, inputs: Sequence[Array], window: Window) -> Run:
    """Returns whether windows have many elements and the reducer is associative."""
    counts = [min(w.size, base) for w, base in zip(window, inputs[0].shape, strict=True)]
    if max(counts) <= _LONG_WINDOW:
        return False
    if monoid_of(reducer) is not None:
        return True
    return (yield from _is_associative(reducer, [np.moveaxis(x, counts.index(max(counts)), 0) for x in inputs]))


def _long_window_fold(reducer: Computation, inputs: Sequence[Array], inits: Sequence[Array], window: Window, sizes: Sequence[int]) -> Run:
    """Returns the result of `_window_fold` for an associative reducer, including init only once.

    Reduces one dimension at a time, starting with the last one.
    """
    rows = list(inputs)
    is_empty = np.zeros(sizes, bool)
    for axis in range(len(window) - 1, -1, -1):
        low, high = _window_ranges(window[axis], sizes[axis], rows[0].shape[axis])
        is_empty |= (low >= high).reshape([-1 if k == axis else 1 for k in range(len(window))])
        if not is_empty.all():
            reduced = yield from _reduce_ranges(reducer, [np.moveaxis(x, axis, 0) for x in rows], low, high)
            rows = [np.moveaxis(x, 0, axis) for x in reduced]
    state = tuple(np.broadcast_to(init, sizes) for init in inits)
    if is_empty.all():
        return state
    value = yield Invoke(reducer, (*state, *rows), tuple(sizes))
    return tuple(np.where(is_empty, init, x) for init, x in zip(inits, as_tuple(value), strict=True))


def _window_ranges(window: WindowDimension, size: int, base: int) -> tuple[Array, Array]:
    """Returns the start and end of the range of elements in each window along one dimension.

    The end is exclusive. The window must not be dilated.
    """
    start = np.arange(size) * window.stride - window.padding_low
    # Elements are base_dilation apart, so this many of them are before a position.
    low, high = (np.clip(-(-position // window.base_dilation), 0, base) for position in (start, start + window.size))
    return low, high


def _reduce_ranges(reducer: Computation, rows: Sequence[Array], low: Array, high: Array) -> Run:
    """Returns the reductions of the ranges from `low` to `high` along the first dimension.

    Each reduction is composed of the reductions of ranges of 1, 2, 4, ... elements. The results of
    empty ranges are arbitrary.
    """
    totals = [np.empty((len(low), *row.shape[1:]), row.dtype) for row in rows]
    position, length = low.copy(), high - low
    started = np.zeros(len(low), bool)
    span, spans = 1, list(rows)
    while True:
        takes = (length & span) != 0
        first, more = takes & ~started, takes & started
        for target, x in zip(totals, spans, strict=True):
            target[first] = x[position[first]]
        if more.any():
            pairs = (*(target[more] for target in totals), *(x[position[more]] for x in spans))
            for target, value in zip(totals, as_tuple((yield Invoke(reducer, pairs, pairs[0].shape))), strict=True):
                target[more] = value
        position, started = np.where(takes, position + span, position), started | takes
        if 2 * span > length.max():
            return totals
        # Ranges of twice the length begin at all indices except the last ones.
        halves = (*(x[:-span] for x in spans), *(x[span:] for x in spans))
        spans = list(as_tuple((yield Invoke(reducer, halves, halves[0].shape))))
        span *= 2
