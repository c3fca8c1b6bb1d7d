"""Shardings and meshes: text, normal forms, devices of tiles, parts of axes; origin trees."""

from unittest.mock import ANY

import pytest

from hlotool.errors import Violation
from hlotool.shapes.metadata import Metadata
from hlotool.shapes.shape import array_shape, tuple_shape
from hlotool.shapes.sharding import (
    REPLICATED,
    AxisRef,
    DimensionSharding,
    Mesh,
    NamedSharding,
    Sharding,
    expand,
    expand_for_shape,
    tiled,
    tuple_sharding,
)
from hlotool.shapes.tiles import TileAssignment, iota_devices
from hlotool.shapes.values import Origin, OriginLeaf

X, Y = AxisRef(0), AxisRef(1)
MESH = Mesh(("x", "y"), (2, 4))
ON_X, ON_Y, OPEN = DimensionSharding((X,)), DimensionSharding((Y,)), DimensionSharding(is_open=True)
NAMED, ORIGIN = Metadata(op_name="a"), Metadata(op_name="b")


def iota(*sizes: int) -> TileAssignment:
    count = 1
    for size in sizes:
        count *= size
    return TileAssignment(sizes, iota_devices((count,)))


def named(*dimensions: DimensionSharding, mesh: Mesh = MESH, **axes: object) -> Sharding:
    return Sharding("named", named=NamedSharding(mesh, dimensions, **axes))  # type: ignore[arg-type]


SHORT = Sharding("tiled", tile=TileAssignment((2, 2), (3, 1)))

