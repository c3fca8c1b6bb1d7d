"""Fourier transforms, whose results must not depend on how many are computed at a time."""

from __future__ import annotations

import numpy as np
import pytest

import hlotool
from hlotool.interp.arguments.inputs import random_arguments
from hlotool.interp.kernels import linear_algebra

CASES = [
    ("FFT", "c64[3,2,6,8]", "c64[3,2,6,8]", "8"),
    ("IFFT", "c64[5,6,8]", "c64[5,6,8]", "6,8"),
    ("RFFT", "f32[3,2,6,8]", "c64[3,2,6,5]", "6,8"),
    ("IRFFT", "c64[7,5]", "f32[7,8]", "8"),
    ("RFFT", "f64[8]", "c128[5]", "8"),
    ("FFT", "c64[0,8]", "c64[0,8]", "8"),
]


@pytest.mark.parametrize(("kind", "operand", "result", "lengths"), CASES)
def test_transforms_do_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch, kind: str, operand: str, result: str, lengths: str) -> None:
    module = hlotool.parse(f"ENTRY e {{ x = {operand} parameter(0) ROOT r = {result} fft(x), fft_type={kind}, fft_length={{{lengths}}} }}")
    (x,) = random_arguments(module)
    together = np.asarray(hlotool.evaluate(module, [x]))
    for block in (1, 20):
        monkeypatch.setattr(linear_algebra, "_BLOCK", block)
        np.testing.assert_array_equal(hlotool.evaluate(module, [x]), together)
    rank = lengths.count(",") + 1
    forward = {"FFT": np.fft.fftn, "IFFT": np.fft.ifftn, "RFFT": np.fft.rfftn, "IRFFT": np.fft.irfftn}[kind]
    if np.asarray(x).size:
        expected = forward(np.asarray(x), s=[int(n) for n in lengths.split(",")], axes=range(-rank, 0))
        np.testing.assert_allclose(together, expected, rtol=1e-4, atol=1e-4)
