"""Element counts and byte sizes of shapes, with and without the padding of tiles."""

import pytest

from hlotool.analysis.aliasing import producer_of
from hlotool.analysis.sizes import bytes_of, elements_of, padded_bytes_of
from hlotool.shapes.layout import Layout
from hlotool.shapes.shape import TOKEN, Shape, buffer_shape
from hlotool.text.parse.parser import parse


def shape(text: str):
    return parse(f"ENTRY e {{ ROOT p = {text} parameter(0) }}").entry.root.shape


@pytest.mark.parametrize(
    ("text", "elements", "data"),
    [
        ("f32[]", 1, 4),
        ("f32[2,3]", 6, 24),
        ("f32[0,3]", 0, 0),
        ("s4[3]", 3, 2),
        ("pred[3]", 3, 3),
        ("s4[3]{0:E(8)}", 3, 3),
        ("f32[3]{0}", 3, 12),
        ("f32[?,3]", 0, 0),
        ("f32[<=5]", 5, 20),
        ("(f32[2], (s8[3], ()), token[])", 5, 11),
        ("token[]", 0, 0),
        ("opaque[]", 0, 0),
        ("c128[2]", 2, 32),
    ],
)
def test_elements_and_bytes(text, elements, data):
    assert (elements_of(shape(text)), bytes_of(shape(text))) == (elements, data)


@pytest.mark.parametrize(
    ("text", "padded"),
    [
        ("f32[16,2]{1,0}", 128),
        ("f32[16,2]{1,0:T(8,128)}", 8192),
        ("f32[9,2]{1,0:T(8,128)}", 8192),
        # The minor dimension is listed first.
        ("f32[16,2]{0,1:T(8,128)}", 4096),
        # The array has fewer dimensions than the tile, or more.
        ("f32[3]{0:T(8,128)}", 4096),
        ("f32[2,3,5]{2,1,0:T(2,4)}", 2 * 4 * 8 * 4),
        # The padding of tiles that combine dimensions is not counted.
        ("f32[3,5]{1,0:T(*,128)}", 60),
        ("s4[3]{0:T(5)}", 3),
        ("bf16[8,128]{1,0:T(8,128)(2,1)}", 2048),
    ],
)
def test_padded_bytes(text, padded):
    assert padded_bytes_of(shape(text)) == padded


@pytest.mark.parametrize(
    ("layout", "padded"),
    [
        (Layout((0,), tiles=((8, 128),)), 60),
        (None, 60),
        # Tiles of size 0 or less and layouts of the wrong rank are ignored. Only programs can
        # build such layouts.
        (Layout((1, 0), tiles=((0, 8),)), 96),
        (Layout((1, 0), tiles=((4,),)), 96),
    ],
)
def test_layouts_of_programs(layout, padded):
    assert padded_bytes_of(Shape("f32", (3, 5), layout=layout)) == padded


def test_buffers_and_tokens_have_no_bytes():
    for other in (buffer_shape(Shape("f32", (3,))), TOKEN):
        assert (elements_of(other), bytes_of(other)) == (0, 0)
    assert bytes_of(Shape("f32", (3,))) == 12


def test_the_producers_of_parts_of_the_result():
    text = (
        "ENTRY e { p = f32[] parameter(0) q = (f32[], f32[]) parameter(1) a = f32[] abs(p) t = (f32[], (f32[], f32[])) tuple(a, q) "
        "ROOT r = ((f32[], (f32[], f32[])), f32[]) tuple(t, p) }"
    )
    root = parse(text).entry.root
    assert [producer_of(root, index).name for index in [(), (1,), (0, 0), (0, 1), (0, 1, 1)]] == ["r", "p", "a", "q", "q"]
