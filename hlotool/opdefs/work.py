"""Operation counts of instructions, as in XLA's HloCostAnalysis."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any, NamedTuple

from hlotool.shapes.shape import Shape

__all__ = ["Work", "WorkOf", "count_result_elements", "elements"]


class Work(NamedTuple):
    """The amount of work of an instruction.

    `flops` counts arithmetic operations, `transcendentals` counts evaluations of transcendental
    functions, and `runs` counts the runs of called computations, by attribute.
    """

    flops: int = 0
    transcendentals: int = 0
    runs: Mapping[str, int] = {}


WorkOf = Callable[[Shape, tuple[Shape, ...], Mapping[str, Any]], Work]
"""A function that returns the work of an instruction, given its result, operands and attributes.

The work of called computations is not included.
"""


def elements(shape: Shape) -> int:
    """Returns the number of elements in all arrays of a shape; unknown sizes count as 0.

    >>> from hlotool.shapes.shape import array_shape
    >>> elements(array_shape("f32", (2, 3)))
    6
    """
    return sum(prod(max(size, 0) for size in leaf.dimensions) for leaf in shape.leaves() if leaf.is_array)


def count_result_elements(result: Shape, operands: tuple[Shape, ...], attributes: Mapping[str, Any]) -> Work:
    """Counts one operation for each element of the result."""
    return Work(elements(result))
