"""Every elementwise row gives the same bits in all its forms.

The forms are the kernel, the function of blocks, and the expressions on NumPy scalars, on Python's
numbers and on machine numbers. The operands are all 8-bit numbers, and special numbers of the other
types.
"""

from __future__ import annotations

import itertools
import math
from array import array
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

import hlotool
from hlotool.interp.arrays.dtypes import NUMBERS, Array
from hlotool.interp.kernels.elementwise import COMPARISONS, ROWS
from hlotool.interp.plan.forms import form_of
from hlotool.interp.plan.native.compiler import NativeSource, compile_native
from hlotool.interp.plan.numbers import NumberTemplates, native_wrap_statement, wrap_statement
from hlotool.interp.plan.operations import Operation, Variable
from hlotool.interp.plan.scalars import scalar_expression
from hlotool.interp.plan.writer import Writer
from hlotool.ir.model import Instruction
from hlotool.opdefs.table import OPS
from hlotool.shapes.shape import array_shape

TYPES = ("pred", "s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64", "f32", "f64")
FLOATS = [
    *(0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 127.5, 128.0, 255.5, 2.0**24 + 2, 2.0**31, 2.0**63),
    *(1e30, 3e38, 1e-30, 1e-45, math.inf, math.nan),
]
CONSTANTS = (0, 1, 2, 3, 7, 8, 31, 63, 127, -1, -2, -3, -128)
"""Second operands for which the expressions of integers are shorter."""


class Form(NamedTuple):
    """An operation on single numbers; `constant` is its last operand if that is a constant."""

    operation: Operation
    constant: Array | None

    @property
    def variables(self) -> list[Variable]:
        return [variable for variable in self.operation.reads if variable.constant is None]


