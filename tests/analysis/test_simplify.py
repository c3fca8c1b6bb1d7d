"""Simplification analysis: equal values, constant values and combiners of two parameters."""

from math import inf, isnan, nan

import pytest

from hlotool.analysis import simplify
from hlotool.analysis.simplify import (
    absorbing_of,
    binary_root,
    constant_value,
    converted,
    holds_all,
    identity_of,
    is_associative,
    is_idempotent,
    is_same_number,
    same_value,
    value_of_itself,
    without_conversions,
)
from hlotool.ir.model import Instruction
from hlotool.literals.literal import Literal, literal_from_bytes, splat_bytes, tuple_literal
from hlotool.opdefs.table import OPS
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.shapes.shape import array_shape
from hlotool.text.parse.parser import parse


def root(lines: str) -> Instruction:
    """Returns the last of these instructions, which is the root of an entry computation."""
    return parse(f"ENTRY e {{ {lines} }}").entry.root


ARRAYS = "p = f32[2,3] parameter(0) q = f32[2,3] parameter(1) z = f32[] constant(0) "
NUMBERS = "x = s32[2] parameter(0) y = s32[2] parameter(1) n = s32[] constant(%s) c = s32[2] broadcast(n), dimensions={} "
SMALL = "e = f32[2,0] parameter(2) "
INDEX = "i = s32[] parameter(2) "
CHOICE = "b = pred[] constant(%s) k = pred[2,3] broadcast(b), dimensions={} "
GROUP = "t = (f32[], f32[]) parameter(0) a = f32[] get-tuple-element(t), index=0 b = f32[] get-tuple-element(t), index=1 "

