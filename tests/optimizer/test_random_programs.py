"""Random programs of a few operations: optimization does not change their results.

The programs reveal unforeseen errors in rules.
"""

from __future__ import annotations

import re
from random import Random
from typing import Any

import numpy as np
import pytest

import hlotool
from hlotool.errors import HlotoolError
from hlotool.interp.arrays.dtypes import NUMPY_TYPES
from hlotool.optimizer.checking import same_bits
from hlotool.shapes.dtype import ELEMENT_TYPES

TYPES = ("pred", "s8", "u8", "s32", "u32", "f8e5m2", "f8e4m3fn", "f8e8m0fnu", "f8e5m2fnuz", "bf16", "f32", "c64")
NUMBERS = {
    "pred": ("false", "true"),
    "signed": ("0", "1", "-1", "2", "-2", "7", "127", "-128", "2147483647", "-2147483648"),
    "unsigned": ("0", "1", "2", "7", "255", "4294967295"),
    "float": ("0", "-0.0", "1", "-1", "2", "0.5", "-2", "8", "3", "inf", "-inf", "nan", "1e-30", "240"),
    "complex": ("(0, 0)", "(1, 0)", "(-1, 0)", "(0, -1)"),
}
UNARY = {
    "pred": ("not",),
    "signed": ("negate", "abs", "not", "sign"),
    "unsigned": ("not",),
    "float": ("negate", "abs", "sign", "negate"),
    "complex": ("negate",),
}
BITS = ("and", "or", "xor")
BINARY = {
    "pred": BITS,
    "signed": ("add", "subtract", "multiply", "divide", "maximum", "minimum", "remainder", *BITS),
    "unsigned": ("add", "subtract", "multiply", "divide", "maximum", "minimum", *BITS),
    "float": ("add", "subtract", "multiply", "divide", "maximum", "minimum", "power"),
    "complex": ("add", "subtract", "multiply", "divide"),
}
DIRECTIONS = ("EQ", "NE", "LT", "LE", "GT", "GE")
SIZE = 14
PROGRAMS = 40
"""The number of programs in each test."""


class Program:
    """A random program whose values have the type pred or one other element type.

    Operands are mostly the latest values, so that the patterns of rules occur.
    """

    def __init__(self, element_type: str, random: Random, bound: str = "") -> None:
        self.random = random
        self.bound = bound
        self.static: set[str] = set()
        self.type = element_type
        self.kind = ELEMENT_TYPES[element_type].kind
        self.lines = [f"  a = @ parameter(0)\n  b = @ parameter(1)\n  p = {self.array('pred')} parameter(2)\n".replace("@", self.array(element_type))]
        self.values, self.preds = ["a", "b"], ["p"]
        for _ in range(random.randint(2, 7)):
            self.step()

    def array(self, element_type: str, *, static: bool = False) -> str:
        return f"{element_type}[{'' if static else self.bound}{SIZE * SIZE}]"

    def add(self, text: str, *, element_type: str | None = None) -> str:
        name = f"x{len(self.lines)}"
        if self.static.issuperset(re.findall(r"\b(?:[abp]|x[0-9]+)\b", text)):
            self.static.add(name)
        self.lines.append(f"  {name} = {self.array(element_type or self.type, static=name in self.static)} {text}\n")
        return name

    def constant(self, kind: str, element_type: str) -> str:
        number, name = self.random.choice(NUMBERS[kind]), f"c{len(self.lines)}"
        self.lines.append(f"  {name} = {element_type}[] constant({number})\n")
        return self.add(f"broadcast({name}), dimensions={{}}", element_type=element_type)

    def operand(self) -> str:
        if self.random.random() < 0.3:
            return self.constant(self.kind, self.type)
        return self.random.choice(self.values[-3:] if self.random.random() < 0.7 else self.values)

    def pred(self) -> str:
        return self.constant("pred", "pred") if self.random.random() < 0.2 else self.random.choice(self.preds[-2:])

    def step(self) -> None:
        choice = self.random.random()
        if choice < 0.2:
            self.values.append(self.add(f"{self.random.choice(UNARY[self.kind])}({self.operand()})"))
        elif choice < 0.6:
            self.values.append(self.add(f"{self.random.choice(BINARY[self.kind])}({self.operand()}, {self.operand()})"))
        elif choice < 0.7 and self.kind != "complex":
            operands, order = f"{self.operand()}, {self.operand()}", ""
            if self.kind == "float" and self.random.random() < 0.2:
                # A total order shows the signs of NaNs, which are well-defined only for parameters.
                operands, order = ", ".join(self.random.choices("ab", k=2)), ", type=TOTALORDER"
            text = f"compare({operands}), direction={self.random.choice(DIRECTIONS)}{order}"
            self.preds.append(self.add(text, element_type="pred"))
        elif choice < 0.8:
            self.values.append(self.add(f"select({self.pred()}, {self.operand()}, {self.operand()})"))
        elif choice < 0.87:
            text = f"not({self.pred()})" if self.random.random() < 0.4 else f"{self.random.choice(BITS)}({self.pred()}, {self.pred()})"
            self.preds.append(self.add(text, element_type="pred"))
        elif choice < 0.92 and self.kind not in ("pred", "complex"):
            self.values.append(self.add(f"clamp({self.operand()}, {self.operand()}, {self.operand()})"))
        else:
            other = self.random.choice(TYPES)
            there = self.add(f"convert({self.operand()})", element_type=other)
            self.values.append(self.add(f"convert({there})"))

    def text(self) -> str:
        results = {self.values[-1]: self.type, self.values[-2]: self.type, self.preds[-1]: "pred"}
        shapes = [self.array(element_type, static=name in self.static) for name, element_type in results.items()]
        return f"ENTRY e {{\n{''.join(self.lines)}  ROOT t = ({', '.join(shapes)}) tuple({', '.join(results)})\n}}"


