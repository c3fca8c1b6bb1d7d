"""Random modules: they are valid, reproducible from a seed, and contain all opcodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given, settings

import hlotool
from hlotool.interp.arguments.inputs import random_arguments
from hlotool.ir.model import Instruction, Module
from hlotool.literals.literal import Literal
from hlotool.opdefs.table import OPS
from hlotool.testing import FEATURES, assert_runs_equal, modules, random_module

SEEDS = range(120)
LEFT_OUT = {
    "occur only in compiler output": {
        "all-gather-start", "all-gather-done", "all-reduce-start", "all-reduce-done", "collective-permute-start", "collective-permute-done", "domain",
    },
    "between devices": {"ragged-all-to-all"},
    "without a known meaning": {"dynamic-reshape"},
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


def _chain(x: Instruction) -> list[Instruction]:
    """Returns an instruction, its first operand, and the first operand of that operand."""
    chain = [x]
    while len(chain) < 3 and chain[-1].operands:
        chain.append(chain[-1].operands[0])
    return chain


# The roots of reducers in modules without the feature "reducers".
REDUCERS = {"add", "and", "maximum", "minimum", "multiply", "or", "tuple", "xor"}

HAS_FEATURE: dict[str, Callable[[Module], object]] = {
    "chains": lambda module: any(len(x.operands) == 1 and [y.opcode for y in _chain(x)] == [x.opcode] * 3 for x in module.all_instructions()),
    "effects": lambda module: any(x.opcode in ("outfeed", "send", "custom-call") for x in module.all_instructions()),
    "control": lambda module: any(x.control_predecessors for x in module.all_instructions()),
    "schedule": lambda module: module.is_scheduled,
    "dynamic": lambda module: any(x.shape.is_array and any(x.shape.dynamic) for x in module.all_instructions()),
    "special": lambda module: "nan" in hlotool.to_text(module),
    "reducers": lambda module: any(c.root.opcode not in REDUCERS for x in module.all_instructions() if x.opcode == "reduce" for c in x.called),
    "shared": lambda module: any(x.opcode == "conditional" and len({*x.called}) < len(x.called) for x in module.all_instructions()),
    "unused": lambda module: any(d.code == "W037" for d in hlotool.verify(module, select=["W037"])),
    "texts": lambda module: any(isinstance(x.immediate, Literal) and x.immediate.spelling for x in module.all_instructions()),
    "layouts": lambda module: any(x.shape.layout and x.shape.layout.minor_to_major == (0, 1) for x in module.all_instructions()),
    "annotations": lambda module: "sharding=" in hlotool.to_text(module),
    "aliases": lambda module: module.input_output_alias,
}


@pytest.mark.parametrize("feature", FEATURES)
def test_modules_have_their_features(feature: str) -> None:
    with_feature = [random_module(seed, features=[feature]) for seed in range(40)]
    without = [random_module(seed) for seed in range(40)]
    assert sum(1 for module in with_feature if HAS_FEATURE[feature](module)) > 2 * sum(1 for module in without if HAS_FEATURE[feature](module))
    for module in with_feature:
        text = hlotool.to_text(module)
        assert hlotool.to_text(hlotool.parse(text)) == text
        assert not [diagnostic for diagnostic in hlotool.verify(hlotool.parse(text)) if diagnostic.severity == "error"]


def test_unknown_features() -> None:
    with pytest.raises(hlotool.errors.HlotoolError, match="no feature 'schedules'; did you mean 'schedule'"):
        random_module(0, features=["schedules"])
    with pytest.raises(hlotool.errors.HlotoolError, match="no feature 'xyz'; the features are chains, effects, "):
        random_module(0, features=["xyz"])


def test_a_seed_determines_a_module() -> None:
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
