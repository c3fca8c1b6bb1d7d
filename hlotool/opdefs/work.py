"""How much an instruction computes, counted as XLA's HloCostAnalysis does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any, NamedTuple

from hlotool.shapes.shape import Shape

__all__ = ["Work", "WorkOf", "elements", "one_for_each_element"]


class Work(NamedTuple):
    """Operations of arithmetic, evaluations of transcendental functions, and how often the called computations run, by attribute."""

    flops: int = 0
    transcendentals: int = 0
    runs: Mapping[str, int] = {}


WorkOf = Callable[[Shape, tuple[Shape, ...], Mapping[str, Any]], Work]
"""The work of an instruction with this result, these operands and attributes, without that of the computations that it calls."""


def elements(shape: Shape) -> int:
    """The number of elements in all arrays of a shape; sizes that are not known count as 0.

    >>> from hlotool.shapes.shape import array_shape
    >>> elements(array_shape("f32", (2, 3)))
    6
    """
    return sum(prod(max(size, 0) for size in leaf.dimensions) for leaf in shape.leaves() if leaf.is_array)


def one_for_each_element(result: Shape, operands: tuple[Shape, ...], attributes: Mapping[str, Any]) -> Work:
    """An operation for each element of the result."""
    return Work(elements(result))
