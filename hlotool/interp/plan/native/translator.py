"""Translates generated functions, which use a small part of Python, to the language of LLVM.

Numbers are 64-bit integers that wrap, truth values, and floats of two widths. Arrays are flat and
row-major. Elements of integer arrays are widened to 64 bits when they are read, and floats of 16
bits to f32. Variables keep the type of the first value that is assigned to them. A conditional
expression computes both of its choices, unless one of them contains a division.
"""

from __future__ import annotations

import ast
import ctypes
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

__all__ = ["DATA_OFFSET", "ArrayOf", "Translation", "Untranslatable", "translate"]

_FLOATS = ("half", "float", "double")
_ELEMENTS = {
    **{"bool": "i8", "float16": "half", "bfloat16": "i16", "float32": "float", "float64": "double"},
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


class Translation(NamedTuple):
    """A function `loop` with the types of its results, which it stores in memory, 8 bytes each."""

    text: str
    results: list[str]


def translate(source: str, namespace: Mapping[str, Any], arguments: Sequence[Any], *, is_parallel: bool = False) -> Translation:
    """Translates a function for arguments of these types.

    Its first parameter is the address of the results. If `is_parallel` is true, the iterations of
    loops do not depend on each other. Raises Untranslatable if the source contains anything
    unsupported.
    """
    (function,) = ast.parse(source).body
    if not isinstance(function, ast.FunctionDef):
        raise Untranslatable
    return _Translator(namespace, is_parallel=is_parallel).translate(function, arguments)


class _Translator:
    def __init__(self, namespace: Mapping[str, Any], *, is_parallel: bool) -> None:
        self._namespace = namespace
        self._group = ", !llvm.access.group !0" if is_parallel else ""
        self._entry: list[str] = []
        self._lines: list[str] = []
        self._declared: dict[str, None] = {}
        self._variables: dict[str, Number] = {}
        self._pointers: dict[str, Pointer] = {}
        self._results: list[str] = []
        self._loops: list[tuple[str, str]] = []
        self._metadata: list[str] = []
        self._count = 0
        self._block = "start"

    def translate(self, function: ast.FunctionDef, arguments: Sequence[Any]) -> Translation:
        parameters = ["ptr %out"]
        for parameter, argument in zip(function.args.args, arguments, strict=True):
            parameters.append(self._parameter(parameter.arg, argument))
        for statement in function.body:
            self._statement(statement)
        declarations = "".join(f"declare {line}\n" for line in self._declared)
        body = "\n".join(["entry:", *self._entry, "br label %start", "start:", *self._lines, "ret void"])
        metadata = "\n".join(["!0 = distinct !{}", *self._metadata] if self._metadata else [])
        return Translation(f"{declarations}define void @loop({', '.join(parameters)}) {{\n{body}\n}}\n{metadata}", self._results)

    def _parameter(self, name: str, argument: Any) -> str:
        if isinstance(argument, ArrayOf):
            address = self._entry_value(f"getelementptr i8, ptr %p.{name}, i64 {DATA_OFFSET}")
            self._pointers[name] = Pointer(self._entry_value(f"load ptr, ptr {address}"), argument.dtype)
            return f"ptr %p.{name}"
        if isinstance(argument, np.ndarray):
            self._pointers[name] = Pointer(f"%p.{name}", _checked(argument.dtype.name))
            return f"ptr %p.{name}"
        kind = "i1" if isinstance(argument, (bool, np.bool_)) else "i64" if isinstance(argument, (int, np.integer)) else _float_type(argument)
        self._entry.append(f"%v.{name} = alloca {kind}")
        self._entry.append(f"store {kind} %p.{name}, ptr %v.{name}")
        self._variables[name] = Number(kind, f"%v.{name}")
        return f"{kind} %p.{name}"

    # ---- lines ----------------------------------------------------------------------------------

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

    # ---- statements -----------------------------------------------------------------------------

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                numbers = [self._expression(value) for value in values]
                for target, number in zip(targets, numbers, strict=True):
                    self._assign(target, number)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript(value=array, slice=ast.Slice(lower=ast.Constant(value=first)))):
                pointer = self._array(array)
                address = self._entry_value(f"getelementptr {_ELEMENTS[pointer.dtype]}, ptr {pointer.text}, i64 {first}")
                self._pointers[name] = Pointer(address, pointer.dtype)
            case ast.Assign(targets=[target], value=value):
                self._assign(target, self._expression(value))
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                self._assign(target, self._binary(op, self._expression(ast.Name(name)), self._expression(value)))
            case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=bounds), body=body):
                self._write_for(name, [self._converted(self._expression(bound), "i64") for bound in bounds], body)
            case ast.While(test=ast.Constant(value=True), body=body):
                self._write_while(body)
            case ast.If(test=test, body=body, orelse=orelse):
                self._write_if(test, body, orelse)
            case ast.Return(value=ast.Tuple(elts=values)):
                self._write_return([self._expression(value) for value in values])
            case ast.Break():
                self._jump(self._loops[-1][1])
            case ast.Continue():
                self._jump(self._loops[-1][0])
            case ast.Expr(value=ast.Call() as call):
                self._write_call(call)
            case ast.Pass():
                pass
            case _:
                raise Untranslatable(ast.dump(node))

    def _body(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            self._statement(statement)

    def _assign(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Subscript):
            pointer = self._array(target.value)
            self._store(pointer, self._address(pointer, target.slice), value)
            return
        if not isinstance(target, ast.Name):
            raise Untranslatable(ast.dump(target))
        variable = self._variables.get(target.id)
        if variable is None:
            kind = self._number(value).type
            self._entry.append(f"%v.{target.id} = alloca {kind}")
            variable = self._variables[target.id] = Number(kind, f"%v.{target.id}")
        number = self._converted(value, variable.type)
        self._lines.append(f"store {number.type} {number.text}, ptr {variable.text}")

    def _write_for(self, name: str, bounds: list[Number], body: Sequence[ast.stmt]) -> None:
        first = bounds[0] if len(bounds) == 2 else Number("i64", "0")
        before, head, start, following, end = self._block, self._new("b"), self._new("b"), self._new("b"), self._new("b")
        counter, after = f"%{self._new('i')}", f"%{self._new('i')}"
        self._start_block(head)
        self._lines.append(f"{counter} = phi i64 [{first.text}, %{before}], [{after}, %{following}]")
        self._branch(self._value("i1", f"icmp slt i64 {counter}, {bounds[-1].text}"), start, end)
        self._label(start)
        self._assign(ast.Name(name), Number("i64", counter))
        self._loops.append((following, end))
        self._body(body)
        self._loops.pop()
        self._start_block(following)
        self._lines.append(f"{after} = add i64 {counter}, 1")
        self._lines.append(f"br label %{head}{self._loop_metadata()}")
        self._label(end)

    def _loop_metadata(self) -> str:
        if not self._group:
            return ""
        number = len(self._metadata) + 1
        self._metadata += [f"!{number} = distinct !{{!{number}, !{number + 1}}}", f'!{number + 1} = !{{!"llvm.loop.parallel_accesses", !0}}']
        return f", !llvm.loop !{number}"

    def _write_while(self, body: Sequence[ast.stmt]) -> None:
        head, end = self._new("b"), self._new("b")
        self._start_block(head)
        self._loops.append((head, end))
        self._body(body)
        self._loops.pop()
        self._lines.append(f"br label %{head}")
        self._label(end)

    def _write_if(self, test: ast.expr, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> None:
        yes, no, end = self._new("b"), self._new("b"), self._new("b")
        self._branch(self._truth(self._expression(test)), yes, no)
        for label, statements in ((yes, body), (no, orelse)):
            self._label(label)
            self._body(statements)
            self._lines.append(f"br label %{end}")
        self._label(end)

    def _write_return(self, values: Sequence[Value]) -> None:
        numbers = list(map(self._number, values))
        self._results = self._results or [number.type for number in numbers]
        for k, (value, kind) in enumerate(zip(values, self._results, strict=True)):
            number = self._converted(value, kind)
            number = self._converted(number, "i64") if kind == "i1" else number
            address = self._value("ptr", f"getelementptr i64, ptr %out, i64 {k}")
            self._lines.append(f"store {number.type} {number.text}, ptr {address.text}")
        self._lines.append("ret void")
        self._label(self._new("b"))

    def _write_call(self, call: ast.Call) -> None:
        """Writes a call of a C function, which takes addresses and returns nothing."""
        function = self._namespace.get(call.func.id) if isinstance(call.func, ast.Name) else None
        address = ctypes.cast(function, ctypes.c_void_p).value if hasattr(function, "argtypes") else None
        if address is None:
            raise Untranslatable(ast.dump(call))
        arguments = [self._converted(self._expression(argument), "i64") for argument in call.args]
        pointers = [self._value("ptr", f"inttoptr i64 {argument.text} to ptr").text for argument in arguments]
        self._lines.append(f"call void inttoptr (i64 {address} to ptr)({', '.join(f'ptr {pointer}' for pointer in pointers)})")

    # ---- arrays ---------------------------------------------------------------------------------

    def _array(self, node: ast.expr) -> Pointer:
        if not isinstance(node, ast.Name):
            raise Untranslatable(ast.dump(node))
        known = self._pointers.get(node.id)
        if known is not None:
            return known
        table = self._namespace.get(node.id)
        if not isinstance(table, np.ndarray) or not table.flags.c_contiguous:
            raise Untranslatable(node.id)
        return Pointer(f"inttoptr (i64 {table.ctypes.data} to ptr)", _checked(table.dtype.name))

    def _address(self, pointer: Pointer, index: ast.expr) -> str:
        number = self._converted(self._expression(index), "i64")
        return self._value("ptr", f"getelementptr inbounds {_ELEMENTS[pointer.dtype]}, ptr {pointer.text}, i64 {number.text}").text

    def _load(self, pointer: Pointer, address: str) -> Number:
        kind = _ELEMENTS[pointer.dtype]
        value = self._value(kind, f"load {kind}, ptr {address}{self._group}")
        if pointer.dtype == "bool":
            return self._value("i1", f"icmp ne i8 {value.text}, 0")
        if pointer.dtype == "bfloat16":
            return self._from_bits(self._value("i32", f"shl i32 {self._value('i32', f'zext i16 {value.text} to i32').text}, 16"))
        if kind == "half":
            return self._value("float", f"fpext half {value.text} to float")
        if kind in _FLOATS or kind == "i64":
            return value
        return self._value("i64", f"{'z' if pointer.dtype.startswith('u') else 's'}ext {kind} {value.text} to i64")

    def _store(self, pointer: Pointer, address: str, value: Value) -> None:
        kind = _ELEMENTS[pointer.dtype]
        if pointer.dtype == "bool":
            number = self._value("i8", f"zext i1 {self._truth(value).text} to i8")
        elif pointer.dtype == "bfloat16":
            bits = self._bits(self._rounded_to_bfloat16(self._converted(value, "float")))
            number = self._value("i16", f"trunc i32 {self._value('i32', f'lshr i32 {bits.text}, 16').text} to i16")
        elif kind in _FLOATS:
            number = self._converted(value, kind)
        else:
            number = self._converted(value, "i64")
            number = number if kind == "i64" else self._value(kind, f"trunc i64 {number.text} to {kind}")
        self._lines.append(f"store {kind} {number.text}, ptr {address}{self._group}")

    # ---- expressions ----------------------------------------------------------------------------

    def _expression(self, node: ast.expr) -> Value:
        match node:
            case ast.Constant(value=bool() as truth):
                return Number("i1", str(truth).lower())
            case ast.Constant(value=int() | float() as value):
                return Literal(value)
            case ast.Name(id=name):
                return self._named(name)
            case ast.Subscript(value=array, slice=index):
                pointer = self._array(array)
                return self._load(pointer, self._address(pointer, index))
            case ast.Attribute(attr="data", value=ast.Attribute(attr="ctypes", value=array)):
                return self._value("i64", f"ptrtoint ptr {self._array(array).text} to i64")
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(op, self._expression(left), self._expression(right))
            case ast.UnaryOp(op=op, operand=operand):
                return self._unary(op, self._expression(operand))
            case ast.BoolOp(op=op, values=values):
                return self._all(list(map(self._expression, values)), "and" if isinstance(op, ast.And) else "or")
            case ast.Compare(left=left, ops=ops, comparators=others):
                numbers = list(map(self._expression, [left, *others]))
                return self._all([self._compare(op, numbers[k], numbers[k + 1]) for k, op in enumerate(ops)], "and")
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._choose(test, body, orelse)
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return self._call(name, list(map(self._expression, arguments)))
            case _:
                raise Untranslatable(ast.dump(node))

    def _named(self, name: str) -> Value:
        variable = self._variables.get(name)
        if variable is not None:
            return self._value(variable.type, f"load {variable.type}, ptr {variable.text}")
        value = self._namespace.get(name)
        if isinstance(value, (bool, np.bool_)):
            return Number("i1", str(bool(value)).lower())
        if isinstance(value, (int, np.integer)):
            return Literal(int(value))
        return Number(_float_type(value), _float_text(float(value)))

    def _number(self, value: Value) -> Number:
        if isinstance(value, Pointer):
            raise Untranslatable(value.dtype)
        return self._converted(value, "i64" if isinstance(value.value, int) else "double") if isinstance(value, Literal) else value

    def _converted(self, value: Value, kind: str) -> Number:
        """Returns a number in another type; integers become truth values by comparison with 0."""
        if isinstance(value, Literal):
            if kind in _FLOATS:
                return Number(kind, _float_text(float(value.value if kind == "double" else np.float32(value.value))))
            return Number(kind, str(int(value.value)) if kind != "i1" else str(bool(value.value)).lower())
        number = self._number(value)
        if number.type == kind:
            return number
        if kind == "i1":
            return self._truth(number)
        if number.type in _FLOATS:
            steps = "fptosi" if kind not in _FLOATS else "fpext" if _FLOATS.index(kind) > _FLOATS.index(number.type) else "fptrunc"
        else:
            steps = ("uitofp" if number.type == "i1" else "sitofp") if kind in _FLOATS else "zext"
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
            order = ("i1", "i64", *_FLOATS)
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
        if lhs.type in _FLOATS:
            return self._value("i1", f"fcmp {'une' if name == 'ne' else f'o{name}'} {lhs.type} {lhs.text}, {rhs.text}")
        if lhs.type == "i1" and name not in ("eq", "ne"):
            lhs, rhs = self._converted(lhs, "i64"), self._converted(rhs, "i64")
        return self._value("i1", f"icmp {name if name in ('eq', 'ne') else f's{name}'} {lhs.type} {lhs.text}, {rhs.text}")

    def _binary(self, op: ast.operator, one: Value, other: Value) -> Value:
        if isinstance(one, Literal) and isinstance(other, Literal):
            expression = ast.fix_missing_locations(ast.Expression(ast.BinOp(ast.Constant(one.value), op, ast.Constant(other.value))))
            value: float = eval(compile(expression, "<constant>", "eval"), {"__builtins__": {}})
            return Literal(value)
        lhs, rhs = self._same_type(one, other)
        if isinstance(op, (ast.FloorDiv, ast.Mod)):
            return self._divide(lhs, rhs, is_remainder=isinstance(op, ast.Mod))
        if lhs.type in _FLOATS:
            name = _FLOAT_OPERATIONS.get(type(op))
        elif lhs.type == "i1" and not isinstance(op, (ast.BitAnd, ast.BitOr, ast.BitXor)):
            lhs, rhs = self._converted(lhs, "i64"), self._converted(rhs, "i64")
            name = _INTEGER_OPERATIONS.get(type(op))
        else:
            name = _INTEGER_OPERATIONS.get(type(op))
        if name is None:
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
            return self._value(number.type, f"fneg {number.type} {number.text}" if number.type in _FLOATS else f"sub {number.type} 0, {number.text}")
        if isinstance(op, ast.Invert) and number.type == "i64":
            return self._value("i64", f"xor i64 {number.text}, -1")
        raise Untranslatable(type(op).__name__)

    def _choose(self, test: ast.expr, body: ast.expr, orelse: ast.expr) -> Number:
        condition = self._truth(self._expression(test))
        if not any(isinstance(node, (ast.FloorDiv, ast.Mod)) for choice in (body, orelse) for node in ast.walk(choice)):
            one, other = self._same_type(self._expression(body), self._expression(orelse))
            return self._value(one.type, f"select i1 {condition.text}, {one.type} {one.text}, {other.type} {other.text}")
        yes, no, end = self._new("b"), self._new("b"), self._new("b")
        self._branch(condition, yes, no)
        choices = []
        for label, choice in ((yes, body), (no, orelse)):
            self._label(label)
            number = self._converted(self._expression(choice), "i64")
            choices.append(f"[{number.text}, %{self._block}]")
            self._lines.append(f"br label %{end}")
        self._label(end)
        return self._value("i64", f"phi i64 {', '.join(choices)}")

    # ---- functions ------------------------------------------------------------------------------

    def _call(self, name: str, arguments: list[Value]) -> Value:
        compute = _FUNCTIONS.get(name)
        if compute is not None:
            return compute(self, *arguments)
        function = self._namespace.get(name, {"abs": abs}.get(name))
        if isinstance(function, type) and issubclass(function, np.generic):
            return self._cast(arguments[0], np.dtype(function))
        if isinstance(function, np.ufunc) or function is abs:
            return self._intrinsic(function, self._number(arguments[0]))
        raise Untranslatable(name)

    def _intrinsic(self, function: Any, number: Number) -> Number:
        if number.type == "i64" and function is abs:
            negative = self._value("i64", f"sub i64 0, {number.text}")
            return self._value("i64", f"select i1 {self._compare(ast.Lt(), number, Literal(0)).text}, i64 {negative.text}, i64 {number.text}")
        if function not in _INTRINSICS or number.type not in _FLOATS:
            raise Untranslatable(str(function))
        name = f"@llvm.{_INTRINSICS[function]}.{ {'float': 'f32', 'double': 'f64'}[number.type]}"
        self._declared[f"{number.type} {name}({number.type})"] = None
        return self._value(number.type, f"call {number.type} {name}({number.type} {number.text})")

    def _cast(self, value: Value, dtype: np.dtype[Any]) -> Number:
        if dtype.kind == "b":
            return self._truth(value)
        if dtype.kind == "f":
            return self._converted(self._number(value), _ELEMENTS[dtype.name])
        number = self._converted(value, "i64")
        return self._wrap(number, Literal(8 * dtype.itemsize)) if dtype.kind == "i" else self._mask(number, 8 * dtype.itemsize)

    def _wrap(self, value: Value, bits: Value) -> Number:
        number = self._converted(value, "i64")
        width = int(bits.value) if isinstance(bits, Literal) else 64
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
_FLOAT_OPERATIONS: dict[type, str] = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
_INTEGER_OPERATIONS: dict[type, str] = {
    **{ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.BitAnd: "and", ast.BitOr: "or"},
    **{ast.BitXor: "xor", ast.LShift: "shl", ast.RShift: "ashr"},
}
_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "bool": lambda self, value: self._truth(value),
    "float": lambda self, value: self._converted(value, "double"),
    "int": lambda self, value: self._converted(value, "i64"),
    "int64": lambda self, value: self._converted(value, "i64"),
    "max": lambda self, one, other: self._extreme(ast.Gt(), one, other),
    "min": lambda self, one, other: self._extreme(ast.Lt(), one, other),
    "round_bf16": lambda self, value: self._rounded_to_bfloat16(value),
    "round_f16": lambda self, value: self._rounded_to_half(value),
    "wrap": lambda self, value, bits: self._wrap(value, bits),
}


def _checked(dtype: str) -> str:
    if dtype not in _ELEMENTS:
        raise Untranslatable(dtype)
    return dtype


def _float_type(value: Any) -> str:
    if isinstance(value, np.generic) and value.dtype.itemsize <= 4 and value.dtype.kind in "fV":
        return "float"
    if isinstance(value, float):
        return "double"
    raise Untranslatable(str(type(value)))


def _float_text(value: float) -> str:
    """Returns a constant in LLVM's notation, which consists of the bits of a double."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
