"""Custom calls that split whole arrays into one part per device, or join the parts again.

JAX's `shard_map` uses these calls. Between a split and a join, each device computes with its own
part. Otherwise, all devices compute with the same whole arrays.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Hashable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from hlotool.errors import Violation
from hlotool.interp.arrays.dtypes import Array
from hlotool.interp.arrays.values import Value
from hlotool.interp.devices import Device, Wait, exchange
from hlotool.interp.kernels.libraries.base import CustomCall, require, results_of
from hlotool.record import Record
from hlotool.shapes.shape import Shape, compatible
from hlotool.shapes.sharding import Sharding

__all__ = ["JOINS_OR_SPLITS", "Placement", "join", "mesh_axes", "partitioned_call", "placement_of", "split"]

_AXES = re.compile(r'"?([\w.]+)"?\s*=\s*(\d+)')
_MESH = re.compile(r"(\w+)\s*=\s*#sdy\.mesh<\[([^\]]*)\](?:\s*,\s*device_ids\s*=\s*\[([^\]]*)\])?>")
_PER_VALUE = re.compile(r"<\s*@(\w+)\s*,\s*\[((?:[^\[\]])*)\]")
_DIMENSION = re.compile(r"\{([^}]*)\}")
_AXIS = re.compile(r'"([^"]*)"(:\(\d+\)\d+)?')
_FULL_TO_SHARD, _SHARD_TO_FULL = "SPMDFullToShardShape", "SPMDShardToFullShape"


class Placement(Record):
    """A division of an array into parts, one for each partition.

    `counts` lists the number of parts along each dimension. `parts` contains, for each partition,
    the indices of its part along these dimensions.
    """

    counts: tuple[int, ...]
    parts: tuple[tuple[int, ...], ...]

    def slices(self, partition: int, sizes: Sequence[int]) -> tuple[slice, ...]:
        """Returns the position of a partition's part in the whole array.

        `sizes` lists the dimensions of the part.
        """
        return tuple(slice(part * size, (part + 1) * size) for part, size in zip(self.parts[partition], sizes, strict=True))


class Mesh(Record):
    """A grid of partitions: the axis sizes by name, and the coordinates of each partition."""

    axes: dict[str, int]
    coordinates: tuple[dict[str, int], ...]


def mesh_axes(text: str) -> dict[str, Mesh]:
    """Returns the meshes in the frontend attribute `xla.sdy.meshes` of a module.

    >>> mesh_axes('{m = #sdy.mesh<["x"=2, "y"=2]>}')["m"].coordinates[1]
    {'x': 0, 'y': 1}
    """
    meshes = {}
    for name, axes_text, ids_text in _MESH.findall(text.replace("\\", "")):
        axes = {axis: int(size) for axis, size in _AXES.findall(axes_text)}
        sizes = tuple(axes.values())
        ids = [int(number) for number in re.findall(r"\d+", ids_text)] or range(prod(sizes))
        positions = dict(zip(ids, np.ndindex(sizes), strict=False))
        if sorted(positions) == list(range(len(positions))):
            meshes[name] = Mesh(axes, tuple(dict(zip(axes, positions[k], strict=True)) for k in range(len(positions))))
    return meshes


def partitioned_call(
    call: CustomCall, device: Device, shardings: tuple[Sharding | None, ...], attributes: Mapping[str, str]
) -> tuple[bool, list[Placement]] | None:
    """Returns whether a call splits arrays or joins parts, and the placement of each whole array.

    The first value is True for a split and False for a join. Returns None if the call does not
    change shapes, or neither splits nor joins. `shardings` contains the shardings of the
    instruction and of its operands.
    """
    splits = _SPLITS.get(call.target)
    if splits is None:
        return None
    operands, results = len(call.operand_shapes), len(results_of(call))
    require(operands == results, call, f"must have the same number of operands and results, got {operands} and {results}")
    if all(map(compatible, call.operand_shapes, results_of(call))):
        return None
    shapes = list(zip(call.operand_shapes, results_of(call), strict=True))
    wholes, parts = ([shape for shape, _ in shapes], [shape for _, shape in shapes])
    if not splits:
        wholes, parts = parts, wholes
    if call.target.startswith("SPMD"):
        placements = [placement_of(shardings[1] if splits else shardings[0])]
    else:
        placements = _mesh_placements(attributes, device.grid.meshes, "in" if splits else "out")
    fits = len(placements) == len(wholes) and all(map(_fits, wholes, parts, placements))
    if not fits or any(len(placement.parts) != device.grid.partitions for placement in placements):
        operands_text = ", ".join(shape.text_without_layout for shape in call.operand_shapes)
        message = f"'{call.target}' changes shapes from {operands_text} to {call.result.text_without_layout}, which requires several devices"
        raise Violation("R004", "custom_call_target", message, _hint(placements))
    return splits, placements


_SPLITS = {_FULL_TO_SHARD: True, _SHARD_TO_FULL: False, "xla.sdy.GlobalToLocalShape": True, "xla.sdy.LocalToGlobalShape": False}
JOINS_OR_SPLITS = frozenset(_SPLITS)
"""The targets of calls that split arrays into one part per device, or join the parts."""


def _hint(placements: Sequence[Placement]) -> str:
    count = max((len(placement.parts) for placement in placements), default=0)
    return f"run the module with --partitions {count}" if count > 1 else "run the partitioned module instead"


def _fits(whole: Shape, part: Shape, placement: Placement) -> bool:
    counts = placement.counts
    return len(counts) == whole.rank and all(n == size * count for n, size, count in zip(whole.dimensions, part.dimensions, counts, strict=True))


def placement_of(sharding: Sharding | None) -> Placement:
    """Returns the placement described by a tiled sharding, or else a placement without parts."""
    if sharding is None or sharding.is_tuple or not (counts := sharding.tile_counts):
        return Placement((), ())
    sizes, devices = sharding.tile_assignment()
    positions = dict(zip(devices, np.ndindex(sizes), strict=False))
    if sorted(positions) != list(range(len(positions))):
        return Placement((), ())
    return Placement(counts, tuple(positions[k][: len(counts)] for k in range(len(positions))))


def _mesh_placements(attributes: Mapping[str, str], meshes: Mapping[str, Mesh], side: str) -> list[Placement]:
    """Returns the placements in `xla.sdy.in_shardings` or `out_shardings`, along manual axes.

    If several axes split a dimension, the first axis is the outermost.
    """
    manual = {axis for axis, _ in _AXIS.findall(attributes.get("xla.sdy.manual_axes", "").replace("\\", ""))}
    placements = []
    for name, dimensions_text in _PER_VALUE.findall(attributes.get(f"xla.sdy.{side}_shardings", "").replace("\\", "")):
        mesh = meshes.get(name)
        rows = [_AXIS.findall(text) for text in _DIMENSION.findall(dimensions_text)]
        if mesh is None or any(sub or axis not in mesh.axes for row in rows for axis, sub in row):
            return []
        axes = [[axis for axis, _ in row if axis in manual] for row in rows]
        counts = tuple(prod(mesh.axes[axis] for axis in row) for row in axes)
        parts = tuple(tuple(_mixed_radix(row, mesh.axes, position) for row in axes) for position in mesh.coordinates)
        placements.append(Placement(counts, parts))
    return placements


def _mixed_radix(axes: Sequence[str], sizes: Mapping[str, int], position: Mapping[str, int]) -> int:
    number = 0
    for axis in axes:
        number = number * sizes[axis] + position[axis]
    return number


def split(operands: Sequence[Array], placements: Sequence[Placement], call: CustomCall, device: Device) -> Value:
    """Returns this device's parts of whole arrays."""
    pairs = zip(operands, placements, results_of(call), strict=True)
    values = tuple(x[placement.slices(device.partition, shape.dimensions)] for x, placement, shape in pairs)
    return values if call.result.is_tuple else values[0]


def join(
    operands: Sequence[Array], placements: Sequence[Placement], call: CustomCall, device: Device, instruction_key: Hashable
) -> Generator[Wait, Any, Value]:
    """Returns whole arrays, joined from the parts of all devices in the replica."""
    count = device.grid.partitions
    members = tuple(device.replica * count + k for k in range(count))
    device_parts = yield from exchange(device, instruction_key, members, tuple(operands))
    values = []
    for k, (placement, shape) in enumerate(zip(placements, results_of(call), strict=True)):
        whole = np.empty(shape.dimensions, operands[k].dtype)
        for partition, parts in enumerate(device_parts):
            whole[placement.slices(partition, parts[k].shape)] = parts[k]
        values.append(whole)
    return tuple(values) if call.result.is_tuple else values[0]
