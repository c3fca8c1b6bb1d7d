"""Tile assignments: iotas, their transpositions and their sorted runs, compared with NumPy."""

from itertools import permutations

import numpy as np
import pytest

from hlotool.errors import Violation
from hlotool.shapes.tiles import MAX_DEVICES, IotaDevices, TileAssignment, integers_text, iota_devices

SIZES = [
    (8,),
    (1, 8),
    (2, 4),
    (4, 2),
    (2, 2, 2),
    (1, 2, 1, 4),
    (3, 4),
    (2, 3, 2),
    (6, 2),
    (12,),
    (2, 6),
    (4, 3),
    (1,),
    (1, 1),
    (2, 4, 2),
    (8, 2),
    (4, 4),
    (2, 8),
]


def iotas():
    for reshape in SIZES:
        for permutation in permutations(range(len(reshape))):
            yield reshape, permutation, np.arange(np.prod(reshape)).reshape(reshape).transpose(permutation).ravel()


@pytest.mark.parametrize(("reshape", "permutation", "expected"), list(iotas()))
def test_ids_in_normal_form(reshape, permutation, expected):
    devices = iota_devices(reshape, permutation)
    assert devices.ids() == tuple(expected)
    assert 1 not in devices.reshape or devices.reshape == (1,)
    # Dimensions that stay adjacent are joined.
    assert all(b != a + 1 for a, b in zip(devices.permutation, devices.permutation[1:], strict=False))
    assert devices.size == len(expected)


@pytest.mark.parametrize(("reshape", "permutation", "ids"), list(iotas()))
def test_transposed_tiles(reshape, permutation, ids):
    devices = iota_devices(reshape, permutation)
    for dimensions in SIZES:
        if np.prod(dimensions) != len(ids):
            continue
        for order in permutations(range(len(dimensions))):
            moved = TileAssignment(dimensions, devices).transposed(order)
            expected = ids.reshape(dimensions).transpose(order)
            assert (moved.dimensions, moved.device_ids()) == (expected.shape, tuple(expected.ravel()))
            listed = TileAssignment(dimensions, tuple(int(k) for k in ids)).transposed(order)
            assert listed.device_ids() == tuple(expected.ravel())


@pytest.mark.parametrize(("reshape", "permutation", "ids"), list(iotas()))
def test_sorted_runs(reshape, permutation, ids):
    devices = iota_devices(reshape, permutation)
    for dimensions in SIZES:
        if np.prod(dimensions) == len(ids):
            expected = tuple(np.sort(ids.reshape(-1, dimensions[-1]), axis=1).ravel())
            assert TileAssignment(dimensions, devices).with_sorted_minor().device_ids() == expected
            assert TileAssignment(dimensions, tuple(int(k) for k in ids)).with_sorted_minor().device_ids() == expected


@pytest.mark.parametrize(
    ("dimensions", "devices", "order", "text"),
    [
        ((2, 4), iota_devices((8,)), (1, 0), "[4,2]<=[2,4]T(1,0)"),
        ((2, 1, 4), iota_devices((8,)), (0, 2, 1), "[2,4,1]<=[8]"),
        ((4, 2), iota_devices((2, 4), (1, 0)), (1, 0), "[2,4]<=[8]"),
        ((8, 1), iota_devices((2, 4), (1, 0)), (1, 0), "[1,8]<=[2,4]T(1,0)"),
        # If a dimension can be split at the end of a tile dimension, the devices remain an iota.
        ((2, 4), iota_devices((4, 2), (1, 0)), (1, 0), "[4,2]<=[8]"),
        ((2, 2, 2), iota_devices((4, 2), (1, 0)), (2, 0, 1), "[2,2,2]<=[2,4]T(1,0)"),
        # If a dimension cannot be split there, the devices become a list.
        ((2, 3), iota_devices((3, 2), (1, 0)), (1, 0), "[3,2]<=[6]"),
        ((3, 2), iota_devices((3, 2), (1, 0)), (1, 0), "[2,3]0,4,3,2,1,5"),
        # As in XLA, the number of devices is not checked if the devices are in order.
        ((2, 2, 2), iota_devices((4,)), (0, 2, 1), "[2,2,2]<=[2,2,2]T(0,2,1)"),
        # Dimensions of size one may be at any position.
        ((3, 1, 2), iota_devices((3, 2), (1, 0)), (1, 0, 2), "[1,3,2]<=[3,2]T(1,0)"),
        ((2, 2), (3, 1, 2, 0), (1, 0), "[2,2]3,2,1,0"),
    ],
)
def test_transposed_texts(dimensions, devices, order, text):
    assert TileAssignment(dimensions, devices).transposed(order).text == text


