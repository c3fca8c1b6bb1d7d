"""Randomly edited modules: the verifier reports errors or none, and raises no exception. `fuzz_verify.py` also compares with XLA."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from fuzz_verify import verdict
from module_edits import KINDS, case_seeds, edited

from hlotool.opdefs.modes import VerifyModes

SEEDS = case_seeds(Path(__file__).parent.parent)[::3]


@pytest.mark.parametrize("kind", KINDS)
def test_edited_modules(kind: str) -> None:
    random, count = Random(kind), 0
    outcomes = set()
    # Until some edited modules are valid and some are not.
    while count < 25 or (len(outcomes) < 2 and count < 250):
        text = edited(random.choice(SEEDS), random, kind)
        if text is None:
            continue
        count += 1
        result = verdict(text, VerifyModes(layout_sensitive=random.random() < 0.5))
        assert not result.fault, f"{result.fault}\n{text}"
        assert result.seconds < 5, text
        outcomes.add(bool(result.errors))
    assert outcomes == {False, True}
