"""Convolutions of floats: all implementations agree with the sum over the window's elements."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, note, settings
from strategies import RANDOM

import hlotool
from hlotool.interp.arrays.dtypes import NUMBERS, Array
from hlotool.interp.kernels import window_products
from hlotool.interp.kernels.convolution import _sum_tap_products
from hlotool.interp.kernels.window_products import Convolution
from hlotool.shapes.values import WindowDimension


def random_dimension(random: Random) -> tuple[WindowDimension, int, int]:
    """Returns a dimension of a window, and its sizes in the image and the result."""
    while True:
        base, size = random.randint(1, 7), random.randint(1, 6)
        stride, dilation, base_dilation = (random.choice((1, 1, 2, 3)) for _ in range(3))
        w = WindowDimension(size, stride, random.randint(-2, 3), random.randint(-2, 3), dilation, base_dilation)
        room = (base - 1) * base_dilation + 1 + w.padding_low + w.padding_high - (size - 1) * dilation - 1
        if room >= 0:
            return w, base, room // stride + 1


def random_array(random: Random, sizes: tuple[int, ...]) -> Array:
    """Returns random numbers in a random memory order."""
    order = random.sample(range(len(sizes)), len(sizes))
    values = np.random.default_rng(random.getrandbits(32)).standard_normal([sizes[k] for k in order], np.float32)
    return values.transpose(np.argsort(order))


@settings(max_examples=100)
@given(RANDOM)
def test_all_implementations_agree(random: Random) -> None:
    dimensions = [random_dimension(random) for _ in range(random.choice((0, 1, 1, 2, 2, 3)))]
    window, bases, sizes = ([d[k] for d in dimensions] for k in range(3))
    groups, batch, features, outputs = (random.choice((1, 1, 2, 3)) for _ in range(4))
    images = random_array(random, (groups, batch, *bases, features))
    kernels = random_array(random, (*(w.size for w in window), groups, features, outputs))
    result = random_array(random, (groups, batch, *sizes, outputs))
    expected = np.empty_like(result)
    note(f"{window}, images {images.shape}, kernels {kernels.shape}, result {result.shape}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(window_products, "_BUFFER", random.choice((1 << 18, 3000, 200, 16)))
        smallest = random.choice((1, 32))
        patch.setattr(window_products, "_MIN_POSITIONS", smallest)
        patch.setattr(window_products, "_MIN_COLUMNS", smallest)
        Convolution(images, kernels, result, window).fill()
    _sum_tap_products(images, kernels, expected, window, NUMBERS["f32"])
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("window", "kernel", "result"),
    [
        ("size=2 pad=0_1000000000000 rhs_dilate=1000000000000", "2", "10"),
        ("size=1 stride=1000000000000 pad=0_1000000000000", "1", "2"),
        ("size=2 stride=1000000000000 pad=1000000000000_1000000000000", "2", "3"),
    ],
)
@pytest.mark.parametrize("features", [1, 2])
def test_unread_padding_is_not_allocated(window: str, kernel: str, result: str, features: int) -> None:
    text = (
        f"ENTRY e {{ x = f32[1,10,{features}] parameter(0) k = f32[{kernel},{features},1] parameter(1)\n"
        f"ROOT r = f32[1,{result},1] convolution(x, k), window={{{window}}}, dim_labels=b0f_0io->b0f }}"
    )
    output = hlotool.evaluate(hlotool.parse(text), [np.ones((1, 10, features)), np.ones((int(kernel), features, 1))])
    expected = {"10": [1] * 10, "2": [1, 0], "3": [0, 2, 0]}[result]
    np.testing.assert_array_equal(np.asarray(output).ravel(), np.array(expected) * features)
