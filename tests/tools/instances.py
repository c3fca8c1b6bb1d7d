"""Random instances of single operations, and modules that contain many of them.

An instance consists of HLO text, in which `$` precedes each of the instance's own names, and of its
input arrays. `random_ops` and similar modules draw the instances of each opcode; this module draws
shapes and numbers, and combines instances into an HLO module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from random import Random
from typing import Any

import ml_dtypes
import numpy as np

from hlotool.interp.arrays.bits import from_patterns
from hlotool.interp.arrays.dtypes import NUMBERS, Array

__all__ = [
    "COMPLEX", "EXACT", "FAMILIES", "FLOATS", "INTEGERS", "MAIN_FLOATS", "NARROW_FLOATS", "NUMERIC", "Draw", "Instance", "Tolerance", "Undrawable",
    "family", "flushed", "module_of", "rounding", "shape_text",
]  # fmt: skip

SIGNED = ("s2", "s4", "s8", "s16", "s32", "s64")
UNSIGNED = ("u2", "u4", "u8", "u16", "u32", "u64")
INTEGERS = SIGNED + UNSIGNED
MAIN_FLOATS = ("f32", "f64", "f16", "bf16")
NARROW_FLOATS = ("f8e5m2", "f8e4m3", "f8e4m3fn", "f8e4m3b11fnuz", "f8e3m4", "f8e5m2fnuz", "f8e4m3fnuz")
# f8e8m0fnu and f4e2m1fn cannot hold the results of most operations; StableHLO has no f6 types.
FLOATS = MAIN_FLOATS + NARROW_FLOATS
COMPLEX = ("c64", "c128")
NUMERIC = ("pred", *INTEGERS, *FLOATS, *COMPLEX)


class Undrawable(Exception):
    """Raised if the values drawn so far cannot become a valid instance; draw again."""


@dataclass(frozen=True)
class Tolerance:
    """The tolerance for a float: `absolute + relative * |expected|`.

    `flushes` is true if XLA:CPU computes the value and thus treats subnormal operands and results
    as zeros. `signs` is true if the sign of a zero is defined.
    """

    relative: float = 0.0
    absolute: float = 0.0
    flushes: bool = True
    signs: bool = True


EXACT = Tolerance()
MOVED = Tolerance(flushes=False)


def rounding(element_type: str, steps: float, absolute: float = 0.0) -> Tolerance:
    """Returns a tolerance of `steps` steps of a float type, or of the parts of a complex type."""
    part = {"c64": "f32", "c128": "f64"}.get(element_type, element_type)
    form = NUMBERS[part].element.float_format
    if form is None:
        return EXACT
    step = 0.5**form.mantissa_bits
    return Tolerance(steps * step, absolute * step, signs=False)


def shape_text(element_type: str, sizes: Sequence[int]) -> str:
    return f"{element_type}[{','.join(map(str, sizes))}]"


class Instance:
    """An operation with its operands.

    `lines` defines `$r`, whose leaves are compared with `tolerances`: one for each leaf, or one for
    all.
    """

    def __init__(self) -> None:
        self.family = ""
        self.label = ""
        self.shapes: list[str] = []
        self.arrays: list[Array] = []
        self.lines: list[str] = []
        self.computations: list[str] = []
        self.result = ""
        self.leaves = 1
        self.tolerances: list[Tolerance] = [EXACT]

    @property
    def size(self) -> int:
        """A measure of the amount of data that a reader of a finding has to look at."""
        return sum(x.size + 3 for x in self.arrays) + 10 * len(self.lines) + len(self.lines[-1])

    def argument(self, element_type: str, array: Array) -> str:
        """Adds an operand with this value, and returns its name."""
        self.shapes.append(shape_text(element_type, array.shape))
        self.arrays.append(array)
        return f"$p{len(self.arrays) - 1}"

    def let(self, name: str, shape: str, expression: str) -> str:
        """Adds an intermediate value, and returns its name."""
        self.lines.append(f"${name} = {shape} {expression}")
        return f"${name}"

    def gives(self, shape: str, expression: str, *tolerances: Tolerance) -> Instance:
        """Adds the last line, the operation itself, and returns the instance."""
        self.let("r", shape, expression)
        self.result = shape
        self.label = expression.partition("(")[0]
        self.leaves = shape.count("[") if shape[0] == "(" else 1
        self.tolerances = list(tolerances) or [EXACT]
        return self

    def tolerance(self, leaf: int) -> Tolerance:
        return self.tolerances[leaf if len(self.tolerances) > 1 else 0]


Family = Callable[["Draw"], Instance]
FAMILIES: dict[str, tuple[Family, float]] = {}
"""The functions that draw instances, each with its relative frequency, by name."""


def family(name: str, weight: float = 1.0) -> Callable[[Family], Family]:
    def wrap(function: Family) -> Family:
        FAMILIES[name] = (function, weight)
        return function

    return wrap


def module_of(instances: Sequence[Instance]) -> str:
    """Returns a module that computes all instances and returns a tuple of their results' leaves."""
    computations, parameters, body, roots, shapes = [], [], [], [], []
    for k, x in enumerate(instances):

        def named(text: str, prefix: str = f"i{k}_") -> str:
            return text.replace("$", prefix)

        computations += [named(text) for text in x.computations]
        for number, shape in enumerate(x.shapes):
            parameters.append(f"  i{k}_p{number} = {shape} parameter({len(parameters)})")
        body += ["  " + named(line) for line in x.lines]
        if x.result[0] == "(":
            for leaf, shape in enumerate(_elements(x.result)):
                body.append(f"  i{k}_r{leaf} = {shape} get-tuple-element(i{k}_r), index={leaf}")
                roots.append(f"i{k}_r{leaf}")
                shapes.append(shape)
        else:
            roots.append(f"i{k}_r")
            shapes.append(x.result)
    root = f"  ROOT result = ({', '.join(shapes)}) tuple({', '.join(roots)})"
    return "\n".join(["HloModule instances", "", *computations, "ENTRY e {", *parameters, *body, root, "}", ""])


