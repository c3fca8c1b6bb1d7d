"""Kernels of opcodes that generate random numbers.

There are three kinds of numbers: bits from a named algorithm; numbers from a distribution (`rng`),
which depend on the run's seed; and the device's own state. All of these numbers are the same on
every machine. HLO does not define the numbers of `rng`, so they are specific to hlotool.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from math import prod

import numpy as np

from hlotool.errors import Violation
from hlotool.interp.arrays.dtypes import NUMBERS, Array, NumberType
from hlotool.interp.arrays.values import Value
from hlotool.interp.devices import Device, InstructionState
from hlotool.interp.kernels.base import kernel
from hlotool.interp.kernels.conversion import convert_values
from hlotool.interp.run_options import RunOptions
from hlotool.opdefs.kinds import Int, RandomAlgorithm, RandomDistribution
from hlotool.shapes.shape import Shape

__all__ = ["threefry"]

_WORD, _LONG = np.uint32, np.uint64
_HALF = _LONG(32)
_BLOCK = 1 << 14
"""The number of counters computed at the same time, few enough to stay in a core's cache."""


def _words(numbers: Array) -> tuple[Array, Array]:
    """Returns the lower and the upper 32 bits of 64-bit numbers."""
    return numbers.astype(_WORD), (numbers >> _HALF).astype(_WORD)


def _join_words(low: Array, high: Array) -> Array:
    return np.asarray(low.astype(_LONG) | (high.astype(_LONG) << _HALF))


