"""The codec of shardings and meshes.

Building a sharding or mesh raises Violation if XLA's parser would report an error or abort. As in
XLA, the verifier checks ranks, the number of devices and the range of their ids.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import prod
from typing import Any, NamedTuple

from hlotool.errors import Violation
from hlotool.opdefs.codecs.base import WriteStyle, builds, codec
from hlotool.opdefs.codecs.scalars import integer, integers, string
from hlotool.opdefs.inference import count
from hlotool.record import replace
from hlotool.shapes.sharding import (
    AxisRef,
    DimensionSharding,
    Mesh,
    NamedSharding,
    Sharding,
    tiled,
    tuple_sharding,
)
from hlotool.shapes.tiles import MAX_DEVICES, IotaDevices, TileAssignment, iota_devices

__all__ = ["WrittenAxis", "WrittenDevices", "WrittenIota", "axis_numbers", "build_iota", "build_mesh", "check_axes", "resolve_axes", "write_sharding"]

_INDEX = re.compile(r"[ \t\n\v\f\r]*[+-]?[0-9]+[ \t\n\v\f\r]*")


# Devices


class WrittenIota(NamedTuple):
    """An iota as written, at offset `at`; `permutation` is None without a `T(...)`."""

    reshape: tuple[int, ...]
    permutation: tuple[int, ...] | None
    at: int


class WrittenTile(NamedTuple):
    """A tile assignment as written."""

    dimensions: tuple[int, ...]
    devices: WrittenIota | tuple[int, ...]


class WrittenDevices(NamedTuple):
    """The devices of a mesh as written, at offset `at`."""

    devices: WrittenIota | tuple[int, ...]
    at: int


@builds("iota")
def _iota(children: list[Any]) -> WrittenIota:
    opening, *rest = children
    end = next((k for k, token in enumerate(rest) if token.type == "TRANSPOSED"), len(rest))
    return WrittenIota(integers(rest[:end]), integers(rest[end + 1 :]) if end < len(rest) else None, opening.start_pos)


@builds("tile_dimensions")
def _tile_dimensions(children: list[Any]) -> tuple[int, ...]:
    return integers(children)


@builds("tile")
def _tile(children: list[Any]) -> WrittenTile:
    dimensions, *devices = children
    return WrittenTile(dimensions, devices[0] if isinstance(devices[0], WrittenIota) else integers(devices))


def _join_iota(reshape: list[int], permutation: list[int], written: WrittenIota) -> None:
    """Appends an iota to the previous one: as in XLA, a second `devices=` continues the first."""
    reshape += written.reshape
    if len(reshape) == 1:
        if written.permutation is not None:
            raise Violation("S017", written.at, "an iota of one dimension cannot be transposed", "leave out T(...)")
        permutation.append(0)
        return
    if written.permutation is None:
        raise Violation("S017", written.at, f"an iota of {len(reshape)} dimensions must have a transposition", "add T(...)")
    for dimension in written.permutation:
        if not 0 <= dimension < len(reshape):
            raise Violation("S017", written.at, f"dimension {dimension} in T(...) is out of range for {len(reshape)} dimensions")
    permutation += written.permutation


def build_iota(written: WrittenIota, code: str) -> IotaDevices:
    """Returns the iota in normal form.

    Raises Violation with `code` if the transposition is not a permutation of the dimensions.
    """
    reshape: list[int] = []
    permutation: list[int] = []
    _join_iota(reshape, permutation, written)
    return _normal_iota(reshape, permutation, code, written.at)


def _normal_iota(reshape: list[int], permutation: list[int], code: str, at: int) -> IotaDevices:
    if len(reshape) != len(permutation):
        raise Violation(code, at, f"the iota has {len(reshape)} dimensions, but T(...) lists {len(permutation)}")
    try:
        return iota_devices(reshape, permutation)
    except Violation as violation:
        raise Violation(code, at, violation.message) from None


# Shardings by tiles


class _Parts:
    """The parts of a tiled sharding, which XLA allows in any order and more than once."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.words: set[str] = set()
        self.dimensions: list[int] = []
        self.devices: list[int] = []
        self.reshape: list[int] = []
        self.permutation: list[int] = []
        self.subgroups: list[str] = []
        self.groups: dict[str, None] = {}
        self.group_number = 0
        self.metadata: list[Any] = []

    def add(self, part: list[Any]) -> None:
        token, *values = part
        if token.type == "KEY_OF_DEVICE":
            self.devices = [integer(values[0])]
        elif token.type == "KEY_OF_DEVICES":
            self.dimensions += values[0].dimensions
            if isinstance(values[0].devices, WrittenIota):
                _join_iota(self.reshape, self.permutation, values[0].devices)
            else:
                self.devices += values[0].devices
        elif token.type == "KEY_OF_LAST_TILE_DIMS":
            self.subgroups += map(str, values)
        elif token.type == "KEY_OF_SHARDING_METADATA":
            self.metadata += values
        elif token.type in ("SHARD_AS", "SHARD_LIKE"):
            self.groups[str(token)] = None
            self.group_number = integer(values[0])
        else:
            self.words.add(str(token))

    def build(self) -> Sharding:
        # XLA looks for the words in this order and ignores all other parts.
        word = next((word for word in ("replicated", "maximal", "manual", "unknown", "unreduced") if word in self.words), None)
        if word is None:
            return self._build_tiles()
        if word != "maximal":
            if self.devices:
                raise Violation("P025", self.at, f"'{word}' takes no device list")
            return Sharding(word)
        if len(self.devices) != 1:
            raise Violation("P025", self.at, f"'maximal' takes exactly one device, got {len(self.devices)}", "write device=0")
        return Sharding(word, device=self.devices[0])

    def _build_tiles(self) -> Sharding:
        if not self.dimensions:
            raise Violation("S017", self.at, "a sharding must have a kind or devices=[...]", "write {replicated}")
        subgroups = tuple(self.subgroups)
        if "last_tile_dim_replicate" in self.words:
            if subgroups:
                raise Violation("S017", self.at, "last_tile_dim_replicate and last_tile_dims cannot be used together")
            subgroups = ("replicated",)
        if self.reshape:
            if self.devices:
                raise Violation("S017", self.at, "devices must be either a list or an iota, not both")
            tile = TileAssignment(tuple(self.dimensions), _normal_iota(self.reshape, self.permutation, "S017", self.at))
        else:
            tile = self._listed_tile()
        try:
            sharding = tiled(tile, subgroups)
            # If the list of devices cannot be completed, fail now, not when the sharding is printed.
            sharding.completed()
            return sharding
        except Violation as violation:
            raise Violation(violation.code, self.at, violation.message) from None

    def _listed_tile(self) -> TileAssignment:
        if len(self.devices) < 2:
            raise Violation("P025", self.at, "a single device cannot be tiled", "write {maximal device=...}")
        # XLA allocates memory for all tiles, even if fewer devices are listed.
        size = prod(self.dimensions)
        if size < 0 or size > max(len(self.devices), MAX_DEVICES):
            raise Violation("P019", self.at, f"[{','.join(map(str, self.dimensions))}] has {size} tiles, but {len(self.devices)} devices are listed")
        return TileAssignment(tuple(self.dimensions), tuple(self.devices))