def operands_of(name: str) -> Array:
    number = NUMBERS[name]
    if number.kind == "pred":
        return np.array([False, True])
    if number.bits == 8:
        return np.arange(1 << number.bits, dtype=np.uint8).view(number.held)
    if number.kind == "float":
        return np.array([*FLOATS, *(-x for x in FLOATS)], number.held)
    low, high = number.element.minimum, number.element.maximum
    near = [base + step for base in (0, low, high, number.bits, high // 2) for step in (-3, -2, -1, 0, 1, 2, 3, 7)]
    return np.array([x for x in dict.fromkeys(near) if low <= x <= high], number.held)


def instructions_on(name: str) -> Iterator[Instruction]:
    """Yields each elementwise operation on numbers of a type."""
    kind = NUMBERS[name].kind
    calls = []
    for opcode, row in ROWS.items():
        defined = {"pred": row.preds, "float": row.floats, "complex": None}.get(kind, row.integers)
        if defined is not None and opcode != "complex":
            calls.append((opcode, (name,) * len(OPS[opcode].operands), "", ""))
    calls += [("compare", (name, name), f", direction={direction}", "pred") for direction in COMPARISONS]
    calls.append(("select", ("pred", name, name), "", ""))
    calls.append(("clamp", (name,) * 3, "", ""))
    calls += [("convert", (name,), "", result) for result in TYPES]
    for opcode, types, rest, result in calls:
        parameters = " ".join(f"x{k} = {dtype}[] parameter({k})" for k, dtype in enumerate(types))
        operands = ", ".join(f"x{k}" for k in range(len(types)))
        declared = f"{result}[] " if result else ""
        module = hlotool.parse(f"ENTRY e {{ {parameters} ROOT r = {declared}{opcode}({operands}){rest} }}", strict=False)
        if not module.diagnostics:
            yield module.entry.root


def operation_of(x: Instruction, constant: Array | None = None) -> Form:
    variables = [Variable(y.shape) for y in x.operands]
    if constant is not None:
        variables[-1] = Variable(x.operands[-1].shape, constant)
    return Form(Operation(x, [(variable,) for variable in variables], (Variable(x.shape),)), constant)


def forms_on(name: str, constants: Sequence[int] = CONSTANTS) -> list[Form]:
    forms = []
    for x in instructions_on(name):
        forms.append(operation_of(x))
        is_binary = len(x.operands) == 2 and NUMBERS[name].element.is_integral
        held = NUMBERS[name].held
        forms += [operation_of(x, np.array(number).astype(held)) for number in constants if is_binary]
    return forms


def arguments_of(form: Form) -> list[Array]:
    """Returns all combinations of operands, as one array for each variable."""
    choices = [operands_of(variable.shape.element_type) for variable in form.variables]
    if len(choices) == 3:
        # All combinations of three numbers would be too many.
        choices = [numbers[:: max(1, len(numbers) // 24)] for numbers in choices]
    grids = np.meshgrid(*choices, indexing="ij")
    return [np.ascontiguousarray(grid).reshape(-1) for grid in grids]


def all_operands(form: Form, arguments: Sequence[Array]) -> list[Array]:
    return [*arguments, *([] if form.constant is None else [np.full(arguments[0].shape, form.constant)])]


def expected_of(form: Form, arguments: Sequence[Array]) -> Array:
    shape = array_shape(form.operation.instruction.shape.element_type, (len(arguments[0]),))
    operands = all_operands(form, arguments)
    x = form.operation.instruction
    facts = {"direction": x.attributes["direction"], "type": None} if x.opcode == "compare" else {"result": shape}
    with np.errstate(all="ignore"):
        return np.asarray(x.op.kernel.function(*operands, **facts))


def assert_same_bits(actual: Array, expected: Array, form: Form, arguments: Sequence[Array]) -> None:
    """Checks that bits are equal; any NaN equals any other NaN."""
    same = actual.view(f"u{actual.itemsize}") == expected.view(f"u{expected.itemsize}")
    if expected.dtype.kind == "f":
        same |= np.isnan(actual) & np.isnan(expected)
    wrong = np.flatnonzero(~same)
    if len(wrong):
        k = wrong[0]
        numbers = [str(operand[k]) for operand in all_operands(form, arguments)]
        pytest.fail(f"{form.operation.instruction.opcode} of {', '.join(numbers)} is {actual[k]}, not {expected[k]}")


def loop_source(writer: Writer, parameters: Sequence[str], body: Sequence[str]) -> str:
    """Returns a function that fills `out` by applying the lines of `body` to all numbers."""
    reads = [f"{name} = a{k}[i]" for k, name in enumerate(parameters)]
    with writer.block(f"def loop({', '.join([*(f'a{k}' for k in range(len(parameters))), 'out'])}):"), writer.block("for i in range(len(out)):"):
        for line in [*reads, *body, "out[i] = r"]:
            writer.line(line)
    return writer.text


def run_loop(writer: Writer, source: str, arguments: Sequence[Any], out: Any) -> Any:
    namespace = {**writer.namespace, "asarray": np.asarray, "cell": array("f", [0.0])}
    exec(source, namespace)
    with np.errstate(all="ignore"):
        namespace["loop"](*arguments, out)
    return out


def sample(form: Form, arguments: list[Array], text: str) -> list[Array]:
    """Returns fewer operands for expressions that call a function on arrays, which takes long."""
    return [argument[:: max(1, len(argument) // 300)] for argument in arguments] if "asarray" in text or len(form.operation.reads) > 2 else arguments


@pytest.mark.parametrize("name", TYPES)
def test_blocks(name):
    for form in map(operation_of, instructions_on(name)):
        block = form_of(form.operation)
        if block is None or block.copies:
            continue
        arguments = arguments_of(form)
        expected = expected_of(form, arguments)
        with np.errstate(all="ignore"):
            results = [block.function(*arguments)]
            if block.fills:
                out = np.empty_like(expected)
                block.function(*arguments, out=out)
                results.append(out)
        for result in results:
            assert_same_bits(np.asarray(result), expected, form, arguments)


@pytest.mark.parametrize("name", TYPES)
def test_expressions_on_scalars(name):
    for form in forms_on(name):
        writer = Writer()
        text = scalar_expression(form.operation, writer)
        if text is None:
            assert form_of(form.operation) is None
            continue
        arguments = sample(form, arguments_of(form), text)
        expected = expected_of(form, arguments)
        source = loop_source(writer, [writer.name(variable) for variable in form.variables], [f"r = {text}", "assert type(r) is kind"])
        writer.namespace["kind"] = expected.dtype.type
        assert_same_bits(run_loop(writer, source, arguments, np.empty_like(expected)), expected, form, arguments)


@pytest.mark.parametrize("name", TYPES)
def test_expressions_on_python_numbers(name):
    for form in forms_on(name):
        writer = Writer()
        templates = NumberTemplates(writer, is_native=False)
        template = templates.template(form.operation)
        if template is None:
            assert form_of(form.operation) is None
            continue
        text = template.text.format(*map(templates.name, form.operation.reads))
        arguments = sample(form, arguments_of(form), text)
        expected = expected_of(form, arguments)
        body = [f"r = {text}"]
        body += [wrap_statement("r", template.wraps)] if template.wraps is not None else []
        body += ["cell[0] = r; r = cell[0]"] if template.rounds else []
        source = loop_source(writer, [writer.name(variable) for variable in form.variables], body)
        numbers = run_loop(writer, source, [argument.tolist() for argument in arguments], [None] * len(expected))
        # Storing a number that is out of range raises OverflowError.
        kinds = {"pred": bool, "float": float}
        kind = kinds.get(NUMBERS[form.operation.instruction.shape.element_type].kind, int)
        assert {type(number) for number in numbers} == {kind}
        assert_same_bits(np.array(numbers, expected.dtype), expected, form, arguments)


@pytest.mark.parametrize("name", [name for name in TYPES if name != "u64"])
def test_expressions_on_machine_numbers(name):
    """Operations on the same operands are compiled as one function, to save time."""
    forms = [form for form in forms_on(name, (3,)) if form.operation.instruction.shape.element_type != "u64"]
    by_operands = itertools.groupby(sorted(forms, key=operand_types), operand_types)
    for _, group in by_operands:
        check_native(list(group))


RANGES = [(-128, 127), (0, 255), (0, 127), (-128, -1), (1, 9), (-7, 3), (3, 3), (-1, -1)]
"""Ranges of 8-bit operands; those that do not fit the type are clipped."""


@pytest.mark.parametrize("name", ["s8", "u8"])
def test_ranges_of_results(name):
    """The value of an expression, before it is wrapped, is in the range that its row computes."""
    low, high = NUMBERS[name].element.minimum, NUMBERS[name].element.maximum
    for form in map(operation_of, instructions_on(name)):
        block = form_of(form.operation)
        writer = Writer()
        template = NumberTemplates(writer, is_native=False).template(form.operation)
        if block is None or template is None or "asarray" in template.text or operand_types(form) != [name] * len(form.variables):
            continue
        names = [writer.name(variable) for variable in form.variables]
        source = loop_source(writer, names, [f"r = {template.text.format(*names)}"])
        for ranges in itertools.product([(max(a, low), min(b, high)) for a, b in RANGES if max(a, low) <= min(b, high)], repeat=len(names)):
            ends = block.expression.range_of(ranges)
            choices = [sorted({a, b, *range(a, b + 1, 5), *(x for x in (-1, 0, 1) if a <= x <= b)}) for a, b in ranges]
            columns = list(zip(*itertools.product(*choices), strict=True))
            if ends is not None:
                numbers = run_loop(writer, source, columns, [None] * len(columns[0]))
                assert ends[0] <= min(numbers) <= max(numbers) <= ends[1], (form.operation.instruction.opcode, ranges)


def operand_types(form: Form) -> list[str]:
    return [variable.shape.element_type for variable in form.variables]


def check_native(forms: Sequence[Form]) -> None:
    writer = Writer()
    templates = NumberTemplates(writer, is_native=True)
    pairs = [(form, template) for form in forms if (template := templates.template(form.operation)) is not None]
    if not pairs:
        return
    arguments = arguments_of(pairs[0][0])
    reads = [f"int64(a{k}[i])" if argument.dtype.kind in "iu" else f"a{k}[i]" for k, argument in enumerate(arguments)]
    parameters = [f"a{k}" for k in range(len(arguments))] + [f"o{k}" for k in range(len(pairs))]
    with writer.block(f"def loop({', '.join(parameters)}):"), writer.block(f"for i in range({len(arguments[0])}):"):
        for k, (form, template) in enumerate(pairs):
            for variable, read in zip(form.variables, reads, strict=True):
                writer.line(f"{writer.name(variable)} = {read}")
            writer.line(f"r{k} = {template.text.format(*(f'({templates.name(variable)})' for variable in form.operation.reads))}")
            if template.wraps is not None:
                writer.line(native_wrap_statement(f"r{k}", template.wraps))
            writer.line(f"o{k}[i] = r{k}")
    expectations = [expected_of(form, arguments) for form, _ in pairs]
    results = [np.empty_like(expected) for expected in expectations]
    step = compile_native(NativeSource(writer.text, writer.namespace), [*arguments, *results])
    assert step is not None
    step(*arguments, *results)
    for (form, _), result, expected in zip(pairs, results, expectations, strict=True):
        assert_same_bits(result, expected, form, arguments)
