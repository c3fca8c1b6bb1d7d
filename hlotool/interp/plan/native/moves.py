"""Operations that only move elements.

The source of each element of the result is found by running the kernel itself on arrays of element
numbers.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from hlotool.interp.arrays.dtypes import Array
from hlotool.interp.engine.binding import Binding
from hlotool.interp.plan.operations import Operation
from hlotool.shapes.shape import Shape, array_shape

__all__ = ["Move", "moves_of"]

_MAX_MOVES = 32
_MAX_MOVES_PER_OPERAND = 3
"""Maximum number of moves from a single operand; more moves are replaced by a table of indices."""


class Move(NamedTuple):
    """A move of elements from an operand to the result, where they begin at element `start`.

    The elements come from the flat indices in `positions`, or, if that is None, from every
    `step`-th element of the operand, beginning at element `first`.
    """

    start: int
    length: int
    operand: int
    first: int
    step: int
    positions: Array | None = None


def moves_of(operation: Operation, binding: Binding) -> list[Move] | None:
    """Returns the moves that produce the result of an operation, in row-major order.

    Returns None if the operation has too many moves, or changes the element type.
    """
    types = {variable.shape.element_type for variable in (*operation.reads, *operation.results)}
    if len(types) != 1:
        return None
    first, numbers = 0, []
    for variable in operation.reads:
        size = prod(variable.shape.dimensions)
        numbers.append(np.arange(first, first + size).reshape(variable.shape.dimensions))
        first += size
    keywords = {name: _with_integer_shapes(value) for name, value in binding.keywords.items()}
    sources = np.asarray(binding.function(*numbers, **keywords))
    if sources.dtype != np.int64 or sources.shape != operation.results[0].shape.dimensions:
        return None
    limits = np.cumsum([number.size for number in numbers])
    flat = sources.reshape(-1)
    owners = np.searchsorted(limits, flat, side="right")
    return _group_moves(flat - (limits - [number.size for number in numbers])[owners], owners)


def _with_integer_shapes(value: Any) -> Any:
    """Replaces the element type of shapes in a fact with s64, the type of element numbers."""
    if isinstance(value, Shape):
        return array_shape("s64", value.dimensions, value.dynamic, value.layout)
    if isinstance(value, tuple):
        return tuple([_with_integer_shapes(part) for part in value])
    return value


def _group_moves(positions: Array, owners: Array) -> list[Move] | None:
    """Returns the moves for elements from the flat indices `positions` of the operands `owners`.

    If there are too many moves, returns a single move with a table of indices, or None if the
    elements come from several operands.
    """
    moves: list[Move] = []
    has_one_owner = bool((owners == owners[:1]).all())
    start = 0
    while start < len(positions):
        if len(moves) == (_MAX_MOVES_PER_OPERAND if has_one_owner else _MAX_MOVES):
            return [Move(0, len(positions), int(owners[0]), 0, 0, positions)] if has_one_owner else None
        step = int(positions[start + 1] - positions[start]) if start + 1 < len(positions) and owners[start + 1] == owners[start] else 1
        expected = positions[start] + step * np.arange(len(positions) - start)
        differs = (positions[start:] != expected) | (owners[start:] != owners[start])
        length = int(differs.argmax()) if differs.any() else len(differs)
        moves.append(Move(start, length, int(owners[start]), int(positions[start]), step))
        start += length
    return moves
