"""Assignments of devices to tiles, as lists or in the iota form `[4,2]<=[2,4]T(1,0)`, in the normal form that XLA gives them.

Reading text is the codecs' work; nothing here knows what is tiled.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from hlotool.errors import Violation
from hlotool.record import Record, replace

__all__ = ["MAX_DEVICES", "IotaDevices", "TileAssignment", "integers_text", "iota_devices"]

MAX_DEVICES = 1 << 24
"""No list of devices longer than this is ever written out: `[1000000000]<=[1000000000]` is a short text."""


def integers_text(values: Iterable[int]) -> str:
    return ",".join(map(str, values))


def _strided(extents_and_strides: Iterable[tuple[int, int]]) -> list[int]:
    """Offsets of all elements of a strided array, the last dimension running fastest."""
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
    """Devices 0, 1, 2, ... reshaped and transposed, as `[4,2]T(1,0)` says; make it with `iota_devices`.

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
        """All ids in order; Violation when there are more than MAX_DEVICES or the transposition is no permutation."""
        if sorted(self.permutation) != list(range(len(self.reshape))) or min(self.reshape) < 0:
            raise Violation("P026", "sharding", f"{self.text} does not transpose a list of devices")
        if self.size > MAX_DEVICES:
            raise Violation("P026", "sharding", f"a list of {self.size} devices is too long to be written out")
        strides = _strides(self.reshape)
        return tuple(_strided((self.reshape[k], strides[k]) for k in self.permutation))

    def transposed(self, dimensions: Sequence[int], order: Sequence[int]) -> IotaDevices | None:
        """These devices, laid out over `dimensions` and transposed by `order`; None where XLA falls back to a list.

        A reshape dimension that reaches over the end of a tile dimension is cut there, if it divides.
        """
        if len(self.reshape) == 1:
            return iota_devices(dimensions, order)
        if prod(dimensions) != self.size or min(*self.reshape, *dimensions) <= 0:
            raise Violation("P026", "sharding", f"{self.size} devices for tiling of {prod(dimensions)}")
        pieces: dict[int, list[int]] = {dimension: [] for dimension in self.permutation}
        parts: list[list[tuple[int, int]]] = []
        left = [(dimension, self.reshape[dimension]) for dimension in reversed(self.permutation)]
        for extent in dimensions:
            rest, part = extent, []
            while rest > 1:
                dimension, size = left.pop()
                taken = min(rest, size)
                if max(rest, size) % taken:
                    return None
                if size > taken:
                    left.append((dimension, size // taken))
                part.append((dimension, len(pieces[dimension])))
                pieces[dimension].append(taken)
                rest //= taken
            parts.append(part)
        starts = [0]
        for dimension in range(len(self.reshape)):
            starts.append(starts[-1] + len(pieces[dimension]))
        sizes = [size for dimension in range(len(self.reshape)) for size in pieces[dimension]]
        return iota_devices(sizes, [starts[dimension] + k for at in order for dimension, k in parts[at]])

    def with_sorted_minor(self, count: int) -> IotaDevices | None:
        """The same devices with every run of `count` sorted; None when the runs do not follow the dimensions."""
        if min(self.reshape) <= 0 or count <= 0:
            return None
        major, minor, rest = list(self.permutation), [], count
        while major and rest > 1 and self.reshape[major[-1]] <= rest:
            if rest % self.reshape[major[-1]]:
                return None
            rest //= self.reshape[major[-1]]
            minor.append(major.pop())
        if rest == 1 or not major:
            return iota_devices(self.reshape, major + sorted(minor))
        cut = major[-1]
        if self.reshape[cut] % rest:
            return None
        reshape = (*self.reshape[:cut], self.reshape[cut] // rest, rest, *self.reshape[cut + 1 :])
        return iota_devices(reshape, [k + (k > cut) for k in major] + sorted([cut + 1, *(k + (k > cut) for k in minor)]))


def iota_devices(reshape: Sequence[int], permutation: Sequence[int] = (0,)) -> IotaDevices:
    """The iota in XLA's normal form: no dimension of size one, dimensions that stay together joined.

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
            # Only a transposition that is no permutation leaves places open here; XLA finds the old entries there.
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
        raise Violation("P026", "sharding", f"the product of [{integers_text(reshape)}] does not fit into 64 bits")
    return IotaDevices(tuple(sizes), tuple(order)) if sizes else IotaDevices((1,), (0,))


class TileAssignment(Record):
    """Which device holds which tile: `[2,4]<=[8]` or `[2,2]0,1,2,3`, row-major over `dimensions`.

    XLA accepts another number of devices than tiles, so lists and iotas may be of any size.
    """

    dimensions: tuple[int, ...]
    devices: IotaDevices | tuple[int, ...]

    @property
    def text(self) -> str:
        devices = "<=" + self.devices.text if isinstance(self.devices, IotaDevices) else integers_text(self.devices)
        return f"[{integers_text(self.dimensions)}]{devices}"

    @property
    def size(self) -> int:
        """Number of tiles."""
        return prod(self.dimensions)

    @property
    def device_count(self) -> int:
        """Number of devices as written, whatever the number of tiles."""
        return self.devices.size if isinstance(self.devices, IotaDevices) else len(self.devices)

    @property
    def is_permuted(self) -> bool:
        """Whether an iota is transposed by a permutation; XLA's parser takes any numbers that are in range."""
        return not isinstance(self.devices, IotaDevices) or sorted(self.devices.permutation) == list(range(len(self.devices.permutation)))

    @property
    def is_miscounted(self) -> bool:
        """Whether a list names another number of devices than there are tiles."""
        return not isinstance(self.devices, IotaDevices) and len(self.devices) != self.size

    def device_ids(self) -> tuple[int, ...]:
        """One device for each tile; Violation when an iota's size is not the number of tiles or beyond MAX_DEVICES.

        As in XLA, a miscounted list is cut or filled up with device 0.
        """
        if not isinstance(self.devices, IotaDevices):
            return self.devices[: self.size] + (0,) * (self.size - len(self.devices))
        if self.devices.size != self.size:
            raise Violation("P026", "sharding", f"{self.devices.size} devices for tiling of {self.size}")
        return self.devices.ids()

    def with_dimensions(self, dimensions: Iterable[int]) -> TileAssignment:
        return replace(self, dimensions=tuple(dimensions))

    def transposed(self, order: Sequence[int]) -> TileAssignment:
        """The tiles with their dimensions in another order."""
        dimensions = tuple(self.dimensions[k] for k in order)
        moved = [k for k in order if self.dimensions[k] != 1]
        if moved == sorted(moved):
            return TileAssignment(dimensions, self.devices)
        if isinstance(self.devices, IotaDevices):
            devices = self.devices.transposed(self.dimensions, order)
            if devices is not None:
                return TileAssignment(dimensions, devices)
        ids, strides = self.device_ids(), _strides(self.dimensions)
        return TileAssignment(dimensions, tuple(ids[offset] for offset in _strided((self.dimensions[k], strides[k]) for k in order)))

    def with_sorted_minor(self) -> TileAssignment:
        """The devices along the last dimension sorted: their order means nothing when that dimension replicates."""
        if isinstance(self.devices, IotaDevices):
            devices = self.devices.with_sorted_minor(self.dimensions[-1])
            if devices is not None:
                return TileAssignment(self.dimensions, devices)
        ids, run = self.device_ids(), self.dimensions[-1]
        return TileAssignment(self.dimensions, tuple(k for at in range(0, len(ids), run) for k in sorted(ids[at : at + run])))
