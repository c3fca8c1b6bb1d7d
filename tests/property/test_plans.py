"""Plans, which compute the same bits as the reference executor, with any block size."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from executors import LIMITS, disagreement, outcome, small_blocks
from looped import compiled_clusters, compiled_loops
from random_sizes import random_sizes_text
from random_texts import random_text
from sources import operations

import hlotool
from hlotool.testing import random_module


@pytest.mark.parametrize("seed", range(20))
def test_random_operations(seed: int) -> None:
    random = Random(seed)
    for _ in range(15):
        text = operations(random)
        assert disagreement(text) is None, text
        with small_blocks():
            assert disagreement(text) is None, text


@pytest.mark.parametrize("seed", range(10))
def test_random_clusters_in_machine_code(seed: int) -> None:
    with small_blocks(), compiled_clusters() as sources:
        random = Random(seed)
        for _ in range(40):
            text = operations(random)
            assert disagreement(text) is None, text
        for number in range(10):
            text = str(random_module(1000 * seed + number))
            assert disagreement(text) is None, text
    assert sources, "nothing was compiled"


@pytest.mark.parametrize("seed", range(4))
def test_random_modules(seed: int) -> None:
    for number in range(15):
        text = str(random_module(1000 * seed + number))
        assert disagreement(text) is None, text


@pytest.mark.parametrize("seed", range(4))
def test_random_modules_that_mostly_have_errors(seed: int) -> None:
    for number in range(25):
        text = random_text(1000 * seed + number, instructions=15)
        assert disagreement(text, inputs=1) is None, text


@pytest.mark.parametrize("seed", range(4))
def test_sizes_out_of_range_are_errors_everywhere(seed: int) -> None:
    """Checks that both executors report an error, even if the result is unused."""
    random, failures = Random(seed), 0
    for _ in range(25):
        text, x = random_sizes_text(random), np.arange(5, dtype=np.float32)
        arguments = [x, x + 1, *(np.int32(random.choice((-1, 0, 2, 3, 5, 6, 100))) for _ in range(2))]
        _, expected = outcome(hlotool.parse(text), arguments, "reference", LIMITS)
        failures += bool(expected)
        assert bool(outcome(hlotool.parse(text), arguments, "plan", LIMITS)[1]) == bool(expected), text
        with small_blocks(), compiled_loops(with_llvm=False):
            assert bool(outcome(hlotool.parse(text), arguments, "plan", LIMITS)[1]) == bool(expected), text
    assert 0 < failures < 25