# ---- Threefry-2x32 with 20 rounds --------------------------------------------------------------
# The source of this algorithm and of Philox below is Salmon et al., "Parallel random numbers: as
# easy as 1, 2, 3", 2011.

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def threefry(key: Array, counters: Array) -> tuple[Array, Array]:
    """Returns the two words of random bits for each counter.

    Keys and counters are 64-bit numbers. `key` contains one key for all counters, or one for each
    counter.
    """
    low, high = _words(key)
    keys = (low, high, low ^ high ^ _WORD(0x1BD11BDA))
    x, y = (word.reshape(-1) for word in _words(counters))
    for start in range(0, x.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        _threefry_rounds([words.reshape(-1)[block] if words.ndim else words for words in keys], x[block], y[block])
    return x.reshape(counters.shape), y.reshape(counters.shape)


def _threefry_rounds(keys: Sequence[Array], x: Array, y: Array) -> None:
    """Runs the rounds, overwriting the words of the counters."""
    x += keys[0]
    y += keys[1]
    upper = np.empty_like(y)
    for group in range(5):
        for distance in _ROTATIONS[group % 2]:
            x += y
            np.left_shift(y, _WORD(distance), out=upper)
            np.right_shift(y, _WORD(32 - distance), out=y)
            y |= upper
            y ^= x
        x += keys[(group + 1) % 3]
        y += keys[(group + 2) % 3] + _WORD(group + 1)


def _three_fry(state: Array, sizes: Sequence[int], bits: int) -> tuple[Array, Array]:
    """Returns the new state, and numbers generated from two words per counter.

    The words form one 64-bit number, or two adjacent numbers along one dimension: the first
    dimension of even size if there is one, else the largest dimension.
    """
    key, counter = state[0], state[1]
    half = list(sizes)
    split = next((k for k, size in enumerate(sizes) if size % 2 == 0), int(np.argmax(sizes)) if sizes else -1)
    if bits < 64 and sizes:
        half[split] = -(-sizes[split] // 2)
    count = prod(half)
    x, y = threefry(key, counter + np.arange(count, dtype=_LONG))
    after = np.array([key, counter + _LONG(count)])
    if bits == 64 or not sizes:
        numbers = _join_words(x, y) if bits == 64 else x
        return after, numbers.reshape(sizes)
    pairs = np.stack([x.reshape(half), y.reshape(half)], axis=split + 1)
    half[split] *= 2
    return after, pairs.reshape(half)[tuple([slice(size) for size in sizes])]


# ---- Philox-4x32 with 10 rounds ----------------------------------------------------------------


def _philox_rounds(key: Array, low: Array, high: Array) -> list[Array]:
    (k0, k1), (c0, c1), (c2, c3) = _words(key), _words(low), _words(high)
    for _ in range(10):
        low0, high0 = _words(c0.astype(_LONG) * _LONG(0xD2511F53))
        low1, high1 = _words(c2.astype(_LONG) * _LONG(0xCD9E8D57))
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0, k1 = k0 + _WORD(0x9E3779B9), k1 + _WORD(0xBB67AE85)
    return [c0, c1, c2, c3]


def _philox(state: Array, sizes: Sequence[int], bits: int) -> tuple[Array, Array]:
    """Returns the new state, and numbers generated from four words per 128-bit counter.

    A state of two numbers contains the key and the lower half of the counter; the upper half is
    equal to the key.
    """
    key, low = state[0], state[1]
    high = state[2] if len(state) > 2 else key
    count = prod(sizes)
    blocks = -(-count * (2 if bits == 64 else 1) // 4)
    drawn = np.empty((blocks, 4), _WORD)
    for start in range(0, blocks, _BLOCK):
        rows = drawn[start : start + _BLOCK]
        lows = low + _LONG(start) + np.arange(len(rows), dtype=_LONG)
        carried = np.where(lows < low, high + _LONG(1), high)
        for k, words in enumerate(_philox_rounds(key, lows, carried)):
            rows[:, k] = words
    # Two words of 64 bits, or four of 32 bits; the lower half comes first.
    numbers = (_join_words(drawn[:, ::2], drawn[:, 1::2]) if bits == 64 else drawn).reshape(-1)
    after = low + _LONG(blocks)
    state_after = [key, after, high + _LONG(after < low)][: len(state)]
    return np.array(state_after), numbers[:count].reshape(sizes)


# Each algorithm, with the valid sizes of its state in bytes: a 64-bit key, and a counter of 64 or
# 128 bits.
_ALGORITHMS: dict[str, tuple[Callable[[Array, Sequence[int], int], tuple[Array, Array]], tuple[int, ...]]] = {
    "rng_three_fry": (_three_fry, (16,)),
    "rng_philox": (_philox, (16, 24)),
    # The same algorithm as on XLA:CPU.
    "rng_default": (_philox, (16, 24)),
}


@kernel("rng-bit-generator", may_refuse=True)
def rng_bit_generator(state: Array, *, algorithm: RandomAlgorithm, result: Shape) -> Value:
    generate, sizes = _ALGORITHMS[algorithm]
    if state.nbytes not in sizes:
        shapes = " or ".join([f"u64[{size // 8}]" for size in sizes])
        raise Violation("R004", "operand 0", f"the state of {algorithm} must be {shapes}, got {result.elements[0].text_without_layout}")
    bits = result.elements[1]
    number = NUMBERS[bits.element_type]
    # The state is read as 64-bit numbers, regardless of its element type.
    after, drawn = generate(np.ascontiguousarray(state).view(_LONG), bits.dimensions, number.bits)
    return after.view(state.dtype), drawn.astype(f"u{number.held.itemsize}").view(number.held)


# ---- numbers of a distribution -----------------------------------------------------------------


def _draw_bits(instruction_state: InstructionState, sizes: Sequence[int], seed: int, device: Device) -> Array:
    """Returns 64 random bits per element.

    The bits depend on the seed, the device, the instruction and the execution.
    """
    key = np.random.SeedSequence([seed, device.number, instruction_state.number]).generate_state(1, _LONG)[0]
    state, bits = _philox(np.array([key, instruction_state.counter, 0], _LONG), sizes, 64)
    instruction_state.counter = int(state[1])
    return bits


def _fractions(bits: Array, number: NumberType) -> Array:
    """Returns numbers in [0, 1) with as many random bits as the computation type's mantissa."""
    mantissa = 52 if number.computed == np.float64 else 23
    return np.asarray((bits >> _LONG(64 - mantissa)).astype(number.computed) * number.computed.type(2.0**-mantissa))


def _uniform(bits: Array, low: Array, high: Array, number: NumberType) -> Array:
    """Returns numbers in [low, high), or `low` if the limits are equal."""
    if number.kind == "pred":
        return np.where((bits & _LONG(1)).astype(bool), high, low)
    if number.kind == "float":
        return np.asarray(_fractions(bits, number) * (high - low) + low)
    # Modulo 2^64, the difference is correct for signed numbers, too.
    span = high.astype(np.int64).view(_LONG) - low.astype(np.int64).view(_LONG)
    return np.asarray((np.where(span == 0, _LONG(0), bits % np.maximum(span, _LONG(1))) + low.astype(np.int64).view(_LONG)).astype(number.computed))


def _normal(bits: Array, mean: Array, deviation: Array, number: NumberType) -> Array:
    """Returns normally distributed numbers, computed with the Box-Muller transform.

    Only one number of each pair is used.
    """
    first, second = _fractions(bits, number), _fractions(bits << _LONG(32), number)
    radius = np.sqrt(-2 * np.log1p(-first))
    return np.asarray((radius * np.cos(2 * np.pi * second)).astype(number.computed) * deviation + mean)


_DISTRIBUTIONS: dict[str, Callable[[Array, Array, Array, NumberType], Array]] = {"rng_uniform": _uniform, "rng_normal": _normal}


@kernel("rng")
def rng(
    first: Array, second: Array, *, distribution: RandomDistribution, result: Shape, device: Device, instruction_key: Hashable, options: RunOptions
) -> Array:
    number = NUMBERS[result.element_type]
    if number.kind == "complex" or (number.kind != "float" and distribution == "rng_normal"):
        raise Violation("R004", "shape", f"'rng' does not support {distribution} for {number.element.name}")
    bits = _draw_bits(device.state_of(instruction_key), result.dimensions, options.seed, device)
    low, high = (convert_values(x, number).astype(number.computed) for x in (first, second))
    numbers = _DISTRIBUTIONS[distribution](bits, low, high, number)
    return numbers.astype(number.held, copy=False)


# ---- the device's own state --------------------------------------------------------------------

_FIRST_STATE = 0x7012395
"""The initial state on XLA:CPU, which has one state for each instruction."""


@kernel("rng-get-and-update-state")
def rng_get_and_update_state(*, delta: Int, device: Device, instruction_key: Hashable) -> Array:
    """Returns the 128-bit state before `delta` is added, lower half first."""
    stored = device.state_of(instruction_key, _FIRST_STATE)
    state = stored.counter
    stored.counter = (state + delta) % 2**128
    return np.array([state % 2**64, state >> 64], _LONG)
