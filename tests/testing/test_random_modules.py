"""Random modules: valid, the same for the same seed, and of all opcodes."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings

import hlotool
from hlotool.interp.inputs import random_arguments
from hlotool.opdefs.table import OPS
from hlotool.testing import assert_runs_equal, modules, random_module

SEEDS = range(120)
LEFT_OUT = {
    "parts that only texts of compilers have": {
        "all-gather-start", "all-gather-done", "all-reduce-start", "all-reduce-done", "collective-permute-start", "collective-permute-done", "domain",
    },
    "between devices, or with the host": {"send", "send-done", "recv", "recv-done", "ragged-all-to-all"},
    "without a meaning that is known": {"custom-call", "dynamic-reshape"},
}  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS)
def test_modules_are_valid_and_run(seed: int) -> None:
    module = random_module(seed)
    text = hlotool.to_text(module)
    assert hlotool.to_text(hlotool.parse(text)) == text
    assert not [diagnostic for diagnostic in hlotool.verify(hlotool.parse(text)) if diagnostic.severity == "error"]
    assert_runs_equal(module, text, random_arguments(module, seed), rtol=0, atol=0)


def test_all_opcodes_occur() -> None:
    opcodes = {x.opcode for seed in range(600) for x in random_module(seed, communicates=True).all_instructions()}
    assert set(OPS) - opcodes == set().union(*LEFT_OUT.values())


def test_a_seed_stands_for_a_module() -> None:
    assert hlotool.to_text(random_module(11)) == hlotool.to_text(random_module(11)) != hlotool.to_text(random_module(12))


def test_size_and_types() -> None:
    small, large = (sum(len(random_module(seed, size=size).entry) for seed in range(20)) for size in (5, 80))
    assert large > 8 * small
    types = Counter(x.shape.element_type for seed in range(40) for x in random_module(seed, types=["bf16", "s8"]).entry.parameters)
    assert {name for name, _ in types.most_common(2)} == {"bf16", "s8"}


@settings(max_examples=10)
@given(modules(size=8))
def test_the_strategy_of_hypothesis(module: hlotool.ir.model.Module) -> None:
    assert module.entry.root is not None
