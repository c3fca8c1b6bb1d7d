"""Plans compute what the reference executor computes, bit for bit, whatever the sizes of blocks are."""

from __future__ import annotations

import pytest
from fuzz_optimizer import operations
from fuzz_plans import disagreement, small_blocks
from random_texts import random_text

from hlotool.testing import random_module


@pytest.mark.parametrize("seed", range(20))
def test_random_operations(seed: int) -> None:
    for text in operations(15, seed):
        assert disagreement(text) is None, text
        with small_blocks():
            assert disagreement(text) is None, text


@pytest.mark.parametrize("seed", range(4))
def test_random_modules(seed: int) -> None:
    for number in range(15):
        text = str(random_module(1000 * seed + number))
        assert disagreement(text) is None, text


@pytest.mark.parametrize("seed", range(4))
def test_random_texts_which_mostly_have_errors(seed: int) -> None:
    for number in range(25):
        text = random_text(1000 * seed + number, instructions=15)
        assert disagreement(text, inputs=1) is None, text