# Each row has a function that returns a sharding, and the sharding's text, tile dimensions, tile
# devices, number of parts of each dimension, and number of devices.
SHARDINGS = [
    (lambda: REPLICATED, "{replicated}", (), (), None, 0),
    (lambda: Sharding("manual"), "{manual}", (), (), None, 0),
    (lambda: Sharding("maximal", device=3), "{maximal device=3}", (1,), (3,), None, 1),
    (lambda: Sharding("maximal_mesh", device=3), "{maximal_mesh[device_id=3]}", (1,), (3,), None, 1),
    (lambda: tiled(iota(2, 2)), "{devices=[2,2]<=[4]}", (2, 2), (0, 1, 2, 3), (2, 2), 4),
    (lambda: tiled(TileAssignment((2, 1, 2), (3, 2, 1, 0)), ("replicated",)), "{devices=[2,1,2]2,3,0,1 last_tile_dim_replicate}",
     (2, 1, 2), (2, 3, 0, 1), (2, 1), 4),
    (lambda: tiled(TileAssignment((2, 2), (3, 2, 1, 0)), ("manual",)), "{devices=[2,2]3,2,1,0 last_tile_dims={manual}}",
     (2, 2), (3, 2, 1, 0), (2,), 4),
    (lambda: tiled(TileAssignment((2, 1, 2, 2), (7, 6, 5, 4, 3, 2, 1, 0)), ("replicated", "manual", "unreduced")),
     "{devices=[2,2,2]7,6,5,4,3,2,1,0 last_tile_dims={manual, unreduced}}", (2, 2, 2), (7, 6, 5, 4, 3, 2, 1, 0), (2,), 8),
    (lambda: tiled(iota(2, 2, 2), ("replicated", "manual")), "{devices=[2,2,2]<=[2,2,2]T(0,2,1) last_tile_dims={manual, replicated}}",
     (2, 2, 2), (0, 2, 1, 3, 4, 6, 5, 7), (2,), 8),
    (lambda: tiled(iota(2, 2, 2), ("manual", "manual")), "{devices=[2,4]<=[8] last_tile_dims={manual}}", (2, 4), tuple(range(8)), (2,), 8),
    (lambda: tiled(iota(2, 2, 1), ("manual", "replicated")), "{devices=[2,2]<=[4] last_tile_dims={manual}}", (2, 2), (0, 1, 2, 3), (2,), 4),
    (lambda: tiled(iota(2, 1, 1), ("manual", "replicated")), "{devices=[2]<=[2]}", (2,), (0, 1), (2,), 2),
    (lambda: tiled(iota(1, 2, 2), ("replicated", "replicated")), "{replicated}", (), (), None, 0),
    (lambda: tiled(iota(1, 4), ("unreduced",)), "{unreduced}", (), (), None, 0),
    (lambda: tiled(iota(1, 4), ("maximal",)), "{devices=[1,4]<=[4] last_tile_dims={maximal}}", (1, 4), (0, 1, 2, 3), (1,), 4),
    (lambda: tiled(iota(1, 4, 1), ("manual", "replicated")), "{manual}", (), (), None, 0),
    (lambda: tiled(iota(1, 1, 4), ("manual", "replicated")), "{replicated}", (), (), None, 0),
    (lambda: tiled(iota(1, 4, 1), ("unreduced", "replicated")), "{devices=[1,4,1]<=[4] last_tile_dims={unreduced, replicated}}",
     (1, 4), (0, 1, 2, 3), (1,), 4),
    (lambda: tiled(iota(2, 4, 1), ("unreduced", "replicated")), "{devices=[2,4]<=[8] last_tile_dims={unreduced}}", (2, 4), tuple(range(8)), (2,), 8),
    (lambda: tiled(iota(1, 1), ("manual", "replicated")), "{devices=[1,1]<=[1] last_tile_dims={manual, replicated}}", (), (0,), (), 1),
    (named, "{mesh['x'=2,'y'=4], replicated}", (), (), (), 8),
    (lambda: named(ON_X, ON_Y), "{mesh['x'=2,'y'=4], [{'x'}, {'y'}]}", (2, 4), tuple(range(8)), (2, 4), 8),
    (lambda: named(ON_Y, ON_X), "{mesh['x'=2,'y'=4], [{'y'}, {'x'}]}", (4, 2), (0, 4, 1, 5, 2, 6, 3, 7), (4, 2), 8),
    (lambda: named(ON_X, OPEN), "{mesh['x'=2,'y'=4], [{'x'}, {?}]}", (2, 1, 4), tuple(range(8)), (2, 1), 8),
    (lambda: named(DimensionSharding((Y,), is_open=True)), "{mesh['x'=2,'y'=4], [{'y', ?}]}", (4, 2), (0, 4, 1, 5, 2, 6, 3, 7), (4,), 8),
    (lambda: named(ON_X, manual=(Y,)), "{mesh['x'=2,'y'=4], [{'x'}], manual={'y'}}", (2, 4), tuple(range(8)), (2,), 8),
    (lambda: named(ON_X, unreduced=(Y,), reduction="max"), "{mesh['x'=2,'y'=4], [{'x'}], unreduced=max{'y'}}", (2, 4), tuple(range(8)), (2,), 8),
    # If one of the lists contains a part of an axis, the axis is split in all of them.
    (lambda: named(ON_X, manual=(AxisRef(1, 1, 2),)), "{mesh['x'=2,'y'=4], [{'x'}], manual={'y':(1)2}}", (2, 2, 2), tuple(range(8)), (2,), 8),
    (lambda: named(ON_X, unreduced=(AxisRef(1, 1, 2),)), "{mesh['x'=2,'y'=4], [{'x'}], unreduced={'y':(1)2}}",
     (2, 2, 2), tuple(range(8)), (2,), 8),
    (lambda: named(ON_X, replicated=(Y,)), "{mesh['x'=2,'y'=4], [{'x'}], replicated={'y'}}", (2, 4), tuple(range(8)), (2,), 8),
    (lambda: named(replicated=(Y,)), "{mesh['x'=2,'y'=4], [], replicated={'y'}}", (), (), (), 8),
    # Nothing is tiled if all axes of size 2 or more are in the same list.
    (lambda: named(replicated=(X,), mesh=Mesh(("x",), (1,))), "{mesh['x'=1], [], replicated={'x'}}", (), (), (), 1),
    (lambda: named(manual=(X, Y)), "{mesh['x'=2,'y'=4], manual}", (), (), (), 8),
    (lambda: named(manual=(Y,)), "{mesh['x'=2,'y'=4], [], manual={'y'}}", (4, 2), (0, 4, 1, 5, 2, 6, 3, 7), (), 8),
    (lambda: named(unreduced=(X, Y)), "{mesh['x'=2,'y'=4], unreduced}", (), (), (), 8),
    (lambda: named(unreduced=(X, Y), reduction="min"), "{mesh['x'=2,'y'=4], unreduced=min}", (), (), (), 8),
    (lambda: named(unreduced=(X,), manual=(Y,)), "{mesh['x'=2,'y'=4], [], unreduced={'x'}, manual={'y'}}", (4, 2), (0, 4, 1, 5, 2, 6, 3, 7), (), 8),
    (lambda: named(DimensionSharding((AxisRef(1, 2, 2),))), "{mesh['x'=2,'y'=4], [{'y':(2)2}]}", (2, 4), (0, 2, 4, 6, 1, 3, 5, 7), (2,), 8),
    (lambda: named(ON_X, mesh=Mesh(("x",), (2,), (1, 0))), "{mesh['x'=2], device_ids=(1,0), [{'x'}]}", (2,), (1, 0), (2,), 2),
    (lambda: named(ON_X, mesh=Mesh(("x'",), (2,))), r"{mesh['x\''=2], [{'x\''}]}", (2,), (0, 1), (2,), 2),
]  # fmt: skip


