"""Numbers of less than eight bits are the low bits of a byte, and its other bits are 0, however they were made."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from instances import FAMILIES, Draw, module_of
from random_ops import random_instance

import hlotool
from hlotool.interp.dtypes import NUMBERS
from hlotool.interp.values import leaves
from hlotool.ir.model import Module

NARROW = {name: number for name, number in NUMBERS.items() if number.bits < 8 and number.kind != "pred"}
WIDTHS = {number.held: number.bits for number in NARROW.values()}


class NarrowDraw(Draw):
    """Draws narrow types wherever a family may have them."""

    def type(self, choices: Any) -> str:
        narrow = [name for name in choices if name in NARROW]
        return self.pick(narrow) if narrow else super().type(choices)


def upper_bits(module: Module, arguments: list[Any], executor: str) -> list[Any]:
    """The results in which bits above the width of the type are set."""
    values = leaves(hlotool.evaluate(module, arguments, executor=executor))
    arrays = [np.asarray(value) for value in values]
    return [x for x in arrays if x.dtype in WIDTHS and (x.view(np.uint8) >> WIDTHS[x.dtype]).any()]


@pytest.mark.parametrize("executor", ["reference", "plan"])
@pytest.mark.parametrize("family", FAMILIES)
def test_results(family: str, executor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("random_ops.Draw", NarrowDraw)
    random = Random(family)
    for _ in range(12):
        x = random_instance(random, [family])
        # Arguments with other upper bits are the same numbers.
        given = [(a.view(np.uint8) | np.uint8(0xFF << WIDTHS[a.dtype] & 0xFF)).view(a.dtype) if a.dtype in WIDTHS else a for a in x.arrays]
        module = hlotool.parse(module_of([x]))
        assert not upper_bits(module, given, executor), module_of([x])


@pytest.mark.parametrize("executor", ["reference", "plan"])
@pytest.mark.parametrize("name", NARROW)
def test_constants_are_equal_to_what_is_computed(name: str, executor: str) -> None:
    number = NARROW[name]
    numbers = np.arange(1 << number.bits).astype(np.uint8).view(number.held)
    text = ", ".join(str(x) for x in numbers.tolist())
    module = hlotool.parse(f"ENTRY e {{ c = {name}[{len(numbers)}] constant({{{text}}}) ROOT r = {name}[{len(numbers)}] copy(c) }}")
    assert not upper_bits(module, [], executor)
    wide = "f32" if number.kind == "float" else "s32"
    converted = hlotool.parse(f"ENTRY e {{ p = {wide}[{len(numbers)}] parameter(0) ROOT r = {name}[{len(numbers)}] convert(p) }}")
    computed = hlotool.evaluate(converted, [numbers.astype(np.float32 if wide == "f32" else np.int32)], executor=executor)
    assert hlotool.evaluate(module, [], executor=executor).tobytes() == computed.tobytes()


@pytest.mark.parametrize("executor", ["reference", "plan"])
@pytest.mark.parametrize("name", NARROW)
def test_numbers(name: str, executor: str) -> None:
    """Scalars are arrays, too."""
    text = f"ENTRY e {{ p = {name}[] parameter(0) c = {name}[] constant(0) ROOT t = ({name}[], {name}[]) tuple(p, c) }}"
    number = NARROW[name]
    results = hlotool.evaluate(hlotool.parse(text), [np.array(0xFF, np.uint8).view(number.held)], executor=executor)
    assert [(type(x), x.dtype, x.shape) for x in results] == [(np.ndarray, number.held, ())] * 2
    assert not upper_bits(hlotool.parse(text), [np.array(0xFF, np.uint8).view(number.held)], executor)
