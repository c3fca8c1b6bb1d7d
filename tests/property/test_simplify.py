"""Facts about equal values and constants, compared with the interpreter.

The tests use all values of small types and special values of larger types.
"""

from __future__ import annotations

from functools import cache

import ml_dtypes
import numpy as np
import pytest

import hlotool
from hlotool.analysis.simplify import constant_value, same_value, value_of_itself
from hlotool.interp.arrays.dtypes import NUMBERS
from hlotool.ir.model import Instruction
from hlotool.opdefs.algebra import NO_ALGEBRA
from hlotool.opdefs.table import OPS
from hlotool.opdefs.traits import ELEMENTWISE, IDEMPOTENT, INVOLUTION
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.text.parse.parser import parse

FLOATS = ("f32", "bf16", "f16", "f64", "f8e5m2", "f8e4m3fn", "f8e4m3fnuz", "f8e8m0fnu")
INTEGERS = ("s8", "u8", "s32", "u32", "s4")
TYPES = (*FLOATS, *INTEGERS, "pred")
BINARY = [op.name for op in OPS.values() if op.arity == 2 and ELEMENTWISE in op.traits and (op.algebra is not NO_ALGEBRA or IDEMPOTENT in op.traits)]
UNARY = [op.name for op in OPS.values() if op.arity == 1 and not op.traits.isdisjoint((IDEMPOTENT, INVOLUTION))]
# Constants as written in HLO; the parser rejects constants that a type cannot represent.
CONSTANTS = ("0", "-0.0", "1", "-1", "2", "255", "inf", "-inf", "nan", "127", "-128", "true", "false", "4294967295", "2147483647", "-2147483648")