@pytest.mark.parametrize(("make", "text", "dimensions", "devices", "counts", "number"), SHARDINGS)
def test_shardings(make, text, dimensions, devices, counts, number):
    sharding = make()
    assert sharding.text == text
    assert sharding.tile_assignment() == (dimensions, devices)
    assert sharding.tile_counts == counts
    assert sharding.num_devices == number
    assert not sharding.is_tuple


PRINTED = [
    (lambda: tiled(iota(1, 1), ("manual", "replicated")), "{devices=[]<=[1]}"),
    (lambda: tiled(iota(1, 4, 1), ("unreduced", "replicated")), "{devices=[1,4]<=[4] last_tile_dims={unreduced}}"),
    (lambda: named(ON_X, mesh=Mesh(("x'",), (2,))), "{mesh['x''=2], [{'x''}]}"),
    (lambda: SHORT, "{devices=[2,2]3,1,0,0}"),
]


@pytest.mark.parametrize(("make", "text"), PRINTED)
def test_text_that_xla_prints_but_may_be_unable_to_read(make, text):
    sharding = make()
    assert sharding.to_text(exact=False) == text
    assert tuple_sharding([sharding]).to_text(exact=False) == "{" + text + "}"


def test_device_lists_of_the_wrong_length():
    assert SHORT.text == "{devices=[2,2]3,1}"
    assert SHORT.completed().text == SHORT.as_tiled().text == SHORT.to_text(exact=False)
    assert REPLICATED.completed() is REPLICATED
    unreduced = Sharding("tiled", tile=TileAssignment((1, 4), (0, 1, 2)), subgroups=("unreduced",))
    assert unreduced.text == "{devices=[1,4]0,1,2 last_tile_dims={unreduced}}"
    group = Sharding("tiled", tile=SHORT.tile, shard_group=("shard_as", 1), metadata=(NAMED,)).completed()
    assert (group.shard_group, group.metadata) == (("shard_as", 1), (NAMED,))


@pytest.mark.parametrize(
    ("sharding", "text", "without"),
    [
        (Sharding("replicated", metadata=(NAMED,)), '{replicated metadata={op_name="a"}}', "{replicated}"),
        (Sharding("replicated", metadata=(NAMED, ORIGIN)), '{replicated metadata={{op_name="a"}, {op_name="b"}}}', "{replicated}"),
        (Sharding("replicated", shard_group=("shard_like", 3)), "{replicated shard_like 3}", "{replicated shard_like 3}"),
        (
            Sharding("maximal_mesh", device=1, metadata=(NAMED,)),
            '{maximal_mesh[device_id=1], metadata={{op_name="a"}}}',
            "{maximal_mesh[device_id=1]}",
        ),
    ],
)
def test_metadata_and_groups(sharding, text, without):
    assert sharding.text == text
    assert sharding.to_text(metadata=False) == without
    assert tuple_sharding([sharding, REPLICATED]).to_text(metadata=False) == f"{{{without}, {{replicated}}}}"
    assert tuple_sharding([sharding, REPLICATED]).text == f"{{{text}, {{replicated}}}}"