@builds("sharding_part", "sharding_metadata", "named_axes", "whole_mesh", "mesh_axis")
def _as_written(children: list[Any]) -> list[Any]:
    # If a sharding_part or named_axes consists of sharding_metadata, its only child is a list.
    return children[0] if isinstance(children[0], list) else children


@builds("tiled_sharding")
def _tiled_sharding(children: list[Any]) -> Sharding:
    opening, *written = children
    parts = _Parts(written[0][0].start_pos if written else opening.start_pos)
    for part in written:
        parts.add(part)
    # If both shard_as and shard_like are written, XLA uses shard_as with the number written last.
    group = next((name for name in ("shard_as", "shard_like") if name in parts.groups), None)
    sharding = parts.build()
    if group is None and not parts.metadata:
        return sharding
    return replace(sharding, shard_group=(group, parts.group_number) if group else None, metadata=tuple(parts.metadata))


@builds("empty_tuple_sharding", "tuple_sharding")
def _tuple_sharding(children: list[Sharding]) -> Sharding:
    return tuple_sharding(children)


# Meshes and axes


class WrittenAxis(NamedTuple):
    """An axis or part of an axis, as written; `pre_size` and `size` are None for a whole axis."""

    name: Any
    pre_size: Any = None
    size: Any = None


@builds("mesh")
def _mesh(children: list[Any]) -> tuple[int, Mesh]:
    keyword, *axes = children
    sizes: dict[str, int] = {}
    for name_token, size_token in axes:
        name = string(name_token)
        if name in sizes:
            raise Violation("P039", name_token.start_pos, f"the mesh has two axes named '{name}'")
        sizes[name] = integer(size_token)
        # XLA accepts 0 but aborts on negative sizes.
        if sizes[name] < 1:
            raise Violation("P039", size_token.start_pos, f"the size of an axis must be positive, got {sizes[name]}")
    return keyword.start_pos, Mesh(tuple(sizes), tuple(sizes.values()))


@builds("mesh_devices")
def _mesh_devices(children: list[Any]) -> WrittenDevices:
    key, *devices = children
    if devices and isinstance(devices[0], WrittenIota):
        return WrittenDevices(devices[0], key.start_pos)
    return WrittenDevices(integers(devices), key.start_pos)