@pytest.mark.parametrize(
    ("dimensions", "devices", "text"),
    [
        ((2, 4), iota_devices((4, 2), (1, 0)), "[2,4]<=[4,2]T(1,0)"),
        ((4, 2), iota_devices((2, 4), (1, 0)), "[4,2]<=[2,4]T(1,0)"),
        ((1, 8), iota_devices((2, 4), (1, 0)), "[1,8]<=[8]"),
        ((2, 4), iota_devices((2, 2, 2), (0, 2, 1)), "[2,4]<=[8]"),
        ((4, 2), iota_devices((4, 2), (1, 0)), "[4,2]<=[4,2]T(1,0)"),
        # The runs are longer than the list of devices.
        ((2, 8), iota_devices((2, 2), (1, 0)), "[2,8]<=[4]"),
    ],
)
def test_sorted_texts(dimensions, devices, text):
    assert TileAssignment(dimensions, devices).with_sorted_minor().text == text


def test_texts():
    assert iota_devices((8,)).text == "[8]"
    assert TileAssignment((2, 2), (0, 3, 1, 2)).text == "[2,2]0,3,1,2"
    assert integers_text((1, 2)) == "1,2"
    assert iota_devices((1, 1)).ids() == (0,)
    # If an invalid permutation leaves too few entries, XLA reads stale entries.
    assert iota_devices((1, 2, 2), (0, 0, 1)).text == "[2,2]T(0,0)"


def test_counts():
    listed, iota = TileAssignment((2, 2), (0, 1, 2)), TileAssignment((2, 2), iota_devices((2, 3), (1, 0)))
    assert (listed.size, listed.device_count, listed.is_miscounted, listed.is_permuted) == (4, 3, True, True)
    assert (iota.size, iota.device_count, iota.is_miscounted, iota.is_permuted) == (4, 6, False, True)
    assert not TileAssignment((2,), (0, 1)).is_miscounted
    assert not TileAssignment((4,), IotaDevices((2, 2), (1, 1))).is_permuted
    # A list that is too short is padded with device 0; a list that is too long is truncated.
    assert listed.device_ids() == (0, 1, 2, 0)
    assert TileAssignment((2,), (3, 1, 2)).device_ids() == (3, 1)
    assert listed.with_dimensions([3]).dimensions == (3,)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: TileAssignment((2, 2), iota_devices((2, 3), (1, 0))).device_ids(), r"per tile \(4\), got 6"),
        (lambda: TileAssignment((2, 4), iota_devices((3, 2), (1, 0))).with_sorted_minor(), r"per tile \(8\), got 6"),
        (lambda: IotaDevices((2, 2), (1, 1)).ids(), r"\[2,2\]T\(1,1\)"),
        (lambda: IotaDevices((-2, -2), (1, 0)).ids(), r"\[-2,-2\]T\(1,0\)"),
        (lambda: IotaDevices((MAX_DEVICES + 1,), (0,)).ids(), "16777217 devices"),
        (lambda: iota_devices((2, 2), (1, 2)), r"\(1,2\).*\[2,2\]"),
        (lambda: iota_devices((1 << 40, 1 << 40), (0, 1)), "64 bits"),
        (lambda: iota_devices((2, 4), (1, 0)).transposed((2, 2), (1, 0)), r"per tile \(4\), got 8"),
        (lambda: IotaDevices((-2, -4), (1, 0)).transposed((8, 1), (1, 0)), r"must be positive, got \[8, 1\] and \[-2, -4\]"),
    ],
)
def test_invalid_tile_assignments(make, words):
    with pytest.raises(Violation, match=words) as raised:
        make()
    assert raised.value.code == "P026"


def test_runs_of_iotas_without_devices():
    assert IotaDevices((0, 2), (1, 0)).with_sorted_minor(2) is None
    assert iota_devices((2, 2), (1, 0)).with_sorted_minor(0) is None
