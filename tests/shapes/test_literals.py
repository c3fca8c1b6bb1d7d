"""Equality, hashes and parts of literals; limits of element types; escapes; validation of JSON."""

import json
from unittest.mock import ANY

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hlotool.literals.literal import Literal, decode, literal_from_bytes, literal_shape, splat_bytes, tuple_literal
from hlotool.literals.parse import parse_literal
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.shapes.json_text import json_error_offset
from hlotool.shapes.layout import Layout
from hlotool.shapes.shape import UNBOUNDED, Shape, array_shape, buffer_shape, tuple_shape
from hlotool.shapes.strings import escape, is_raw_dict, printed_string, quote, raw_dict_end, unescape, unquote

F32, S32 = array_shape("f32", (2,)), array_shape("s32", (2,))


# Each row has a shape, texts with the same value, and texts with other values.
SPELLINGS = [
    (array_shape("f32", (2,)), ["{1, 2}", "{1.0, 2e0}", "{ 1, 2 }"], ["{1, 3}", "{2, 1}", "{...}"]),
    (array_shape("f32"), ["0", "-0", "0.0"], ["-0.0", "1e-45", "nan"]),
    (array_shape("f32"), ["nan"], ["-nan", "nan(0x400001)", "inf"]),
    (array_shape("f32"), ["0.1", "0.10", "0.100000001"], ["0.1000001"]),
    (array_shape("bf16"), ["1", "1.001"], ["1.01"]),
    (array_shape("c64"), ["(1, 0)", "(1.0, 0)"], ["(1, -0.0)", "(0, 1)"]),
    (array_shape("s2"), ["-2"], ["1", "-1", "0"]),
    (array_shape("s4", (2,)), ["{-1, 7}"], ["{-1, -8}"]),
    (array_shape("u64"), ["18446744073709551615", "-1"], ["1"]),
    (array_shape("pred", (2,)), ["{1, 0}", "{true, false}", "{3, 0}", "1"], ["{0, 1}", "0"]),
    (array_shape("s32", (3,)), ["{7, 0, 0}", "7", "07"], ["{0, 0, 7}", "0"]),
    (array_shape("s32", (2,)), ["{0, 0}", "0", ","], ["{0, 256}", "{1, 0}"]),
    (array_shape("s8", (1, 1, 1, 2)), ["{ { /*i0=0*/ { /*i1=0*/ {1, 2} } } }", "{{{{1,2}}}}"], ["{{{{1,1}}}}"]),
    (array_shape("f32", (0, 2)), ["{}"], []),
    # These literals are so long that their hashes cover only the first elements.
    (array_shape("s32", (30_000,)), ["{" + "5, " * 29_999 + "6}", "{" + "05, " * 29_999 + "6}"], ["{" + "5, " * 29_999 + "7}"]),
    (array_shape("c128", (20_000,)), ["{" + "(1, 2), " * 19_999 + "(1, 2)}", "{" + "(1.0, 2), " * 19_999 + "(1, 2)}"], []),
]


def as_bytes(literal: Literal) -> Literal:
    return literal_from_bytes(literal.shape, decode(literal))


@pytest.mark.parametrize(("shape", "texts", "others"), SPELLINGS, ids=[f"{shape.text} {texts[0][:20]}" for shape, texts, _ in SPELLINGS])
def test_literals_are_equal_if_shape_and_values_are_equal(shape, texts, others):
    equal = [*(parse_literal(shape, text) for text in texts), *(as_bytes(parse_literal(shape, text)) for text in texts)]
    assert set(equal) == {equal[0]}
    for a in equal:
        assert all(a == b and hash(a) == hash(b) for b in equal)
        assert all(tuple_literal([a]) == tuple_literal([b]) and hash(tuple_literal([a])) == hash(tuple_literal([b])) for b in equal)
    different = [*(parse_literal(shape, text) for text in others), *(as_bytes(parse_literal(shape, text)) for text in others if text != "{...}")]
    for b in different:
        assert all(a != b and b != a and tuple_literal([a]) != tuple_literal([b]) for a in equal)


def test_literals_of_other_shapes_are_not_equal():
    columns = array_shape("f32", (2, 2), layout=Layout((0, 1)))
    assert Literal(F32, "{1, 2}") != Literal(S32, "{1, 2}")
    assert literal_from_bytes(F32, b"12345678") != literal_from_bytes(S32, b"12345678")
    assert Literal(array_shape("f32", (2, 2)), "{ { 1, 1 }, { 1, 1 } }") != Literal(columns, "{ { 1, 1 }, { 1, 1 } }")
    assert tuple_literal([Literal(F32, "{1, 2}")]) != Literal(F32, "{1, 2}")
    assert Literal(F32, "{1, 2}") != "{1, 2}"