def build_mesh(mesh: Mesh, written: WrittenDevices | None) -> Mesh:
    """Returns the mesh with its devices. As in XLA, an iota without a transposition is dropped."""
    if written is None:
        return mesh
    if not mesh.sizes:
        raise Violation("P039", written.at, "a mesh without axes cannot have device_ids")
    if isinstance(written.devices, WrittenIota):
        iota = build_iota(written.devices, "P039")
        if prod(iota.reshape) != mesh.size:
            raise Violation("P039", written.at, f"{mesh.to_text()} has {count(mesh.size, 'device')}, but device_ids lists {prod(iota.reshape)}")
        return mesh if len(iota.reshape) == 1 else replace(mesh, devices=iota)
    devices = written.devices
    if len(devices) != mesh.size:
        raise Violation("P039", written.at, f"{mesh.to_text()} has {count(mesh.size, 'device')}, but device_ids lists {len(devices)}")
    if sorted(devices) != list(range(len(devices))):
        numbers = f"each number from 0 to {len(devices) - 1} once" if len(devices) > 1 else "only the number 0"
        raise Violation("P039", written.at, f"device_ids must list {numbers}")
    if devices == tuple(range(len(devices))):
        raise Violation("P039", written.at, "device_ids is redundant: it lists the devices in the default order", "leave out device_ids")
    return replace(mesh, devices=devices)


@builds("axis_ref")
def _axis_ref(children: list[Any]) -> WrittenAxis:
    return WrittenAxis(*children)


@builds("axis_list")
def _axis_list(children: list[Any]) -> tuple[WrittenAxis, ...]:
    return tuple(children)


@builds("dimension_sharding")
def _dimension_sharding(children: list[Any]) -> tuple[list[WrittenAxis], bool]:
    axes = [child for child in children if isinstance(child, WrittenAxis)]
    return axes, len(axes) != len(children)


def axis_numbers(mesh: Mesh) -> dict[str, int]:
    """Returns the number of each axis, by name."""
    return {name: axis for axis, name in enumerate(mesh.names)}


def resolve_axes(mesh: Mesh, numbers: dict[str, int], written: Iterable[WrittenAxis]) -> list[tuple[AxisRef, int]]:
    """Returns the axes and parts of axes, each with its offset in the text.

    A name that is not in the mesh may be the number of an axis. Raises Violation P039 for unknown
    axes, and for parts that do not fit the axis.
    """
    return [(_resolve_axis(mesh, numbers, axis), axis.name.start_pos) for axis in written]


def _resolve_axis(mesh: Mesh, numbers: dict[str, int], written: WrittenAxis) -> AxisRef:
    name = string(written.name)
    at = written.name.start_pos
    axis = numbers.get(name, -1)
    if axis < 0 and len(name) <= 20 and _INDEX.fullmatch(name):
        axis = int(name)
    if not 0 <= axis < len(mesh.sizes):
        raise Violation("P039", at, f"axis '{name}' is not in {mesh.to_text()}")
    if written.size is None:
        return AxisRef(axis)
    pre_size, size = integer(written.pre_size), integer(written.size)
    if pre_size < 1 or size < 2:
        raise Violation("P039", at, f"a part of an axis must have a pre-size of at least 1 and a size of at least 2, got ({pre_size}){size}")
    if mesh.sizes[axis] % (pre_size * size) or size >= mesh.sizes[axis]:
        raise Violation("P039", at, f"({pre_size}){size} is not a proper part of axis '{mesh.names[axis]}' of size {mesh.sizes[axis]}")
    return AxisRef(axis, pre_size, size)


def check_axes(mesh: Mesh, lists: Sequence[Sequence[tuple[AxisRef, int]]]) -> None:
    """Raises Violation P039 for overlapping axes, and for adjacent parts that could be joined."""
    used: dict[int, list[AxisRef]] = {}
    for axes in lists:
        before: AxisRef | None = None
        for ref, at in axes:
            others = used.setdefault(ref.axis, [])
            if not all(ref.can_coexist(other) for other in others):
                raise Violation("P039", at, f"axis {mesh.axes_text([ref])} is used twice or overlaps another part")
            if before is not None and before.can_join(ref):
                raise Violation(
                    "P039", at, f"{mesh.axes_text([before, ref])} must be written as one part, {mesh.axes_text([_join_parts(mesh, before, ref)])}"
                )
            others.append(ref)
            before = ref


def _join_parts(mesh: Mesh, first: AxisRef, second: AxisRef) -> AxisRef:
    size = first.size * second.size
    return AxisRef(first.axis) if size == mesh.sizes[first.axis] else AxisRef(first.axis, first.pre_size, size)


