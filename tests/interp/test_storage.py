"""The storage of operands, which must not affect the value of an operation.

The operands are contiguous or strided arrays, broadcast scalars, or single numbers.
"""

from __future__ import annotations

import numpy as np
import pytest

import hlotool
from hlotool.interp.kernels.elementwise import ELEMENTWISE
from hlotool.opdefs.table import OPS

UNARY = [row.opcode for row in ELEMENTWISE if row.floats is not None and OPS[row.opcode].arity == 1]
BINARY = [row.opcode for row in ELEMENTWISE if row.floats is not None and OPS[row.opcode].arity == 2 and row.opcode != "complex"]
NUMBERS = np.abs(np.random.default_rng(0).normal(size=64)).astype(np.float32)
# NumPy has special functions for powers with some of these exponents.
SECOND = (0.5, 2.0, -1.0, 1.0, 0.7)


def compute(shape: str, lines: str, *arguments: object) -> np.ndarray:
    parameters = "\n".join(f"  p{k} = f32[{np.size(x) if np.ndim(x) else ''}] parameter({k})" for k, x in enumerate(arguments))
    return np.asarray(hlotool.evaluate(hlotool.parse(f"ENTRY e {{\n{parameters}\n{lines.replace('@', shape)}\n}}"), arguments))


@pytest.mark.parametrize("opcode", UNARY)
def test_one_operand(opcode: str) -> None:
    whole = compute("[64]", f"  ROOT r = f32@ {opcode}(p0)", NUMBERS)
    single = [compute("[]", f"  ROOT r = f32@ {opcode}(p0)", x) for x in NUMBERS]
    every_second = compute("[64]", f"  s = f32@ slice(p0), slice={{[0:128:2]}}\n  ROOT r = f32@ {opcode}(s)", np.repeat(NUMBERS, 2))
    assert np.array_equal(whole, single, equal_nan=True)
    assert np.array_equal(whole, every_second, equal_nan=True)


@pytest.mark.parametrize("number", SECOND)
@pytest.mark.parametrize("opcode", BINARY)
def test_two_operands(opcode: str, number: float) -> None:
    second = np.full(64, number, np.float32)
    whole = compute("[64]", f"  ROOT r = f32@ {opcode}(p0, p1)", NUMBERS, second)
    single = [compute("[]", f"  ROOT r = f32@ {opcode}(p0, p1)", x, np.float32(number)) for x in NUMBERS]
    spread = compute("[64]", f"  b = f32@ broadcast(p1), dimensions={{}}\n  ROOT r = f32@ {opcode}(p0, b)", NUMBERS, np.float32(number))
    assert np.array_equal(whole, single, equal_nan=True)
    assert np.array_equal(whole, spread, equal_nan=True)
