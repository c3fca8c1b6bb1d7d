"""Expanders that change rounding: results are equal up to rounding, and a flag is required."""

from __future__ import annotations

import pytest

import hlotool
from hlotool.optimizer.checking import trials
from hlotool.optimizer.pipeline import PASSES, PIPELINES

VECTORS = "p = f32[4,3,5] parameter(0) s = f32[3] parameter(1)"
STATISTICS = "w = f32[3] parameter(2) v = f32[3] multiply(w, w) m = f32[3] parameter(3)"
MODULES = {
    "logistic": f"{VECTORS} ROOT r = f32[4,3,5] logistic(p)",
    "batch-norm-inference": f"{VECTORS} {STATISTICS} ROOT r = f32[4,3,5] batch-norm-inference(p, s, w, m, v), epsilon=0.01, feature_index=1",
    "batch-norm-training": f"{VECTORS} w = f32[3] parameter(2) "
    "ROOT r = (f32[4,3,5], f32[3], f32[3]) batch-norm-training(p, s, w), epsilon=0.01, feature_index=1",
    "batch-norm-grad": f"{VECTORS} {STATISTICS} g = f32[4,3,5] parameter(4) "
    "ROOT r = (f32[4,3,5], f32[3], f32[3]) batch-norm-grad(p, s, m, v, g), epsilon=0.01, feature_index=1",
}
EXPANDERS = [name for name in PASSES if name.startswith("expand-")]


@pytest.mark.parametrize("opcode", MODULES)
def test_equal_up_to_rounding(opcode: str) -> None:
    name = "expand-logistic" if opcode == "logistic" else "expand-batch-norm"
    module = hlotool.parse(f"ENTRY e {{ {MODULES[opcode]} }}")
    result = hlotool.optimize(module, name, fast_math=["afn"])
    assert opcode not in {x.opcode for x in result.all_instructions()}
    assert not [d for d in hlotool.verify(result) if d.severity == "error"]
    compared = trials(module, result, 4, within_rounding=True)
    assert (compared.difference, compared.compared) == (None, 4)


@pytest.mark.parametrize("name", ["expand-logistic", "expand-batch-norm"])
def test_missing_flags_are_named(name: str) -> None:
    report = hlotool.optimize(hlotool.parse(f"ENTRY e {{ {MODULES['logistic']} }}"), name).report
    assert report.remarks == [f"pass '{name}' changes rounding and requires --fast-math=afn"]


def test_expanders_run_by_name_only() -> None:
    assert EXPANDERS
    assert not any(set(EXPANDERS).intersection(passes) for passes in PIPELINES.values())
