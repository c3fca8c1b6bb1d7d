"""Shardings, device meshes and tile assignments as immutable values, in the normal form that XLA gives them when it reads them.

Reading text is the codecs' work (`opdefs.codecs.sharding`); nothing here knows of modules, partition counts or instructions.
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
    "check_against_shape",
    "expand",
    "tiled",
    "tuple_sharding",
]

SUBGROUP_TYPES = ("maximal", "manual", "unreduced", "replicated")
"""What a trailing tile dimension may mean, in the order to which XLA sorts these dimensions."""


class _Metadata(Protocol):
    @property
    def text(self) -> str: ...


class AxisRef(Record):
    """An axis of a mesh by number, or the part of it `'a':(2)4` with the given size after `pre_size`."""

    axis: int
    pre_size: int = 1
    size: int = 0
    """0 for the whole axis."""

    @property
    def is_whole(self) -> bool:
        return not self.size

    @property
    def next_pre_size(self) -> int:
        return self.pre_size * self.size

    def extent(self, mesh: Mesh) -> int:
        """Number of devices along the axis or the part."""
        return self.size or mesh.sizes[self.axis]

    def covers(self, part: AxisRef) -> bool:
        """Whether a part that does not reach over this one's ends lies inside it."""
        return self.axis == part.axis and self.pre_size <= part.pre_size and (not self.size or part.pre_size < self.next_pre_size)

    def can_join(self, following: AxisRef) -> bool:
        """Whether the two parts lie side by side on one axis and should have been written as one."""
        return bool(self.axis == following.axis and self.size and following.size and self.next_pre_size == following.pre_size)

    def can_coexist(self, other: AxisRef) -> bool:
        """Whether the parts are disjoint and some splitting of the axis has both."""
        if self.axis != other.axis:
            return True
        if not self.size or not other.size:
            return False
        low, high = sorted((self, other), key=lambda part: part.pre_size)
        return low.next_pre_size <= high.pre_size and high.pre_size % low.next_pre_size == 0