# Shardings by mesh axes


@builds("maximal_mesh")
def _maximal_mesh(children: list[Any]) -> Sharding:
    return Sharding("maximal_mesh", device=integer(children[2]))


@builds("maximal_mesh_sharding")
def _maximal_mesh_sharding(children: list[Any]) -> Sharding:
    sharding: Sharding = children[0]
    metadata = children[1:]
    return replace(sharding, metadata=tuple(metadata[0][1:])) if metadata else sharding


def _open_mesh(children: list[Any]) -> tuple[int, Mesh, list[Any]]:
    """Returns the offset and the value of the mesh, and the remaining children."""
    (at, mesh), *rest = children
    if rest and isinstance(rest[0], WrittenDevices):
        return at, build_mesh(mesh, rest[0]), rest[1:]
    return at, mesh, rest


@builds("whole_mesh_sharding")
def _whole_mesh_sharding(children: list[Any]) -> Sharding:
    at, mesh, ((word, *detail), *metadata) = _open_mesh(children)
    origins = tuple(metadata[0][1:]) if metadata else ()
    kind = word.rstrip("=")
    named = NamedSharding(mesh)
    if kind != "replicated":
        if not mesh.sizes:
            raise Violation("P039", at, f"'{kind}' requires a mesh with axes")
        reduction = _reduction(detail)
        resolved = resolve_axes(mesh, axis_numbers(mesh), detail[1]) if len(detail) > 1 else [(AxisRef(axis), at) for axis in range(len(mesh.sizes))]
        named = _build_named(mesh, [], {kind: resolved}, reduction)
    return Sharding("named", named=named, metadata=origins)


def _reduction(detail: Sequence[Any]) -> str:
    """Returns the reduction of unreduced axes; "" stands for a sum, which is the default.

    Only newer versions of XLA have other reductions.
    """
    operation = str(detail[0]) if detail and isinstance(detail[0], str) else "sum"
    return "" if operation == "sum" else operation


@builds("named_sharding")
def _named_sharding(children: list[Any]) -> Sharding:
    _, mesh, rest = _open_mesh(children)
    dimensions = [child for child in rest if isinstance(child, tuple)]
    axes: dict[str, list[tuple[AxisRef, int]]] = {}
    metadata: list[Any] = []
    reduction, numbers = "", axis_numbers(mesh)
    for key, *values in rest[len(dimensions) :]:
        if key.type == "KEY_OF_SHARDING_METADATA":
            metadata += values
            continue
        if key.type == "KEY_OF_UNREDUCED":
            reduction = _reduction(values)
        axes.setdefault(key.rstrip("="), []).extend(resolve_axes(mesh, numbers, values[-1]))
    resolved = [(resolve_axes(mesh, numbers, written), is_open) for written, is_open in dimensions]
    return Sharding("named", named=_build_named(mesh, resolved, axes, reduction), metadata=tuple(metadata))


def _build_named(
    mesh: Mesh, dimensions: list[tuple[list[tuple[AxisRef, int]], bool]], axes: dict[str, list[tuple[AxisRef, int]]], reduction: str
) -> NamedSharding:
    kinds = [axes.get(kind, []) for kind in ("replicated", "unreduced", "manual")]
    for kind in kinds:
        numbers = [(ref.axis, ref.pre_size, ref.extent(mesh)) for ref, _ in kind]
        for before, position, (_, at) in zip(numbers, numbers[1:], kind[1:], strict=False):
            if position < before:
                raise Violation("P039", at, "replicated, unreduced and manual axes must be listed in the order of the mesh")
    check_axes(mesh, [*(refs for refs, _ in dimensions), *kinds])
    replicated, unreduced, manual = (tuple(ref for ref, _ in kind) for kind in kinds)
    if not dimensions:
        # XLA prints these shardings as one word, which means all axes, including axes of size 1.
        whole = tuple(AxisRef(axis) for axis in range(len(mesh.sizes)))
        if unreduced and mesh.contains_all(unreduced):
            return NamedSharding(mesh, unreduced=whole, reduction=reduction)
        if manual and mesh.contains_all(manual):
            return NamedSharding(mesh, manual=whole)
    dimension_shardings = tuple(DimensionSharding(tuple(ref for ref, _ in refs), is_open) for refs, is_open in dimensions)
    return NamedSharding(mesh, dimension_shardings, replicated, unreduced, manual, reduction if unreduced else "")


def write_sharding(value: Sharding, style: WriteStyle) -> str:
    """Returns the text of the sharding, without `sharding=`."""
    if style.exact and style.metadata:
        return value.text
    return value.to_text(exact=style.exact, metadata=style.metadata)


codec("Sharding", "sharding", write_sharding)
