"""Statements for single operations: scalar expressions, NumPy functions and kernel calls."""

from __future__ import annotations

from collections.abc import Sequence

from hlotool.interp.arrays.arg_reducers import arg_reducer_of
from hlotool.interp.arrays.dtypes import NUMPY_TYPES
from hlotool.interp.engine.binding import Binding
from hlotool.interp.plan.dynamic_slices import write_dynamic_slice, write_dynamic_update_slice
from hlotool.interp.plan.forms import Form, form_of, reduction_of
from hlotool.interp.plan.native.integer_products import native_product
from hlotool.interp.plan.operations import Leaves, Operation, Variable, long_dimensions, view_index
from hlotool.interp.plan.products import write_product
from hlotool.interp.plan.scalars import scalar_expression
from hlotool.interp.plan.views import view_expression
from hlotool.interp.plan.writer import Writer
from hlotool.shapes.shape import Shape

__all__ = ["implicit_operands", "value_expression", "write_kernel", "write_operation"]


def implicit_operands(operation: Operation) -> list[Variable] | None:
    """Returns the variables that an elementwise operation reads if NumPy does the broadcasting.

    At least one of them has the result's shape, so that the value has this shape, too. Returns None
    if the operation is not elementwise on arrays, or if NumPy cannot do the broadcasting.
    """
    if len(operation.results) != 1 or operation.results[0].is_scalar:
        return None
    form = form_of(operation)
    if form is None or form.is_narrow:
        return None
    variables = operation.reads
    sizes = operation.results[0].shape.dimensions
    if any(variable.shape.dimensions not in (sizes, ()) for variable in variables):
        return None
    sources = [variable.view_source[0] for variable in variables]
    if any(source is variable and variable.shape.dimensions == sizes for source, variable in zip(sources, variables, strict=True)):
        return sources
    first = next((k for k, variable in enumerate(variables) if variable.shape.dimensions == sizes), None)
    if first is None:
        return None
    return [*sources[:first], variables[first], *sources[first + 1 :]]


def write_operation(
    writer: Writer, operation: Operation, binding: Binding, sources: list[Variable] | None, dying: Sequence[Variable], reusable: set[Variable]
) -> Variable | None:
    """Writes the statements that compute an operation's results.

    `sources` contains the operation's `implicit_operands`, and `dying` the operands that nothing
    reads later.
    `reusable` contains variables whose arrays have no other references; the result is written into
    such an array if its variable dies.

    Returns the operand that the kernel may overwrite, if any; its name is deleted before the call.
    """
    expression = scalar_expression(operation, writer)
    if expression is not None:
        writer.line(f"{writer.name(operation.results[0])} = {expression}")
        return None
    if sources is not None:
        _write_elementwise(writer, operation, sources, dying, reusable)
        return None
    reusable.difference_update(operation.reads)
    expression = view_expression(operation, writer)
    if expression is not None:
        writer.line(f"{writer.name(operation.results[0])} = {expression}")
        return None
    if write_product(writer, operation) or write_dynamic_slice(writer, operation):
        return None
    is_written, passed = write_dynamic_update_slice(writer, operation, dying)
    if is_written:
        return passed
    reduction = reduction_of(operation)
    if reduction is not None:
        (result,) = operation.results
        call = f"{writer.bind(reduction.function)}({writer.name(operation.operands[0][0])}, axes={writer.bind(reduction.axes)})"
        writer.line(f"{writer.name(result)} = {call}{'[()]' if result.is_scalar else ''}")
        return None
    return write_kernel(writer, operation, binding, dying)


def _write_elementwise(writer: Writer, operation: Operation, sources: list[Variable], dying: Sequence[Variable], reusable: set[Variable]) -> None:
    form = form_of(operation)
    assert isinstance(form, Form)
    (result,) = operation.results
    operands = []
    for variable, source in zip(operation.reads, sources, strict=True):
        expression = writer.name(source)
        if source is not variable and source.shape.dimensions:
            long = long_dimensions(variable.shape)
            expression += view_index(source.shape, tuple([long[k] for k in variable.view_source[1]]), result.shape.rank)
        operands.append(expression)
    name = writer.name(result)
    if form.copies:
        writer.line(f"{name} = {operands[0]}")
        reusable.discard(sources[0])
        return
    target = next(
        (source for source in sources if form.works_in_place and source in reusable and source in dying and source.shape == result.shape), None
    )
    reusable.add(result)
    writer.line(f"{name} = {form.call(writer, operands, None if target is None else writer.name(target))}")


