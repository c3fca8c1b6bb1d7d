"""Edited modules: valid, or reported, and never a traceback. `fuzz_verify.py` does the same for hours, and asks XLA."""

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
    random, done = Random(kind), 0
    refused = set()
    # An edit that hurts nobody, or everybody, would test nothing.
    while done < 25 or (len(refused) < 2 and done < 250):
        text = edited(random.choice(SEEDS), random, kind)
        if text is None:
            continue
        done += 1
        found = verdict(text, VerifyModes(layout_sensitive=random.random() < 0.5))
        assert not found.fault, f"{found.fault}\n{text}"
        assert found.seconds < 5, text
        refused.add(bool(found.errors))
    assert refused == {False, True}
