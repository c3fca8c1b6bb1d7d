"""Sizes of arrays in memory, and reshapes that move no data."""

from itertools import permutations

import numpy as np
import pytest

from hlotool.shapes.layout import Layout, default_layout, is_valid_layout
from hlotool.shapes.memory import array_bytes, data_size, format_bytes, is_physical_reshape, sizes_differ, stored_size
from hlotool.shapes.shape import OPAQUE, TOKEN, Shape, array_shape, tuple_shape
from hlotool.text.parse.parser import parse


def shape(text: str) -> Shape:
    return parse(f"ENTRY e {{ ROOT p = {text} parameter(0) }}").entry.root.shape


@pytest.mark.parametrize(
    ("text", "data", "stored"),
    [
        ("f32[]", 4, 4),
        ("pred[3]", 3, 3),
        # Small elements take a byte each, unless the layout has an element size.
        ("s4[3]", 3, 3),
        ("s4[3]{0:E(4)}", 2, 2),
        ("s4[3,3]{1,0:E(4)}", 5, 5),
        ("f32[3,5]{1,0:T(2,4)}", 60, 128),
        ("f32[3,5]{0,1:T(2,4)}", 60, 96),
        # A tile may have fewer or more dimensions than the array.
        ("f32[3,5,7]{2,1,0:T(2,4)}", 420, 3 * 6 * 8 * 4),
        ("f32[5]{0:T(2,4)}", 20, 64),
        ("f32[5]{0:T(4)}", 20, 32),
        # Tiles of tiles.
        ("bf16[3,5]{1,0:T(8,128)(2,1)}", 30, 2048),
        ("bf16[3,5]{1,0:T(2,4)(3,1)}", 30, 2 * 2 * 3 * 4 * 2),
        # A dimension that is combined with the next one.
        ("f32[3,5]{1,0:T(*,4)}", 60, 64),
        ("f32[2,3,5]{2,1,0:T(*,4)}", 120, 128),
        ("f32[3,5]{1,0:T(4,*)}", 60, 80),
        # The last dimension has size 1 and is dropped, so the second tile covers the first.
        ("f32[3,1]{1,0:T(4,*)(2)}", 12, 16),
        ("f32[3,5]{1,0:L(8)}", 60, 64),
        ("f32[3,5]{1,0:T(2,4)L(64)}", 60, 256),
        ("f32[<=5]{0:T(4)}", 20, 32),
        ("f32[0,5]{1,0:T(2,4)}", 0, 0),
    ],
)
def test_sizes(text, data, stored):
    assert (data_size(shape(text)), stored_size(shape(text)), array_bytes(shape(text))) == (data, stored, stored)


def test_layouts_that_do_not_match_the_shape():
    assert stored_size(array_shape("f32", (3, 5), layout=Layout((0,), tiles=((2, 4),)))) == 128
    assert stored_size(array_shape("f32", (3,), layout=Layout((0,), tiles=((0,),)))) == 12
    assert stored_size(array_shape("f32", (3,), layout=Layout((0,), tail_padding_alignment_in_elements=0))) == 12
    assert stored_size(Shape("f32", (3,))) == 12


@pytest.mark.parametrize("other", [TOKEN, OPAQUE, tuple_shape([array_shape("f32")]), array_shape("f32", (-1, 3))])
def test_unknown_sizes_count_as_zero(other):
    assert array_bytes(other) == 0


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1 << 20, "1 MiB"),
        (1 << 30, "1 GiB"),
        (1 << 40, "1 TiB"),
        (1 << 50, "1 PiB"),
        (1 << 60, "1024 PiB"),
        (1536, "1.5 KiB"),
    ],
)
def test_sizes_as_text(count, text):
    assert format_bytes(count) == text


def _addresses(sizes: tuple[int, ...], order: tuple[int, ...]) -> np.ndarray:
    """Returns the address of each element, in row-major order of the indices.

    `order` lists the dimensions from minor to major.
    """
    strides, step = [0] * len(sizes), 1
    for dimension in order:
        strides[dimension] = step
        step *= sizes[dimension]
    grids = np.meshgrid(*(np.arange(size) * stride for size, stride in zip(sizes, strides, strict=True)), indexing="ij")
    return np.asarray(sum(grids, np.zeros(sizes, int))).ravel()


def test_physical_reshapes_move_no_data():
    sizes = [(), (12,), (1, 12), (3, 4), (4, 3), (2, 6), (2, 3, 2), (3, 2, 2), (1, 4, 3), (3, 1, 4)]
    layouts = [(size, order) for size in sizes for order in permutations(range(len(size)))]
    for first, order in layouts:
        for second, other in layouts:
            operand, result = array_shape("f32", first, layout=Layout(order)), array_shape("f32", second, layout=Layout(other))
            if np.prod(first) == np.prod(second):
                moves = (_addresses(first, order) != _addresses(second, other)).any()
                assert is_physical_reshape(operand, result) is not bool(moves), (first, order, second, other)


