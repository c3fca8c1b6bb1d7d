"""Assignments of devices to tiles in XLA's normal form: lists or transposed iotas.

An example of a transposed iota is `[4,2]<=[2,4]T(1,0)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from hlotool.errors import Violation
from hlotool.record import Record, replace

__all__ = ["MAX_DEVICES", "IotaDevices", "TileAssignment", "integers_text", "iota_devices"]

MAX_DEVICES = 1 << 24
"""The length of the longest device list to which an iota is expanded.

A limit is necessary, because a short text such as `[1000000000]<=[1000000000]` may stand for a very
long list.
"""


def integers_text(values: Iterable[int]) -> str:
    """Returns the values, joined by commas."""
    return ",".join(map(str, values))


def _strided_offsets(extents_and_strides: Iterable[tuple[int, int]]) -> list[int]:
    """Returns the offsets of all elements of a strided array, in row-major order."""
    offsets = [0]
    for extent, stride in extents_and_strides:
        offsets = [offset + k * stride for offset in offsets for k in range(extent)]
    return offsets


def _strides(extents: Sequence[int]) -> list[int]:
    strides = [1] * len(extents)
    for k in range(len(extents) - 2, -1, -1):
        strides[k] = strides[k + 1] * extents[k + 1]
    return strides


class IotaDevices(Record):
    """The devices 0, 1, 2, ..., reshaped and transposed, as in `[4,2]T(1,0)`.

    Use `iota_devices` to get the normal form.

    >>> IotaDevices((2, 3), (1, 0)).ids()
    (0, 3, 1, 4, 2, 5)
    """

    reshape: tuple[int, ...]
    permutation: tuple[int, ...]

    @property
    def text(self) -> str:
        if len(self.reshape) == 1:
            return f"[{self.reshape[0]}]"
        return f"[{integers_text(self.reshape)}]T({integers_text(self.permutation)})"

    @property
    def size(self) -> int:
        return prod(self.reshape)

    def ids(self) -> tuple[int, ...]:
        """Returns all ids in order.

        Raises Violation P026 for more than MAX_DEVICES ids, or if `permutation` is not a
        permutation.
        """
        if sorted(self.permutation) != list(range(len(self.reshape))) or min(self.reshape) < 0:
            raise Violation("P026", "sharding", f"{self.text} is not a valid iota of devices")
        if self.size > MAX_DEVICES:
            raise Violation("P026", "sharding", f"a list of {self.size} devices is too long to expand")
        strides = _strides(self.reshape)
        return tuple(_strided_offsets((self.reshape[k], strides[k]) for k in self.permutation))

    def transposed(self, dimensions: Sequence[int], order: Sequence[int]) -> IotaDevices | None:
        """Returns these devices as an array of `dimensions`, transposed by `order`.

        Returns None if XLA falls back to a list. A reshape dimension that crosses the end of a tile
        dimension is split there if the sizes are divisible.
        """
        if len(self.reshape) == 1:
            return iota_devices(dimensions, order)
        if min(*self.reshape, *dimensions) <= 0:
            fault = f"must be positive, got {list(dimensions)} and {list(self.reshape)}"
            raise Violation("P026", "sharding", f"the dimensions of the tiles and of the iota {fault}")
        if prod(dimensions) != self.size:
            raise Violation("P026", "sharding", f"the iota must have one device per tile ({prod(dimensions)}), got {self.size}")
        pieces: dict[int, list[int]] = {dimension: [] for dimension in self.permutation}
        parts: list[list[tuple[int, int]]] = []
        remaining = [(dimension, self.reshape[dimension]) for dimension in reversed(self.permutation)]
        for extent in dimensions:
            rest, part = extent, []
            while rest > 1:
                dimension, size = remaining.pop()
                factor = min(rest, size)
                if max(rest, size) % factor:
                    return None
                if size > factor:
                    remaining.append((dimension, size // factor))
                part.append((dimension, len(pieces[dimension])))
                pieces[dimension].append(factor)
                rest //= factor
            parts.append(part)
        starts = [0]
        for dimension in range(len(self.reshape)):
            starts.append(starts[-1] + len(pieces[dimension]))
        sizes = [size for dimension in range(len(self.reshape)) for size in pieces[dimension]]
        return iota_devices(sizes, [starts[dimension] + k for tile_dimension in order for dimension, k in parts[tile_dimension]])

    def with_sorted_minor(self, count: int) -> IotaDevices | None:
        """Returns the same devices with every run of `count` devices sorted.

        Returns None if a run does not consist of whole dimensions or factors of them.
        """
        if min(self.reshape) <= 0 or count <= 0:
            return None
        major, minor, rest = list(self.permutation), [], count
        while major and self.reshape[major[-1]] <= rest:
            if rest % self.reshape[major[-1]]:
                return None
            rest //= self.reshape[major[-1]]
            minor.append(major.pop())
        if not major:
            return iota_devices(self.reshape, sorted(minor))
        cut = major[-1]
        if self.reshape[cut] % rest:
            return None
        reshape = (*self.reshape[:cut], self.reshape[cut] // rest, rest, *self.reshape[cut + 1 :])
        return iota_devices(reshape, [k + (k > cut) for k in major] + sorted([cut + 1, *(k + (k > cut) for k in minor)]))


def iota_devices(reshape: Sequence[int], permutation: Sequence[int] = (0,)) -> IotaDevices:
    """Returns an iota in XLA's normal form.

    The normal form has no dimensions of size one, and adjacent dimensions that stay adjacent after
    the transposition are joined. Raises Violation P026 if `permutation` is not a permutation, or if
    a product of sizes exceeds 64 bits.

    >>> iota_devices((1, 8), (1, 0)).text, iota_devices((3, 4, 5), (1, 2, 0)).text
    ('[8]', '[3,20]T(1,0)')
    """
    if len(reshape) == 1:
        return IotaDevices(tuple(reshape), (0,))
    sizes, order, joined = list(reshape), list(permutation), True
    while joined:
        kept = {old: new for new, old in enumerate(k for k, size in enumerate(sizes) if size != 1)}
        if len(kept) != len(sizes):
            moved = [kept[k] for k in order if k in kept]
            # If an invalid permutation leaves too few entries, XLA reads stale entries of its array.
            order = (moved + order[len(moved) :])[: len(kept)]
            sizes = [sizes[k] for k in kept]
        if any(k >= len(sizes) for k in order):
            raise Violation("P026", "sharding", f"({integers_text(permutation)}) is not a permutation of the dimensions [{integers_text(reshape)}]")
        joined, base = False, 0
        for k in range(1, len(sizes)):
            if order[base] + k - base == order[k]:
                sizes[order[base]] *= sizes[order[k]]
                sizes[order[k]] = 1
                joined = True
            else:
                base = k
    if any(size >= 1 << 63 for size in sizes):
        raise Violation("P026", "sharding", f"the product of [{integers_text(reshape)}] does not fit in 64 bits")
    return IotaDevices(tuple(sizes), tuple(order)) if sizes else IotaDevices((1,), (0,))


class TileAssignment(Record):
    """The device of each tile, in row-major order of the tiles: `[2,4]<=[8]` or `[2,2]0,1,2,3`.

    As in XLA, the number of devices may differ from the number of tiles.
    """

    dimensions: tuple[int, ...]
    devices: IotaDevices | tuple[int, ...]

    @property
    def text(self) -> str:
        devices = "<=" + self.devices.text if isinstance(self.devices, IotaDevices) else integers_text(self.devices)
        return f"[{integers_text(self.dimensions)}]{devices}"

    @property
    def size(self) -> int:
        """The number of tiles."""
        return prod(self.dimensions)

    @property
    def device_count(self) -> int:
        """The number of devices in the text, which may differ from the number of tiles."""
        return self.devices.size if isinstance(self.devices, IotaDevices) else len(self.devices)

    @property
    def is_permuted(self) -> bool:
        """True for lists, and for an iota whose transposition is a permutation.

        XLA's parser accepts any numbers in `T(...)` that are in range.
        """
        return not isinstance(self.devices, IotaDevices) or sorted(self.devices.permutation) == list(range(len(self.devices.permutation)))

    @property
    def is_miscounted(self) -> bool:
        """True if the length of a device list is not the number of tiles."""
        return not isinstance(self.devices, IotaDevices) and len(self.devices) != self.size

    def device_ids(self) -> tuple[int, ...]:
        """Returns the device of each tile.

        As in XLA, a miscounted list is truncated, or extended with device 0. Raises Violation P026
        if the size of an iota is not the number of tiles or exceeds MAX_DEVICES.
        """
        if not isinstance(self.devices, IotaDevices):
            return self.devices[: self.size] + (0,) * (self.size - len(self.devices))
        if self.devices.size != self.size:
            raise Violation("P026", "sharding", f"the iota must have one device per tile ({self.size}), got {self.devices.size}")
        return self.devices.ids()

    def with_dimensions(self, dimensions: Iterable[int]) -> TileAssignment:
        """Returns the same devices with other tile dimensions."""
        return replace(self, dimensions=tuple(dimensions))

    def transposed(self, order: Sequence[int]) -> TileAssignment:
        """Returns the tiles transposed by `order`, which may omit dimensions of size one."""
        dimensions = tuple(self.dimensions[k] for k in order)
        moved = [k for k in order if self.dimensions[k] != 1]
        if moved == sorted(moved):
            return TileAssignment(dimensions, self.devices)
        if isinstance(self.devices, IotaDevices):
            devices = self.devices.transposed(self.dimensions, order)
            if devices is not None:
                return TileAssignment(dimensions, devices)
        ids, strides = self.device_ids(), _strides(self.dimensions)
        return TileAssignment(dimensions, tuple(ids[offset] for offset in _strided_offsets((self.dimensions[k], strides[k]) for k in order)))

    def with_sorted_minor(self) -> TileAssignment:
        """Returns the tiles with the devices along the last dimension sorted.

        Used for a replicated dimension, along which the order of the devices has no meaning.
        """
        if isinstance(self.devices, IotaDevices):
            devices = self.devices.with_sorted_minor(self.dimensions[-1])
            if devices is not None:
                return TileAssignment(self.dimensions, devices)
        ids, run = self.device_ids(), self.dimensions[-1]
        return TileAssignment(self.dimensions, tuple(k for start in range(0, len(ids), run) for k in sorted(ids[start : start + run])))