# ---- kernels -----------------------------------------------------------------------------------


def value_expression(writer: Writer, shape: Shape, leaves: Leaves) -> str:
    """Returns the expression for a value in the kernels' form."""
    if not shape.is_tuple:
        return _array_expression(writer, leaves[0])
    items = "".join(f"{_array_expression(writer, leaf)}, " for leaf in leaves)
    if any(element.is_tuple for element in shape.elements):
        return f"with_leaves({writer.bind(shape)}, ({items}))"
    return f"({items})"


def _array_expression(writer: Writer, variable: Variable) -> str:
    if not variable.is_scalar:
        return writer.name(variable)
    if variable.constant is not None:
        return writer.bind(variable.constant)
    return f"asarray({writer.name(variable)})"


def write_kernel(writer: Writer, operation: Operation, binding: Binding, dying: Sequence[Variable]) -> Variable | None:
    """Writes a call to an operation's kernel, and a check of its results.

    Returns the operand that the kernel may overwrite, if any.
    """
    passed = None
    x = operation.instruction
    pairs = list(zip(x.operands, operation.operands, strict=True))
    arguments = [value_expression(writer, y.shape, leaves) for y, leaves in pairs]
    keywords = [f"{name}={writer.bind(value)}" for name, value in binding.keywords.items()]
    if "device" in binding.per_call:
        keywords.append("device=run.device")
    if "batch" in binding.per_call:
        keywords.append("batch=None")
    if "can_alias" in binding.per_call:
        first = operation.operands[0]
        if len(first) == 1 and first[0] in dying and not first[0].is_scalar and operation.reads.count(first[0]) == 1:
            passed = first[0]
            writer.line(f"o = [{arguments[0]}]")
            writer.line(f"del {writer.name(first[0])}")
            writer.line("can = can_alias(o)")
            arguments[0] = "*o"
            keywords.append("can_alias=can")
        else:
            keywords.append("can_alias=False")
    function = native_product(operation, binding.function) if x.opcode == "dot" else binding.function
    call = f"{writer.bind(function)}({', '.join([*arguments, *keywords])})"
    if binding.suspends:
        call = writer.finish(f"run.drive({call})")
    is_pair = x.opcode == "reduce" and len(arguments) == 4 and operation.is_removable
    axes = tuple(sorted(x.attributes["dimensions"])) if is_pair else ()
    if axes and (reducer := arg_reducer_of(x.attributes["to_apply"])) is not None:
        # The kernel would recognize the reducer in each call.
        call = f"{writer.bind(reducer.reduce)}(({arguments[0]}, {arguments[1]}), ({arguments[2]}, {arguments[3]}), {writer.bind(axes)}) or {call}"
    _write_result(writer, operation, binding, call)
    if passed is not None:
        writer.line("o = None")
    return passed


def _write_result(writer: Writer, operation: Operation, binding: Binding, call: str) -> None:
    x, results = operation.instruction, operation.results
    if not x.shape.is_tuple:
        (result,) = results
        name = writer.name(result)
        writer.line(f"{name} = {call}")
        if binding.dtype is not None:
            dtype, checked = writer.bind(binding.dtype, binding.dtype.name), writer.bind(binding.check)
            wrong = f"type({name}) is not ndarray or {name}.dtype is not {dtype} or {name}.shape != {writer.bind(binding.dimensions)}"
            writer.line(f"if {wrong}: {name} = {checked}({name})")
        if result.is_scalar:
            writer.line(f"{name} = {name}[()]")
        return
    writer.line(f"r = {call}")
    write_unpacked(writer, x.shape, results, "r")


def write_unpacked(writer: Writer, shape: Shape, results: Leaves, name: str) -> None:
    """Writes statements that assign the leaves of the tuple `name` to variables."""
    targets = "".join(f"{writer.name(result)}, " for result in results)
    if targets:
        nested = any(element.is_tuple for element in shape.elements)
        writer.line(f"{targets}= {f'leaves({name})' if nested else name}")
    for result in results:
        dtype = NUMPY_TYPES.get(result.shape.element_type)
        if dtype is not None and not any(result.shape.dynamic or ()):
            writer.line(f"require_dtype({writer.name(result)}, {writer.bind(dtype, dtype.name)}, {writer.bind(result.shape.dimensions)})")
        if result.is_scalar and dtype is not None:
            writer.line(f"{writer.name(result)} = {writer.name(result)}[()]")
    writer.line(f"{name} = None")
