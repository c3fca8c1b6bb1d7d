"""Gather and scatter with random dimension numbers: the fast paths agree with the definition."""

from __future__ import annotations

from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import given, note, settings
from strategies import RANDOM

import hlotool
from hlotool.interp.arrays.dtypes import NUMPY_TYPES, Array
from hlotool.interp.kernels import scattering


class Numbers:
    """Random dimension numbers for a gather, or for a scatter, which has other names for them."""

    def __init__(self, random: Random) -> None:
        rank = random.randint(0, 4)
        self.operand = [random.choice((0, 1, 1, 2, 2, 3, 3, 4, 4)) for _ in range(rank)]
        dims = random.sample(range(rank), rank)
        batching = sorted(dims[: random.choice((0, 0, 1)) if rank > 1 else 0])
        self.indexed = [k for k in dims if k not in batching][: random.randint(0, rank - len(batching))]
        lengths = [random.choice((1, size, random.randint(1, max(size, 1)))) for size in self.operand]
        self.slices = [min(size, 1 if k in batching else length) for k, (size, length) in enumerate(zip(self.operand, lengths, strict=True))]
        self.collapsed = sorted(k for k in range(rank) if k not in batching and self.slices[k] <= 1 and random.random() < 0.7)
        self.batching = batching
        batch = [random.randint(1, 5) for _ in range(random.randint(0, 2))] + [self.operand[k] for k in batching]
        order = random.sample(range(len(batch)), len(batch))
        self.batch = [batch[k] for k in order]
        positions = [order.index(len(batch) - len(batching) + k) for k in range(len(batching))]
        self.vector = random.randint(0, len(batch))
        self.indices = [*self.batch[: self.vector], len(self.indexed), *self.batch[self.vector :]]
        self.batching_positions = [k + (k >= self.vector) for k in positions]
        self.window = [k for k in range(rank) if k not in self.collapsed and k not in batching]
        result = len(self.batch) + len(self.window)
        self.offsets = sorted(random.sample(range(result), len(self.window)))
        sizes = iter(self.batch)
        window_sizes = iter(self.slices[k] for k in self.window)
        self.result = [next(window_sizes) if k in self.offsets else next(sizes) for k in range(result)]

    def text(self, opcode: str) -> str:
        names = (
            "offset_dims collapsed_slice_dims start_index_map operand_batching_dims start_indices_batching_dims"
            if opcode == "gather"
            else "update_window_dims inserted_window_dims scatter_dims_to_operand_dims input_batching_dims scatter_indices_batching_dims"
        )
        values = (self.offsets, self.collapsed, self.indexed, self.batching, self.batching_positions)
        parts = [f"{name}={{{','.join(map(str, value))}}}" for name, value in zip(names.split(), values, strict=True)]
        return ", ".join([*parts, f"index_vector_dim={self.vector}"])

    def _batch_first(self, position: tuple[int, ...]) -> list[int]:
        batch = [position[k] for k in range(len(position)) if k not in self.offsets]
        return [*batch, *(position[k] for k in self.offsets)]

    def elements(self, indices: Array, clamps: bool) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Returns pairs of positions.

        The first position of a pair is in the result or the updates, the second is in the operand.

        The pairs of an index vector are consecutive, as in XLA, which applies the updates of a
        scatter window by window.
        """
        pairs = []
        vectors = np.moveaxis(indices, self.vector, -1)
        for position in sorted(np.ndindex(*self.result), key=self._batch_first):
            batch = [position[k] for k in range(len(position)) if k not in self.offsets]
            start = [0] * len(self.operand)
            for k, dimension in enumerate(self.indexed):
                start[dimension] = int(vectors[tuple(batch)][k])
            for dimension, at in zip(self.batching, self.batching_positions, strict=True):
                start[dimension] = batch[at - (at > self.vector)]
            room = [size - (self.slices[k] if k in self.window else 1) for k, size in enumerate(self.operand)]
            if clamps:
                start = [min(max(s, 0), r) for s, r in zip(start, room, strict=True)]
            elif not all(0 <= s <= r for s, r in zip(start, room, strict=True)):
                continue
            for at, k in zip(self.offsets, self.window, strict=True):
                start[k] += position[at]
            pairs.append((position, tuple(start)))
        return pairs


def shape(element_type: str, sizes: list[int]) -> str:
    return f"{element_type}[{','.join(map(str, sizes))}]"


def shuffle_memory_order(random: Random, values: Array) -> Array:
    """Returns the same values in a random memory order."""
    order = random.sample(range(values.ndim), values.ndim)
    return np.asarray(values.transpose(order).copy().transpose(np.argsort(order))) if order else values


@settings(max_examples=200)
@given(RANDOM)
def test_gather(random: Random) -> None:
    numbers = Numbers(random)
    slices = ",".join(map(str, numbers.slices))
    text = (
        f"ENTRY e {{ p = {shape('f32', numbers.operand)} parameter(0) i = {shape('s32', numbers.indices)} parameter(1)\n"
        f"ROOT r = {shape('f32', numbers.result)} gather(p, i), {numbers.text('gather')}, slice_sizes={{{slices}}} }}"
    )
    note(text)
    generator = np.random.default_rng(random.getrandbits(32))
    operand = shuffle_memory_order(random, generator.standard_normal(numbers.operand, np.float32))
    indices = generator.integers(-1, 5, numbers.indices, np.int32)
    result = hlotool.evaluate(hlotool.parse(text), [operand, indices])
    # XLA returns zeros if there is nothing to gather; a collapsed dimension may have size 0.
    expected = np.zeros(numbers.result, np.float32)
    for position, element in numbers.elements(indices, clamps=True) if 0 not in numbers.slices else ():
        expected[position] = operand[element]
    np.testing.assert_array_equal(result, expected)


REDUCERS = ("add(a, b)", "maximum(b, a)", "subtract(a, b)", "copy(b)")


@settings(max_examples=150)
@given(RANDOM)
def test_scatter(random: Random) -> None:
    numbers, element_type, reducer = Numbers(random), random.choice(("f32", "s8", "bf16")), random.choice(REDUCERS)
    text = (
        f"f {{ a = {element_type}[] parameter(0) b = {element_type}[] parameter(1) ROOT c = {element_type}[] {reducer} }}\n"
        f"ENTRY e {{ p = {shape(element_type, numbers.operand)} parameter(0) i = {shape('s32', numbers.indices)} parameter(1)\n"
        f"u = {shape(element_type, numbers.result)} parameter(2)\n"
        f"ROOT r = {shape(element_type, numbers.operand)} scatter(p, i, u), {numbers.text('scatter')}, to_apply=f }}"
    )
    note(text)
    generator = np.random.default_rng(random.getrandbits(32))
    # The numbers include zeros of both signs, and sums of the numbers depend on the order.
    values = np.array([0.0, -0.0, 1, 3, -5, 1 / 3, 2.0**30]).astype(np.float32) if element_type != "s8" else np.arange(-128, 128, 51)
    dtype = NUMPY_TYPES[element_type]
    operand = shuffle_memory_order(random, np.asarray(generator.choice(values, numbers.operand)).astype(dtype))
    updates = shuffle_memory_order(random, np.asarray(generator.choice(values, numbers.result)).astype(dtype))
    indices = generator.integers(-1, 4, numbers.indices, np.int32)
    scalar = hlotool.parse(text.split("\nENTRY", maxsplit=1)[0].replace("f {", "ENTRY f {"))
    expected = operand.copy()
    memo: dict[tuple[bytes, bytes], Array] = {}
    for position, element in numbers.elements(indices, clamps=False):
        pair = expected[element], updates[position]
        key = pair[0].tobytes(), pair[1].tobytes()
        if key not in memo:
            memo[key] = hlotool.evaluate(scalar, list(pair))
        expected[element] = memo[key]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scattering, "_BLOCK", random.choice((1, 4, 1 << 16)))
        patch.setattr(scattering, "_MIN_PASS_SIZE", random.choice((0, 2048)))
        result = hlotool.evaluate(hlotool.parse(text), [operand, indices, updates])
    assert np.asarray(result).tobytes() == expected.tobytes()


def test_scatter_of_many_updates_of_few_slices() -> None:
    text = """f { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
        ENTRY e { p = f32[3,2] parameter(0) i = s32[1000,1] parameter(1) u = f32[1000,2] parameter(2)
        ROOT r = f32[3,2] scatter(p, i, u), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, \
            index_vector_dim=1, to_apply=f }"""
    indices = np.arange(1000, dtype=np.int32).reshape(-1, 1) % 3
    result = hlotool.evaluate(hlotool.parse(text), [np.zeros((3, 2)), indices, np.ones((1000, 2))])
    np.testing.assert_array_equal(result, [[334, 334], [333, 333], [333, 333]])


def test_passes() -> None:
    positions = np.array([5, 3, 5, 0, 5, 3])
    assert [sorted(indices.tolist()) for indices in scattering._passes(positions)] == [[0, 1, 3], [2, 5], [4]]
    assert len(scattering._passes(np.arange(1 << 17, dtype=np.int32))) == 1
    for count, spread in product((0, 1, 2, 7, 100), (1, 3, 1000)):
        positions = np.random.default_rng(count).integers(0, spread, count)
        passes = scattering._passes(positions)
        assert sorted(np.concatenate([np.zeros(0, int), *passes]).tolist()) == list(range(count))
        seen: list[int] = [0] * spread
        for number, indices in enumerate(passes):
            for index in sorted(indices.tolist()):
                assert seen[positions[index]] == number
                seen[positions[index]] += 1
