"""Numbers in LLVM's language, and the operations of Python on them.

Numbers are 64-bit integers that wrap, truth values, and floats of two widths. Elements of integer
arrays are widened to 64 bits when they are read, and floats of 16 bits to f32.
"""

from __future__ import annotations

import ast
import operator
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

__all__ = [
    "DATA_OFFSET",
    "ELEMENTS",
    "FLOATS",
    "ArrayOf",
    "Literal",
    "Number",
    "NumberWriter",
    "Pointer",
    "Untranslatable",
    "Value",
    "checked",
    "float_text",
    "float_type",
]

FLOATS = ("half", "float", "double")
ELEMENTS = {
    "bool": "i8",
    "float16": "half",
    "bfloat16": "i16",
    "float32": "float",
    "float64": "double",
    **{f"{sign}int{bits}": f"i{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
"""LLVM's types of the elements of arrays, by the names of NumPy's types."""
DATA_OFFSET = 16
"""The offset of the address of the elements in NumPy's array object, part of its stable ABI."""
_INTRINSICS = {np.floor: "floor", np.ceil: "ceil", np.rint: "roundeven", np.sqrt: "sqrt", abs: "fabs"}


class Untranslatable(Exception):
    """Raised for source that the translator does not support."""


class ArrayOf(NamedTuple):
    """The type of a parameter that is an array object, given by its `id`."""

    dtype: str


class Number(NamedTuple):
    """A number: its type, and the name or constant in LLVM's language."""

    type: str
    text: str


class Literal(NamedTuple):
    """A number that takes the type of the number with which it is combined."""

    value: float


class Pointer(NamedTuple):
    """The elements of an array, with the name of NumPy's type."""

    text: str
    dtype: str


Value: TypeAlias = "Number | Literal | Pointer"


class NumberWriter:
    """A writer of lines that compute numbers; lines in `_entry` come before all others."""

    def __init__(self, *, is_parallel: bool) -> None:
        self._group = ", !llvm.access.group !0" if is_parallel else ""
        self._entry: list[str] = []
        self._lines: list[str] = []
        self._declared: dict[str, None] = {}
        self._count = 0
        self._block = "start"

    def _new(self, prefix: str = "t") -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def _entry_value(self, text: str) -> str:
        name = f"%{self._new()}"
        self._entry.append(f"{name} = {text}")
        return name

    def _value(self, kind: str, text: str) -> Number:
        """Writes a line that computes a number."""
        name = f"%{self._new()}"
        self._lines.append(f"{name} = {text}")
        return Number(kind, name)

    def _start_block(self, label: str) -> None:
        self._lines.append(f"br label %{label}")
        self._label(label)

    def _label(self, label: str) -> None:
        self._lines.append(f"{label}:")
        self._block = label

    def _jump(self, label: str) -> None:
        """Writes a jump; the lines that follow it are not reachable."""
        self._lines.append(f"br label %{label}")
        self._label(self._new("b"))

    def _branch(self, test: Number, yes: str, no: str) -> None:
        self._lines.append(f"br i1 {test.text}, label %{yes}, label %{no}")

    def _load(self, pointer: Pointer, address: str) -> Number:
        kind = ELEMENTS[pointer.dtype]
        value = self._value(kind, f"load {kind}, ptr {address}{self._group}")
        if pointer.dtype == "bool":
            return self._value("i1", f"icmp ne i8 {value.text}, 0")
        if pointer.dtype == "bfloat16":
            return self._from_bits(self._value("i32", f"shl i32 {self._value('i32', f'zext i16 {value.text} to i32').text}, 16"))
        if kind == "half":
            return self._value("float", f"fpext half {value.text} to float")
        if kind in FLOATS or kind == "i64":
            return value
        return self._value("i64", f"{'z' if pointer.dtype.startswith('u') else 's'}ext {kind} {value.text} to i64")

    def _store(self, pointer: Pointer, address: str, value: Value) -> None:
        kind = ELEMENTS[pointer.dtype]
        if pointer.dtype == "bool":
            number = self._value("i8", f"zext i1 {self._truth(value).text} to i8")
        elif pointer.dtype == "bfloat16":
            bits = self._bits(self._rounded_to_bfloat16(self._converted(value, "float")))
            number = self._value("i16", f"trunc i32 {self._value('i32', f'lshr i32 {bits.text}, 16').text} to i16")
        elif kind in FLOATS:
            number = self._converted(value, kind)
        else:
            number = self._converted(value, "i64")
            number = number if kind == "i64" else self._value(kind, f"trunc i64 {number.text} to {kind}")
        self._lines.append(f"store {kind} {number.text}, ptr {address}{self._group}")

    def _number(self, value: Value) -> Number:
        if isinstance(value, Pointer):
            raise Untranslatable(value.dtype)
        return self._converted(value, "i64" if isinstance(value.value, int) else "double") if isinstance(value, Literal) else value

    def _converted(self, value: Value, kind: str) -> Number:
        """Returns a number in another type; integers become truth values by comparison with 0."""
        if isinstance(value, Literal):
            if kind in FLOATS:
                return Number(kind, float_text(float(value.value if kind == "double" else np.float32(value.value))))
            return Number(kind, str(int(value.value)) if kind != "i1" else str(bool(value.value)).lower())
        number = self._number(value)
        if number.type == kind:
            return number
        if kind == "i1":
            return self._truth(number)
        if number.type in FLOATS:
            steps = "fptosi" if kind not in FLOATS else "fpext" if FLOATS.index(kind) > FLOATS.index(number.type) else "fptrunc"
        else:
            steps = ("uitofp" if number.type == "i1" else "sitofp") if kind in FLOATS else "zext"
        return self._value(kind, f"{steps} {number.type} {number.text} to {kind}")

    def _truth(self, value: Value) -> Number:
        number = self._number(value)
        return number if number.type == "i1" else self._compare(ast.NotEq(), number, Literal(0))

    def _same_type(self, one: Value, other: Value) -> tuple[Number, Number]:
        if isinstance(one, Literal) and not isinstance(other, Literal):
            other = self._number(other)
            kind = "i64" if other.type == "i1" else other.type
        elif isinstance(other, Literal) and not isinstance(one, Literal):
            one = self._number(one)
            kind = "i64" if one.type == "i1" else one.type
        else:
            order = ("i1", "i64", *FLOATS)
            kind = max(self._number(one).type, self._number(other).type, key=order.index)
        literals = [value.value for value in (one, other) if isinstance(value, Literal)]
        if kind == "i64" and any(isinstance(value, float) for value in literals):
            kind = "double"
        if kind == "float" and any(isinstance(value, float) and float(np.float32(value)) != value for value in literals):
            kind = "double"
        return self._converted(one, kind), self._converted(other, kind)

    def _all(self, values: Sequence[Value], operation: str) -> Number:
        first, *rest = map(self._truth, values)
        for number in rest:
            first = self._value("i1", f"{operation} i1 {first.text}, {number.text}")
        return first

    def _compare(self, op: ast.cmpop, one: Value, other: Value) -> Number:
        lhs, rhs = self._same_type(one, other)
        name = _COMPARISONS[type(op)]
        if lhs.type in FLOATS:
            return self._value("i1", f"fcmp {'une' if name == 'ne' else f'o{name}'} {lhs.type} {lhs.text}, {rhs.text}")
        if lhs.type == "i1" and name not in ("eq", "ne"):
            lhs, rhs = self._converted(lhs, "i64"), self._converted(rhs, "i64")
        return self._value("i1", f"icmp {name if name in ('eq', 'ne') else f's{name}'} {lhs.type} {lhs.text}, {rhs.text}")

    def _binary(self, op: ast.operator, one: Value, other: Value) -> Value:
        if isinstance(one, Literal) and isinstance(other, Literal):
            fold = _ON_LITERALS.get(type(op))
            if fold is None:
                raise Untranslatable(type(op).__name__)
            return Literal(fold(one.value, other.value))
        lhs, rhs = self._same_type(one, other)
        if isinstance(op, (ast.FloorDiv, ast.Mod)):
            return self._divide(lhs, rhs, is_remainder=isinstance(op, ast.Mod))
        name = (_FLOAT_OPERATIONS if lhs.type in FLOATS else _INTEGER_OPERATIONS).get(type(op))
        if name is None or lhs.type == "i1":
            raise Untranslatable(type(op).__name__)
        return self._value(lhs.type, f"{name} {lhs.type} {lhs.text}, {rhs.text}")

    def _divide(self, lhs: Number, rhs: Number, *, is_remainder: bool) -> Number:
        """Writes a division of integers that rounds down.

        The processor would trap if the divisor were 0, or if it were -1 and the quotient too large.
        The result does not matter in these cases.
        """
        if lhs.type != "i64":
            raise Untranslatable(lhs.type)
        if not rhs.text.removeprefix("-").isdigit() or rhs.text in ("0", "-1"):
            traps = self._value("i1", f"icmp ult i64 {self._value('i64', f'add i64 {rhs.text}, 1').text}, 2")
            rhs = self._value("i64", f"select i1 {traps.text}, i64 1, i64 {rhs.text}")
        rest = self._value("i64", f"srem i64 {lhs.text}, {rhs.text}")
        differs = self._value("i1", f"icmp slt i64 {self._value('i64', f'xor i64 {rest.text}, {rhs.text}').text}, 0")
        is_inexact = self._value("i1", f"icmp ne i64 {rest.text}, 0")
        rounds = self._value("i1", f"and i1 {differs.text}, {is_inexact.text}")
        if is_remainder:
            return self._value("i64", f"add i64 {rest.text}, {self._value('i64', f'select i1 {rounds.text}, i64 {rhs.text}, i64 0').text}")
        quotient = self._value("i64", f"sdiv i64 {lhs.text}, {rhs.text}")
        return self._value("i64", f"add i64 {quotient.text}, {self._value('i64', f'sext i1 {rounds.text} to i64').text}")

    def _unary(self, op: ast.unaryop, operand: Value) -> Value:
        if isinstance(op, ast.Not):
            return self._value("i1", f"xor i1 {self._truth(operand).text}, true")
        if isinstance(operand, Literal):
            if isinstance(op, ast.USub):
                return Literal(-operand.value)
            return Literal(~int(operand.value))
        number = self._number(operand)
        if isinstance(op, ast.USub):
            return self._value(number.type, f"fneg {number.type} {number.text}" if number.type in FLOATS else f"sub {number.type} 0, {number.text}")
        if isinstance(op, ast.Invert) and number.type == "i64":
            return self._value("i64", f"xor i64 {number.text}, -1")
        raise Untranslatable(type(op).__name__)

    def _intrinsic(self, function: Any, number: Number) -> Number:
        if number.type == "i64" and function is abs:
            negative = self._value("i64", f"sub i64 0, {number.text}")
            return self._value("i64", f"select i1 {self._compare(ast.Lt(), number, Literal(0)).text}, i64 {negative.text}, i64 {number.text}")
        if function not in _INTRINSICS or number.type not in FLOATS:
            raise Untranslatable(str(function))
        name = f"@llvm.{_INTRINSICS[function]}.{ {'float': 'f32', 'double': 'f64'}[number.type] }"
        self._declared[f"{number.type} {name}({number.type})"] = None
        return self._value(number.type, f"call {number.type} {name}({number.type} {number.text})")

    def _cast(self, value: Value, dtype: np.dtype[Any]) -> Number:
        if dtype.kind == "b":
            return self._truth(value)
        if dtype.kind == "f":
            return self._converted(self._number(value), ELEMENTS[dtype.name])
        number = self._converted(value, "i64")
        return self._wrap(number, Literal(8 * dtype.itemsize)) if dtype.kind == "i" else self._mask(number, 8 * dtype.itemsize)

    def _wrap(self, value: Value, bits: Literal) -> Number:
        number, width = self._converted(value, "i64"), int(bits.value)
        if width == 64:
            return number
        return self._value("i64", f"sext i{width} {self._value(f'i{width}', f'trunc i64 {number.text} to i{width}').text} to i64")

    def _mask(self, number: Number, bits: int) -> Number:
        return number if bits == 64 else self._value("i64", f"and i64 {number.text}, {(1 << bits) - 1}")

    def _extreme(self, op: ast.cmpop, one: Value, other: Value) -> Number:
        lhs, rhs = self._same_type(one, other)
        return self._value(lhs.type, f"select i1 {self._compare(op, lhs, rhs).text}, {lhs.type} {lhs.text}, {rhs.type} {rhs.text}")

    def _bits(self, number: Number) -> Number:
        return self._value("i32", f"bitcast float {number.text} to i32")

    def _from_bits(self, bits: Number) -> Number:
        return self._value("float", f"bitcast i32 {bits.text} to float")

    def _rounded_to_bfloat16(self, value: Value) -> Number:
        """Rounds to the nearest number, ties to even; a NaN becomes the quiet NaN of its sign."""
        number = self._converted(value, "float")
        bits = self._bits(number)
        last = self._value("i32", f"and i32 {self._value('i32', f'lshr i32 {bits.text}, 16').text}, 1")
        half = self._value("i32", f"add i32 {last.text}, {0x7FFF}")
        rounded = self._value("i32", f"and i32 {self._value('i32', f'add i32 {bits.text}, {half.text}').text}, {-0x10000}")
        quiet = self._value("i32", f"or i32 {self._value('i32', f'and i32 {bits.text}, {-(1 << 31)}').text}, {0x7FC00000}")
        is_nan = self._value("i1", f"fcmp uno float {number.text}, 0.0")
        return self._from_bits(self._value("i32", f"select i1 {is_nan.text}, i32 {quiet.text}, i32 {rounded.text}"))

    def _rounded_to_half(self, value: Value) -> Number:
        return self._converted(self._converted(self._converted(value, "float"), "half"), "float")


_COMPARISONS: dict[type, str] = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}
_ON_LITERALS: dict[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_FLOAT_OPERATIONS: dict[type, str] = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
_INTEGER_OPERATIONS: dict[type, str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.LShift: "shl",
    ast.RShift: "ashr",
}


def checked(dtype: str) -> str:
    if dtype not in ELEMENTS:
        raise Untranslatable(dtype)
    return dtype


def float_type(value: Any) -> str:
    if isinstance(value, np.generic) and value.dtype.itemsize <= 4 and value.dtype.kind in "fV":
        return "float"
    if isinstance(value, float):
        return "double"
    raise Untranslatable(str(type(value)))


def float_text(value: float) -> str:
    """Returns a constant in LLVM's notation, which consists of the bits of a double."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
