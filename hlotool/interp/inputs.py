"""Arguments that nobody gave: random values for the parameters of a module, the same for the same seed on every machine.

Reading arguments from files is `interp.files`' work.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hlotool.interp.dtypes import NUMBERS, Array
from hlotool.interp.values import Token, Value, with_leaves
from hlotool.ir.model import Module
from hlotool.shapes.dtype import ElementType
from hlotool.shapes.shape import Shape

__all__ = ["random_argument", "random_arguments", "random_array"]

_INTEGER_SPAN = 8
"""Random integers lie within -8 .. 8, so that indices often hit and sums do not wrap."""


def _integers(generator: np.random.Generator, sizes: tuple[int, ...], element: ElementType) -> Array:
    low, high = max(element.minimum, -_INTEGER_SPAN), min(element.maximum, _INTEGER_SPAN)
    return generator.integers(low, high, sizes, endpoint=True)


def _floats(generator: np.random.Generator, sizes: tuple[int, ...], element: ElementType) -> Array:
    return np.asarray(generator.standard_normal(sizes))


def _complexes(generator: np.random.Generator, sizes: tuple[int, ...], element: ElementType) -> Array:
    return np.asarray(generator.standard_normal(sizes) + 1j * generator.standard_normal(sizes))


def _preds(generator: np.random.Generator, sizes: tuple[int, ...], element: ElementType) -> Array:
    return generator.integers(0, 2, sizes)


_BY_KIND: dict[str, Callable[[np.random.Generator, tuple[int, ...], ElementType], Array]] = {
    "pred": _preds,
    "signed": _integers,
    "unsigned": _integers,
    "float": _floats,
    "complex": _complexes,
}


def random_array(shape: Shape, seed: int, *stream: int) -> Array:
    """Random numbers of the shape's type: floats normally distributed, integers small; `stream` tells arrays of one seed apart.

    >>> from hlotool.shapes.shape import array_shape
    >>> random_array(array_shape("s32", (4,)), 0).tolist()
    [6, 2, 0, -4]
    """
    number = NUMBERS[shape.element_type]
    generator = np.random.Generator(np.random.PCG64([seed, *stream]))
    drawn = _BY_KIND[number.kind](generator, tuple(max(size, 0) for size in shape.dimensions), number.element)
    return np.asarray(drawn.astype(number.computed).astype(number.held))


def random_argument(shape: Shape, seed: int, number: int) -> Value:
    """A random value for parameter `number`; each leaf of a tuple has its own stream."""
    found = [random_array(leaf, seed, number, k) if leaf.is_array else Token() for k, leaf in enumerate(shape.leaves())]
    return with_leaves(shape, found)


def random_arguments(module: Module, seed: int = 0) -> tuple[Value, ...]:
    """Random values for all parameters of the entry computation.

    >>> import hlotool
    >>> module = hlotool.parse("ENTRY e { ROOT p = pred[3] parameter(0) }")
    >>> random_arguments(module, 1)[0].tolist()
    [False, True, True]
    """
    return tuple(random_argument(p.shape, seed, k) for k, p in enumerate(module.entry.parameters))
