"""Differences after random edits of programs: exactly the edits are reported, with their kinds.

`tests/tools/fuzz_differ.py` tries more edits.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from edit_modules import EDITS, edit_module, renamed, reordered
from fuzz_differ import PROGRAMS, faults, hash_seed_faults
from repetitive import repetitive_module

import hlotool

PATHS = sorted(PROGRAMS.glob("*.hlo"))


@pytest.mark.parametrize("kind", sorted(EDITS))
def test_single_edits(kind: str) -> None:
    random = Random(kind)
    outcomes: Counter[str] = Counter()
    while outcomes.total() < 4:
        path: Path = random.choice(PATHS)
        module = hlotool.parse(path.read_text())
        edited = edit_module(module, 1, random, [kind])
        if edited is None:
            continue
        edited = reordered(edited, random)
        edited.module = renamed(edited.module, random)
        assert not [*faults(edited, hlotool.diff(module, edited.module), outcomes)], path.name
    # Most edits have only one explanation.
    assert outcomes["as edited"] >= (0 if kind in ("clone", "inline", "outline") else 2)


@pytest.mark.parametrize("seed", range(6))
def test_repetitive_modules(seed: int) -> None:
    random = Random(seed)
    outcomes: Counter[str] = Counter()
    while outcomes.total() < 4:
        # The module is printed first, since printing adds defaults, which are not edits.
        module = hlotool.parse(hlotool.to_text(hlotool.parse(repetitive_module(random, random.randint(2, 10)))))
        edited = edit_module(module, 1, random)
        if edited is None:
            continue
        edited = reordered(edited, random)
        edited.module = renamed(edited.module, random)
        assert not [*faults(edited, hlotool.diff(module, edited.module), outcomes)], str(module)


def test_hash_seeds() -> None:
    assert not [*hash_seed_faults(2, 1)]