class Mesh(Record):
    """Named axes and, unless the devices are 0, 1, 2, ..., the order of the devices.

    >>> Mesh(("x", "y"), (2, 4)).spell()
    "mesh['x'=2,'y'=4]"
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    devices: IotaDevices | tuple[int, ...] | None = None

    @property
    def size(self) -> int:
        """Number of devices."""
        return prod(self.sizes)

    @property
    def tile(self) -> TileAssignment:
        """The devices, one dimension for each axis."""
        return TileAssignment(self.sizes, IotaDevices((self.size,), (0,)) if self.devices is None else self.devices)

    def spell(self, *, exact: bool = True) -> str:
        """Its text; XLA (`exact=False`) does not escape the names of axes."""
        axes = ",".join(f"{_quote_axis(name, exact)}={size}" for name, size in zip(self.names, self.sizes, strict=True))
        if self.devices is None:
            return f"mesh[{axes}]"
        return f"mesh[{axes}], device_ids=({self.devices.text if isinstance(self.devices, IotaDevices) else integers_text(self.devices)})"

    def spell_axes(self, axes: Iterable[AxisRef], separator: str = ", ", *, exact: bool = True) -> str:
        """The texts of axes or parts of axes: `'x', 'y':(1)2`."""
        return separator.join(_quote_axis(self.names[ref.axis], exact) + (f":({ref.pre_size}){ref.size}" if ref.size else "") for ref in axes)

    def contains_all(self, axes: Sequence[AxisRef]) -> bool:
        """Whether these are all axes in order, where an axis of size one may be missing."""
        named = [ref.axis for ref in axes]
        needed = {axis for axis, size in enumerate(self.sizes) if size != 1}
        return all(ref.is_whole for ref in axes) and named == sorted(set(named)) and needed.issubset(named)

    def split(self, axes: Iterable[AxisRef]) -> list[AxisRef]:
        """The finest parts of all axes, in order, that the given parts cut the mesh into."""
        cuts: list[set[int]] = [{1, size} for size in self.sizes]
        for ref in axes:
            if ref.size:
                cuts[ref.axis] |= {ref.pre_size, ref.next_pre_size}
        parts = []
        for axis, points in enumerate(map(sorted, cuts)):
            if len(points) <= 2:
                parts.append(AxisRef(axis))
            else:
                parts += [AxisRef(axis, low, high // low) for low, high in pairwise(points)]
        return parts


def _quote_axis(name: str, exact: bool) -> str:
    return f"'{escape(name)}'" if exact else f"'{name}'"


class DimensionSharding(Record):
    """The axes that split one array dimension, major to minor; `is_open` is the `?` that lets propagation add axes."""

    axes: tuple[AxisRef, ...] = ()
    is_open: bool = False


class NamedSharding(Record):
    """`mesh['x'=2,'y'=4], [{'x'}, {}], replicated={'y'}`: each array dimension names the mesh axes that split it.

    `reduction` is "max" or "min" for unreduced axes that newer builds combine otherwise than by a sum.
    """

    mesh: Mesh
    dimensions: tuple[DimensionSharding, ...] = ()
    replicated: tuple[AxisRef, ...] = ()
    unreduced: tuple[AxisRef, ...] = ()
    manual: tuple[AxisRef, ...] = ()
    reduction: str = ""

    def axes(self) -> list[AxisRef]:
        """Every axis or part of one that is named anywhere."""
        return [*(ref for dimension in self.dimensions for ref in dimension.axes), *self.replicated, *self.unreduced, *self.manual]

    @property
    def tile_counts(self) -> tuple[int, ...]:
        """Into how many parts each array dimension is cut."""
        return tuple(prod(ref.extent(self.mesh) for ref in dimension.axes) for dimension in self.dimensions)

    def spell(self, *, exact: bool = True) -> str:
        """Its text without braces and metadata."""
        return f"{self.mesh.spell(exact=exact)}, {self._spell_axes(exact)}"

    def _spell_axes(self, exact: bool) -> str:
        if not self.dimensions:
            if not self.replicated and not self.unreduced and not self.manual:
                return "replicated"
            if self.unreduced and self.mesh.contains_all(self.unreduced):
                return "unreduced" + (f"={self.reduction}" if self.reduction else "")
            if self.manual and self.mesh.contains_all(self.manual):
                return "manual"
        dimensions = []
        for dimension in self.dimensions:
            axes = self.mesh.spell_axes(dimension.axes, exact=exact)
            dimensions.append("{" + axes + (", ?" if axes else "?") * dimension.is_open + "}")
        out = ["[" + ", ".join(dimensions) + "]"]
        for name, axes_of_kind in (("replicated=", self.replicated), ("unreduced=" + self.reduction, self.unreduced), ("manual=", self.manual)):
            if axes_of_kind:
                out.append(name + "{" + self.mesh.spell_axes(axes_of_kind, exact=exact) + "}")
        return ", ".join(out)

    def as_tiled(self) -> Sharding:
        """The same placement as a tile assignment: manual, unreduced and all remaining axes become trailing dimensions."""
        parts = self.mesh.split(self.axes())
        of_axis = {axis: list(group) for axis, group in groupby(range(len(parts)), key=lambda k: parts[k].axis)}
        order: list[int] = []
        counts: list[int] = []

        def append(axes: Iterable[AxisRef]) -> None:
            covered = [k for ref in axes for k in of_axis[ref.axis] if ref.covers(parts[k])]
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
        whole = self.mesh.tile.with_dimensions(part.extent(self.mesh) for part in parts).transposed(order)
        return tiled(whole.with_dimensions(counts), subgroups)


class Sharding(Record):
    """Where the parts of a value lie; make tiled ones with `tiled` and tuples with `tuple_sharding`.

    `kind` is "replicated", "maximal" (all on `device`), "maximal_mesh" (the same, named), "manual", "unknown", "unreduced",
    "tiled" (`tile`, whose last dimensions mean `subgroups`), "named" (`named`) or "tuple" (`elements`, one for each leaf).
    `shard_group` is ("shard_as" or "shard_like", number). Metadata has a `text` with braces.

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
        """Text that XLA reads back as this sharding."""
        if not self._text:
            object.__setattr__(self, "_text", self.spell())
        return self._text

    def __hash__(self) -> int:
        if not self._hash:
            key = (self.kind, self.device, self.tile, self.subgroups, self.named, self.elements, self.shard_group, self.metadata)
            object.__setattr__(self, "_hash", hash(key) or 1)
        return self._hash

    def spell(self, *, exact: bool = True, metadata: bool = True) -> str:
        """Its text; with `exact=False` byte for byte what XLA prints, even where XLA cannot read that."""
        if self.is_tuple:
            cached = exact and metadata
            return "{" + join_elements(element.text if cached else element.spell(exact=exact, metadata=metadata) for element in self.elements) + "}"
        if not exact and self.tile is not None and self.tile.is_miscounted:
            return self.completed().spell(exact=False, metadata=metadata)
        origins = [value.text for value in self.metadata] if metadata else []
        if self.named is not None or self.kind == "maximal_mesh":
            text = self.named.spell(exact=exact) if self.named is not None else f"maximal_mesh[device_id={self.device}]"
            return "{" + text + (f", metadata={{{', '.join(origins)}}}" if origins else "") + "}"
        parts = [self._spell_placement(exact)]
        if self.shard_group is not None:
            parts.append(f"{self.shard_group[0]} {self.shard_group[1]}")
        if origins:
            parts.append(f"metadata={origins[0]}" if len(origins) == 1 else f"metadata={{{', '.join(origins)}}}")
        return "{" + " ".join(parts) + "}"

    def _spell_placement(self, exact: bool) -> str:
        if self.kind == "maximal":
            return f"maximal device={self.device}"
        if self.tile is None:
            return self.kind
        tile, subgroups = self.tile, self.subgroups
        if exact and not tile.dimensions:
            # XLA makes this of subgroups of size one, but cannot read `devices=[]`.
            tile, subgroups = tile.with_dimensions((1, 1)), ("manual", "replicated")
        elif exact and subgroups == ("unreduced",) and tile.dimensions[-1] == tile.size and not tile.is_miscounted:
            # XLA would read `{unreduced}` without the second subgroup, which it drops.
            tile, subgroups = tile.with_dimensions((*tile.dimensions, 1)), ("unreduced", "replicated")
        if subgroups == ("replicated",):
            return f"devices={tile.text} last_tile_dim_replicate"
        return f"devices={tile.text}" + (f" last_tile_dims={{{', '.join(subgroups)}}}" if subgroups else "")

    def completed(self) -> Sharding:
        """A miscounted list cut or filled up as XLA does; it stays as written until then, so that a verifier can tell."""
        if self.tile is None or not self.tile.is_miscounted:
            return self
        whole = replace(self.tile, devices=self.tile.device_ids())
        return replace(tiled(whole, self.subgroups), shard_group=self.shard_group, metadata=self.metadata)

    def as_tiled(self) -> Sharding:
        """A named sharding as the tile assignment that places it the same way; any other sharding as it is."""
        if self.kind == "maximal_mesh":
            return replace(self, kind="maximal")
        if self.named is None:
            return self.completed()
        return replace(self.named.as_tiled(), metadata=self.metadata)

    def tile_assignment(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Tile dimensions, those of subgroups included, and the device of each tile; both empty when no devices are named.

        >>> from hlotool.shapes.tiles import iota_devices
        >>> tiled(TileAssignment((2, 2), iota_devices((2, 2), (1, 0)))).tile_assignment()
        ((2, 2), (0, 2, 1, 3))
        """
        if self.is_tuple:
            raise Violation("P024", "sharding", "a tuple sharding has a tile assignment for each leaf")
        placement = self.as_tiled()
        if placement.kind == "maximal":
            return (1,), (placement.device,)
        if placement.tile is None:
            return (), ()
        return placement.tile.dimensions, placement.tile.device_ids()

    @property
    def tile_counts(self) -> tuple[int, ...] | None:
        """Into how many parts each array dimension is cut; None when the sharding says nothing about dimensions."""
        if self.named is not None:
            return self.named.tile_counts
        return None if self.tile is None else self.tile.dimensions[: len(self.tile.dimensions) - len(self.subgroups)]

    @property
    def num_devices(self) -> int:
        """Number of tiles or of devices in the mesh, 1 for maximal, 0 where no devices are named; the largest of a tuple's."""
        if self.is_tuple:
            return max((element.num_devices for element in self.elements), default=0)
        if self.named is not None:
            return self.named.mesh.size
        if self.tile is not None:
            return self.tile.size
        return int(self.kind in ("maximal", "maximal_mesh"))


REPLICATED = Sharding("replicated")


def tuple_sharding(elements: Iterable[Sharding]) -> Sharding:
    """One sharding for each leaf of a tuple, nested tuples flattened."""
    return Sharding("tuple", elements=tuple(elements))


def tiled(tile: TileAssignment, subgroups: Sequence[str] = ()) -> Sharding:
    """A sharding by tiles in XLA's normal form; the last dimensions of `tile` mean `subgroups`, one each.

    XLA merges subgroup dimensions of one type, drops those of size one, sorts them by type with "replicated" last, sorts the
    devices within a replicated group, and calls a single tile replicated, manual or unreduced outright.

    >>> from hlotool.shapes.tiles import iota_devices
    >>> tiled(TileAssignment((2, 2), iota_devices((4,))), ("manual", "manual")).text
    '{manual}'
    """
    rank = len(tile.dimensions) - len(subgroups)
    if rank < 0:
        raise Violation("S017", "sharding", f"{len(subgroups)} last_tile_dims for {len(tile.dimensions)} tile dimensions")
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
    order += [k for k in range(rank, len(tile.dimensions)) if tile.dimensions[k] == 1]
    if types in (["replicated"], ["manual"]) and merged[-1] == tile.size:
        return Sharding(types[0])
    if min(tile.dimensions) <= 0:
        raise Violation("S017", "sharding", f"tile dimensions [{integers_text(tile.dimensions)}] must be positive")
    tile = tile.transposed(order).with_dimensions(merged)
    return Sharding("tiled", tile=tile.with_sorted_minor() if types and types[-1] == "replicated" else tile, subgroups=tuple(types))


def expand(sharding: Sharding, leaf_count: int) -> Sharding:
    """A sharding for all leaves of a tuple, written once, as a tuple sharding; a tuple sharding stays as it is.

    The empty tuple has one entry too, as in XLA.

    >>> expand(REPLICATED, 2).text
    '{{replicated}, {replicated}}'
    """
    if sharding.is_tuple:
        return sharding
    return _repeated(sharding, max(leaf_count, 1))


@lru_cache(maxsize=256)
def _repeated(sharding: Sharding, times: int) -> Sharding:
    """One object for equal ones: a line that copies a long tuple is short, and there may be thousands of them."""
    return tuple_sharding((sharding,) * times)


def check_against_shape(sharding: Sharding, shape: Shape) -> Sharding:
    """The sharding that XLA gives an instruction of this shape: expanded for tuples.

    Neither the number of a tuple sharding's entries nor any rank is checked here: XLA's parser accepts all of them.
    """
    return expand(sharding, sum(1 for _ in shape.leaves())) if shape.is_tuple else sharding
