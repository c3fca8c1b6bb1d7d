"""Instances of elementwise operations with every value of a type.

Unary operations get every value of types of up to 16 bits, and binary operations every pair of
values of types of up to 8 bits. For wider types, they get many values.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np
from instances import ALL_TYPES, COMPLEX, FLOATS, Instance, Operations, flushed, instance_of, numbers

from hlotool.builder.op import Op
from hlotool.errors import BuilderError
from hlotool.interp.arrays.bits import from_patterns
from hlotool.interp.arrays.dtypes import NUMBERS, Array
from hlotool.opdefs.table import OPS
from hlotool.opdefs.traits import ELEMENTWISE
from hlotool.shapes.shape import array_shape

__all__ = ["instances_of_every_value"]

_MANY = 30_000
_REAL = [name for name in ALL_TYPES if name not in COMPLEX]


def instances_of_every_value() -> Iterator[Instance]:
    """Yields instances of all elementwise opcodes with one or two operands."""
    for opcode, op in OPS.items():
        if ELEMENTWISE not in op.traits or op.arity not in (1, 2) or opcode in ("compare", "convert", "complex", "stochastic-convert"):
            continue
        for element_type in _REAL:
            yield from _instances(opcode, element_type, op.arity)
    for source in _REAL:
        for target in ALL_TYPES:
            yield from _instances("convert", source, 1, target)
    for element_type in ALL_TYPES:
        for direction in ("EQ", "NE") if element_type in COMPLEX else ("EQ", "NE", "LT", "LE", "GT", "GE"):
            for order in ({}, {"type": "TOTALORDER"}) if element_type in FLOATS else ({},):
                yield from _instances("compare", element_type, 2, attributes={"direction": direction, **order})


def _instances(opcode: str, element_type: str, arity: int, target: str = "", attributes: dict[str, str] | None = None) -> Iterator[Instance]:
    """Yields the instance of an opcode with operands of a type, if these are allowed."""
    g, arrays = Operations(Random(0), [element_type], _MANY), _pairs(element_type) if arity == 2 else (_values(element_type),)
    operands = [g.new(element_type, array.shape) for array in arrays]
    try:
        result: Op = g.builder.instruction(opcode, operands, array_shape(target, arrays[0].shape) if target else None, attributes)
    except BuilderError:
        return
    made = instance_of(opcode, g, [result])
    made.arrays = list(arrays)
    yield made


def _values(element_type: str) -> Array:
    number = NUMBERS[element_type]
    if number.kind == "pred":
        return np.array([False, True])
    if number.bits > 16:
        return np.concatenate([numbers(np.random.default_rng(0), element_type, (_MANY,), style) for style in ("wild", "mild")])
    bits = np.arange(1 << number.bits, dtype=np.uint16 if number.bits > 8 else np.uint8)
    values = from_patterns(bits, number)
    return values[~flushed(values, element_type)]


def _pairs(element_type: str) -> tuple[Array, Array]:
    if NUMBERS[element_type].bits > 8:
        lhs, rhs = (numbers(np.random.default_rng(k), element_type, (_MANY,)) for k in range(2))
        # In a third of the pairs, both values are equal.
        return lhs, np.where(np.arange(_MANY) % 3 == 0, lhs, rhs)
    values = _values(element_type)
    return np.repeat(values, len(values)), np.tile(values, len(values))