SAME = [
    (ARRAYS + "ROOT r = f32[2,3] copy(p)", "p"),
    (ARRAYS + "ROOT r = f32[2,3]{0,1} copy(p)", None),
    (ARRAYS + "ROOT r = f32[2,3] reshape(p)", "p"),
    (ARRAYS + "ROOT r = f32[3,2] reshape(p)", None),
    (ARRAYS + "ROOT r = f32[2,3] bitcast(p)", "p"),
    (ARRAYS + "ROOT r = f32[2,3] convert(p)", "p"),
    (ARRAYS + "ROOT r = f32[2,3] bitcast-convert(p)", "p"),
    (ARRAYS + "ROOT r = f32[2,3] real(p)", "p"),
    (ARRAYS + "ROOT r = f32[2,3] transpose(p), dimensions={0,1}", "p"),
    ("s = f32[2,2] parameter(0) ROOT r = f32[2,2] transpose(s), dimensions={1,0}", None),
    (ARRAYS + "ROOT r = f32[2,3] broadcast(p), dimensions={0,1}", "p"),
    ("s = f32[] parameter(0) ROOT r = f32[] broadcast(s), dimensions={}", "s"),
    (ARRAYS + "ROOT r = f32[2,3] slice(p), slice={[0:2], [0:3]}", "p"),
    (ARRAYS + "ROOT r = f32[1,3] slice(p), slice={[0:1], [0:3]}", None),
    (ARRAYS + "ROOT r = f32[2,3] pad(p, z), padding=0_0x0_0", "p"),
    # The result has the size of the operand, but its elements are shifted.
    (ARRAYS + "ROOT r = f32[2,3] pad(p, z), padding=1_-1x0_0", None),
    (ARRAYS + "ROOT r = f32[2,3] pad(p, z), padding=0_0x0_-2_1", None),
    (ARRAYS + "ROOT r = f32[2,3] reverse(p), dimensions={1}", None),
    ("s = f32[2,1] parameter(0) ROOT r = f32[2,1] reverse(s), dimensions={1}", "s"),
    (ARRAYS + "ROOT r = f32[2,3] reverse(p), dimensions={}", "p"),
    (ARRAYS + "ROOT r = f32[2,3] concatenate(p), dimensions={1}", "p"),
    (ARRAYS + SMALL + "ROOT r = f32[2,3] concatenate(e, p, e), dimensions={1}", "p"),
    (ARRAYS + "ROOT r = f32[2,6] concatenate(p, q), dimensions={1}", None),
    ("e = f32[0] parameter(0) f = f32[0] parameter(1) ROOT r = f32[0] concatenate(e, f), dimensions={0}", None),
    (ARRAYS + INDEX + "ROOT r = f32[2,3] dynamic-slice(p, i, i), dynamic_slice_sizes={2,3}", "p"),
    (ARRAYS + INDEX + "ROOT r = f32[1,3] dynamic-slice(p, i, i), dynamic_slice_sizes={1,3}", None),
    (ARRAYS + INDEX + "ROOT r = f32[2,3] dynamic-update-slice(p, q, i, i)", "q"),
    (ARRAYS + INDEX + "u = f32[1,3] parameter(3) ROOT r = f32[2,3] dynamic-update-slice(p, u, i, i)", None),
    (ARRAYS + CHOICE % "true" + "ROOT r = f32[2,3] select(k, p, q)", "p"),
    (ARRAYS + CHOICE % "false" + "ROOT r = f32[2,3] select(k, p, q)", "q"),
    (ARRAYS + "k = pred[2,3] parameter(2) ROOT r = f32[2,3] select(k, p, p)", "p"),
    (ARRAYS + "k = pred[2,3] parameter(2) ROOT r = f32[2,3] select(k, p, q)", None),
    (ARRAYS + "t = (f32[2,3], f32[2,3]) tuple(p, q) ROOT r = f32[2,3] get-tuple-element(t), index=1", "q"),
    (GROUP + "ROOT r = f32[] get-tuple-element(t), index=1", None),
    (GROUP + 'g = (f32[], f32[]) custom-call(a, b), custom_call_target="f" ROOT r = f32[] get-tuple-element(g), index=1', None),
    (GROUP + "ROOT r = (f32[], f32[]) tuple(a, b)", "t"),
    (GROUP + "ROOT r = (f32[], f32[]) tuple(b, a)", None),
    (GROUP + "ROOT r = (f32[]) tuple(a)", None),
    (GROUP + "u = (f32[], f32[]) parameter(1) c = f32[] get-tuple-element(u), index=1 ROOT r = (f32[], f32[]) tuple(a, c)", None),
    (GROUP + "p = f32[] parameter(1) ROOT r = (f32[], f32[]) tuple(a, p)", None),
    # Repeated operations.
    (ARRAYS + "a = f32[2,3] abs(p) ROOT r = f32[2,3] abs(a)", "a"),
    (ARRAYS + "a = f32[2,3] negate(p) ROOT r = f32[2,3] negate(a)", "p"),
    (ARRAYS + "a = f32[2,3] negate(p) ROOT r = f32[2,3] abs(a)", None),
    (ARRAYS + "a = f32[2,3] abs(p) ROOT r = f32[2,3] negate(a)", None),
    (ARRAYS + "a = f32[2,3]{0,1} abs(p) ROOT r = f32[2,3] abs(a)", None),
    (ARRAYS + "a = f32[2,3] cosine(p) ROOT r = f32[2,3] cosine(a)", None),
    # The intermediate value is rounded.
    (ARRAYS + "a = bf16[2,3] negate(p) ROOT r = f32[2,3] negate(a)", None),
    ("s = f8e8m0fnu[2] parameter(0) a = f8e8m0fnu[2] negate(s) ROOT r = f8e8m0fnu[2] negate(a)", None),
    ("s = c64[2] parameter(0) a = c64[2] round-nearest-even(s) ROOT r = c64[2] round-nearest-even(a)", None),
    ("t = token[] after-all() s = token[] after-all(t) ROOT r = token[] after-all(s)", None),
    # Identities.
    (ARRAYS + "ROOT r = f32[2,3] maximum(p, p)", "p"),
    (ARRAYS + "ROOT r = f32[2,3] maximum(p, q)", None),
    (ARRAYS + "ROOT r = f32[2,3] add(p, p)", None),
    (ARRAYS + "ROOT r = f32[2,3] clamp(p, p, p)", None),
    (ARRAYS + "n = f32[2,3] constant({{nan,nan,nan},{nan,nan,nan}}) ROOT r = f32[2,3] atan2(p, n)", None),
    (ARRAYS + "n = f32[2,3] constant({{nan,nan,nan},{nan,nan,nan}}) ROOT r = f32[2,3] atan2(n, p)", None),
    (NUMBERS % 0 + "ROOT r = s32[2] add(x, c)", "x"),
    (NUMBERS % 0 + "ROOT r = s32[2] add(c, x)", "x"),
    (NUMBERS % 0 + "ROOT r = s32[2] subtract(x, c)", "x"),
    (NUMBERS % 0 + "ROOT r = s32[2] subtract(c, x)", None),
    (NUMBERS % 1 + "ROOT r = s32[2] add(x, c)", None),
    (NUMBERS % 0 + "ROOT r = s32[2] multiply(x, c)", "c"),
    (NUMBERS % 0 + "ROOT r = s32[2] multiply(c, x)", "c"),
    (NUMBERS % 1 + "ROOT r = s32[2] multiply(x, c)", "x"),
    (NUMBERS % 1 + "ROOT r = s32[2] add(x, y)", None),
    (NUMBERS % 0 + "ROOT r = s32[2]{0:S(1)} add(x, c)", None),
    (NUMBERS % 0 + "ROOT r = s32[2]{0:S(1)} multiply(x, c)", None),
    # If one operand has another layout, the other may still match.
    (NUMBERS % 0 + "d = s32[2] constant({0, 0}) w = s32[2]{0:S(1)} copy(d) ROOT r = s32[2] add(w, d)", "d"),
    (NUMBERS % 0 + "d = s32[2] constant({0, 0}) w = s32[2]{0:S(1)} copy(d) ROOT r = s32[2] multiply(w, d)", "d"),
    (ARRAYS + "ROOT r = pred[2,3] compare(p, q), direction=EQ", None),
    (GROUP + 'ROOT g = (f32[], f32[]) custom-call(a, b), custom_call_target="f"', None),
]


