"""Divides whole arrays into shards, the parts that the partitions of a module hold, and joins shards.

A partitioner divides the arrays of a module as its shardings say. As in XLA, the shards of an array
have equal dimensions: if a dimension cannot be divided evenly, the last shards are padded.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from types import EllipsisType
from typing import TypeAlias

import numpy as np

from hlotool.errors import HlotoolError
from hlotool.interp.arrays.dtypes import Array
from hlotool.record import Record
from hlotool.shapes.shape import Shape
from hlotool.shapes.sharding import Sharding, expand_for_shape

__all__ = ["Division", "UnknownDivision", "division_of", "divisions_of", "without_padding"]


class UnknownDivision(HlotoolError):
    """Raised if a sharding does not determine which part of an array each partition holds."""

    exit_code = 2


Region: TypeAlias = tuple[slice | EllipsisType, ...]
"""An index of an array; the ellipsis at its end keeps the type of arrays without dimensions."""


class Division(Record):
    """The division of an array among the partitions of a module.

    `counts` lists the number of tiles along each dimension, and `tiles` the position of each
    partition's tile, or None for a partition without data. If `has_terms` is true, the partitions
    with the same tile hold terms, and the tile is their sum.

    >>> from hlotool.shapes.shape import array_shape
    >>> from hlotool.shapes.sharding import tiled
    >>> from hlotool.shapes.tiles import TileAssignment, iota_devices
    >>> division = division_of(tiled(TileAssignment((2,), iota_devices((2,)))), array_shape("f32", (3,)), 2)
    >>> [shard.tolist() for shard in division.split(np.array([1, 2, 3]))]
    [[1, 2], [3, 0]]
    >>> division.join([np.array([1, 2]), np.array([3, 0])], (3,)).tolist()
    [1, 2, 3]
    """

    counts: tuple[int, ...]
    tiles: tuple[tuple[int, ...] | None, ...]
    has_terms: bool = False

    def shard_dimensions(self, dimensions: Sequence[int]) -> tuple[int, ...]:
        """Returns the dimensions of each shard of an array with these dimensions."""
        return tuple(-(-size // count) for size, count in zip(dimensions, self.counts, strict=True))

    def region(self, partition: int, dimensions: Sequence[int]) -> Region | None:
        """Returns the region of the whole array that a partition holds, without padding."""
        tile = self.tiles[partition]
        if tile is None:
            return None
        sizes = self.shard_dimensions(dimensions)
        return (*(slice(min(k * size, n), min((k + 1) * size, n)) for k, size, n in zip(tile, sizes, dimensions, strict=True)), ...)

    def split(self, whole: Array) -> list[Array]:
        """Returns the shard of each partition; padding is zero, and so are all terms but the first."""
        shards = []
        seen: set[tuple[int, ...] | None] = set()
        for partition, tile in enumerate(self.tiles):
            shard = np.zeros(self.shard_dimensions(whole.shape), whole.dtype)
            region = self.region(partition, whole.shape)
            if region is not None and not (self.has_terms and tile in seen):
                shard[without_padding(region)] = whole[region]
            seen.add(tile)
            shards.append(shard)
        return shards

    def join(self, shards: Sequence[Array], dimensions: Sequence[int]) -> Array:
        """Returns the whole array; of equal tiles, the first one counts."""
        whole = np.zeros(tuple(dimensions), shards[0].dtype)
        seen: set[tuple[int, ...]] = set()
        for partition, (tile, shard) in enumerate(zip(self.tiles, shards, strict=True)):
            region = self.region(partition, dimensions)
            if tile is None or region is None or (tile in seen and not self.has_terms):
                continue
            part = shard[without_padding(region)]
            whole[region] = whole[region] + part if tile in seen else part
            seen.add(tile)
        return whole


def without_padding(region: Region) -> Region:
    """Returns the region of a shard that corresponds to a region of the whole array."""
    return tuple(slice(0, at.stop - at.start) if isinstance(at, slice) else at for at in region)


def division_of(sharding: Sharding | None, shape: Shape, partitions: int) -> Division:
    """Returns the division of an array; `shape` is that of the whole array or of a shard.

    Raises UnknownDivision if the sharding does not determine it.
    """
    rank = shape.rank
    if partitions == 1:
        return Division((1,) * rank, ((0,) * rank,))
    if sharding is None:
        raise UnknownDivision("there is no sharding")
    if sharding.named is not None and sharding.named.reduction:
        raise UnknownDivision(f"the sharding {sharding.text} combines terms by another operation than a sum")
    placement = sharding.as_tiled()
    if placement.kind in ("replicated", "unreduced"):
        return Division((1,) * rank, ((0,) * rank,) * partitions, has_terms=placement.kind == "unreduced")
    if placement.kind == "maximal" and placement.device < partitions:
        return Division((1,) * rank, tuple((0,) * rank if k == placement.device else None for k in range(partitions)))
    counts = placement.tile_counts
    if counts is None or len(counts) != rank or not {*placement.subgroups} <= {"replicated", "unreduced"}:
        raise UnknownDivision(f"the sharding {sharding.text} does not say which part of an array each device holds")
    sizes, devices = placement.tile_assignment()
    if sorted(devices) != list(range(partitions)):
        raise UnknownDivision(f"the sharding {sharding.text} is for {prod(sizes)} devices, but the module is for {partitions}")
    positions = dict(zip(devices, np.ndindex(sizes), strict=True))
    return Division(counts, tuple(positions[k][:rank] for k in range(partitions)), has_terms="unreduced" in placement.subgroups)


def divisions_of(sharding: Sharding | None, shape: Shape, partitions: int) -> list[Division | None]:
    """Returns the division of each leaf of a value, or None for a leaf whose division is unknown."""
    leaves = [*shape.leaves()]
    shardings: Sequence[Sharding | None] = [sharding] * len(leaves)
    if sharding is not None and shape.is_tuple:
        shardings = expand_for_shape(sharding, shape).elements
    if len(shardings) != len(leaves):
        return [None] * len(leaves)
    found: list[Division | None] = []
    for one, leaf in zip(shardings, leaves, strict=True):
        try:
            found.append(division_of(one, leaf, partitions) if leaf.is_array else None)
        except UnknownDivision:
            found.append(None)
    return found
