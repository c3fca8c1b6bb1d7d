"""Replica groups in their three forms: text, numbers of groups and devices, and invalid groups."""

import pytest

from hlotool.errors import Violation
from hlotool.shapes.replica_groups import NO_GROUPS, ReplicaGroups
from hlotool.shapes.sharding import AxisRef, Mesh
from hlotool.shapes.tiles import MAX_DEVICES, TileAssignment, iota_devices

X, Y = AxisRef(0), AxisRef(1)
MESH = Mesh(("x", "y"), (2, 4))
LISTS = ReplicaGroups(((0, 2), (1, 3, 4)))
TILE = ReplicaGroups(tile=TileAssignment((2, 3), iota_devices((3, 2), (1, 0))))


def mesh_groups(*axes: AxisRef, mesh: Mesh = MESH) -> ReplicaGroups:
    return ReplicaGroups(mesh=mesh, axes=axes)


GROUPS = [
    (NO_GROUPS, "{}", 0, 0, ()),
    (LISTS, "{{0,2},{1,3,4}}", 2, 5, ((0, 2), (1, 3, 4))),
    (TILE, "[2,3]<=[3,2]T(1,0)", 2, 6, ((0, 2, 4), (1, 3, 5))),
    (mesh_groups(Y), "mesh['x'=2,'y'=4] {'y'}", 2, 8, ((0, 1, 2, 3), (4, 5, 6, 7))),
    (mesh_groups(X), "mesh['x'=2,'y'=4] {'x'}", 4, 8, ((0, 4), (1, 5), (2, 6), (3, 7))),
    (mesh_groups(X, Y), "mesh['x'=2,'y'=4] {'x','y'}", 1, 8, ((0, 1, 2, 3, 4, 5, 6, 7),)),
    (mesh_groups(Y, X), "mesh['x'=2,'y'=4] {'y','x'}", 1, 8, ((0, 4, 1, 5, 2, 6, 3, 7),)),
    (mesh_groups(AxisRef(1, 1, 2)), "mesh['x'=2,'y'=4] {'y':(1)2}", 4, 8, ((0, 2), (1, 3), (4, 6), (5, 7))),
    (mesh_groups(AxisRef(1, 2, 2)), "mesh['x'=2,'y'=4] {'y':(2)2}", 4, 8, ((0, 1), (2, 3), (4, 5), (6, 7))),
    (mesh_groups(X, AxisRef(1, 2, 2)), "mesh['x'=2,'y'=4] {'x','y':(2)2}", 2, 8, ((0, 1, 4, 5), (2, 3, 6, 7))),
    (mesh_groups(AxisRef(0, 1, 2), AxisRef(0, 4, 2), mesh=Mesh(("a",), (8,))), "mesh['a'=8] {'a':(1)2,'a':(4)2}", 2, 8, ((0, 1, 4, 5), (2, 3, 6, 7))),
    (mesh_groups(AxisRef(0, 1, 2), AxisRef(0, 2, 2), mesh=Mesh(("a",), (8,))), "mesh['a'=8] {'a':(1)2,'a':(2)2}", 2, 8, ((0, 2, 4, 6), (1, 3, 5, 7))),
    (mesh_groups(AxisRef(0, 1, 2), AxisRef(0, 2, 4), mesh=Mesh(("a",), (8,))), "mesh['a'=8] {'a':(1)2,'a':(2)4}", 1, 8, ((0, 1, 2, 3, 4, 5, 6, 7),)),
    (mesh_groups(X, mesh=Mesh(("x",), (2,), (1, 0))), "mesh['x'=2], device_ids=(1,0) {'x'}", 1, 2, ((1, 0),)),
]


@pytest.mark.parametrize(("groups", "text", "group_count", "device_count", "expected"), GROUPS)
def test_groups(groups, text, group_count, device_count, expected):
    assert groups.text == str(groups) == text
    assert (groups.group_count, groups.device_count) == (group_count, device_count)
    assert groups.groups() == expected
    assert groups.groups() is groups.groups()
    assert groups.as_lists() == ReplicaGroups(expected)
    assert bool(groups) is (groups is not NO_GROUPS)


def test_a_mesh_with_an_empty_axis_has_no_groups():
    assert mesh_groups(X, mesh=Mesh(("x",), (0,))).group_count == 0


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (ReplicaGroups(tile=TileAssignment((2, 3), iota_devices((4,), (0,)))), "the number of ids, 4, is not the number of group members, 6"),
        (ReplicaGroups(tile=TileAssignment((0, 3), iota_devices((0,), (0,)))), "must be positive"),
        (ReplicaGroups(tile=TileAssignment((3, 0), iota_devices((0,), (0,)))), "must be positive"),
        (ReplicaGroups(tile=TileAssignment((-2, -2), iota_devices((4,), (0,)))), "must be positive"),
        (
            ReplicaGroups(tile=TileAssignment((2, MAX_DEVICES), iota_devices((2 * MAX_DEVICES,), (0,)))),
            f"a list of {2 * MAX_DEVICES} ids is too long to expand",
        ),
        (mesh_groups(X, mesh=Mesh(("x", "y"), (0, 2))), "must be positive"),
        (mesh_groups(AxisRef(0, 3, 2), mesh=Mesh(("x",), (8,))), "the number of ids, 8, is not the number of group members"),
    ],
)
def test_groups_that_do_not_divide_the_devices(groups, message):
    with pytest.raises(Violation, match=message) as error:
        groups.groups()
    assert error.value.code == "P030"


@pytest.mark.parametrize(
    ("groups", "text"),
    [
        (NO_GROUPS, "{}"),
        (TILE, TILE.text),
        (mesh_groups(Y), "mesh['x'=2,'y'=4] {'y'}"),
        (mesh_groups(AxisRef(1, 2, 2)), "mesh['x'=2,'y_0'=2,'y_1'=2,'y_2'=1] {'y_1'}"),
        (mesh_groups(AxisRef(1, 1, 2)), "mesh['x'=2,'y_0'=1,'y_1'=2,'y_2'=2] {'y_1'}"),
        (mesh_groups(X, AxisRef(1, 1, 2), AxisRef(1, 2, 2)), "mesh['x'=2,'y_0'=2,'y_1'=2] {'x','y_0','y_1'}"),
        # If two axes have the same name, letters are appended to both.
        (mesh_groups(AxisRef(0, 2, 2), mesh=Mesh(("a", "a_0"), (4, 2))), "mesh['a_0a'=2,'a_1'=2,'a_2'=1,'a_0b'=2] {'a_1'}"),
    ],
)
def test_without_subaxes(groups, text):
    assert groups.without_subaxes().text == text
    assert groups.without_subaxes().groups() == groups.groups()


def test_letters_after_the_alphabet():
    names = mesh_groups(AxisRef(0, 2, 2), mesh=Mesh(("a", *["a_0"] * 53), (4, *[1] * 53))).without_subaxes().mesh.names
    assert [names[k] for k in (0, 3, 27, 28, 29, 53, 54)] == ["a_0a", "a_0b", "a_0z", "a_0aa", "a_0ab", "a_0az", "a_0ba"]
