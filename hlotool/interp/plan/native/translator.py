"""Translates generated functions, which use a small part of Python, to the language of LLVM.

Numbers are 64-bit integers that wrap, truth values, and floats of two widths. Arrays are flat and
row-major. Elements of integer arrays are widened to 64 bits when they are read, and floats of 16
bits to f32. Variables keep the type of the first value that is assigned to them. A conditional
expression computes both of its choices, unless one of them contains a division.
"""

from __future__ import annotations

import ast
import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from hlotool.interp.plan.native.machine_numbers import (
    DATA_OFFSET,
    ELEMENTS,
    ArrayOf,
    Literal,
    Number,
    NumberWriter,
    Pointer,
    Untranslatable,
    Value,
    checked,
    float_text,
    float_type,
)

__all__ = ["Translation", "translate"]


class Translation(NamedTuple):
    """A function `loop` with the types of its results, which it stores in memory, 8 bytes each."""

    text: str
    results: list[str]


def translate(source: str, namespace: Mapping[str, Any], arguments: Sequence[Any], *, is_parallel: bool = False) -> Translation:
    """Translates a function for arguments of these types.

    Its first parameter is the address of the results. If `is_parallel` is true, the iterations of
    loops over variables whose names begin with "i" do not depend on each other. Raises
    Untranslatable if the source contains anything unsupported.
    """
    (function,) = ast.parse(source).body
    if not isinstance(function, ast.FunctionDef):
        raise Untranslatable
    return _Translator(namespace, is_parallel=is_parallel).translate(function, arguments)


class _Translator(NumberWriter):
    def __init__(self, namespace: Mapping[str, Any], *, is_parallel: bool) -> None:
        super().__init__(is_parallel=is_parallel)
        self._namespace = namespace
        self._variables: dict[str, Number] = {}
        self._pointers: dict[str, Pointer] = {}
        self._results: list[str] = []
        self._loops: list[tuple[str, str]] = []
        self._metadata: list[str] = []

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
            self._pointers[name] = Pointer(f"%p.{name}", checked(argument.dtype.name))
            return f"ptr %p.{name}"
        kind = "i1" if isinstance(argument, (bool, np.bool_)) else "i64" if isinstance(argument, (int, np.integer)) else float_type(argument)
        self._entry.append(f"%v.{name} = alloca {kind}")
        self._entry.append(f"store {kind} %p.{name}, ptr %v.{name}")
        self._variables[name] = Number(kind, f"%v.{name}")
        return f"{kind} %p.{name}"

    # ---- statements -----------------------------------------------------------------------------

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                numbers = [self._expression(value) for value in values]
                for target, number in zip(targets, numbers, strict=True):
                    self._assign(target, number)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript(value=array, slice=ast.Slice(lower=ast.Constant(value=int() as first)))):
                pointer = self._array(array)
                address = self._entry_value(f"getelementptr {ELEMENTS[pointer.dtype]}, ptr {pointer.text}, i64 {first}")
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
        self._lines.append(f"br label %{head}{self._loop_metadata(name)}")
        self._label(end)

    def _loop_metadata(self, name: str) -> str:
        if not self._group or not name.startswith("i"):
            return ""
        number = len(self._metadata) + 1
        # Vectors are enough; unrolling takes LLVM several times as long.
        self._metadata.append(f"!{number} = distinct !{{!{number}, !{number + 1}, !{number + 2}}}")
        self._metadata += [f'!{number + 1} = !{{!"llvm.loop.parallel_accesses", !0}}', f'!{number + 2} = !{{!"llvm.loop.unroll.disable"}}']
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
        address = ctypes.cast(function, ctypes.c_void_p).value if function is not None and hasattr(function, "argtypes") else None
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
        return Pointer(f"inttoptr (i64 {table.ctypes.data} to ptr)", checked(table.dtype.name))

    def _address(self, pointer: Pointer, index: ast.expr) -> str:
        number = self._converted(self._expression(index), "i64")
        return self._value("ptr", f"getelementptr inbounds {ELEMENTS[pointer.dtype]}, ptr {pointer.text}, i64 {number.text}").text

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
        value: Any = self._namespace.get(name)
        kind = float_type(value)
        return Number(kind, float_text(float(value)))

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

    def _call(self, name: str, arguments: list[Value]) -> Value:
        compute = _FUNCTIONS.get(name)
        if compute is not None:
            return compute(self, *arguments)
        function = self._namespace.get(name, {"abs": abs}.get(name))
        if isinstance(function, type):
            return self._cast(arguments[0], np.dtype(function))
        if isinstance(function, np.ufunc) or function is abs:
            return self._intrinsic(function, self._number(arguments[0]))
        raise Untranslatable(name)


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
