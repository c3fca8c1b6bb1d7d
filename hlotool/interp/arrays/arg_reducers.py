"""Recognizes reducers that find the largest or smallest value and its index, as in argmax.

Such a reducer combines pairs of a value and an index, and only compares and selects its parameters.
The reducer is characterized by its selection for each of the few possible outcomes of the
comparisons. These selections are computed from its graph, so equivalent reducers are recognized
even if they are written differently.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from hlotool.interp.arrays.array_reductions import BLOCK
from hlotool.interp.arrays.dtypes import NUMBERS, Array, number_type
from hlotool.interp.arrays.monoids import sign_keys
from hlotool.ir.model import Computation, Instruction
from hlotool.record import Record

__all__ = ["ArgReducer", "arg_reducer_of"]

# The possible relations between two parameters: less, equal or greater. Values may also be NaN.
_ORDERS = "<=>"
_VALUE_CASES = (*_ORDERS, "first NaN", "second NaN", "both NaN")
_CASES = tuple(product(_VALUE_CASES, _ORDERS))
"""All combinations of a relation between two values and a relation between their indices."""

Outcome = tuple[Any, ...]
"""The result of an instruction in each case: a bool or a parameter number."""

_TRUE_ORDERS = {"EQ": "=", "NE": "<>", "LT": "<", "LE": "<=", "GT": ">", "GE": ">="}
_LOGIC = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor, "not": np.logical_not}
_EXTREMES = {"maximum": "GE", "minimum": "LE"}


class ArgReducer(Record):
    """A reducer of pairs that keeps the pair with the largest or smallest value.

    `value` is the position of the value in a pair, 0 or 1. Among equal values, the reducer keeps
    the first, or, if `smallest_index` is set, the one with the smallest index. `first_zero` is true
    if the reducer always keeps the first of two zeros. If `keeps_nans` is set, the first NaN takes
    precedence over all other values.
    """

    value: int
    is_maximum: bool
    smallest_index: bool
    first_zero: bool
    keeps_nans: bool

    def winners(self, pair: Sequence[Array], inits: Sequence[Array], axes: tuple[int, ...]) -> tuple[Array, ...] | None:
        """Returns the winning pairs along the axes, or None if argmax and argmin cannot find them.

        The caller must still apply the reducer to these pairs and `inits`.

        >>> reducer = ArgReducer(value=0, is_maximum=True, smallest_index=True, first_zero=False, keeps_nans=True)
        >>> pair, inits = (np.array([1, 3, 3], np.float32), np.arange(3)), (np.float32(-np.inf), np.array(0))
        >>> reducer.winners(pair, inits, (0,))
        (array(3., dtype=float32), array(1))
        """
        if not pair[0].size or (not self.keeps_nans and np.isnan(inits[self.value])):
            return None
        rows, indices = (_merge_axes(pair[k], axes) for k in (self.value, 1 - self.value))
        if self.smallest_index and not _ascends(indices):
            return None
        positions = _positions(np.argmax if self.is_maximum else np.argmin, rows)
        values = _take_along(rows, positions)
        if number_type(values).kind == "float" and not self._is_settled(rows, values):
            return None
        kept = [size for k, size in enumerate(pair[0].shape) if k not in axes]
        winners = values.reshape(kept), _take_along(indices, positions).reshape(kept)
        return winners if self.value == 0 else winners[::-1]

    def wins_over(self, inits: Sequence[Array], winners: Sequence[Array]) -> bool:
        """Returns whether each pair in `winners` beats `inits`, regardless of the indices.

        This is the case if every value is strictly better than the initial value.

        >>> reducer = ArgReducer(value=0, is_maximum=True, smallest_index=True, first_zero=False, keeps_nans=True)
        >>> inits = np.float32(-np.inf), np.array(0)
        >>> reducer.wins_over(inits, (np.array([1, 2]), np.array([0, 3]))), reducer.wins_over(inits, (np.array([-np.inf]), np.array([1])))
        (True, False)
        """
        better = np.greater if self.is_maximum else np.less
        return bool(better(winners[self.value], inits[self.value]).all())

    def reduce(self, pair: Sequence[Array], inits: Sequence[Array], axes: tuple[int, ...]) -> tuple[Array, ...] | None:
        """Returns the winning pairs along the axes, or None if `inits` might win or are needed."""
        winners = self.winners(pair, inits, axes)
        return winners if winners is not None and self.wins_over(inits, winners) else None

    def _is_settled(self, rows: Array, values: Array) -> bool:
        """Returns whether the first of equal values wins, and no NaN affects the result."""
        if not self.keeps_nans and np.isnan(values).any():
            return False
        return self.first_zero or not (values == 0).any() or bool(sign_keys(rows).min() != sign_keys(-np.zeros((), rows.dtype)))


def _merge_axes(x: Array, axes: tuple[int, ...]) -> Array:
    """Reshapes an array to three dimensions, with all axes merged into the middle dimension.

    The dimensions before the axes are merged into the first dimension, and those after the axes
    into the last dimension.
    """
    if axes != tuple(range(axes[0], axes[0] + len(axes))):
        x = np.moveaxis(x, axes, range(len(axes)))
        axes = tuple(range(len(axes)))
    return x.reshape(prod(x.shape[: axes[0]]), prod(x.shape[k] for k in axes), prod(x.shape[axes[-1] + 1 :]))


def _take_along(stack: Array, positions: Array) -> Array:
    """Returns the elements of `stack` at the given positions along the middle dimension."""
    # Elements that repeat along a dimension are read at its start.
    rows, _, columns = (1 if stride == 0 else size for size, stride in zip(stack.shape, stack.strides, strict=True))
    if rows == columns == 1:
        return np.asarray(stack[0, :, 0].take(positions))
    return np.asarray(stack[np.arange(rows)[:, None], positions, np.arange(columns)])


def _ascends(indices: Array) -> bool:
    """Returns whether the indices strictly increase along the middle dimension.

    Indices that repeat along another dimension are compared only once.
    """
    parts = tuple(slice(0, 1) if stride == 0 and k != 1 else slice(None) for k, stride in enumerate(indices.strides))
    column = indices[parts]
    return bool((column[:, 1:] > column[:, :-1]).all())


def _positions(search: Any, stack: Array) -> Array:
    """Returns the result of argmax or argmin along the middle dimension.

    The array is converted and transposed one block at a time, because NumPy would copy the whole
    array in both steps.
    """
    count, rows, columns = stack.shape
    computed = number_type(stack).computed
    if columns == 1 and computed == stack.dtype:
        return np.asarray(search(stack[:, :, 0], axis=1)).reshape(count, 1)
    positions = np.empty((count, columns), np.intp)
    if rows * columns <= BLOCK:
        step = BLOCK // (rows * columns)
        for k in range(0, count, step):
            block = np.ascontiguousarray(stack[k : k + step].transpose(0, 2, 1), computed)
            positions[k : k + step] = search(block, axis=2)
        return positions
    width = max(16, BLOCK // rows)
    for k, left in product(range(count), range(0, columns, width)):
        positions[k, left : left + width] = search(np.ascontiguousarray(stack[k, :, left : left + width].T, computed), axis=1)
    return positions


# ---- recognition -------------------------------------------------------------------------------


def arg_reducer_of(computation: Computation) -> ArgReducer | None:
    """Returns the ArgReducer equivalent to a computation, or None if there is none.

    >>> import hlotool
    >>> text = '''
    ... f {
    ...   a = f32[] parameter(0)
    ...   i = s32[] parameter(1)
    ...   b = f32[] parameter(2)
    ...   j = s32[] parameter(3)
    ...   p = pred[] compare(a, b), direction=GE
    ...   v = f32[] select(p, a, b)
    ...   k = s32[] select(p, i, j)
    ...   ROOT r = (f32[], s32[]) tuple(v, k)
    ... }
    ... ENTRY e { ROOT x = f32[] parameter(0) }'''
    >>> arg_reducer_of(hlotool.parse(text).computations[0])
    ArgReducer(value=0, is_maximum=True, smallest_index=False, first_zero=True, keeps_nans=False)
    """
    if len(computation.parameters) != 4 or len(computation.instructions) > _MAX_STEPS:
        return None
    numbers = {x: k for k, x in enumerate(computation.instructions)}
    return _recognize(tuple(_step(x, numbers) for x in computation.instructions), numbers[computation.root])


class _Step(NamedTuple):
    """The parts of an instruction that matter for recognition; operands are step numbers."""

    opcode: str
    element_type: str
    parameter: int | None
    operands: tuple[int, ...]
    direction: str
    is_total_order: bool


_MAX_STEPS = 40


def _step(x: Instruction, numbers: dict[Instruction, int]) -> _Step:
    element_type = x.shape.element_type if x.shape.is_array else ""
    direction, is_total_order = x.attributes.get("direction", ""), x.attributes.get("type") == "TOTALORDER"
    return _Step(x.opcode, element_type, x.parameter_number, tuple([numbers[y] for y in x.operands]), direction, is_total_order)


@lru_cache(maxsize=256)
def _recognize(steps: tuple[_Step, ...], root: int) -> ArgReducer | None:
    types = {step.parameter: step.element_type for step in steps if step.parameter is not None}
    if any(types[k] != types[k + 2] for k in (0, 1)) or steps[root].opcode != "tuple" or len(steps[root].operands) != 2:
        return None
    kinds = [NUMBERS[types[k]].kind if types[k] in NUMBERS else "" for k in (0, 1)]
    for value in (0, 1):
        if kinds[value] in ("float", "signed", "unsigned") and kinds[1 - value] in ("signed", "unsigned"):
            outcomes = _outcomes(steps, root, value, kinds[value] == "float")
            reducer = _classify(outcomes, value, kinds[value] == "float") if outcomes is not None else None
            if reducer is not None:
                return reducer
    return None


def _outcomes(steps: Sequence[_Step], root: int, value: int, is_float: bool) -> tuple[Outcome, Outcome] | None:
    """Returns the parameters selected as the value and as the index of the result in each case.

    Returns None if the reducer does more than compare and select.
    """
    outcomes: dict[int, Outcome] = {}
    for k, step in enumerate(steps):
        if k == root:
            continue
        operands = [outcomes[operand] for operand in step.operands]
        outcome = _outcome(step, operands, value, is_float) if step.parameter is None else (step.parameter,) * len(_CASES)
        if outcome is None:
            return None
        outcomes[k] = outcome
    pair = [outcomes[operand] for operand in steps[root].operands]
    return pair[value], pair[1 - value]


def _outcome(step: _Step, operands: list[Outcome], value: int, is_float: bool) -> Outcome | None:
    if step.opcode == "select" and len(operands) == 3:
        return tuple(a if chooses else b for chooses, a, b in zip(*operands, strict=True))
    if step.opcode in _LOGIC and step.element_type == "pred":
        return tuple(bool(_LOGIC[step.opcode](*bits)) for bits in zip(*operands, strict=True))
    if len(operands) != 2 or any(isinstance(a, bool) for operand in operands for a in operand):
        return None
    pairs = list(zip(_CASES, *operands, strict=True))
    if step.opcode == "compare" and not (is_float and step.is_total_order):
        holds = [_holds(case, step.direction, a, b, value) for case, a, b in pairs]
        return None if None in holds else tuple(holds)
    if step.opcode in _EXTREMES and all(a % 2 != value and b % 2 != value for _, a, b in pairs):
        # Only for indices: floats would require special treatment of NaN and zeros.
        return tuple(a if _holds(case, _EXTREMES[step.opcode], a, b, value) else b for case, a, b in pairs)
    return None


def _holds(case: tuple[str, str], direction: str, a: int, b: int, value: int) -> bool | None:
    """Returns whether a comparison of parameters `a` and `b` is true in a case.

    Returns None if one of them is a value and the other is an index, since no case covers that
    comparison.
    """
    if a % 2 != b % 2:
        return None
    is_value, (value_order, index_order) = a % 2 == value, case
    order = value_order if is_value else index_order
    if "NaN" in order:
        named = {"first NaN": (0,), "second NaN": (1,), "both NaN": (0, 1)}[order]
        if a != b or a // 2 in named:
            return direction == "NE"
        order = "="
    if a == b:
        order = "="
    elif a > b:
        order = {"<": ">", "=": "=", ">": "<"}[order]
    return order in _TRUE_ORDERS[direction]


def _classify(outcomes: tuple[Outcome, Outcome], value: int, is_float: bool) -> ArgReducer | None:
    """Returns the reducer that selects these values and indices, or None if there is none."""
    kept_first = {case: (values < 2, indices < 2) for case, values, indices in zip(_CASES, *outcomes, strict=True)}
    if any(values % 2 != value or indices % 2 == value for values, indices in zip(*outcomes, strict=True)):
        return None

    def always(case: str, first: bool) -> bool:
        return all(kept_first[case, order] == (first, first) for order in _ORDERS)

    is_maximum = kept_first[">", "="][0]
    if not (always(">", is_maximum) and always("<", not is_maximum)):
        return None
    indices = [kept_first["=", order][1] for order in "<>"]
    zeros = {kept_first["=", order][0] for order in _ORDERS}
    if not indices[0]:
        # Such a reducer keeps the last of equal values, or the one with the largest index.
        return None
    keeps_nans = not is_float or (always("first NaN", True) and always("second NaN", False) and always("both NaN", True))
    return ArgReducer(value, is_maximum, not indices[1], zeros == {True}, keeps_nans)
