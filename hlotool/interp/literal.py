"""Literals as arrays.

Reading numbers is `literals.data`'s work; this module wraps bytes and invents what a text leaves out.
"""

from __future__ import annotations

import numpy as np

from hlotool.interp.drawing import random_array
from hlotool.interp.dtypes import NUMPY_TYPES, Array
from hlotool.interp.options import RunOptions
from hlotool.interp.values import Value, with_leaves
from hlotool.literals.data import decode
from hlotool.shapes.literal import Literal
from hlotool.shapes.shape import Shape

__all__ = ["filled", "literal_array", "literal_value"]


def literal_value(literal: Literal, options: RunOptions, stream: int = 0) -> Value:
    """The value of a constant; tuple literals give tuples.

    Arrays are read-only. `stream` tells elided random constants of one module apart. The caller has made sure that options
    name a mode for elided values if there are any.

    >>> from hlotool.shapes.shape import array_shape
    >>> literal_value(Literal(array_shape("s32", (2,)), "{1, 2}"), RunOptions())
    array([1, 2], dtype=int32)
    """
    arrays = [_array(leaf, options, stream) for leaf in literal.leaves() if not leaf.shape.is_tuple]
    return with_leaves(literal.shape, iter(arrays))


def literal_array(literal: Literal) -> Array:
    """The values of an array literal, decoded once for its lifetime."""
    known = literal.array
    if isinstance(known, np.ndarray):
        return known
    sizes = tuple(max(size, 0) for size in literal.shape.dimensions)
    array = np.frombuffer(decode(literal), NUMPY_TYPES[literal.shape.element_type]).reshape(sizes)
    literal.cache_array(array)
    return array


def _array(literal: Literal, options: RunOptions, stream: int) -> Array:
    if not literal.elided:
        return literal_array(literal)
    assert options.elided is not None, "elided constants are refused before a run"
    return filled(literal.shape, options.elided, options.seed, stream)


def filled(shape: Shape, mode: str, seed: int = 0, stream: int = 0) -> Array:
    """An array of zeros, ones, 0 1 2 ... in row-major order, or random numbers.

    >>> from hlotool.shapes.shape import array_shape
    >>> filled(array_shape("f32", (2, 2)), "iota").tolist()
    [[0.0, 1.0], [2.0, 3.0]]
    """
    dtype, sizes = NUMPY_TYPES[shape.element_type], shape.dimensions
    if mode == "random":
        return random_array(shape, seed, stream)
    if mode == "iota":
        return np.arange(int(np.prod(sizes)), dtype=np.int64).astype(dtype).reshape(sizes)
    return np.full(sizes, int(mode == "ones")).astype(dtype)
