"""Runs of the samples; the training step returns the same results as in JAX."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import hlotool
from hlotool.interp.arguments.argument_files import Arguments, read_npz
from hlotool.interp.arguments.inputs import random_arguments
from hlotool.interp.arrays.values import leaves

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
# all_reduce.hlo requires eight devices.
RUNNABLE = sorted(path for path in SAMPLES.glob("*.hlo") if path.name != "all_reduce.hlo")


@pytest.mark.parametrize("path", RUNNABLE, ids=[path.name for path in RUNNABLE])
def test_sample_runs(path):
    module = hlotool.parse_file(path)
    value = hlotool.evaluate(module, random_arguments(module))
    assert [leaf.shape for leaf in leaves(value)] == [shape.dimensions for shape in module.entry.root.shape.leaves()]


def test_training_step_equals_jax():
    """Compares the loss, and every gradient, updated parameter and updated velocity."""
    module = hlotool.parse_file(SAMPLES / "mlp_train_step.hlo")
    stored = read_npz(str(SAMPLES / "mlp_train_step.npz"))
    arguments = Arguments(module)
    arguments.give_all(stored, "mlp_train_step.npz")
    assert arguments.missing() == []
    found = list(leaves(hlotool.evaluate(module, arguments.values_or_random(0))))
    assert len(found) == 13
    for k, leaf in enumerate(found):
        wanted = stored[f"output.{k}"]
        assert leaf.dtype == wanted.dtype
        np.testing.assert_allclose(leaf, wanted, rtol=1e-5, atol=1e-6 * float(np.abs(wanted).max()))


def test_newton_finds_the_root():
    assert float(hlotool.evaluate(hlotool.parse_file(SAMPLES / "while_loop.hlo"), [2.0])) == pytest.approx(2**0.5, rel=1e-6)