def numbers(element_type: str) -> np.ndarray[Any, Any]:
    """Returns some numbers of a type: its limits, zeros, and small numbers."""
    row, dtype = ELEMENT_TYPES[element_type], NUMPY_TYPES[element_type]
    if row.kind == "pred":
        return np.resize([False, True], SIZE)
    if row.is_integral:
        return np.resize([row.minimum, row.maximum, row.maximum - 1, 0, 1, 2, 3, 5, 7, 100], SIZE).astype(dtype)
    with np.errstate(all="ignore"):
        return np.array([0.0, -0.0, 1.0, -1.0, 2.0, -3.0, 0.5, np.inf, -np.inf, np.nan, 1e-38, 240.0, 57344.0, 1.25]).astype(dtype)


@pytest.mark.parametrize("element_type", TYPES)
@pytest.mark.parametrize("seed", range(8))
def test_results_are_the_same(element_type: str, seed: int) -> None:
    random, values = Random(f"{element_type} {seed}"), numbers(element_type)
    arguments = [np.repeat(values, SIZE), np.tile(values, SIZE), np.resize([True, False, False], SIZE * SIZE)]
    compared = 0
    for _ in range(PROGRAMS):
        try:
            module = hlotool.parse(Program(element_type, random).text())
            expected = hlotool.evaluate(module, arguments)
        except HlotoolError:
            # The constant or the operation does not exist for this type.
            continue
        after = hlotool.optimize(module, ["logic", "arithmetic", "identities", "cse"])
        for a, b in zip(expected, hlotool.evaluate(after, arguments), strict=True):
            assert same_bits(a, b), f"{module}\n{after}"
        compared += 1
    assert compared > PROGRAMS // 4


@pytest.mark.parametrize("element_type", TYPES)
def test_dynamic_programs_stay_valid(element_type: str) -> None:
    """Checks programs with static constants and dynamic parameters.

    An operation on both has a dynamic result, which no static value may replace.
    """
    random, compared = Random(element_type), 0
    for _ in range(2 * PROGRAMS):
        try:
            module = hlotool.parse(Program(element_type, random, "<=").text())
        except HlotoolError:
            continue
        known = {d.code for d in hlotool.verify(module)}
        after = hlotool.optimize(module, ["logic", "arithmetic", "identities", "cse"])
        assert {d.code for d in hlotool.verify(after) if d.severity == "error"} <= known, f"{module}\n{after}"
        compared += not known
    assert compared