def test_undecidable_reshapes_count_as_physical():
    plain, other = array_shape("f32", (2, 3), layout=Layout((0, 1))), array_shape("f32", (6,))
    assert not is_physical_reshape(plain, other)
    tiled = array_shape("f32", (2, 3), layout=Layout((0, 1), tiles=((2, 2),)))
    assert is_physical_reshape(tiled, other)
    assert is_physical_reshape(other, tiled)
    # Arrays without elements, and arrays with different numbers of elements.
    assert is_physical_reshape(array_shape("f32", (2, 0, 3), layout=Layout((0, 1, 2))), array_shape("f32", (3, 0, 2)))
    assert is_physical_reshape(plain, array_shape("f32", (0,)))
    assert is_physical_reshape(plain, array_shape("f32", (5,)))
    assert is_physical_reshape(array_shape("f32", (2, -1, 3), layout=Layout((0, 1, 2))), array_shape("f32", (3, -1, 2)))
    unknown = array_shape("f32", (-1, -1, 3), layout=Layout((0, 1, 2)))
    assert is_physical_reshape(array_shape("f32", (3,)), unknown)
    assert is_physical_reshape(unknown, array_shape("f32", (3,)))
    # Without layouts, the order is row-major.
    assert is_physical_reshape(Shape("f32", (2, 3)), Shape("f32", (6,)))
    assert not is_physical_reshape(plain, Shape("f32", (6,)))


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("{1,0}", True),
        ("{0,1}", True),
        ("{1,0:T(8,128)}", True),
        ("{1,0:T(*,128)}", True),
        ("{1,0:#(s32)}", False),
        ("{1,0:*(s32)}", False),
        ("{1,0:SC(0:1)}", True),
        ("{1,0:SC(0:1)(1:2)}", True),
        ("{1,0:SC(0:1)(0:1)}", False),
        ("{1,0:SC(2:1)}", False),
        ("{1,0:SC(0:2)}", False),
        ("{1,0:SC(1:2)}", True),
        ("{1,0:SC(1:2,1)}", False),
        ("{1,0:SC(1:1,2)}", True),
        ("{1,0:SC(1:0)}", False),
        # Dimensions are counted from the most major one in memory.
        ("{0,1:SC(0:2)}", True),
        ("{0,1:SC(1:2)}", False),
    ],
)
def test_valid_layouts(text, valid):
    layout = shape(f"f32[2,3]{text}").layout
    assert layout is not None
    assert is_valid_layout(layout, (2, 3)) is valid


@pytest.mark.parametrize(
    "layout",
    [
        Layout((0,)),
        Layout((1, 1)),
        Layout((1, 0), element_size_in_bits=-1),
        Layout((1, 0), tiles=((),)),
        Layout((1, 0), tiles=((0, 8),)),
        Layout((1, 0), tiles=((8, 8), (-2,))),
        Layout((1, 0), split_configs=((-1, (1,)),)),
    ],
)
def test_invalid_layouts_that_only_programs_can_build(layout):
    assert not is_valid_layout(layout, (2, 3))


def test_a_split_configuration_may_be_empty():
    assert is_valid_layout(Layout((1, 0), split_configs=((0, ()),)), (0, 3))


@pytest.mark.parametrize(
    "text",
    [
        "f32[2,3]{1,0}",
        "f32[]",
        "f32[2,3]{1,0:T(8,128)(2,1)}",
        "f32[2,3]{1,0:T(*,128)}",
        "f32[2,3]{1,0:L(4)}",
        "f32[2,3]{1,0:#(s32)}",
        "f32[2,3]{1,0:*(u32)}",
        "f32[2,3]{1,0:E(4)}",
        "f32[2,3]{1,0:S(5)}",
        "f32[2,3]{1,0:SC(0:1)(1:1,2)}",
        "f32[2,3]{1,0:M(8)}",
        "f32[]{:S(1)}",
        "f32[2,3]{1,0:T(8,128)L(2)#(s32)*(u32)E(8)S(1)SC(0:1)M(4)}",
    ],
)
def test_layouts_are_printed_as_written(text):
    assert shape(text).text == text
    # The text is cached: the second result is the same object.
    assert shape(text).text == text


def test_the_default_layout_is_row_major():
    assert default_layout(9).text == "{8,7,6,5,4,3,2,1,0}"
    assert default_layout(9) is default_layout(9)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("f32[3]", "f32[3]", False),
        ("f32[3]", "f32[4]", True),
        ("f32[2,3]", "f32[5]", True),
        ("f32[<=3]", "f32[<=4]", True),
        # Dynamic arrays with a different number of dimensions may have more elements.
        ("f32[<=3]", "f32[1,<=4]", False),
        ("f32[?,2]", "f32[?,3]", False),
        ("f32[<=4,2]", "f32[?,3]", False),
        ("f32[?,2]", "f32[<=4,3]", False),
        # A static array may or may not fit into a dynamic one.
        ("f32[<=3]", "f32[3]", False),
        ("f32[<=3]", "f32[2]", True),
        ("f32[4]", "f32[<=3]", False),
    ],
)
def test_sizes_that_differ_on_all_targets(first, second, expected):
    assert sizes_differ(shape(first), shape(second)) == expected
