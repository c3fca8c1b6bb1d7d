"""Shapes: text, equality, parts and default orders."""

from unittest.mock import ANY

import pytest

from hlotool.shapes.layout import Layout
from hlotool.shapes.shape import (
    OPAQUE,
    TOKEN,
    ProgramShape,
    Shape,
    array_shape,
    buffer_shape,
    compatible,
    join_elements,
    subshape,
    tuple_shape,
    with_default_order,
)

F32 = array_shape("f32", (2, 3))
COLUMNS = array_shape("f32", (2, 3), layout=Layout((0, 1), memory_space=1))
DYNAMIC = array_shape("f32", (2, 3), (False, True))
UNBOUNDED = array_shape("f32", (-1, 3), (True, False))
PAIR = tuple_shape([F32, tuple_shape([COLUMNS, TOKEN])])


@pytest.mark.parametrize(
    ("shape", "text", "plain"),
    [
        (F32, "f32[2,3]{1,0}", "f32[2,3]"),
        (COLUMNS, "f32[2,3]{0,1:S(1)}", "f32[2,3]"),
        (DYNAMIC, "f32[2,<=3]{1,0}", "f32[2,<=3]"),
        (UNBOUNDED, "f32[?,3]{1,0}", "f32[?,3]"),
        (array_shape("f32"), "f32[]", "f32[]"),
        (TOKEN, "token[]", "token[]"),
        (OPAQUE, "opaque[]", "opaque[]"),
        (tuple_shape([]), "()", "()"),
        (PAIR, "(f32[2,3]{1,0}, (f32[2,3]{0,1:S(1)}, token[]))", "(f32[2,3], (f32[2,3], token[]))"),
        (buffer_shape(F32), "b(f32[2,3]{1,0})", "b(f32[2,3])"),
        (tuple_shape([TOKEN] * 7), "(token[], token[], token[], token[], token[], /*index=5*/token[], token[])", None),
        (tuple_shape([TOKEN] * 11), f"({', '.join(['token[]'] * 5)}, /*index=5*/{', '.join(['token[]'] * 5)}, /*index=10*/token[])", None),
    ],
)
def test_texts(shape, text, plain):
    for _ in range(2):
        # The text is cached.
        assert shape.text == str(shape) == text
        assert shape.text_without_layout == (plain or text)
    assert repr(shape) == f"<shape {text}>"


def test_a_layout_prints_as_in_hlo():
    assert str(COLUMNS.layout) == "{0,1:S(1)}"
    assert str(Layout()) == "{}"


def test_a_text_cached_by_the_parser():
    shape = array_shape("f32", (2, 3))
    shape.cache_text("f32[2,3]{1,0}")
    assert shape.text == "f32[2,3]{1,0}"


def test_elements_are_joined_with_index_comments():
    assert join_elements("abcdefghijk") == "a, b, c, d, e, /*index=5*/f, g, h, i, j, /*index=10*/k"
    assert join_elements([]) == ""


DIFFERENT = [
    F32,
    COLUMNS,
    DYNAMIC,
    UNBOUNDED,
    array_shape("s32", (2, 3)),
    array_shape("f32", (3, 2)),
    array_shape("f32", (2,)),
    TOKEN,
    tuple_shape([]),
    tuple_shape([F32]),
    tuple_shape([COLUMNS]),
    tuple_shape([F32, F32]),
    PAIR,
    buffer_shape(F32),
    tuple_shape([tuple_shape([F32])]),
]


def _again(shape: Shape) -> Shape:
    return Shape(shape.element_type, shape.dimensions, shape.dynamic, shape.layout, tuple(map(_again, shape.elements)))


@pytest.mark.parametrize("position", range(len(DIFFERENT)))
def test_equality(position):
    shape = DIFFERENT[position]
    assert [k for k, other in enumerate(DIFFERENT) if other == shape] == [position]
    assert _again(shape) == shape
    assert hash(_again(shape)) == hash(shape)
    assert shape != shape.text
    assert len({hash(other) for other in DIFFERENT}) == len(DIFFERENT)


def test_shapes_nest_deeper_than_python_recurses():
    shape = other = TOKEN
    for _ in range(5000):
        shape, other = tuple_shape([shape]), tuple_shape([other])
    assert shape == other
    assert hash(shape) == hash(other)
    assert compatible(shape, other)
    assert with_default_order(shape) == shape


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (F32, F32, True),
        (F32, COLUMNS, True),
        (F32, DYNAMIC, True),
        (F32, UNBOUNDED, True),
        (UNBOUNDED, F32, True),
        (UNBOUNDED, array_shape("f32", (2, 4)), False),
        (UNBOUNDED, array_shape("f32", (2,)), False),
        (F32, array_shape("s32", (2, 3)), False),
        (F32, array_shape("f32", (3, 2)), False),
        (PAIR, tuple_shape([COLUMNS, tuple_shape([F32, TOKEN])]), True),
        (PAIR, tuple_shape([F32, tuple_shape([F32, OPAQUE])]), False),
        (tuple_shape([F32]), tuple_shape([F32, F32]), False),
        (buffer_shape(F32), buffer_shape(COLUMNS), True),
    ],
)
def test_compatible(first, second, expected):
    assert compatible(first, second) is expected


@pytest.mark.parametrize(
    ("index", "expected"),
    [((), PAIR), ((0,), F32), ((1, 0), COLUMNS), ((1, 1), TOKEN), ((2,), None), ((-1,), None), ((0, 0), None), ((1, 2), None)],
)
def test_parts(index, expected):
    assert subshape(PAIR, index) == expected


def test_the_array_in_a_buffer_is_not_an_element():
    assert subshape(buffer_shape(F32), (0,)) is None


def test_a_cached_text_is_not_rebuilt():
    shape = Shape("f32", (2, 3))
    shape.cache_text("known")
    assert shape.text == "known"


def test_objects_with_their_own_comparison_equal_shapes():
    assert F32 == ANY


def test_leaves_and_kinds():
    assert list(PAIR.leaves()) == [F32, COLUMNS, TOKEN]
    assert list(F32.leaves()) == [F32]
    assert list(tuple_shape([]).leaves()) == []
    assert [shape.is_array for shape in (F32, TOKEN, OPAQUE, PAIR, buffer_shape(F32))] == [True, False, False, False, False]
    assert [shape.is_tuple for shape in (F32, TOKEN, PAIR)] == [False, False, True]
    assert F32.rank == 2


def test_shapes_with_other_fields():
    assert COLUMNS.with_dimensions([4]) == array_shape("f32", (4,))
    assert COLUMNS.with_dimensions([4], [True]) == array_shape("f32", (4,), (True,))
    assert COLUMNS.with_element_type("s32") == array_shape("s32", (2, 3), layout=COLUMNS.layout)
    assert COLUMNS.with_layout(F32.layout) == F32
    assert array_shape("f32", (2,), (False,)).dynamic == ()


def test_default_orders():
    assert with_default_order(PAIR).text == "(f32[2,3]{1,0}, (f32[2,3]{1,0:S(1)}, token[]))"
    assert with_default_order(tuple_shape([])) == tuple_shape([])
    assert with_default_order(COLUMNS).text == "f32[2,3]{1,0:S(1)}"
    assert with_default_order(Shape("f32", (2, 3))) == Shape("f32", (2, 3))


def test_program_shapes():
    assert ProgramShape((F32, TOKEN), PAIR).parameters[1] == TOKEN