@pytest.mark.parametrize(("lines", "name"), SAME)
def test_same_value(lines, name):
    source = same_value(root(lines))
    assert (source and source.name) == name


def test_indices_out_of_range_in_a_built_module():
    x = root(ARRAYS + "t = (f32[2,3], f32[2,3]) tuple(p, q) ROOT r = f32[2,3] get-tuple-element(t), index=1")
    for index in (-1, 2):
        other = parse(f"ENTRY e {{ {ARRAYS} t = (f32[2,3], f32[2,3]) tuple(p, q) ROOT r = f32[2,3] get-tuple-element(t), index=1 }}").entry.root
        other.attributes = type(x.attributes)({"index": index})
        assert same_value(other) is None


VALUES = [
    ("ROOT c = f32[] constant(0.1)", 0.10000000149011612),
    ("ROOT c = s8[] constant(-3)", -3),
    ("ROOT c = u8[] constant(253)", 253),
    ("ROOT c = pred[] constant(true)", 1),
    ("ROOT c = f32[2] constant({7, 7})", 7.0),
    ("ROOT c = f32[2] constant({7, 8})", None),
    ("ROOT c = f32[0] constant({})", None),
    ("ROOT c = c64[] constant((1, 0))", None),
    ("ROOT c = (s32[]) constant((1))", None),
    ("ROOT c = f32[2] constant({...})", None),
    ("ROOT p = f32[2] parameter(0)", None),
    ("c = s32[] constant(4) ROOT b = s32[3] broadcast(c), dimensions={}", 4),
    ("c = s32[2] constant({4, 4}) ROOT b = s32[2] reverse(c), dimensions={0}", 4),
    ("c = s32[4] constant({4, 4, 4, 4}) ROOT b = s32[2] slice(c), slice={[0:2]}", 4),
    ("c = s32[] constant(1) ROOT b = f32[] bitcast(c)", None),
    ("c = s32[] constant(1) ROOT b = f32[] bitcast-convert(c)", None),
    ("c = s32[2] constant({1, 1}) ROOT b = s32[1,2] bitcast(c)", 1),
    # The other elements are padding.
    ("c = s32[2] constant({1, 1}) ROOT b = s32[4] bitcast(c)", None),
    ("c = s32[] constant(1) ROOT b = s32[] opt-barrier(c)", None),
    ("c = s32[] constant(1) t = token[] after-all() ROOT b = s32[] add-dependency(c, t)", None),
    ("c = s32[] constant(1) t = (s32[]) tuple(c) ROOT b = (s32[]) copy(t)", None),
    ("c = s32[] constant(1) ROOT b = s32[] negate(c)", None),
    ("c = s32[] constant(300) ROOT b = u8[] convert(c)", 44),
    ("c = s32[] constant(300) b = u8[] convert(c) ROOT d = f32[] convert(b)", 44.0),
    ("c = f32[] constant(3.5) b = s32[] convert(c) ROOT d = f32[] convert(b)", None),
    ("c = f32[] constant(3.5) ROOT b = s32[] convert(c)", None),
    ("c = f32[] constant(3) b = s32[] convert(c) ROOT d = s32[2] broadcast(b), dimensions={}", 3),
    ("c = c64[] constant((1, 0)) ROOT b = f32[] convert(c)", None),
    ("c = f32[] constant(1) ROOT b = c64[] convert(c)", None),
    ("c = f32[] constant(1) ROOT b = (f32[]) convert(c)", None),
]