def test_tuples():
    both = tuple_sharding([tiled(iota(2)), tiled(iota(4))])
    assert (both.is_tuple, both.num_devices, tuple_sharding([]).num_devices) == (True, 4, 0)
    with pytest.raises(Violation, match="tuple sharding") as error:
        both.tile_assignment()
    assert error.value.code == "P024"
    assert expand(both, 3) is both
    assert expand(REPLICATED, 0).text == "{{replicated}}"
    leaf = array_shape("f32", (2,))
    assert expand_for_shape(REPLICATED, leaf) is REPLICATED
    assert expand_for_shape(REPLICATED, tuple_shape([leaf, tuple_shape([leaf])])).text == "{{replicated}, {replicated}}"


def test_metadata_is_kept_in_tiled_shardings():
    sharding = Sharding("named", named=NamedSharding(MESH, (ON_X,)), metadata=(NAMED,))
    assert sharding.as_tiled().metadata == (NAMED,)


@pytest.mark.parametrize(
    ("axes", "text"),
    [
        ({"manual": (Y,)}, "{devices=[2,4]<=[8] last_tile_dims={manual}}"),
        ({"unreduced": (Y,)}, "{devices=[2,4]<=[8] last_tile_dims={unreduced}}"),
        ({"manual": (AxisRef(1, 1, 2),)}, "{devices=[2,2,2]<=[8] last_tile_dims={manual, replicated}}"),
        ({"unreduced": (AxisRef(1, 2, 2),), "manual": (AxisRef(1, 1, 2),)}, "{devices=[2,2,2]<=[8] last_tile_dims={manual, unreduced}}"),
        ({}, "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"),
    ],
)
def test_named_axes_as_subgroups(axes, text):
    dimensions = (ON_X, *([DimensionSharding()] if not axes else []))
    assert named(*dimensions, **axes).as_tiled().text == text


@pytest.mark.parametrize("kind", ["manual", "unreduced"])
def test_axes_of_size_one_are_subgroups_only_without_other_axes(kind):
    axes = {kind: (X,)}
    assert named(**axes, mesh=Mesh(("x",), (1,))).as_tiled().text == f"{{{kind}}}"
    assert named(**axes, mesh=Mesh(("x", "y"), (1, 4))).as_tiled() == REPLICATED


def test_parts_of_replicated_axes_also_split_an_iota():
    mesh = Mesh(("a", "b"), (6, 4), iota_devices((12, 2), (1, 0)))
    parted = named(DimensionSharding((AxisRef(1),)), replicated=(AxisRef(0, 1, 3),), mesh=mesh).as_tiled()
    whole = named(DimensionSharding((AxisRef(1),)), replicated=(AxisRef(0),), mesh=mesh).as_tiled()
    assert whole.text == "{devices=[4,6]<=[3,4,2]T(1,0,2) last_tile_dim_replicate}"
    assert parted.text.startswith("{devices=[4,6]0,1,8,9,16,17,2,3,")
    assert parted.tile_assignment() == whole.tile_assignment()


def test_different_shardings_have_different_hashes():
    different = [
        REPLICATED, Sharding("manual"), Sharding("maximal", 1), Sharding("maximal", 2), tiled(iota(2)), tiled(iota(3)), named(ON_X), named(ON_Y),
        tuple_sharding([REPLICATED]), tuple_sharding([]), Sharding("replicated", shard_group=("shard_as", 1)),
        Sharding("replicated", metadata=(NAMED,)),
        Sharding("tiled", tile=iota(2, 2), subgroups=("manual",)), Sharding("tiled", tile=iota(2, 2)),
    ]  # fmt: skip
    assert len(set(map(hash, different))) == len(different)
    assert hash(tiled(iota(2))) == hash(tiled(iota(2)))


@pytest.mark.parametrize(
    ("tile", "subgroups", "message"),
    [
        (iota(2), ("manual", "manual"), "lists 2 types, but the number of tile dimensions is 1"),
        (TileAssignment((0, 2), iota_devices((0,))), ("manual",), "must be positive"),
    ],
)
def test_impossible_tiles(tile, subgroups, message):
    with pytest.raises(Violation, match=message) as error:
        tiled(tile, subgroups)
    assert error.value.code == "S017"


