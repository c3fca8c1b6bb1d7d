"""Shardings and device meshes, in the normal form to which XLA's parser converts them.

`opdefs.codecs.sharding` parses and prints them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import groupby, pairwise
from math import prod
from typing import Protocol

from hlotool.errors import Violation
from hlotool.record import Record, replace
from hlotool.shapes.shape import Shape, join_elements
from hlotool.shapes.strings import escape
from hlotool.shapes.tiles import IotaDevices, TileAssignment, integers_text

__all__ = [
    "REPLICATED",
    "SUBGROUP_TYPES",
    "AxisRef",
    "DimensionSharding",
    "Mesh",
    "NamedSharding",
    "Sharding",
    "expand",
    "expand_for_shape",
    "tiled",
    "tuple_sharding",
]

SUBGROUP_TYPES = ("maximal", "manual", "unreduced", "replicated")
"""The types of trailing tile dimensions (subgroups), in the order in which XLA sorts them."""


class _Metadata(Protocol):
    """The metadata of a sharding; `text` includes the braces."""

    @property
    def text(self) -> str: ...


class AxisRef(Record):
    """An axis of a mesh, given by its number, or a part of such an axis, like Shardy's sub-axes.

    The part `'a':(2)4` has `pre_size` 2 and `size` 4.
    """

    axis: int
    pre_size: int = 1
    size: int = 0
    """The size of the part, or 0 for the whole axis."""

    @property
    def is_whole(self) -> bool:
        return not self.size

    @property
    def next_pre_size(self) -> int:
        return self.pre_size * self.size

    def extent(self, mesh: Mesh) -> int:
        """Returns the number of devices along the axis or part."""
        return self.size or mesh.sizes[self.axis]

    def covers(self, part: AxisRef) -> bool:
        """Returns whether this axis or part contains `part`.

        `part` must not cross the ends of this axis or part.
        """
        return self.axis == part.axis and self.pre_size <= part.pre_size and (not self.size or part.pre_size < self.next_pre_size)

    def can_join(self, following: AxisRef) -> bool:
        """Returns whether two parts are adjacent on one axis, and so must be written as one part."""
        return self.axis == following.axis and self.next_pre_size == following.pre_size

    def can_coexist(self, other: AxisRef) -> bool:
        """Returns whether the parts are disjoint and one split of the axis can yield both parts."""
        if self.axis != other.axis:
            return True
        if not self.size or not other.size:
            return False
        low, high = sorted((self, other), key=lambda part: part.pre_size)
        return high.pre_size % low.next_pre_size == 0


class Mesh(Record):
    """A mesh of devices with named axes; `devices` is None for the devices 0, 1, 2, ... in order.

    >>> Mesh(("x", "y"), (2, 4)).to_text()
    "mesh['x'=2,'y'=4]"
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    devices: IotaDevices | tuple[int, ...] | None = None

    @property
    def size(self) -> int:
        """The number of devices."""
        return prod(self.sizes)

    @property
    def tile(self) -> TileAssignment:
        """The devices as a tile assignment with a dimension for each axis."""
        return TileAssignment(self.sizes, IotaDevices((self.size,), (0,)) if self.devices is None else self.devices)

    def to_text(self, *, exact: bool = True) -> str:
        """Returns the text; with `exact=False`, as XLA prints it, with unescaped axis names."""
        axes = ",".join(f"{_quote_axis(name, exact)}={size}" for name, size in zip(self.names, self.sizes, strict=True))
        if self.devices is None:
            return f"mesh[{axes}]"
        return f"mesh[{axes}], device_ids=({self.devices.text if isinstance(self.devices, IotaDevices) else integers_text(self.devices)})"

    def axes_text(self, axes: Iterable[AxisRef], separator: str = ", ", *, exact: bool = True) -> str:
        """Returns the text of a list of axes or parts of axes: `'x', 'y':(1)2`."""
        return separator.join(_quote_axis(self.names[ref.axis], exact) + (f":({ref.pre_size}){ref.size}" if ref.size else "") for ref in axes)

    def contains_all(self, axes: Sequence[AxisRef]) -> bool:
        """Returns whether `axes` contains all axes in order; axes of size one may be missing."""
        numbers = [ref.axis for ref in axes]
        required = {axis for axis, size in enumerate(self.sizes) if size != 1}
        return all(ref.is_whole for ref in axes) and numbers == sorted(set(numbers)) and required.issubset(numbers)

    def split(self, axes: Iterable[AxisRef]) -> list[AxisRef]:
        """Splits all axes of the mesh at the ends of `axes`, and returns the parts in order."""
        cuts: list[set[int]] = [{1, size} for size in self.sizes]
        for ref in axes:
            if ref.size:
                cuts[ref.axis] |= {ref.pre_size, ref.next_pre_size}
        parts = []
        for axis, bounds in enumerate(map(sorted, cuts)):
            if len(bounds) <= 2:
                parts.append(AxisRef(axis))
            else:
                parts += [AxisRef(axis, low, high // low) for low, high in pairwise(bounds)]
        return parts


def _quote_axis(name: str, exact: bool) -> str:
    return f"'{escape(name)}'" if exact else f"'{name}'"


class DimensionSharding(Record):
    """The axes that split an array dimension, from major to minor.

    `is_open` stands for `?`, which allows propagation to add axes.
    """

    axes: tuple[AxisRef, ...] = ()
    is_open: bool = False


class NamedSharding(Record):
    """The mesh axes that split each dimension: `mesh['x'=2,'y'=4], [{'x'}, {}], replicated={'y'}`.

    Unreduced axes are combined by a sum or, if `reduction` is "max" or "min", by that operation.
    Only newer versions of XLA support "max" and "min".
    """

    mesh: Mesh
    dimensions: tuple[DimensionSharding, ...] = ()
    replicated: tuple[AxisRef, ...] = ()
    unreduced: tuple[AxisRef, ...] = ()
    manual: tuple[AxisRef, ...] = ()
    reduction: str = ""

    def axes(self) -> list[AxisRef]:
        """Returns all axes and parts of axes of the sharding, in textual order."""
        return [*(ref for dimension in self.dimensions for ref in dimension.axes), *self.replicated, *self.unreduced, *self.manual]

    @property
    def tile_counts(self) -> tuple[int, ...]:
        """The number of parts into which each array dimension is split."""
        return tuple(prod(ref.extent(self.mesh) for ref in dimension.axes) for dimension in self.dimensions)

    def to_text(self, *, exact: bool = True) -> str:
        """Returns the text without braces and metadata; with `exact=False`, as XLA prints it."""
        return f"{self.mesh.to_text(exact=exact)}, {self._axes_text(exact)}"

    def _axes_text(self, exact: bool) -> str:
        if not self.dimensions:
            if not self.replicated and not self.unreduced and not self.manual:
                return "replicated"
            if self.unreduced and self.mesh.contains_all(self.unreduced):
                return "unreduced" + (f"={self.reduction}" if self.reduction else "")
            if self.manual and self.mesh.contains_all(self.manual):
                return "manual"
        dimensions = []
        for dimension in self.dimensions:
            axes = self.mesh.axes_text(dimension.axes, exact=exact)
            dimensions.append("{" + axes + (", ?" if axes else "?") * dimension.is_open + "}")
        out = ["[" + ", ".join(dimensions) + "]"]
        for name, axes_of_kind in (("replicated=", self.replicated), ("unreduced=" + self.reduction, self.unreduced), ("manual=", self.manual)):
            if axes_of_kind:
                out.append(name + "{" + self.mesh.axes_text(axes_of_kind, exact=exact) + "}")
        return ", ".join(out)

    def as_tiled(self) -> Sharding:
        """Returns an equivalent sharding by tiles.

        The tile assignment has trailing dimensions for the manual axes, the unreduced axes and all
        other axes.
        """
        parts = self.mesh.split(self.axes())
        parts_of_axis = {axis: list(group) for axis, group in groupby(range(len(parts)), key=lambda k: parts[k].axis)}
        order: list[int] = []
        counts: list[int] = []

        def append(axes: Iterable[AxisRef]) -> None:
            covered = [k for ref in axes for k in parts_of_axis[ref.axis] if ref.covers(parts[k])]
            order.extend(covered)
            counts.append(prod(parts[k].extent(self.mesh) for k in covered))

        for dimension in self.dimensions:
            append(dimension.axes)
        subgroups = []
        for kind, axes in (("manual", self.manual), ("unreduced", self.unreduced)):
            if axes:
                append(axes)
                subgroups.append(kind)
        rest = [parts[k] for k in sorted(set(range(len(parts))).difference(order))]
        if not subgroups and prod(counts) == 1:
            return REPLICATED
        append(rest)
        if counts[-1] == 1:
            counts.pop()
        else:
            subgroups.append("replicated")
        tile = self.mesh.tile.with_dimensions(part.extent(self.mesh) for part in parts).transposed(order)
        return tiled(tile.with_dimensions(counts), subgroups)


class Sharding(Record):
    """The devices that hold the parts of a value.

    `tiled` and `tuple_sharding` create shardings of the kinds "tiled" and "tuple".

    `kind` is "replicated", "maximal" (everything on `device`), "maximal_mesh" (likewise, written as
    a mesh), "manual", "unknown", "unreduced", "tiled" (by `tile`, whose last dimensions have the
    types in `subgroups`), "named" (by `named`) or "tuple" (`elements` has a sharding for each
    leaf). `shard_group` is ("shard_as" or "shard_like", number).

    >>> tiled(TileAssignment((2, 2), (3, 2, 1, 0)), ("replicated",)).text
    '{devices=[2,2]2,3,0,1 last_tile_dim_replicate}'
    """

    kind: str
    device: int = 0
    tile: TileAssignment | None = None
    subgroups: tuple[str, ...] = ()
    named: NamedSharding | None = None
    elements: tuple[Sharding, ...] = ()
    shard_group: tuple[str, int] | None = None
    metadata: tuple[_Metadata, ...] = ()
    _text: str = ""
    _hash: int = 0

    @property
    def is_tuple(self) -> bool:
        return self.kind == "tuple"

    @property
    def text(self) -> str:
        """The text that XLA reads back as this sharding."""
        if not self._text:
            object.__setattr__(self, "_text", self.to_text())
        return self._text

    def __hash__(self) -> int:
        if not self._hash:
            key = (self.kind, self.device, self.tile, self.subgroups, self.named, self.elements, self.shard_group, self.metadata)
            object.__setattr__(self, "_hash", hash(key) or 1)
        return self._hash

    def to_text(self, *, exact: bool = True, metadata: bool = True) -> str:
        """Returns the text; with `exact=False`, byte for byte as XLA prints it.

        XLA cannot read some of the shardings that it prints.
        """
        if self.is_tuple:
            cached = exact and metadata
            return "{" + join_elements(element.text if cached else element.to_text(exact=exact, metadata=metadata) for element in self.elements) + "}"
        if not exact and self.tile is not None and self.tile.is_miscounted:
            return self.completed().to_text(exact=False, metadata=metadata)
        origins = [value.text for value in self.metadata] if metadata else []
        if self.named is not None or self.kind == "maximal_mesh":
            text = self.named.to_text(exact=exact) if self.named is not None else f"maximal_mesh[device_id={self.device}]"
            return "{" + text + (f", metadata={{{', '.join(origins)}}}" if origins else "") + "}"
        parts = [self._placement_text(exact)]
        if self.shard_group is not None:
            parts.append(f"{self.shard_group[0]} {self.shard_group[1]}")
        if origins:
            parts.append(f"metadata={origins[0]}" if len(origins) == 1 else f"metadata={{{', '.join(origins)}}}")
        return "{" + " ".join(parts) + "}"

    def _placement_text(self, exact: bool) -> str:
        if self.kind == "maximal":
            return f"maximal device={self.device}"
        if self.tile is None:
            return self.kind
        tile, subgroups = self.tile, self.subgroups
        if exact and not tile.dimensions:
            # XLA prints `devices=[]` if all subgroups have size one, but cannot read this back.
            tile, subgroups = tile.with_dimensions((1, 1)), ("manual", "replicated")
        elif exact and subgroups == ("unreduced",) and tile.dimensions[-1] == tile.size and not tile.is_miscounted:
            # XLA drops the second subgroup. Without it, the text would be read as `{unreduced}`.
            tile, subgroups = tile.with_dimensions((*tile.dimensions, 1)), ("unreduced", "replicated")
        if subgroups == ("replicated",):
            return f"devices={tile.text} last_tile_dim_replicate"
        return f"devices={tile.text}" + (f" last_tile_dims={{{', '.join(subgroups)}}}" if subgroups else "")

    def completed(self) -> Sharding:
        """Returns the sharding with a device list of the right length.

        As in XLA, a list of another length is truncated or extended. The list remains as written
        until this function is called, so that the verifier can report its length.
        """
        if self.tile is None or not self.tile.is_miscounted:
            return self
        tile = replace(self.tile, devices=self.tile.device_ids())
        return replace(tiled(tile, self.subgroups), shard_group=self.shard_group, metadata=self.metadata)

    def as_tiled(self) -> Sharding:
        """Returns the tiled sharding that is equivalent to a named sharding.

        For other shardings, device lists of the wrong length are completed, and `maximal_mesh`
        becomes `maximal`.
        """
        if self.kind == "maximal_mesh":
            return replace(self, kind="maximal")
        if self.named is None:
            return self.completed()
        return replace(self.named.as_tiled(), metadata=self.metadata)

    def tile_assignment(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Returns the tile dimensions, including those of subgroups, and the device of each tile.

        Both are empty if the sharding names no devices. Raises Violation P024 for a tuple sharding.

        >>> from hlotool.shapes.tiles import iota_devices
        >>> tiled(TileAssignment((2, 2), iota_devices((2, 2), (1, 0)))).tile_assignment()
        ((2, 2), (0, 2, 1, 3))
        """
        if self.is_tuple:
            raise Violation("P024", "sharding", "a tuple sharding has no tile assignment; each of its elements has one")
        placement = self.as_tiled()
        if placement.kind == "maximal":
            return (1,), (placement.device,)
        if placement.tile is None:
            return (), ()
        return placement.tile.dimensions, placement.tile.device_ids()

    @property
    def tile_counts(self) -> tuple[int, ...] | None:
        """The number of parts into which each array dimension is split, or None without tiles."""
        if self.named is not None:
            return self.named.tile_counts
        return None if self.tile is None else self.tile.dimensions[: len(self.tile.dimensions) - len(self.subgroups)]

    @property
    def num_devices(self) -> int:
        """The number of tiles or of devices in the mesh.

        The number is 1 for maximal shardings, 0 if no devices are named, and the maximum over all
        elements for a tuple.
        """
        if self.is_tuple:
            return max((element.num_devices for element in self.elements), default=0)
        if self.named is not None:
            return self.named.mesh.size
        if self.tile is not None:
            return self.tile.size
        return int(self.kind in ("maximal", "maximal_mesh"))


REPLICATED = Sharding("replicated")
"""The sharding in which every device holds the whole value."""


def tuple_sharding(elements: Iterable[Sharding]) -> Sharding:
    """Returns the sharding of a tuple; `elements` contains a sharding for each leaf at any depth.

    >>> tuple_sharding([REPLICATED, Sharding("manual")]).text
    '{{replicated}, {manual}}'
    """
    return Sharding("tuple", elements=tuple(elements))


def tiled(tile: TileAssignment, subgroups: Sequence[str] = ()) -> Sharding:
    """Returns a tiled sharding in XLA's normal form.

    `subgroups` has the types of the last dimensions of `tile`. XLA merges the dimensions of
    subgroups with the same type, drops dimensions of size one, sorts the rest by type with
    "replicated" last, and sorts the devices in a replicated subgroup. A single tile becomes a
    replicated, manual or unreduced sharding. Raises Violation S017 if there are more subgroups than
    dimensions, or if a dimension is not positive.

    >>> from hlotool.shapes.tiles import iota_devices
    >>> tiled(TileAssignment((2, 2), iota_devices((4,))), ("manual", "manual")).text
    '{manual}'
    """
    rank = len(tile.dimensions) - len(subgroups)
    if rank < 0:
        raise Violation(
            "S017", "sharding", f"last_tile_dims lists {len(subgroups)} types, but the number of tile dimensions is {len(tile.dimensions)}"
        )
    if not subgroups or tile.is_miscounted:
        return Sharding("tiled", tile=tile, subgroups=tuple(subgroups))
    if len(set(subgroups)) == 1 and subgroups[0] != "maximal" and prod(tile.dimensions[:rank]) == 1:
        return Sharding(subgroups[0])
    types: list[str] = []
    order, merged = list(range(rank)), list(tile.dimensions[:rank])
    for kind in SUBGROUP_TYPES:
        members = [rank + k for k, subgroup in enumerate(subgroups) if subgroup == kind and tile.dimensions[rank + k] != 1]
        if members:
            order += members
            merged.append(prod(tile.dimensions[k] for k in members))
            types.append(kind)
    if types in (["replicated"], ["manual"]) and merged[-1] == tile.size:
        return Sharding(types[0])
    if min(tile.dimensions) <= 0:
        raise Violation("S017", "sharding", f"tile dimensions [{integers_text(tile.dimensions)}] must be positive")
    tile = tile.transposed(order).with_dimensions(merged)
    return Sharding("tiled", tile=tile.with_sorted_minor() if types and types[-1] == "replicated" else tile, subgroups=tuple(types))


def expand(sharding: Sharding, leaf_count: int) -> Sharding:
    """Returns the tuple sharding with `sharding` for each leaf, or a tuple sharding unchanged.

    As in XLA, the sharding of an empty tuple has one element.

    >>> expand(REPLICATED, 2).text
    '{{replicated}, {replicated}}'
    """
    if sharding.is_tuple:
        return sharding
    return _repeat(sharding, max(leaf_count, 1))


@lru_cache(maxsize=256)
def _repeat(sharding: Sharding, times: int) -> Sharding:
    """Returns a tuple sharding that repeats one sharding.

    Cached, because thousands of short lines may have long tuples as results.
    """
    return tuple_sharding((sharding,) * times)


def expand_for_shape(sharding: Sharding, shape: Shape) -> Sharding:
    """Returns the sharding of an instruction with this shape, expanded if the shape is a tuple.

    Like XLA's parser, does not check ranks or the number of elements of a tuple sharding.
    """
    return expand(sharding, sum(1 for _ in shape.leaves())) if shape.is_tuple else sharding
