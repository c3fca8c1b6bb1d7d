"""Instances of elementwise operations with every value of a type.

Unary operations get every value of types of up to 16 bits, and binary operations every pair of
values of types of up to 8 bits. For wider types, they get many values.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np
from instances import COMPLEX, EXACT, FLOATS, NUMERIC, Draw, Instance, flushed, shape_text
from random_ops import BINARY, EXACT_UNARY, FROM_ANY, TO_ANY, UNARY, of_function

from hlotool.interp.arrays.bits import from_patterns
from hlotool.interp.arrays.dtypes import NUMBERS, Array

__all__ = ["instances_of_every_value"]

_MANY = 30_000


def instances_of_every_value() -> Iterator[Instance]:
    for opcode, types in {**EXACT_UNARY, **UNARY}.items():
        for element_type in types:
            if element_type not in COMPLEX:
                x, values = Instance(), _values(element_type)
                made = shape_text("pred" if opcode == "is-finite" else element_type, values.shape)
                tolerance = of_function(opcode, element_type) if opcode in UNARY else EXACT
                yield x.gives(made, f"{opcode}({x.argument(element_type, values)})", tolerance)
    for source in FROM_ANY:
        for target in TO_ANY:
            # See `convert` in random_ops for the excluded cases.
            if source in COMPLEX or (source, target) in (("f64", "f16"), ("f8e8m0fnu", "pred")):
                continue
            x, values = Instance(), _values(source)
            yield x.gives(shape_text(target, values.shape), f"convert({x.argument(source, values)})")
    for opcode, types in BINARY.items():
        for element_type in types:
            if element_type not in COMPLEX and opcode != "complex":
                x, pair = Instance(), _pairs(element_type)
                names = [x.argument(element_type, values) for values in pair]
                tolerance = of_function(opcode, element_type) if opcode in ("power", "atan2") else EXACT
                yield x.gives(shape_text(element_type, pair[0].shape), f"{opcode}({', '.join(names)})", tolerance)
    for element_type in NUMERIC:
        for direction in ("EQ", "NE") if element_type in COMPLEX else ("EQ", "NE", "LT", "LE", "GT", "GE"):
            for order in ("", ", type=TOTALORDER") if element_type in FLOATS else ("",):
                x, pair = Instance(), _pairs(element_type)
                names = [x.argument(element_type, values) for values in pair]
                yield x.gives(shape_text("pred", pair[0].shape), f"compare({', '.join(names)}), direction={direction}{order}")


def _values(element_type: str) -> Array:
    number = NUMBERS[element_type]
    if number.kind == "pred":
        return np.array([False, True])
    if number.bits > 16:
        d = Draw(Random(0))
        return np.concatenate([d.numbers(element_type, (_MANY,), style) for style in ("wild", "mild")])
    bits = np.arange(1 << number.bits, dtype=np.uint16 if number.bits > 8 else np.uint8)
    values = from_patterns(bits, number)
    return values[~flushed(values, element_type)]


def _pairs(element_type: str) -> tuple[Array, Array]:
    number = NUMBERS[element_type]
    if number.bits > 8:
        d = Draw(Random(1))
        lhs, rhs = (d.numbers(element_type, (_MANY,)) for _ in range(2))
        # In a third of the pairs, both values are equal.
        return lhs, np.where(np.arange(_MANY) % 3 == 0, lhs, rhs)
    values = _values(element_type)
    return np.repeat(values, len(values)), np.tile(values, len(values))