@pytest.mark.parametrize(("lines", "value"), VALUES)
def test_constant_value(lines, value):
    found = constant_value(root(lines))
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("lines", [lines for lines, value in VALUES if value is not None])
def test_instructions_with_constant_values_have_their_opcodes(lines):
    assert root(lines).opcode in simplify.CONSTANT_LIKE


def test_long_chains_are_not_followed():
    lines = "x0 = s32[] constant(5) " + " ".join(f"x{k + 1} = s32[] copy(x{k})" for k in range(20))
    copies = {x.name: constant_value(x) for x in parse(f"ENTRY e {{ {lines} ROOT p = f32[] parameter(0) }}").entry.instructions}
    assert copies["x16"] == 5
    assert copies["x17"] is None


@pytest.mark.parametrize(
    ("element_type", "data", "value"),
    [
        ("s16", b"\xff\xff" * 2, -1),
        ("u16", b"\xff\xff" * 2, 65535),
        ("s16", b"\1\0\2\0", None),
        ("pred", b"\1\1", 1),
        ("f32", b"\0\0\x80\x3f" * 2, 1.0),
        ("c64", b"\0" * 16, None),
        ("s4", b"\xff\xff", -1),
    ],
)
def test_constants_held_as_bytes(element_type, data, value):
    x = root(f"ROOT c = {element_type}[2] constant({{...}})")
    x.immediate = literal_from_bytes(array_shape(element_type, (2,)), data)
    assert constant_value(x) == value


def test_an_empty_array_has_no_value():
    x = root("ROOT c = s32[0] constant({})")
    x.immediate = literal_from_bytes(array_shape("s32", (0,)), b"")
    assert constant_value(x) is None


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (1, 1.0, True),
        (1, 2, False),
        (0.0, -0.0, False),
        (-0.0, -0.0, True),
        (0, 0.0, True),
        (0, -0.0, False),
        (10**400, 10**400, True),
        (nan, nan, True),
        (nan, 1.0, False),
        (1.0, nan, False),
        (inf, inf, True),
        (inf, -inf, False),
    ],
)
def test_same_numbers(a, b, same):
    assert is_same_number(a, b) is same