@cache
def special_values(name: str) -> np.ndarray:
    """Returns all values of a type with at most eight bits, or special values of a larger type.

    Special values are, for example, limits, zeros and NaN.
    """
    number = NUMBERS[name]
    if number.bits <= 8:
        codes = np.arange(2 if name == "pred" else 1 << number.bits, dtype=np.uint8)
        return codes.astype(bool) if name == "pred" else codes.view(number.held) if number.bits == 8 else np.arange(-8, 8).astype(number.held)
    if number.bits == 16:
        # Zeros, subnormal numbers, infinities and NaNs of both signs, and a sample of the other
        # values.
        codes = np.r_[0:65536:61, 0:16, 0x8000:0x8010, 0x7C00:0x7C04, 0xFC00:0xFC04, 0x7F7E:0x7F84, 0xFF7E:0xFF84]
        return codes.astype(np.uint16).view(number.held)
    if number.kind == "float":
        limits = np.finfo(number.held)
        values = [0.0, -0.0, 1.0, -1.0, 1.5, np.nan, np.inf, -np.inf, limits.max, limits.min, limits.tiny, -limits.tiny, limits.smallest_subnormal]
        return np.array([*values, -limits.smallest_subnormal, 1 + limits.eps, 0.1, 3e-39, 16777216.0], number.held)
    bounds = np.iinfo(number.held)
    return np.array([bounds.min, bounds.min + 1, bounds.max, bounds.max - 1, 0, 1, 2, 3, 31, 32, 33, bounds.max // 2], number.held)


def bits(array: np.ndarray) -> np.ndarray:
    """Returns the bits of numbers, with the same bits for all NaNs."""
    is_nan = np.zeros(array.shape, bool)
    if array.dtype.kind not in "biu" and array.dtype != ml_dtypes.int4:
        with np.errstate(invalid="ignore"):
            is_nan = np.isnan(array.astype(np.float64))
    codes = array.astype(np.int8) if array.dtype == ml_dtypes.int4 else array.view(f"u{array.dtype.itemsize}")
    return np.where(is_nan, 0, codes.astype(np.uint64) + 1)


def parsed_root(text: str) -> tuple[hlotool.Module, Instruction] | None:
    """Returns the module and the first operand of its root.

    Returns None if the type does not support the constant or the opcode.
    """
    try:
        module = parse(text)
    except hlotool.ParseError:
        return None
    if hlotool.verify(module):
        return None
    return module, module.entry.root.operands[0]


def assert_same(text: str) -> bool:
    """Checks the known facts about an instruction's value; returns whether there are any."""
    known = parsed_root(text)
    if known is None:
        return False
    module, x = known
    source, value = same_value(x), constant_value(x)
    is_zero = len(x.operands) == 2 and x.operands[0] is x.operands[1] and value_of_itself(x.op, ELEMENT_TYPES[x.shape.element_type]) is not None
    if source is None and value is None and not is_zero:
        return False
    parameter = special_values(x.shape.element_type)
    result, *others = hlotool.evaluate(module, [parameter])
    if source is not None:
        expected = others[[y.name for y in module.entry.root.operands[1:]].index(source.name)]
        assert (bits(result) == bits(expected)).all(), f"{text}\n{result} is not {expected}, the value of {source.name}"
    if is_zero:
        assert not result.any(), text
    if value is not None:
        assert (bits(result) == bits(np.full(result.shape, value).astype(result.dtype))).all(), f"{text}\n{result} is not {value}"
    return True


def program(element_type: str, constant: str, line: str, *, names: str = "p, c, t") -> str:
    shape = f"{element_type}[{special_values(element_type).size}]"
    return f"""HloModule m
ENTRY e {{
  p = {shape} parameter(0)
  z = {element_type}[] constant({constant})
  c = {shape} broadcast(z), dimensions={{}}
  {line.replace("SHAPE", shape)}
  ROOT r = ({", ".join([shape] * (1 + names.count(",") + 1))}) tuple(x, {names})
}}"""


@pytest.mark.parametrize("opcode", BINARY)
@pytest.mark.parametrize("element_type", TYPES)
def test_binary_operations(element_type: str, opcode: str) -> None:
    for constant in CONSTANTS:
        for operands in ("p, c", "c, p", "c, c", "p, p"):
            assert_same(program(element_type, constant, f"x = SHAPE {opcode}({operands})", names="p, c"))


@pytest.mark.parametrize("element_type", TYPES)
def test_unary_operations(element_type: str) -> None:
    for opcode in UNARY:
        assert_same(program(element_type, "1", f"t = SHAPE {opcode}(p) x = SHAPE {opcode}(t)"))


def test_identities_are_known() -> None:
    """Checks that exact identities are known, so that the tests above do compare something."""
    identities = {
        (name, opcode, constant, operands)
        for name in ("f32", "s32", "pred", "f8e4m3fn")
        for opcode in BINARY
        for constant in CONSTANTS
        for operands in ("p, c", "c, p")
        if assert_same(program(name, constant, f"x = SHAPE {opcode}({operands})", names="p, c"))
    }
    assert {case[1:] for case in identities if case[0] == "f32"} == {
        ("add", "-0.0", "p, c"), ("add", "-0.0", "c, p"), ("subtract", "0", "p, c"), ("multiply", "1", "p, c"), ("multiply", "1", "c, p"),
        ("divide", "1", "p, c"), ("power", "1", "p, c"), ("maximum", "-inf", "p, c"), ("maximum", "-inf", "c, p"), ("minimum", "inf", "p, c"),
        ("minimum", "inf", "c, p"),
    }  # fmt: skip
    assert ("s32", "multiply", "0", "c, p") in identities
    assert ("s32", "shift-left", "0", "c, p") in identities
    assert ("pred", "add", "true", "p, c") in identities
    assert ("s32", "and", "-1", "p, c") in identities
    # This type has no infinity, which is the identity of maximum.
    assert not any(case[:2] == ("f8e4m3fn", "maximum") for case in identities)


MOVES = (
    "x = SHAPE reshape(p)", "x = SHAPE copy(p)", "x = SHAPE convert(p)", "x = SHAPE bitcast-convert(p)", "x = SHAPE slice(p), slice={[0:N]}",
    "x = SHAPE slice(c), slice={[0:N]}", "x = SHAPE transpose(p), dimensions={0}", "x = SHAPE reverse(p), dimensions={0}",
    "x = SHAPE reverse(c), dimensions={0}", "x = SHAPE pad(p, z), padding=0_0", "x = SHAPE concatenate(p), dimensions={0}",
    "i = s32[] constant(3) x = SHAPE dynamic-slice(p, i), dynamic_slice_sizes={N}", "i = s32[] constant(3) x = SHAPE dynamic-update-slice(p, c, i)",
    "k = pred[] constant(true) b = pred[N] broadcast(k), dimensions={} x = SHAPE select(b, p, c)",
    "k = pred[] constant(false) b = pred[N] broadcast(k), dimensions={} x = SHAPE select(b, c, p)",
    "k = pred[N] compare(p, c), direction=LT x = SHAPE select(k, p, p)", "t = (SHAPE, SHAPE) tuple(c, p) x = SHAPE get-tuple-element(t), index=1",
)  # fmt: skip


@pytest.mark.parametrize("line", MOVES)
def test_operations_without_effect(line: str) -> None:
    for element_type in TYPES:
        size = str(special_values(element_type).size)
        known = assert_same(program(element_type, "1", line.replace("N]", f"{size}]").replace("N}", f"{size}}}"), names="p, c"))
        assert known or line == MOVES[7]


def test_a_reassembled_tuple() -> None:
    text = "ENTRY e { t = (f32[], s32[]) parameter(0) a = f32[] get-tuple-element(t), index=0 b = s32[] get-tuple-element(t), index=1 "
    assert same_value(parse(text + "ROOT r = (f32[], s32[]) tuple(a, b) }").entry.root) is not None
    assert same_value(parse(text + "ROOT r = (s32[], f32[]) tuple(b, a) }").entry.root) is None


@pytest.mark.parametrize("middle", TYPES)
def test_converted_constants(middle: str) -> None:
    """Checks that the known value of a converted constant agrees with the interpreter."""
    known = 0
    for first in ("s32", "f32", "pred"):
        for last in ("f32", "bf16", "f8e4m3fn", "s32", "u8", "pred"):
            for constant in ("0", "-0.0", "1", "-1", "255", "300", "inf", "nan", "-128", "true", "false", "2147483647", "3.7", "65504", "1e-40"):
                text = f"""ENTRY e {{ p = f32[] parameter(0) z = {first}[] constant({constant}) t = {middle}[] convert(z) x = {last}[] convert(t)
  ROOT r = ({last}[], f32[]) tuple(x, p) }}"""
                case = parsed_root(text)
                value = constant_value(case[1]) if case is not None else None
                if case is not None and value is not None:
                    known += 1
                    result = np.asarray(hlotool.evaluate(case[0], [1.0])[0])
                    assert bits(result.reshape(1)) == bits(np.full(1, value).astype(result.dtype)), f"{text}\n{result} is not {value}"
    assert known > 40
