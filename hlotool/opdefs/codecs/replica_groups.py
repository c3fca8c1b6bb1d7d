"""The codec of replica groups: lists, a transposed iota, or the axes of a mesh.

The verifier checks that groups are complete, have equal sizes and have valid ids.
"""

from __future__ import annotations

from contextlib import suppress
from math import prod
from typing import Any

from hlotool.errors import Violation
from hlotool.opdefs.codecs.base import WriteStyle, builds, codec
from hlotool.opdefs.codecs.sharding import (
    WrittenDevices,
    axis_numbers,
    build_iota,
    build_mesh,
    check_axes,
    resolve_axes,
)
from hlotool.shapes.replica_groups import NO_GROUPS, ReplicaGroups
from hlotool.shapes.tiles import TileAssignment

__all__ = ["write_replica_groups"]


@builds("list_replica_groups")
def _list_replica_groups(children: list[Any]) -> ReplicaGroups:
    (lists,) = children
    return ReplicaGroups(lists) if lists else NO_GROUPS


@builds("iota_replica_groups")
def _iota_replica_groups(children: list[Any]) -> ReplicaGroups:
    dimensions, written = children
    if len(dimensions) != 2:
        raise Violation("S017", written.at, f"replica groups must have two dimensions, groups and members, got {len(dimensions)}")
    return ReplicaGroups(tile=TileAssignment(dimensions, build_iota(written, "P030")))


@builds("mesh_replica_groups")
def _mesh_replica_groups(children: list[Any]) -> ReplicaGroups:
    (at, mesh), *rest = children
    mesh = build_mesh(mesh, rest[0] if isinstance(rest[0], WrittenDevices) else None)
    axes = resolve_axes(mesh, axis_numbers(mesh), rest[-1])
    check_axes(mesh, [axes])
    per_group = prod(ref.extent(mesh) for ref, _ in axes)
    if per_group < 2:
        raise Violation("P039", at, f"groups over mesh axes must have at least two members, got {per_group}", "write replica_groups={{0},{1}}")
    return ReplicaGroups(mesh=mesh, axes=tuple(ref for ref, _ in axes))


def write_replica_groups(value: ReplicaGroups, style: WriteStyle) -> str:
    """Returns the text of the groups, without `replica_groups=`.

    With `full_replica_groups`, the groups are written as lists, unless the number of ids does not
    match the groups.
    """
    if style.full_replica_groups:
        # XLA's parser accepts such groups, too; only its verifier rejects them.
        with suppress(Violation):
            return value.as_lists().text
    if style.without_subaxes:
        value = value.without_subaxes()
    return value.text if style.exact else value.to_text(exact=False)


codec("ReplicaGroups", "replica_groups", write_replica_groups)
