"""Fixed points: a second run of the optimizer changes nothing, even if passes enable each other."""

from __future__ import annotations

from copy import copy
from random import Random

import pytest
from held import with_bytes

import hlotool
from hlotool.testing import random_module

# Seeds that once failed: a rule for a loop matched only after another rule had changed the loop's
# body, and elements were removed from the state of an outer loop before that of an inner loop.
FORMER_FAULTS = ((71004210, 4210), (71005104, 5104), (12000173, 173))


@pytest.mark.parametrize(("seed", "size_seed"), [*FORMER_FAULTS, *((900_000_000 + k, k) for k in range(150))])
def test_a_second_run_changes_nothing(seed: int, size_seed: int) -> None:
    module = random_module(seed, size=Random(size_seed).randint(3, 40))
    after = hlotool.optimize(module)
    assert hlotool.to_text(hlotool.optimize(after)) == hlotool.to_text(after)


@pytest.mark.parametrize("seed", range(60))
def test_constants_may_be_held_as_text_or_as_bytes(seed: int) -> None:
    module = random_module(930_000_000 + seed, size=Random(seed).randint(3, 40))
    after, after_bytes = hlotool.optimize(module), hlotool.optimize(with_bytes(copy(module)))
    assert hlotool.to_text(with_bytes(after)) == hlotool.to_text(with_bytes(after_bytes))
