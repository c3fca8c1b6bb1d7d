"""Positions of elements in memory, compared with NumPy's reshapes and transposes."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

from hlotool.errors import HlotoolError
from hlotool.shapes.layout import COMBINE, Layout
from hlotool.shapes.memory import stored_size
from hlotool.shapes.positions import (
    dimension_letters,
    dimension_number,
    from_memory_order,
    linear_index,
    memory_order,
    multi_index,
    multi_indices,
    true_rank,
)
from hlotool.shapes.shape import Shape, array_shape

Tiles = tuple[tuple[int, ...], ...]

CASES: list[tuple[tuple[int, ...], tuple[int, ...], Tiles]] = [
    ((), (), ()),
    ((5,), (0,), ()),
    ((2, 3), (0, 1), ()),
    ((2, 3, 4), (1, 2, 0), ()),
    ((3, 5), (1, 0), ((2, 2),)),
    ((3, 5), (0, 1), ((2, 2),)),
    ((5,), (0,), ((4,),)),
    ((3, 5), (1, 0), ((4,),)),
    ((3, 5, 7), (2, 1, 0), ((2, 4), (2, 1))),
    ((9, 260), (1, 0), ((8, 128), (2, 1))),
    ((4, 6), (1, 0), ((2, 2), (2,))),
    ((2, 3, 4), (2, 1, 0), ((COMBINE, 5, 3),)),
    ((2, 3, 4), (2, 0, 1), ((COMBINE, COMBINE, 5),)),
    ((2, 7, 8, 11, 10), (4, 3, 2, 1, 0), ((COMBINE, COMBINE, 2, COMBINE, 3),)),
    ((5,), (0,), ((2, 4),)),
    ((3, 1, 2), (0, 2, 1), ((2, 2),)),
    ((3, 6), (1, 0), ((2, COMBINE),)),
    ((6, 1), (1, 0), ((4, COMBINE),)),
    ((5, 3, 2), (2, 1, 0), ((2, COMBINE, COMBINE), (3,))),
]


def model(sizes: tuple[int, ...], order: tuple[int, ...], tiles: Tiles) -> list[int]:
    """Returns the number of the element at each position, or -1 for padding.

    Applies the steps in XLA's description of tiling to an array of element numbers.
    """
    physical = np.arange(prod(sizes)).reshape(sizes).transpose(order[::-1])
    for tile in tiles:
        while physical.ndim < len(tile):
            physical = physical[None]
        kept = physical.ndim - len(tile)
        # A dimension marked `*` is joined with the next dimension. If the last dimensions are
        # marked, they have no next dimension and are not tiled.
        shape, parts, joined = list(physical.shape[:kept]), [], 1
        for size, part in zip(physical.shape[kept:], tile, strict=True):
            joined *= size
            if part != COMBINE:
                shape.append(joined)
                parts.append(part)
                joined = 1
        rest = [joined] if joined != 1 else []
        physical = physical.reshape(*shape, *rest)
        padding = [(0, 0)] * kept + [(0, -size % part) for size, part in zip(shape[kept:], parts, strict=True)] + [(0, 0)] * len(rest)
        physical = np.pad(physical, padding, constant_values=-1)
        split = [n for size, part in zip(physical.shape[kept:], parts, strict=False) for n in (size // part, part)]
        physical = physical.reshape(*shape[:kept], *split, *rest)
        positions = range(kept, kept + len(split))
        physical = physical.transpose(*range(kept), *positions[::2], *positions[1::2], *range(kept + len(split), physical.ndim))
    return physical.ravel().tolist()


def shape_of(sizes: tuple[int, ...], order: tuple[int, ...], tiles: Tiles) -> Shape:
    return array_shape("u8", sizes, layout=Layout(order, tiles))


@pytest.mark.parametrize(("sizes", "order", "tiles"), CASES, ids=str)
def test_positions_agree_with_the_model(sizes: tuple[int, ...], order: tuple[int, ...], tiles: Tiles) -> None:
    shape, expected = shape_of(sizes, order, tiles), model(sizes, order, tiles)
    numbers = list(range(prod(sizes)))
    assert memory_order(shape, numbers, (), -1) == expected
    assert from_memory_order(shape, expected) == numbers
    assert stored_size(shape) == len(expected)
    indices = list(multi_indices(shape))
    for position, number in enumerate(expected):
        if number < 0:
            with pytest.raises(HlotoolError, match="is padding"):
                multi_index(shape, position)
        else:
            assert multi_index(shape, position) == indices[number]
            assert linear_index(shape, indices[number]) == position


def test_padded_dimensions_enlarge_the_array() -> None:
    shape = array_shape("u8", (2, 3), layout=Layout((0, 1)))
    stored = memory_order(shape, "abcdef", [3, 5], "0")
    assert "".join(stored) == "ad0be0cf0000000"
    assert from_memory_order(shape, stored, [3, 5]) == list("abcdef")


def test_without_a_layout_the_order_is_row_major() -> None:
    shape = Shape("u8", (2, 3))
    assert shape.layout is None
    assert [linear_index(shape, index) for index in multi_indices(shape)] == [0, 1, 2, 3, 4, 5]
    assert multi_index(shape, 4) == (1, 1)


def test_dimension_numbers_and_letters() -> None:
    assert [dimension_number(k, 3) for k in range(-3, 3)] == [0, 1, 2, 0, 1, 2]
    assert [dimension_letters(rank) for rank in (1, 2, 3, 4)] == [("x",), ("y", "x"), ("z", "y", "x"), ("p", "z", "y", "x")]
    assert [true_rank(array_shape("f32", sizes)) for sizes in ((), (1,), (2, 1, 3), (0, 1))] == [0, 0, 2, 0]


SMALL = array_shape("u8", (2, 3))


def test_indices_and_positions_out_of_range() -> None:
    for index in ((2, 0), (0, 3), (-1, 0), (0,), (0, 0, 0)):
        with pytest.raises(HlotoolError, match="is not in u8"):
            linear_index(SMALL, index)
    for position in (-1, 6):
        with pytest.raises(HlotoolError, match="is not in u8"):
            multi_index(SMALL, position)
    with pytest.raises(HlotoolError, match="is not in u8"):
        multi_index(array_shape("u8", (0, 3)), 0)


def test_wrong_arguments() -> None:
    with pytest.raises(HlotoolError, match="out of range for rank 3: expected -3 to 2"):
        dimension_number(3, 3)
    with pytest.raises(HlotoolError, match="rank 5 have no letters: expected rank 1 to 4"):
        dimension_letters(5)
    with pytest.raises(HlotoolError, match=r"expected 6 values for .*, got 5"):
        memory_order(SMALL, "abcde")
    with pytest.raises(HlotoolError, match=r"expected 6 values .with padding. for .*, got 7"):
        from_memory_order(SMALL, "abcdefg")
    scalar = array_shape("u8", ())
    with pytest.raises(HlotoolError, match=r"expected 1 value for .*, got 2"):
        memory_order(scalar, "ab")
    with pytest.raises(HlotoolError, match=r"expected 1 value .with padding. for .*, got 2"):
        from_memory_order(scalar, "ab")
    for sizes in ([2, 2], [2], [2, 3, 4]):
        with pytest.raises(HlotoolError, match="padded_dimensions"):
            memory_order(SMALL, "abcdef", sizes)