def test_elided_literals_are_equal_to_each_other():
    assert Literal(F32, "{...}") == Literal(F32, "{...}") != Literal(F32, "{0, 0}")
    assert Literal(F32, "{...}") != literal_from_bytes(F32, b"12345678") != Literal(F32, "{...}")


def test_different_literals_have_different_hashes():
    literals = [
        Literal(F32, "{1, 2}"),
        Literal(S32, "{1, 2}"),
        Literal(F32, "{1, 3}"),
        literal_from_bytes(F32, b"12345678"),
        literal_from_bytes(F32, b"12345679"),
        tuple_literal([Literal(F32, "{1, 2}")]),
    ]
    assert len({hash(literal) for literal in literals}) == len(literals)


def test_a_number_for_a_large_array_is_compared_without_the_array():
    shape = array_shape("s8", (1 << 50,))
    assert Literal(shape, "1") == Literal(shape, "01") != Literal(shape, "2")
    assert len({Literal(shape, "1"), Literal(shape, "01"), Literal(shape, ",")}) == 2
    assert splat_bytes(Literal(shape, "0")) == b"\0"
    assert splat_bytes(Literal(shape, "1")) is None


def test_invalid_numbers_are_compared_as_text():
    # If the parser recovers from an error, invalid numbers remain in the literal.
    assert Literal(F32, "{x, 1}") == Literal(F32, "{x, 1}") != Literal(F32, "{x, 2}")
    assert hash(Literal(F32, "{x, 1}")) == hash(Literal(F32, "{x, 1}"))


def test_decoded_arrays_are_cached():
    literal, array = Literal(F32, "{1, 2}"), object()
    assert literal.array is None
    literal.cache_array(array)
    assert literal.array is array


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (buffer_shape(F32), F32),
        (buffer_shape(array_shape("f32", (2,), (True,))), F32),
        (array_shape("f32", (2,), (True,)), F32),
        (Shape("f32", (2,), (True,)), Shape("f32", (2,))),
        (Shape("f32", (2,)), Shape("f32", (2,))),
        (array_shape("f32", (UNBOUNDED, 2), (True, True)), array_shape("f32", (UNBOUNDED, 2), (True, False))),
        (array_shape("s4", (2,), layout=Layout((0,), element_size_in_bits=4)), array_shape("s4", (2,))),
        (array_shape("s4", (2,), (True,), Layout((0,), element_size_in_bits=4)), array_shape("s4", (2,))),
        (array_shape("f32", (2,), layout=Layout((0,), dynamic_shape_metadata_prefix_bytes=-1)), F32),
        (
            array_shape("s4", (2,), layout=Layout((0,), element_size_in_bits=4, dynamic_shape_metadata_prefix_bytes=8)),
            array_shape("s4", (2,), layout=Layout((0,), dynamic_shape_metadata_prefix_bytes=8)),
        ),
    ],
)
def test_shapes_of_literals(shape, expected):
    assert literal_shape(shape) == expected


def test_a_valid_literal_shape_is_returned_unchanged():
    assert literal_shape(F32) is F32


def test_literals_from_bytes_have_the_size_of_the_shape():
    assert decode(literal_from_bytes(F32, bytearray(b"12345678"))) == b"12345678"
    with pytest.raises(ValueError, match=r"expected data of length 8 for f32\[2\], got 7"):
        literal_from_bytes(F32, b"1234567")


def test_objects_with_their_own_comparison_equal_literals():
    assert Literal(F32, "{1, 2}") == ANY


def test_parts_of_tuples():
    inner = tuple_literal([Literal(F32, "{1, 2}"), Literal(S32, "{...}")])
    whole = tuple_literal([Literal(array_shape("s32"), "7"), inner, tuple_literal([])])
    assert [leaf.spelling for leaf in whole.leaves()] == ["7", "{1, 2}", "{...}", ""]
    assert whole.elided
    assert not tuple_literal([Literal(F32, "{1, 2}")]).elided
    assert whole.element_count == 5
    assert Literal(array_shape("f32", (3, -1)), "{}").element_count == 0
    assert whole.shape == tuple_shape([array_shape("s32"), tuple_shape([F32, S32]), tuple_shape([])])
    assert repr(Literal(F32, "{1, 2}")) == "<literal f32[2]{0} {1, 2}>"