HELD = [
    ("f32", "f32", True), ("f32", "bf16", True), ("f32", "f16", True), ("f32", "f64", False), ("bf16", "f16", False), ("f16", "bf16", False),
    ("f32", "f8e4m3fn", False), ("f8e4m3fn", "f4e2m1fn", False), ("f8e5m2fnuz", "f8e5m2fnuz", True), ("f64", "f8e5m2", True),
    ("f8e4m3fn", "f8e3m4", False), ("s16", "u8", True), ("s16", "u16", False), ("u16", "s8", False), ("u16", "u8", True), ("s8", "s16", False),
    ("f32", "s16", True), ("f32", "s32", False), ("f32", "u16", True), ("f64", "s32", True), ("f16", "s8", True), ("f16", "s16", False),
    ("bf16", "s8", True), ("bf16", "u8", True), ("f8e4m3fn", "s4", False), ("f8e5m2", "u2", True), ("f8e5m2", "u4", False), ("f8e3m4", "u2", True),
    ("f8e3m4", "u4", False), ("f8e4m3", "u4", True), ("s32", "f32", False), ("s64", "f8e5m2", False), ("c64", "f32", False), ("c64", "pred", False),
    ("f32", "pred", True), ("s8", "pred", True), ("f8e4m3fn", "pred", True), ("f8e8m0fnu", "pred", False), ("pred", "s8", False),
    ("s1", "pred", False), ("s2", "pred", True),
    ("c128", "c64", False), ("c64", "c64", True), ("c64", "s8", False), ("f32", "c64", False), ("f32", "token", False),
]  # fmt: skip


@pytest.mark.parametrize(("wide", "narrow", "expected"), HELD)
def test_types_that_represent_all_values_of_others(wide, narrow, expected):
    assert holds_all(ELEMENT_TYPES[wide], ELEMENT_TYPES[narrow]) is expected


CONVERTED = [
    (300, "u8", 44), (-1, "u8", 255), (200, "s8", -56), (3.0, "s32", 3), (3.5, "s32", None), (3e9, "s32", None), (-3e9, "s32", None),
    (-2147483648.0, "s32", -2147483648), (inf, "s32", None), (nan, "s32", None), (0, "pred", 0), (2, "pred", 1), (0.5, "pred", 1), (-0.0, "pred", 0),
    (257, "bf16", None), (256, "bf16", 256.0), (1, "c64", None), (1.0, "c64", None), (1e6, "f16", None), (-0.0, "f8e4m3fnuz", None),
    (-0.0, "bf16", -0.0), (inf, "bf16", inf), (inf, "f8e4m3fn", None), (2**53 + 1, "f64", None), (2**53, "f64", 2.0**53), (10**400, "f64", None),
    (0.0, "f8e8m0fnu", None),
]  # fmt: skip


@pytest.mark.parametrize(("value", "element_type", "expected"), CONVERTED)
def test_converted_numbers(value, element_type, expected):
    result = converted(value, ELEMENT_TYPES[element_type])
    assert type(result) is type(expected)
    assert result is None or is_same_number(result, expected)


def test_a_converted_nan_is_a_nan():
    result = converted(nan, ELEMENT_TYPES["bf16"])
    assert result is not None
    assert isnan(result)


def test_algebra_of_pred_is_that_of_bits():
    pred, s32 = ELEMENT_TYPES["pred"], ELEMENT_TYPES["s32"]
    assert [identity_of(OPS["add"], row) for row in (pred, s32)] == [0, 0]
    assert [absorbing_of(OPS["add"], row) for row in (pred, s32)] == [1, None]
    assert [identity_of(OPS["multiply"], row) for row in (pred, s32)] == [1, 1]
    assert [value_of_itself(OPS["subtract"], row) for row in (ELEMENT_TYPES["f32"], s32)] == [None, 0]
    assert [is_idempotent(OPS["add"], row) for row in (pred, s32)] == [True, False]
    assert is_idempotent(OPS["maximum"], s32)
    assert not is_idempotent(OPS["maximum"], ELEMENT_TYPES["c64"])
    assert [is_associative(OPS[name]) for name in ("add", "subtract")] == [True, False]


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        ("p = s8[2] parameter(0) a = s32[2] convert(p) ROOT b = s32[2] copy(a)", "p"),
        ("p = s32[2] parameter(0) a = s8[2] convert(p) ROOT b = s8[2] copy(a)", "a"),
        ("p = s8[2] parameter(0) a = s32[2] convert(p) ROOT b = s8[2] convert(a)", "b"),
        ("p = s32[2] parameter(0) ROOT b = f32[2] bitcast(p)", "b"),
        ("p = s8[2] parameter(0) ROOT b = s32[2] negate(p)", "b"),
        ("p = s8[2] parameter(0) ROOT b = c64[2] convert(p)", "b"),
        ("p = (s8[2]) parameter(0) ROOT b = s8[2] convert(p)", "b"),
        ("p = s8[2] parameter(0) ROOT b = (s8[2]) convert(p)", "b"),
    ],
)
def test_without_conversions(lines, name):
    assert without_conversions(root(lines)).name == name


