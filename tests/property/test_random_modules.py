"""Checks of random modules with all parts of hlotool, from `tests/tools/fuzz_modules.py`."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from fuzz_modules import CHECKS, checks_of, errors_of, examine, setup_of, smaller

from hlotool.ir.model import Module
from hlotool.testing import FEATURES

FIRST, COUNT = 7_000, 60


@pytest.mark.parametrize("first", range(FIRST, FIRST + COUNT, 10))
def test_no_check_fails(first: int) -> None:
    counts, reports, _ = examine(range(first, first + 10), [], reduces=False)
    assert not reports, "\n".join(reports)
    assert counts["opt"] == counts["modules"] == 10


def test_the_seeds_have_all_features_and_checks() -> None:
    seeds = range(FIRST, FIRST + COUNT)
    assert {feature for seed in seeds for feature in setup_of(seed).features} == {*FEATURES}
    assert {name for seed in seeds for name in checks_of(seed, [])} == {name for name, (share, _) in CHECKS.items() if share}


def test_a_failing_module_is_reduced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks that a module is reduced to little more than an addition, for which the check fails."""

    def has_addition(module: Module, random: Random | None) -> Iterator[str]:
        return iter(["has an addition"] if any(x.opcode == "add" for x in module.all_instructions()) else [])

    monkeypatch.setitem(CHECKS, "addition", (1, has_addition))
    modules = {setup: setup.module() for setup in map(setup_of, range(FIRST, FIRST + 20))}
    setup = max((setup for setup, module in modules.items() if next(has_addition(module, None), None)), key=lambda setup: size_of(modules[setup]))
    small = smaller("addition", setup, "has an addition")
    assert not errors_of(small)
    assert next(has_addition(small, None))
    assert 10 * size_of(small) < size_of(modules[setup])


def size_of(module: Module) -> int:
    return sum(1 for _ in module.all_instructions())