def test_limits_of_integers():
    limits = {name: (row.minimum, row.maximum) for name, row in ELEMENT_TYPES.items() if row.is_integral}
    assert limits == {
        **{f"s{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (1, 2, 4, 8, 16, 32, 64)},
        **{f"u{bits}": (0, 2**bits - 1) for bits in (1, 2, 4, 8, 16, 32, 64)},
    }


def test_element_types():
    floats = "f16 bf16 f32 f64 f8e5m2 f8e4m3 f8e4m3fn f8e4m3b11fnuz f8e3m4 f8e5m2fnuz f8e4m3fnuz f4e2m1fn f6e3m2fn f6e2m3fn f8e8m0fnu".split()
    assert [name for name, row in ELEMENT_TYPES.items() if row.kind == "float"] == floats
    others = {name: row.bits for name, row in ELEMENT_TYPES.items() if row.kind not in ("float", "signed", "unsigned")}
    assert others == {"pred": 8, "c64": 64, "c128": 128, "token": 0, "opaque": 0}
    assert [name for name in ELEMENT_TYPES if not Shape(name).is_array] == ["token", "opaque"]
    for name in floats:
        form, row = ELEMENT_TYPES[name].float_format, ELEMENT_TYPES[name]
        assert form is not None
        assert form.exponent_bits + form.mantissa_bits + form.signed == row.bits


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"a\tb", "a\tb"),
        (r"\a\b\f\n\r\t\v\\\?\'\"", "\a\b\f\n\r\t\v\\?'\""),
        (r"\x41\X42", "AB"),
        (r"\101\7", "A\7"),
        (r"\303\251", "é"),
        (r"\xff", "\udcff"),
        (r"\u00e9\U0001F600", "é😀"),
        ("plain", "plain"),
    ],
)
def test_escapes(text, value):
    assert unescape(text) == value
    assert unquote(f'"{text}"') == value
    assert unescape(escape(value)) == value
    assert unquote(quote(value)) == value


@pytest.mark.parametrize("text", [r"\400", r"\x100", r"\U00110000", r"\ud800", r"\udfff", r"\q", "\\é"])
def test_invalid_escapes(text):
    with pytest.raises(ValueError, match="escape"):
        unescape(text)


def test_escaped_characters():
    assert escape("a'\"\\\n\r\t\x7f\0 ~") == r"a\'\"\\\n\r\t\177\000 ~"
    assert escape("\udcff") == r"\377"


@pytest.mark.parametrize(
    ("text", "end"),
    [("{}", 2), ("{a{b}c}d", 7), ('{"}"}', 5), (r'{"\"}"}x', 7), ("{", -1), ('{"', -1), ('{"}', -1), ("{{}", -1)],
)
def test_ends_of_raw_dictionaries(text, end):
    assert raw_dict_end(text, 0) == end
    assert raw_dict_end("xy" + text, 2) == (end + 2 if end >= 0 else -1)
    assert is_raw_dict(text) is (end == len(text))
    assert not is_raw_dict("x" + text)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", 0),
        (" 1 ", -1),
        ("1 2", 2),
        ("[]", -1),
        ("[ ]", -1),
        ("{}", -1),
        ("[1,]", 3),
        ("{,}", 1),
        ('{"a"}', 4),
        ('{"a" : 1 , "b":[{}]}', -1),
        ('{"a":1 "b":2}', 7),
        ("{1:2}", 1),
        ("[1}", 2),
        ("[1", 2),
        ('{"a":', 5),
        ('{"a":1,', 7),
        ('{"a":1,"b" 2}', 11),
        ('{"a":1,2:3}', 7),
        ("[1]]", 3),
        ("01", 1),
        ("tru", 0),
        ('"a\n"', 0),
    ],
)
def test_first_invalid_character_of_json(text, fault):
    assert json_error_offset(text) == fault


JSON_PARTS = ["{", "}", "[", "]", ",", ":", '"a"', "1", "-0.5e3", "true", "null", " "]


@settings(max_examples=1_000)
@given(st.lists(st.sampled_from(JSON_PARTS), min_size=1, max_size=7).map("".join))
def test_json_agrees_with_the_standard_library(text):
    try:
        json.loads(text)
        is_json = True
    except ValueError:
        is_json = False
    assert (json_error_offset(text) == -1) is is_json


@pytest.mark.parametrize("text", ["{}", ' {"a":1}\n', '/* before */ {"a":{"b":"}"}} // after'])
def test_strings_that_are_a_dictionary_are_printed_raw(text: str) -> None:
    assert printed_string(text) == text


@pytest.mark.parametrize("text", ["", "  ", "// {}", "x{}", "{}x", "{}{}", "{", '{"}', "[1]"])
def test_other_strings_are_printed_quoted(text: str) -> None:
    assert printed_string(text) == quote(text)
