"""Random bits, which must not depend on how many bits are computed at a time."""

from __future__ import annotations

import numpy as np
import pytest

import hlotool
from hlotool.interp.arguments.inputs import random_arguments
from hlotool.interp.kernels import random_numbers
from hlotool.shapes.dtype import ELEMENT_TYPES


@pytest.mark.parametrize("algorithm", ["rng_three_fry", "rng_philox"])
@pytest.mark.parametrize("bits", [8, 32, 64])
@pytest.mark.parametrize("low", [0, 2**64 - 5])
def test_bits_do_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch, algorithm: str, bits: int, low: int) -> None:
    generate = random_numbers._ALGORITHMS[algorithm][0]
    state = np.array([3, low], np.uint64)
    for sizes in ((), (0,), (1,), (6,), (5, 9)):
        with np.errstate(over="ignore"):
            monkeypatch.setattr(random_numbers, "_BLOCK", 1 << 14)
            after, drawn = generate(state, sizes, bits)
            monkeypatch.setattr(random_numbers, "_BLOCK", 2)
            after_blocks, drawn_in_blocks = generate(state, sizes, bits)
        assert drawn.shape == sizes
        np.testing.assert_array_equal(after_blocks, after)
        np.testing.assert_array_equal(drawn_in_blocks, drawn)


def test_each_counter_may_have_its_own_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_numbers, "_BLOCK", 2)
    keys, counters = np.arange(12, dtype=np.uint64).reshape(3, 4) << np.uint64(30), np.arange(12, dtype=np.uint64).reshape(4, 3).T
    with np.errstate(over="ignore"):
        together = random_numbers.threefry(keys, counters)
        single = [random_numbers.threefry(key, counter) for key, counter in zip(keys.flat, counters.flat, strict=True)]
    for k in range(2):
        assert together[k].ravel().tolist() == [int(words[k]) for words in single]


@pytest.mark.parametrize("element_type", ["u64", "s64", "u32", "s32", "u8", "s8", "u4", "s4"])
def test_random_arguments_up_to_the_largest_integer(element_type: str) -> None:
    """Draws values with limits near the ends of an integer type, which may be inexact as floats."""
    element = ELEMENT_TYPES[element_type]
    for limit in (element.minimum, element.minimum + 1, element.maximum - 1, element.maximum):
        for operands in ("x, x, c", "c, x, x", "x, c, x"):
            text = f"ENTRY e {{ x = {element_type}[] parameter(0) c = {element_type}[] constant({limit}) "
            (x,) = random_arguments(hlotool.parse(f"{text} ROOT r = {element_type}[] clamp({operands}) }}"), 1)
            assert element.minimum <= int(x) <= element.maximum
