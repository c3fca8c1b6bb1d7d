"""Creation of instructions without parsing: op definitions, attribute sets and shape inference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from operator import attrgetter
from typing import Any

from hlotool.errors import EditError, ParseError, Violation, nearest
from hlotool.ir.model import NO_ATTRIBUTES, AttributeSet, Computation, Instruction, InstructionFields, as_op_argument
from hlotool.literals.literal import Literal
from hlotool.opdefs.base import OpDef, require_operand_count
from hlotool.opdefs.common import COMMON_ATTRIBUTES
from hlotool.opdefs.table import OPS
from hlotool.shapes.shape import ProgramShape, Shape, compatible

__all__ = ["as_shape", "attribute_set", "check_parts", "definition", "inferred_shape", "make_instruction"]

_program_shape: Callable[[Computation], ProgramShape] = attrgetter("program_shape")


def definition(opcode: str | OpDef) -> OpDef:
    """Returns the definition of an opcode given by name; returns a definition unchanged.

    Raises EditError for an unknown opcode.

    >>> definition("add").operands
    ('lhs', 'rhs')
    """
    if isinstance(opcode, OpDef):
        return opcode
    op = OPS.get(opcode)
    if op is None:
        meant = nearest(opcode, OPS)
        raise EditError(f"unknown opcode '{opcode}'" + (f"; did you mean '{meant}'?" if meant else ""))
    return op


def as_shape(shape: Shape | str) -> Shape:
    """Returns a shape given as a Shape or as text. Raises EditError if the text is not a shape.

    >>> as_shape("f32[2,3]")
    <shape f32[2,3]{1,0}>
    """
    if isinstance(shape, Shape):
        return shape
    try:
        # Imported late, since the parser is in a higher layer.
        parsed: Shape = import_module("hlotool").shape(shape)
    except (ParseError, TypeError) as error:
        message = error.diagnostics[0].message if isinstance(error, ParseError) else str(error)
        raise EditError(message) from error
    return parsed


def inferred_shape(op: OpDef, operands: Sequence[Shape], attributes: Mapping[str, Any]) -> Shape:
    """Returns the result shape that XLA's parser infers from operand shapes and attributes.

    Raises Violation if the operands or attributes do not fit, or if the shape cannot be inferred
    for this opcode.

    >>> from hlotool.shapes.shape import array_shape
    >>> inferred_shape(definition("transpose"), [array_shape("f32", (2, 3))], {"dimensions": (1, 0)}).text_without_layout
    'f32[3,2]'
    """
    if not (op.infers or op.shape_ignored):
        raise Violation("S037", "shape", f"the result shape of '{op.name}' cannot be inferred", f"write it before '{op.name}'")
    arguments = {name: as_op_argument(attributes[name], _program_shape) for name in op.attributes if name in attributes}
    return op.infer(*operands, **arguments)


def attribute_set(op: OpDef, values: Mapping[str, Any]) -> AttributeSet:
    """Returns an attribute set for an opcode, given values keyed by attribute name in HLO text.

    Raises EditError for an unknown or missing attribute.

    >>> attribute_set(definition("get-tuple-element"), {"index": 0})
    {'index': 0}
    """
    if not values and not op.required:
        return NO_ATTRIBUTES
    for name in values:
        if name not in op.attributes and name not in COMMON_ATTRIBUTES:
            meant = nearest(name, [*op.attributes, *COMMON_ATTRIBUTES])
            raise EditError(f"'{op.name}' has no attribute '{name}'" + (f"; did you mean '{meant}'?" if meant else ""))
    for name in op.required:
        if name not in values:
            raise EditError(f"'{op.name}' needs the attribute '{name}'")
    return values if isinstance(values, AttributeSet) else AttributeSet(values)


def check_parts(op: OpDef, operands: Sequence[Instruction], shape: Shape | None, immediate: Any) -> None:
    """Checks the number of operands, and that a literal has the shape of the instruction.

    Raises EditError if a check fails.

    >>> check_parts(definition("negate"), [], None, None)
    Traceback (most recent call last):
    hlotool.errors.EditError: 'negate' takes 1 operand, found 0
    """
    if op.variadic or op.arity != len(operands):
        try:
            require_operand_count(op, len(operands))
        except Violation as violation:
            raise EditError(violation.message) from violation
    if shape is not None and isinstance(immediate, Literal) and not compatible(shape, immediate.shape):
        raise EditError(f"the literal has shape {immediate.shape.text_without_layout}, not {shape.text_without_layout}")


def make_instruction(
    name: str,
    opcode: str | OpDef,
    operands: Sequence[Instruction] = (),
    *,
    shape: Shape | str | None = None,
    attributes: Mapping[str, Any] = NO_ATTRIBUTES,
    immediate: Any = None,
    metadata_text: str | None = None,
    backend_config: str | None = None,
) -> Instruction:
    """Creates an instruction that does not belong to a computation yet.

    Without `shape`, the shape is inferred. `immediate` is the Literal of a constant or the number
    of a parameter; a parameter also needs a shape. Raises EditError if the operands, attributes or
    shape do not fit the opcode.

    >>> from hlotool.shapes.shape import array_shape
    >>> p = make_instruction("p", "parameter", shape=array_shape("f32", (2,)), immediate=0)
    >>> make_instruction("n", "negate", [p])
    <n = f32[2]{0} negate>
    """
    op = definition(opcode)
    shape = None if shape is None else as_shape(shape)
    check_parts(op, operands, shape, immediate)
    values = attribute_set(op, attributes)
    if shape is None and isinstance(immediate, Literal):
        shape = immediate.shape
    if shape is None:
        try:
            shape = inferred_shape(op, [operand.shape for operand in operands], values)
        except Violation as violation:
            raise EditError(f"'{name}': {violation.message}") from violation
    fields = InstructionFields(name, op, shape, tuple(operands), values, immediate, metadata_text, backend_config)
    fields.__class__ = Instruction
    return fields  # type: ignore[return-value]
