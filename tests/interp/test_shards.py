"""Division of arrays by shardings: all kinds, uneven sizes, and shardings that say too little."""

from __future__ import annotations

import numpy as np
import pytest

import hlotool
from hlotool.interp.arguments.shards import UnknownDivision, division_of, divisions_of
from hlotool.shapes.shape import array_shape


def sharding(text: str, shape: str = "f32[4,6]"):
    """Returns a sharding from its text."""
    return hlotool.parse(f"ENTRY e {{ ROOT p = {shape} parameter(0), sharding={text} }}").entry.root.attributes["sharding"]


def shards_of(text: str, sizes: tuple[int, ...] = (4, 6), partitions: int = 4):
    whole = np.arange(np.prod(sizes), dtype=np.float32).reshape(sizes)
    division = division_of(sharding(text), array_shape("f32", sizes), partitions)
    shards = division.split(whole)
    assert len(shards) == partitions
    assert np.array_equal(division.join(shards, sizes), whole)
    return whole, shards


@pytest.mark.parametrize(
    ("text", "regions"),
    [
        ("{replicated}", [np.s_[:, :]] * 4),
        ("{devices=[2,2]<=[4]}", [np.s_[:2, :3], np.s_[:2, 3:], np.s_[2:, :3], np.s_[2:, 3:]]),
        ("{devices=[2,2]<=[2,2]T(1,0)}", [np.s_[:2, :3], np.s_[2:, :3], np.s_[:2, 3:], np.s_[2:, 3:]]),
        ("{devices=[1,4]3,2,1,0}", [np.s_[:, 6:], np.s_[:, 4:6], np.s_[:, 2:4], np.s_[:, :2]]),
        ("{devices=[2,1,2]<=[4] last_tile_dim_replicate}", [np.s_[:2], np.s_[:2], np.s_[2:], np.s_[2:]]),
        ("{mesh['x'=2,'y'=2], [{'y'}, {}]}", [np.s_[:2], np.s_[2:], np.s_[:2], np.s_[2:]]),
    ],
)
def test_each_device_holds_its_region(text, regions):
    whole, shards = shards_of(text)
    for shard, region in zip(shards, regions, strict=True):
        part = whole[region]
        assert np.array_equal(shard[: part.shape[0], : part.shape[1]], part)


def test_uneven_sizes_are_padded_with_zeros():
    _, shards = shards_of("{devices=[4,1]<=[4]}", (5, 2))
    assert [shard.shape for shard in shards] == [(2, 2)] * 4
    assert np.array_equal(shards[2], [[8, 9], [0, 0]])
    assert not shards[3].any()


@pytest.mark.parametrize("text", ["{unreduced}", "{devices=[2,1,2]<=[4] last_tile_dims={unreduced}}"])
def test_terms_add_up(text):
    whole, shards = shards_of(text)
    assert sum(float(shard.sum()) for shard in shards) == whole.sum()


def test_one_device_holds_everything():
    whole, shards = shards_of("{maximal device=2}")
    assert np.array_equal(shards[2], whole)
    assert not any(shards[k].any() for k in (0, 1, 3))


def test_arrays_without_dimensions():
    _, shards = shards_of("{replicated}", ())
    assert [shard.shape for shard in shards] == [()] * 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{manual}", "does not say which part of an array each device holds"),
        ("{devices=[2,1,2]<=[4] last_tile_dims={manual}}", "does not say which part of an array each device holds"),
        ("{devices=[2,1]<=[2]}", "is for 2 devices, but the module is for 4"),
    ],
)
def test_shardings_that_do_not_say_enough(text, message):
    with pytest.raises(UnknownDivision, match=message):
        division_of(sharding(text), array_shape("f32", (4, 6)), 4)


def test_leaves_of_tuples():
    module = hlotool.parse(
        "ENTRY e { p = f32[4] parameter(0) q = f32[] parameter(1) ROOT t = (f32[4], f32[]) tuple(p, q), sharding={{devices=[2]<=[2]}, {manual}} }"
    )
    root = module.entry.root
    first, second = divisions_of(root.attributes["sharding"], root.shape, 2)
    assert first is not None
    assert first.counts == (2,)
    assert second is None
