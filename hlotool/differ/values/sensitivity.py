"""Estimates how far the results of a module may change by rounding.

The module is run once more with arguments that are changed by about a rounding error of its
coarsest type. Versions of the module that round at other places differ by about as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hlotool.differ.values.runs import Inputs
from hlotool.errors import EvaluationError
from hlotool.interp.arrays.dtypes import NUMBERS, Array
from hlotool.interp.arrays.values import Value, leaves, with_leaves
from hlotool.interp.reports.comparison import tolerance_of
from hlotool.interp.run_options import RunOptions
from hlotool.ir.model import Module
from hlotool.opdefs.traits import CONVERTS, FREE
from hlotool.record import Record

__all__ = ["Precision", "absolute_tolerances", "coarsest_unit", "precision_of"]

# A sum of n rounding errors is larger than one of them; in runs of all pass dumps of 20 programs,
# differences stayed below twice the change that the arguments caused.
_MARGIN = 8.0
_DIGITS_OF_F32 = 24


class Precision(Record):
    """The float types that a module computes with, and the number of conversions between types.

    `unit` is the relative rounding error of the coarsest type.
    """

    types: frozenset[str]
    conversions: dict[tuple[str, str], int]
    unit: float

    def rounds_like(self, other: Precision) -> bool:
        """Returns whether both modules compute with the same types and convert as often."""
        return self.types == other.types and self.conversions == other.conversions


def precision_of(module: Module) -> Precision:
    """Returns the float types of a module's operations.

    >>> import hlotool
    >>> text = "ENTRY e { x = f32[] parameter(0) y = bf16[] convert(x) ROOT r = bf16[] negate(y) }"
    >>> sorted(precision_of(hlotool.parse(text)).types)
    ['bf16']
    """
    types: set[str] = set()
    conversions: dict[tuple[str, str], int] = {}
    for x in module.all_instructions():
        if CONVERTS in x.op.traits and x.shape.is_array:
            pair = x.operands[0].shape.element_type, x.shape.element_type
            conversions[pair] = conversions.get(pair, 0) + 1
        elif x.operands and not x.op.calls and FREE not in x.op.traits:
            types |= {leaf.element_type for leaf in x.shape.leaves() if leaf.is_array and _digits(leaf.element_type)}
    return Precision(frozenset(types), conversions, 0.5 ** min(map(_digits, types), default=_DIGITS_OF_F32))


def coarsest_unit(module: Module) -> float:
    """Returns the relative rounding error of the coarsest float type of a module's values."""
    types = {leaf.element_type for x in module.all_instructions() for leaf in x.shape.leaves() if leaf.is_array}
    return 0.5 ** min((digits for name in types if (digits := _digits(name))), default=_DIGITS_OF_F32)


def _digits(element_type: str) -> int:
    """Returns the number of significant binary digits of a float type, or 0 for other types."""
    form = NUMBERS[element_type].element.float_format
    return 0 if form is None else form.mantissa_bits + 1


def absolute_tolerances(
    inputs: Inputs, module: Module, arguments: Sequence[Sequence[Value]], expected: Sequence[Value], unit: float, options: RunOptions
) -> list[float]:
    """Returns the absolute tolerance of each leaf of the result.

    `expected` is the result on each device for these arguments, and `unit` a relative rounding
    error.
    """
    shapes = [*module.entry.root.shape.leaves()]
    values = [[*leaves(value)] for value in expected]
    floors = []
    for k, shape in enumerate(shapes):
        is_float = shape.is_array and NUMBERS[shape.element_type].kind in ("float", "complex")
        floors.append(tolerance_of(shape.element_type).absolute * max(_scale(value[k]) for value in values) if is_float else 0.0)
    with np.errstate(all="ignore"):
        try:
            changed = inputs.evaluate(module, [_changed(module, row, unit) for row in arguments], options)
        except EvaluationError:
            return floors
        for value, other in zip(values, changed, strict=True):
            for k, (a, b) in enumerate(zip(value, leaves(other), strict=True)):
                if floors[k] and isinstance(a, np.ndarray) and a.shape == b.shape:
                    floors[k] = max(floors[k], _MARGIN * _distance(a, b))
    return floors


def _changed(module: Module, row: Sequence[Value], unit: float) -> list[Value]:
    """Returns the arguments of a device with small changes, which are equal for equal numbers."""
    changed = []
    for parameter, value in zip(module.entry.parameters, row, strict=True):
        parts: list[Any] = []
        for leaf, part in zip(parameter.shape.leaves(), leaves(value), strict=True):
            if leaf.is_array and NUMBERS[leaf.element_type].kind == "float":
                wide = part.astype(np.float64)
                part = (wide * (1 + unit * np.sin(1e4 * wide + 1))).astype(part.dtype)
            parts.append(part)
        changed.append(with_leaves(parameter.shape, parts))
    return changed


def _scale(value: Array) -> float:
    """Returns the root mean square of the finite elements of an array."""
    magnitudes = np.abs(_wide(value))
    finite = magnitudes[np.isfinite(magnitudes)]
    return float(np.sqrt(np.mean(np.square(finite)))) if finite.size else 0.0


def _distance(a: Array, b: Array) -> float:
    distances = np.abs(_wide(a) - _wide(b))
    return float(distances[np.isfinite(distances)].max(initial=0))


def _wide(value: Array) -> Array:
    return value.astype(np.complex128 if value.dtype.kind == "c" else np.float64)
