"""Kernels of opcodes that apply a scalar function over an array: reduce, reduce-window and map.

Recognised reducers go to NumPy whole; all others are run on arrays of scalars, in the order in which XLA applies them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np

from hlotool.interp.dtypes import NUMBERS, Array
from hlotool.interp.kernels.base import Invoke, Run, kernel
from hlotool.interp.kernels.conversion import converted
from hlotool.interp.monoids import monoid_of
from hlotool.interp.values import Value
from hlotool.ir.model import Computation
from hlotool.opdefs.kinds import Dims, Window
from hlotool.shapes.shape import Shape
from hlotool.shapes.values import WindowDimension

__all__: list[str] = []


def _as_parameters(values: Sequence[Array], computation: Computation, first: int) -> tuple[Array, ...]:
    """The arrays in the element types of the computation's parameters from `first` on, which mixed precision lets differ."""
    parameters = computation.parameters[first : first + len(values)]
    return tuple(converted(x, NUMBERS[p.shape.element_type]) for x, p in zip(values, parameters, strict=True))


def _listed(value: Value) -> tuple[Array, ...]:
    return value if isinstance(value, tuple) else (value,)


@kernel("map")
def map_(*operands: Array, to_apply: Computation, result: Shape) -> Run:
    return (yield Invoke(to_apply, _as_parameters(operands, to_apply, 0), result.dimensions))


# ---- reduce -----------------------------------------------------------------------------------------------------------

_LONG = 1024
"""From this many steps on it pays to ask whether a reducer may be applied in pairs."""


@kernel("reduce")
def reduce(*operands: Array, dimensions: Dims, to_apply: Computation, result: Shape) -> Run:
    """acc = f(acc, x) from the init values over the reduced elements in row-major order, whatever the order of `dimensions`."""
    count = len(operands) // 2
    inits = _as_parameters(operands[count:], to_apply, 0)
    inputs = _as_parameters(operands[:count], to_apply, count)
    axes = tuple(sorted(dimensions))
    monoid = monoid_of(to_apply)
    if monoid is not None:
        return monoid.reduced(inputs[0], inits[0], axes)
    kept = tuple([size for k, size in enumerate(inputs[0].shape) if k not in axes])
    steps = prod(inputs[0].shape[k] for k in axes)
    rows = [np.moveaxis(x, axes, range(len(axes))).reshape(steps, *kept) for x in inputs]
    state = tuple(np.broadcast_to(init, kept) for init in inits)
    if steps >= _LONG and (yield from _is_associative(to_apply, rows)):
        rows = yield from _paired(to_apply, rows)
    for k in range(len(rows[0])):
        value = yield Invoke(to_apply, (*state, *(row[k] for row in rows)), kept)
        state = _listed(value)
    return state if result.is_tuple else state[0]


def _is_associative(reducer: Computation, rows: list[Array]) -> Run:
    """Whether f(f(a, b), c) and f(a, f(b, c)) agree on neighbours among the elements: up to rounding, for all that are tried."""
    parameters = reducer.parameters
    if any(a.shape.element_type != b.shape.element_type for a, b in zip(parameters[: len(rows)], parameters[len(rows) :], strict=True)):
        return False
    triples = len(rows[0]) // 3
    a, b, c = ([row[k : 3 * triples : 3] for row in rows] for k in range(3))
    lanes = a[0].shape
    left = _listed((yield Invoke(reducer, (*_listed((yield Invoke(reducer, (*a, *b), lanes))), *c), lanes)))
    right = _listed((yield Invoke(reducer, (*a, *_listed((yield Invoke(reducer, (*b, *c), lanes)))), lanes)))
    return all(_agree(x, y) for x, y in zip(left, right, strict=True))


def _agree(x: Array, y: Array) -> bool:
    if x.dtype.kind in "biu":
        return bool((x == y).all())
    wide = np.complex128 if x.dtype.kind == "c" else np.float64
    return bool(np.allclose(x.astype(wide), y.astype(wide), rtol=1e-2 if x.dtype.itemsize < 4 else 1e-4, equal_nan=True))


def _paired(reducer: Computation, rows: list[Array]) -> Run:
    """One row: neighbours are combined until one is left, which keeps their order."""
    while (count := len(rows[0])) > 1:
        lanes = (count // 2, *rows[0].shape[1:])
        even = [row[0 : count - 1 : 2] for row in rows]
        odd = [row[1:count:2] for row in rows]
        made = _listed((yield Invoke(reducer, (*even, *odd), lanes)))
        rows = [np.concatenate([x, row[count - count % 2 :]]) for x, row in zip(made, rows, strict=True)]
    return rows


# ---- reduce-window ----------------------------------------------------------------------------------------------------


@kernel("reduce-window")
def reduce_window(*operands: Array, window: Window, to_apply: Computation, result: Shape) -> Run:
    """For each place in the window, all positions at once: acc = f(acc, x) where x is an element and no padding or hole."""
    count = len(operands) // 2
    inits = _as_parameters(operands[count:], to_apply, 0)
    inputs = _as_parameters(operands[:count], to_apply, count)
    sizes = result.elements[0].dimensions if result.is_tuple else result.dimensions
    state = [np.array(np.broadcast_to(init, sizes)) for init in inits]
    places = [[_positions(w, tap, size, base) for tap in range(w.size)] for w, size, base in zip(window, sizes, inputs[0].shape, strict=True)]
    for tap in product(*places):
        targets, sources = tuple(target for target, _ in tap), tuple(source for _, source in tap)
        chosen = [x[sources] for x in inputs]
        if chosen[0].size:
            current = [acc[targets] for acc in state]
            value = yield Invoke(to_apply, (*current, *chosen), chosen[0].shape)
            for acc, made in zip(state, _listed(value), strict=True):
                acc[targets] = made
    return tuple(state) if result.is_tuple else state[0]


def _positions(window: WindowDimension, tap: int, size: int, base: int) -> tuple[slice, slice]:
    """Along one dimension: the results whose windows have an element at `tap`, and these elements.

    Result o looks at place o * stride + tap * window_dilation - padding_low; elements lie base_dilation apart from place 0 on.
    """
    places = np.arange(size) * window.stride + (tap * window.window_dilation - window.padding_low)
    hits = np.flatnonzero((places >= 0) & (places % window.base_dilation == 0) & (places // window.base_dilation < base))
    if not len(hits):
        return slice(0, 0), slice(0, 0)
    elements = places[hits] // window.base_dilation
    step, stride = (hits[1] - hits[0], elements[1] - elements[0]) if len(hits) > 1 else (1, 1)
    return slice(int(hits[0]), int(hits[-1]) + 1, int(step)), slice(int(elements[0]), int(elements[-1]) + 1, int(stride))