@pytest.mark.parametrize(
    ("tile", "subgroups"),
    [(TileAssignment((1, 2), (5,)), ("manual",)), (TileAssignment((), (0,)), ()), (TileAssignment((0, 2), iota_devices((0,))), ())],
)
def test_tiles_with_wrong_counts_or_without_subgroups_are_kept(tile, subgroups):
    sharding = tiled(tile, subgroups)
    assert (sharding.kind, sharding.tile, sharding.subgroups) == ("tiled", tile, subgroups)


# Each row has two parts of axes and three booleans: whether the first part covers the second,
# whether the parts can be joined, and whether they can coexist.
PARTS = [
    (AxisRef(0), AxisRef(1), False, False, True),
    (AxisRef(0), AxisRef(0), True, False, False),
    (AxisRef(0), AxisRef(0, 2, 2), True, False, False),
    (AxisRef(0, 2, 2), AxisRef(0), False, False, False),
    (AxisRef(0, 1, 2), AxisRef(0, 2, 2), False, True, True),
    (AxisRef(0, 2, 2), AxisRef(0, 1, 2), False, False, True),
    (AxisRef(0, 1, 2), AxisRef(0, 4, 2), False, False, True),
    (AxisRef(0, 1, 2), AxisRef(1, 2, 2), False, False, True),
    (AxisRef(0, 1, 4), AxisRef(0, 2, 2), True, False, False),
    (AxisRef(0, 1, 2), AxisRef(0, 3, 2), False, False, False),
    (AxisRef(0, 2, 2), AxisRef(0, 2, 2), True, False, False),
    (AxisRef(0, 1, 4), AxisRef(0, 8, 2), False, False, True),
]


@pytest.mark.parametrize(("first", "second", "covers", "joins", "coexists"), PARTS)
def test_parts_of_axes(first, second, covers, joins, coexists):
    assert (first.covers(second), first.can_join(second), first.can_coexist(second)) == (covers, joins, coexists)


def test_meshes():
    mesh = Mesh(("x", "y", "z"), (2, 1, 4))
    assert [mesh.contains_all(axes) for axes in ([X, Y, AxisRef(2)], [X, AxisRef(2)], [AxisRef(2), X], [X], [X, X, AxisRef(2)])] == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert not mesh.contains_all([X, AxisRef(2, 1, 4)])
    assert (X.extent(MESH), Y.extent(MESH), AxisRef(1, 2, 2).extent(MESH)) == (2, 4, 2)
    assert MESH.split([AxisRef(1, 2, 2), X]) == [X, AxisRef(1, 1, 2), AxisRef(1, 2, 2)]
    assert MESH.split([AxisRef(1, 1, 2)]) == [X, AxisRef(1, 1, 2), AxisRef(1, 2, 2)]
    assert MESH.split([]) == [X, Y]
    assert Mesh(("x",), (4,), iota_devices((2, 2), (1, 0))).to_text() == "mesh['x'=4], device_ids=([2,2]T(1,0))"
    assert Mesh(("x",), (4,), iota_devices((2, 2), (1, 0))).tile.device_ids() == (0, 2, 1, 3)
    assert MESH.axes_text((X, AxisRef(1, 2, 2)), "; ") == "'x'; 'y':(2)2"


LEAF, OTHER = OriginLeaf("a"), OriginLeaf("b", (1,))


def test_origins_are_compared_with_their_structure():
    different = [Origin(LEAF), Origin(OTHER), Origin((LEAF,)), Origin((LEAF, OTHER)), Origin((OTHER, LEAF)), Origin(((LEAF,), OTHER)), Origin(())]
    different += [Origin(LEAF, synthetic=True)]
    for k, origin in enumerate(different):
        assert [origin == other for other in different] == [k == j for j in range(len(different))]
    assert len(set(map(hash, different))) == len(different)
    assert Origin(((LEAF,), OTHER)).flat() == [2, 1, LEAF, OTHER]
    assert repr(Origin(((LEAF,), OTHER))) == "<origin of 2 arrays>"
    assert Origin(LEAF) != LEAF
    assert OriginLeaf("a") == ANY