TWO = "a = %s[] parameter(0) b = %s[] parameter(1) "
FUNCTIONS = [
    (TWO % ("f32", "f32") + "ROOT s = f32[] subtract(a, b)", "s"),
    (TWO % ("f32", "f32") + "ROOT s = f32[] add(a, a)", None),
    (TWO % ("f32", "f32") + "ROOT s = f32[] negate(a)", None),
    (TWO % ("f32", "f32") + "c = f32[] constant(1) ROOT s = f32[] add(a, c)", None),
    (TWO % ("f32", "f32") + "n = f32[] negate(a) ROOT s = f32[] add(n, b)", None),
    (TWO % ("f32", "f32") + "ROOT s = f32[] copy(a)", None),
    (TWO % ("bf16", "bf16") + "c = f32[] convert(a) d = f32[] convert(b) s = f32[] add(c, d) ROOT r = bf16[] convert(s)", "s"),
    (TWO % ("f32", "f32") + "c = bf16[] convert(a) d = bf16[] convert(b) s = bf16[] add(c, d) ROOT r = f32[] convert(s)", "s"),
    (TWO % ("s8", "s8") + "c = s32[] convert(a) d = s32[] convert(b) s = s32[] add(c, d) ROOT r = s8[] convert(s)", "s"),
    (TWO % ("s32", "s32") + "c = s8[] convert(a) d = s8[] convert(b) s = s8[] add(c, d) ROOT r = s32[] convert(s)", None),
    (TWO % ("s32", "s32") + "c = f32[] convert(a) d = f32[] convert(b) s = f32[] add(c, d) ROOT r = s32[] convert(s)", None),
    # The type of the sum differs from that of its operands.
    (TWO % ("s8", "s8") + "c = s32[] convert(a) d = s32[] convert(b) ROOT s = s32[] add(c, d)", None),
    (TWO % ("s32", "s8") + "d = s32[] convert(b) ROOT s = s32[] add(a, d)", "s"),
    (TWO % ("s8", "s32") + "c = s32[] convert(a) ROOT s = s32[] add(c, b)", "s"),
    (TWO % ("s32", "s32") + "s = s32[] add(a, b) ROOT r = s8[] convert(s)", None),
    (TWO % ("s8", "s32") + "d = s8[] convert(b) s = s8[] add(a, d) ROOT r = s8[] convert(s)", None),
    (TWO % ("s8", "s32") + "c = s32[] convert(a) s = s32[] add(c, b) ROOT r = s8[] convert(s)", None),
    (TWO % ("f32", "f32") + "s = f32[] add(a, b) ROOT r = s32[] convert(s)", None),
    (TWO % ("s32", "s32") + "ROOT s = pred[] compare(a, b), direction=LT", "s"),
    (TWO % ("s8", "s8") + "c = s32[] convert(a) d = s32[] convert(b) ROOT s = pred[] compare(c, d), direction=LT", "s"),
    (TWO % ("s32", "s32") + "c = s8[] convert(a) d = s8[] convert(b) ROOT s = pred[] compare(c, d), direction=LT", None),
    (TWO % ("s32", "s8") + "c = s8[] convert(a) ROOT s = pred[] compare(c, b), direction=LT", None),
    (TWO % ("f32", "f32") + "c = s32[] convert(a) d = s32[] convert(b) s = s32[] add(c, d) ROOT r = f32[] convert(s)", None),
    (TWO % ("c64", "c64") + "c = c128[] convert(a) d = c128[] convert(b) s = c128[] add(c, d) ROOT r = c64[] convert(s)", "s"),
    (TWO % ("f32", "f32") + "c = f32[] copy(a) s = f32[] add(c, b) ROOT r = f32[] reshape(s)", "s"),
    # Instructions that the verifier rejects: conversions between arrays and tuples.
    (TWO % ("f32", "f32") + "s = f32[] add(a, b) ROOT r = (f32[]) convert(s)", None),
    (TWO % ("f32", "f32") + "s = (f32[], f32[]) tuple(a, b) ROOT r = f32[] convert(s)", None),
    (TWO % ("f32", "f32") + 'c = (f32[]) convert(a) ROOT s = f32[] custom-call(c, b), custom_call_target="f"', None),
    ("a = (f32[]) parameter(0) b = f32[] parameter(1) c = f32[] convert(a) ROOT s = f32[] add(c, b)", None),
    (TWO % ("f32", "f32") + "t = (f32[], f32[]) tuple(a, b) ROOT s = (f32[], f32[]) copy(t)", None),
    (TWO % ("f32", "f32") + "ROOT t = (f32[], f32[]) tuple(a, b)", None),
]


