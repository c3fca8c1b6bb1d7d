"""Converts literals to arrays, and provides values for elided literals.

`literals.data` reads the numbers.
"""

from __future__ import annotations

import numpy as np

from hlotool.interp.arrays.bits import from_patterns, patterns
from hlotool.interp.arrays.dtypes import NUMBERS, NUMPY_TYPES, Array
from hlotool.interp.arrays.random_arrays import random_array
from hlotool.interp.arrays.values import Value, with_leaves
from hlotool.interp.run_options import RunOptions
from hlotool.literals.literal import Literal, decode
from hlotool.shapes.shape import Shape

__all__ = ["fill_array", "literal_array", "literal_value"]


def literal_value(literal: Literal, options: RunOptions, stream: int = 0) -> Value:
    """Returns the value of a constant; tuple literals become tuples.

    Arrays are read-only unless they are elided in the literal. Elided arrays are filled according
    to the options, which must specify a fill; different values of `stream` select different random
    numbers.

    >>> from hlotool.shapes.shape import array_shape
    >>> literal_value(Literal(array_shape("s32", (2,)), "{1, 2}"), RunOptions())
    array([1, 2], dtype=int32)
    """
    arrays = [_array(leaf, options, stream) for leaf in literal.leaves() if not leaf.shape.is_tuple]
    return with_leaves(literal.shape, iter(arrays))


def literal_array(literal: Literal) -> Array:
    """Returns the values of an array literal, which are decoded once and cached in the literal."""
    known = literal.array
    if isinstance(known, np.ndarray):
        return known
    sizes = tuple(max(size, 0) for size in literal.shape.dimensions)
    number = NUMBERS[literal.shape.element_type]
    array = np.frombuffer(decode(literal), number.held).reshape(sizes)
    if number.bits < 8 and number.kind != "pred":
        array = from_patterns(patterns(array), number)
        array.flags.writeable = False
    literal.cache_array(array)
    return array


def _array(literal: Literal, options: RunOptions, stream: int) -> Array:
    if not literal.elided:
        return literal_array(literal)
    if options.elided_fill is None:
        raise ValueError("the values of a literal are elided")
    return fill_array(literal.shape, options.elided_fill, options.seed, stream)


def fill_array(shape: Shape, mode: str, seed: int = 0, stream: int = 0) -> Array:
    """Returns an array of zeros, ones, random numbers, or 0, 1, 2, ... in row-major order.

    >>> from hlotool.shapes.shape import array_shape
    >>> fill_array(array_shape("f32", (2, 2)), "iota").tolist()
    [[0.0, 1.0], [2.0, 3.0]]
    """
    dtype, sizes = NUMPY_TYPES[shape.element_type], shape.dimensions
    if mode == "random":
        return random_array(shape, seed, stream)
    if mode == "iota":
        return np.arange(int(np.prod(sizes)), dtype=np.int64).astype(dtype).reshape(sizes)
    return np.full(sizes, int(mode == "ones")).astype(dtype)