def _elements(tuple_text: str) -> list[str]:
    return [part.strip() + "]" for part in tuple_text[1:-1].replace("],", "]").split("]") if part.strip()]


# ---- drawing ----------------------------------------------------------------------------------------------------------


class Draw:
    """Draws shapes and numbers; arrays have at most `most` elements."""

    def __init__(self, random: Random, most: int = 40) -> None:
        self.random = random
        self.most = most
        self.numpy = np.random.default_rng(random.getrandbits(64))

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def pick(self, choices: Sequence[Any]) -> Any:
        return self.random.choice(choices)

    def between(self, least: int, greatest: int) -> int:
        return self.random.randint(least, max(least, greatest))

    def subset(self, items: Sequence[int], share: float = 0.5) -> list[int]:
        return [x for x in items if self.chance(share)]

    def shuffled(self, items: Sequence[int]) -> list[int]:
        return self.random.sample(list(items), len(items))

    def type(self, choices: Sequence[str]) -> str:
        """Draws a type; half of the time, one that is common in programs."""
        common = [t for t in ("f32", "s32", "f32", "bf16", "f16", "f64", "pred", "u8", "s8") if t in choices]
        return self.pick(common) if common and self.chance(0.5) else self.pick(choices)

    def sizes(self, rank: int | None = None, least: int = 0) -> tuple[int, ...]:
        """Draws dimensions, some of them 1 or 0, with at most `most` elements in total."""
        rank = self.pick((0, 1, 1, 2, 2, 2, 3, 3, 4, 5)) if rank is None else rank
        made: list[int] = []
        for _ in range(rank):
            room = max(1, self.most // max(prod(made), 1))
            size = self.pick((1, 2, 2, 3, 3, 4, 5, 7))
            made.append(0 if least == 0 and self.chance(0.03) else max(least, min(size, room)))
        self.random.shuffle(made)
        return tuple(made)

    # ---- numbers ----

    @np.errstate(all="ignore")
    def numbers(self, element_type: str, sizes: Sequence[int], style: str = "wild") -> Array:
        """Draws an array in a style.

        "wild" arrays contain any numbers except subnormals that XLA:CPU flushes; "raw" arrays may
        also contain these. "mild" numbers are small enough for sums. "whole" numbers are small
        integers, whose sums and products are exact in any order.
        """
        number = NUMBERS[element_type]
        if number.kind == "pred":
            return self.numpy.integers(0, 2, sizes).astype(bool)
        if number.kind == "complex":
            part = "f32" if element_type == "c64" else "f64"
            made = np.empty(sizes, number.held)
            made.real, made.imag = self.numbers(part, sizes, style), self.numbers(part, sizes, style)
            return made
        if number.kind == "float":
            return self._floats(element_type, sizes, style)
        return self._integers(element_type, sizes, style)

    def _integers(self, element_type: str, sizes: Sequence[int], style: str) -> Array:
        number = NUMBERS[element_type]
        least, greatest = number.element.minimum, number.element.maximum
        if style in ("whole", "mild"):
            low, high = max(least, -3), min(greatest, 3)
            return self.numpy.integers(low, high + 1, sizes).astype(number.computed).astype(number.held)
        any_number = self.numpy.integers(least, greatest, sizes, dtype=number.computed, endpoint=True)
        small = self.numpy.integers(max(least, -9), min(greatest, 70), sizes, endpoint=True).astype(number.computed)
        special = np.array([least, least + 1, greatest, greatest - 1, 0, 1, least], number.computed)
        chosen = self.numpy.choice(special, sizes)
        which = self.numpy.integers(0, 3, sizes)
        return np.asarray(np.choose(which, [any_number, small, chosen])).astype(number.held)

    def _floats(self, element_type: str, sizes: Sequence[int], style: str) -> Array:
        number = NUMBERS[element_type]
        form = number.element.float_format
        assert form is not None
        if style == "whole":
            least = -3 if form.signed else 1
            return self.numpy.integers(least, 4, sizes).astype(np.float32).astype(number.held)
        if style == "mild":
            return self.numpy.normal(0, 1.5, sizes).astype(np.float32).astype(number.held)
        if number.bits <= 8:
            bits = self.numpy.integers(0, 1 << number.bits, sizes, dtype=np.uint8)
            return from_patterns(np.asarray(bits), number)
        made = np.where(self.numpy.random(sizes) < 0.3, self._special_floats(element_type, sizes), self._spread(sizes))
        held = np.asarray(made).astype(number.held)
        return held if style == "raw" else np.where(flushed(held, element_type), number.held.type(0), held)

    def _spread(self, sizes: Sequence[int]) -> Array:
        """Draws numbers of all magnitudes, half of them near one."""
        exponent = np.where(self.numpy.random(sizes) < 0.5, self.numpy.uniform(-3, 3, sizes), self.numpy.normal(0, 0.5, sizes))
        return np.asarray(self.numpy.normal(0, 1, sizes) * 10.0**exponent)

    def _special_floats(self, element_type: str, sizes: Sequence[int]) -> Array:
        limits = ml_dtypes.finfo(NUMBERS[element_type].held)
        with np.errstate(over="ignore"):
            special = [
                np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1e3, 255.5, -128.5, 2.0**31, -(2.0**31),
                float(limits.max), -float(limits.max), float(limits.tiny), float(limits.tiny) / 4, 1 / 3,
            ]  # fmt: skip
        return self.numpy.choice(np.array(special), sizes)


@np.errstate(all="ignore")
def flushed(array: Array, element_type: str) -> Array:
    """Returns a mask of the elements that XLA:CPU treats as zeros.

    These are subnormals of the types in which XLA:CPU computes, and of bf16, which has the same
    exponents as f32.
    """
    if element_type not in ("f32", "f64", "bf16"):
        return np.zeros(array.shape, bool)
    return np.asarray(np.abs(array.astype(np.float64)) < float(ml_dtypes.finfo(array.dtype).tiny))