@pytest.mark.parametrize(("lines", "name"), FUNCTIONS)
def test_roots_that_combine_two_parameters(lines, name):
    computation = parse(f"f {{ {lines} }} ENTRY e {{ ROOT p = f32[] parameter(0) }}").computations[0]
    operation = binary_root(computation)
    assert (operation and operation.name) == name


def test_tokens_are_not_combined():
    computation = parse(
        "f { a = token[] parameter(0) b = token[] parameter(1) ROOT t = token[] after-all(a, b) } ENTRY e { ROOT p = f32[] parameter(0) }"
    )
    assert binary_root(computation.computations[0]) is None


@pytest.mark.parametrize(
    ("literal", "element"),
    [
        (Literal(array_shape("s32", (2,)), "{7, 7}"), b"\7\0\0\0"),
        (Literal(array_shape("s32", (2,)), "{7, 8}"), None),
        (Literal(array_shape("s32"), "7"), b"\7\0\0\0"),
        # XLA pads a number that is written without braces with zeros.
        (Literal(array_shape("s32", (2,)), "7"), None),
        (Literal(array_shape("s32", (1,)), "7"), b"\7\0\0\0"),
        (Literal(array_shape("s16", (2,)), "0"), b"\0\0"),
        (Literal(array_shape("s16", (2,)), ","), b"\0\0"),
        (Literal(array_shape("f32", (2,)), "-0.0"), None),
        (Literal(array_shape("s32", (0,)), "{}"), None),
        (Literal(array_shape("s32", (2,)), "{...}"), None),
        # Two spellings of the same number, and numbers that are equal but have different bits.
        (Literal(array_shape("f16", (2,)), "{1, 1.0}"), b"\0\x3c"),
        (Literal(array_shape("f16", (2,)), "{0.0, -0.0}"), None),
        (Literal(array_shape("c64", (2,)), "{(1, 0), (1, 0)}"), b"\0\0\x80\x3f\0\0\0\0"),
        (Literal(array_shape("c64", (2,)), "{(1, 0), (0, 1)}"), None),
        (Literal(array_shape("u8", (1, 1, 1, 2)), "{ { /*i0=0*/ { /*i1=0*/ {3, 3} } } }"), b"\3"),
        (tuple_literal([Literal(array_shape("s32"), "7")]), None),
        (literal_from_bytes(array_shape("s16", (2,)), b"\xff\xff" * 2), b"\xff\xff"),
        (literal_from_bytes(array_shape("s16", (2,)), b"\1\0\2\0"), None),
        (literal_from_bytes(array_shape("s16", (3,)), b"\1\0\1\0\2\0"), None),
        (literal_from_bytes(array_shape("pred", (2,)), b"\1\1"), b"\1"),
        (literal_from_bytes(array_shape("f32", (1,)), b"\0\0\x80\x3f"), b"\0\0\x80\x3f"),
        (Literal(array_shape("s32", (2,)), packed=b""), None),
    ],
)
def test_the_element_that_an_array_repeats(literal, element):
    # The second call returns the cached answer.
    assert (splat_bytes(literal), splat_bytes(literal)) == (element, element)
