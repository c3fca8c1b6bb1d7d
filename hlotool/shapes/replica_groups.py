"""Replica groups: the groups of devices that take part in a collective.

The groups are written as lists, as a transposed iota, or as axes of a mesh.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain, count, islice
from math import prod

from hlotool.errors import Violation
from hlotool.record import Record
from hlotool.shapes.sharding import AxisRef, Mesh
from hlotool.shapes.tiles import MAX_DEVICES, TileAssignment

__all__ = ["NO_GROUPS", "ReplicaGroups"]


class ReplicaGroups(Record):
    """Replica groups in one of three forms: `lists`, `tile` (a 2D iota) or `axes` of a `mesh`.

    >>> from hlotool.shapes.tiles import iota_devices
    >>> ReplicaGroups(tile=TileAssignment((2, 2), iota_devices((2, 2), (1, 0)))).groups()
    ((0, 2), (1, 3))
    """

    lists: tuple[tuple[int, ...], ...] = ()
    tile: TileAssignment | None = None
    mesh: Mesh | None = None
    axes: tuple[AxisRef, ...] = ()
    _text: str = ""
    _groups: tuple[tuple[int, ...], ...] | None = None

    @property
    def text(self) -> str:
        """The text that XLA reads back as these groups."""
        if not self._text:
            object.__setattr__(self, "_text", self.to_text())
        return self._text

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        """Returns False for `{}`, which means one group of all devices."""
        return bool(self.lists) or self.tile is not None or self.mesh is not None

    def to_text(self, *, exact: bool = True) -> str:
        """Returns the text; with `exact=False`, as XLA prints it, with unescaped axis names."""
        if self.tile is not None:
            return self.tile.text
        if self.mesh is not None:
            return f"{self.mesh.to_text(exact=exact)} {{{self.mesh.axes_text(self.axes, ',', exact=exact)}}}"
        return _lists_text(self.lists)

    @property
    def group_count(self) -> int:
        """The number of groups, computed without expanding them; 0 for `{}`."""
        if self.tile is not None:
            return self.tile.dimensions[0]
        if self.mesh is None:
            return len(self.lists)
        per_group = prod(ref.extent(self.mesh) for ref in self.axes)
        return self.mesh.size // per_group if per_group else 0

    @property
    def device_count(self) -> int:
        """The total number of ids in all groups, computed without expanding them."""
        if self.tile is not None:
            return self.tile.size
        return sum(map(len, self.lists)) if self.mesh is None else self.mesh.size

    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Returns all groups as tuples of ids.

        Raises Violation P030 if the ids of an iota do not fill its groups exactly, or if there are
        more than MAX_DEVICES ids.
        """
        if self._groups is None:
            object.__setattr__(self, "_groups", self._expanded_groups())
        assert self._groups is not None
        return self._groups

    def _expanded_groups(self) -> tuple[tuple[int, ...], ...]:
        if self.tile is not None:
            tile, per_group = self.tile, self.tile.dimensions[1]
        elif self.mesh is not None:
            split, grouped = self._split_axes()
            sizes = list(chain.from_iterable(split))
            tile = self.mesh.tile.with_dimensions(sizes)
            per_group = prod(sizes[k] for k in grouped)
        else:
            return self.lists
        if min(tile.dimensions) <= 0:
            raise Violation("P030", "replica_groups", f"{self.text}: the number of groups and their size must be positive")
        if tile.size != tile.device_count:
            fault = f"the number of ids, {tile.device_count}, is not the number of group members, {tile.size}"
            raise Violation("P030", "replica_groups", f"{self.text}: {fault}")
        if tile.size > MAX_DEVICES:
            raise Violation("P030", "replica_groups", f"a list of {tile.size} ids is too long to expand")
        if self.mesh is not None:
            tile = tile.transposed(sorted(set(range(len(sizes))).difference(grouped)) + grouped)
        ids = iter(tile.device_ids())
        return tuple(tuple(islice(ids, per_group)) for _ in range(tile.size // per_group))

    def as_lists(self) -> ReplicaGroups:
        """Returns the same groups as lists: `{{0,1},{2,3}}`. Raises Violation like `groups`."""
        return ReplicaGroups(self.groups())

    def _split_axes(self) -> tuple[list[list[int]], list[int]]:
        """Returns the sizes into which each axis is split, and the dimensions that form the groups.

        The dimensions are numbered after all axes are split. As in XLA, an axis with only one used
        part is split into three dimensions, the first or last of which may have size one.
        """
        assert self.mesh is not None
        parts_of: dict[int, list[AxisRef]] = {}
        for ref in self.axes:
            parts_of.setdefault(ref.axis, []).append(ref)
        split: list[list[int]] = []
        numbers: dict[AxisRef, int] = {}
        offset = 0
        for axis, size in enumerate(self.mesh.sizes):
            parts = sorted((ref for ref in parts_of.get(axis, ()) if not ref.is_whole), key=lambda ref: ref.pre_size)
            sizes, done = [], 1
            for ref in parts:
                if ref.pre_size != done or len(parts) == 1:
                    sizes.append(ref.pre_size // done)
                numbers[ref] = offset + len(sizes)
                sizes.append(ref.size)
                done = ref.next_pre_size
            if done != size or len(parts) < 2:
                sizes.append(size // done)
            numbers[AxisRef(axis)] = offset
            split.append(sizes)
            offset += len(sizes)
        return split, [numbers[ref] for ref in self.axes]

    def without_subaxes(self) -> ReplicaGroups:
        """Returns the same groups over a mesh in which the used parts of axes are separate axes.

        Groups in other forms are returned unchanged.

        >>> ReplicaGroups(mesh=Mesh(("a",), (8,)), axes=(AxisRef(0, 1, 2), AxisRef(0, 4, 2))).without_subaxes().text
        "mesh['a_0'=2,'a_1'=2,'a_2'=2] {'a_0','a_2'}"
        """
        if self.mesh is None:
            return self
        split, grouped = self._split_axes()
        names = [name if len(sizes) == 1 else f"{name}_{k}" for name, sizes in zip(self.mesh.names, split, strict=True) for k in range(len(sizes))]
        mesh = Mesh(_unique_names(names), tuple(chain.from_iterable(split)), self.mesh.devices)
        return ReplicaGroups(mesh=mesh, axes=tuple(map(AxisRef, grouped)))


NO_GROUPS = ReplicaGroups()
"""`{}`: one group of all devices."""


def _lists_text(lists: Sequence[Sequence[int]]) -> str:
    return "{" + ",".join("{" + ",".join(map(str, group)) + "}" for group in lists) + "}"


def _letters(number: int) -> str:
    """Returns a number in letters: a, b, ..., z, aa, ab, ...; for -1, the empty string."""
    out = ""
    while number >= 0:
        out = chr(ord("a") + number % 26) + out
        number = number // 26 - 1
    return out


def _unique_names(names: Sequence[str]) -> tuple[str, ...]:
    """Makes names unique by appending letters, as XLA does for the parts of axes."""
    numbers = {name: count(-1 if occurrences == 1 else 0) for name, occurrences in Counter(names).items()}
    taken: dict[str, None] = {}
    for name in names:
        taken[next(unique for number in numbers[name] if (unique := name + _letters(number)) not in taken)] = None
    return tuple(taken)
