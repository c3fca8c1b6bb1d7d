"""Builds an instruction from its parsed parts.

This includes resolving operands, applying the checks of XLA's parser, and inferring the shape. The
fast path calls the same functions, but only once for each distinct piece of text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from hlotool.errors import Violation
from hlotool.ir.async_chain import UNBOUND, complete_wrapped, producer
from hlotool.ir.make import inferred_shape
from hlotool.ir.model import AttributeSet, Computation, Instruction, set_field
from hlotool.ir.names import free_name, is_legal_name
from hlotool.ir.notes import Annotations
from hlotool.literals.parse import parse_literal
from hlotool.opdefs.base import OpDef, require_operand_count, unknown_op
from hlotool.opdefs.inference import require_written_shape
from hlotool.opdefs.table import OPS
from hlotool.shapes.shape import Shape, compatible, is_prefix
from hlotool.text.parse.async_ops import (
    annotate_root,
    annotate_wrapped,
    build_wrapped,
    continuation_attributes,
    desugar,
    set_annotations,
)
from hlotool.text.parse.attributes import (
    Attribute,
    make_attributes,
    resolve_pending,
    split_annotations,
)
from hlotool.text.parse.builder import ModuleBuilder
from hlotool.text.parse.lexer import shape_before
from hlotool.text.source.part_names import parse_part_name
from hlotool.text.source.tokens import entries

__all__ = ["InstructionParts", "Reference", "add_instruction", "literal_at", "needs_operands", "resolve_shape"]


class Reference:
    """An operand given by name, optionally with a shape before the name and a `#` path after it."""

    __slots__ = ("name", "path", "position", "shape")

    def __init__(self, name: str | None, position: int, shape: Shape | None = None, path: tuple[int, ...] = ()) -> None:
        self.name = name
        self.position = position
        self.shape = shape
        self.path = path


class InstructionParts:
    """The part of an instruction after the equals sign."""

    __slots__ = ("attributes", "immediate", "opcode", "operands", "position", "shape")

    def __init__(self, shape: Shape | None, opcode: str, position: int, operands: list[Any], immediate: Any, attributes: list[Attribute]) -> None:
        self.shape = shape
        self.opcode = opcode
        self.position = position
        self.operands = operands
        self.immediate = immediate
        self.attributes = attributes


# ---- operands ----------------------------------------------------------------------------------


def _resolve_operand(builder: ModuleBuilder, operand: Any) -> Instruction:
    if isinstance(operand, Instruction):
        return operand
    reference: Reference = operand
    instruction = _resolve_reference(builder, reference)
    for k in reference.path:
        instruction = _add_tuple_element(builder, instruction, k, reference.position)
    actual = instruction.shape
    if reference.shape is not None and not compatible(reference.shape, actual):
        declared = reference.shape.text_without_layout
        message = f"the operand is annotated with {declared}, but '{instruction.name}' is {actual.text_without_layout}"
        raise Violation(
            "S022", shape_before(builder.source.text, reference.position), message, f"write {actual.text_without_layout} or remove the annotation"
        )
    return instruction


def _drop_unnamed_operands(builder: ModuleBuilder, operands: list[Any]) -> list[Any]:
    """Returns the operands, leaving out those that are only shapes.

    In a module, XLA skips shapes without a name; in a single instruction, such shapes are operands.
    """
    if builder.single_instruction and len(builder.scopes) == 1:
        return operands
    named = []
    for operand in operands:
        if isinstance(operand, Reference) and operand.name is None:
            builder.report(
                "S001", operand.position, "the shape has no operand name after it, so it is not an operand", "remove the shape", severity="warning"
            )
        else:
            named.append(operand)
    return named


def _resolve_reference(builder: ModuleBuilder, reference: Reference) -> Instruction:
    name = reference.name
    if not (builder.single_instruction and len(builder.scopes) == 1) or (name is not None and name in builder.scope.names):
        assert name is not None
        return builder.instruction(name, reference.position)
    if reference.shape is None:
        message = f"operand '{name}' has no shape; the operands of a single instruction need shapes"
        raise Violation("S002", reference.position, message, f"write f32[...] {name}, or write a whole module")
    scope = builder.scope
    number = len(scope.numbers)
    parameter = Instruction(name or f"_{number}", OPS["parameter"], reference.shape, (), immediate=number)
    scope.numbers[number] = scope.names[parameter.name] = parameter
    scope.computation.instructions.append(parameter)
    return parameter


def _add_tuple_element(builder: ModuleBuilder, source: Instruction, k: int, position: int) -> Instruction:
    """Adds the get-tuple-element that `name#k` denotes."""
    if not source.shape.is_tuple or not 0 <= k < len(source.shape.elements):
        raise Violation("S002", position, f"'{source.name}' is {source.shape.text_without_layout}, which has no element {k}")
    name = _free_name(builder, f"{source.name}_{k}")
    element = Instruction(name, OPS["get-tuple-element"], source.shape.elements[k], (source,), AttributeSet({"index": k}))
    builder.scope.names[name] = element
    builder.scope.computation.instructions.append(element)
    return element


def _free_name(builder: ModuleBuilder, name: str) -> str:
    return free_name(name, builder.scope.names, builder.scope.counters)


# ---- shapes ------------------------------------------------------------------------------------


def resolve_shape(op: OpDef, shape: Shape | None, operands: Sequence[Instruction], attributes: AttributeSet) -> Shape:
    """Returns the shape of an instruction.

    This is the written shape, or the inferred shape if no shape is written or XLA ignores the
    written shape. Raises Violation for everything that XLA's parser rejects.
    """
    operand_shapes = tuple([x.shape for x in operands])
    require_operand_count(op, len(operands))
    if op.check_parsed is not None:
        shape = op.check_parsed(shape, operand_shapes, attributes) or shape
    if shape is None and op.shape_ignored and not op.infers:
        require_written_shape(op.name)
    if shape is not None and not op.shape_ignored:
        return shape
    return inferred_shape(op, operand_shapes, attributes)


# ---- one instruction ---------------------------------------------------------------------------


def add_instruction(
    builder: ModuleBuilder, name: str, position: int, parts: InstructionParts, start: int, end: int, *, nested: bool = False
) -> Instruction | None:
    """Adds an instruction to the open computation and returns it.

    If it has an error, reports the error and returns None.
    """
    scope = builder.scope
    try:
        if nested:
            name = _free_name(builder, name)
        else:
            _check_name(builder, name, position, start)
        instruction = _build_instruction(builder, name, parts, start, end)
    except Violation as violation:
        if violation.code and not _is_known(builder, violation):
            offset = _error_offset(builder, violation.at, position, parts)
            is_whole = violation.at == "instruction"
            builder.report_violation(violation, start if is_whole else offset, end if is_whole else -1)
        scope.broken.add(name)
        return None
    scope.names[name] = instruction
    scope.computation.instructions.append(instruction)
    return instruction


# Codes of errors about names. Each such error is reported once, not for each use of the name.
_NAME_CODES = frozenset({"S002", "S026", "S027", "A028"})


def _is_known(builder: ModuleBuilder, violation: Violation) -> bool:
    """Returns whether the same error about a name was already reported in this computation."""
    if violation.code not in _NAME_CODES:
        return False
    error = violation.code, violation.message, builder.scope.computation.name
    is_known = error in builder.known_errors
    builder.known_errors.add(error)
    return is_known


# The text from an instruction's name to the start of its shape or opcode.
_SHAPE_PREFIX = re.compile(r"[^=\n]*=[ \t]*")


def _error_offset(builder: ModuleBuilder, at: str | int, position: int, parts: InstructionParts) -> int:
    """Returns the offset for a message about the part `at`.

    This is the offset of the attribute or operand, or else of the opcode. An error in the
    definition of an operand is reported at the operand.
    """
    if isinstance(at, int):
        return at
    part_name = parse_part_name(at)
    if part_name.word == "result":
        return position
    if part_name.word == "shape" and parts.shape is not None and position < parts.position:
        match = _SHAPE_PREFIX.match(builder.source.text, position)
        return match.end() if match is not None and match.end() < parts.position else parts.position
    if part_name.number is not None and part_name.of != "call" and part_name.number < len(parts.operands):
        return getattr(parts.operands[part_name.number], "position", parts.position)
    start = next((attribute.position for attribute in parts.attributes if attribute.name == part_name.word), -1)
    if start >= 0 and part_name.path and part_name.path[0].isdigit():
        opening = builder.source.text.find("{", start)
        spans = entries(builder.source.text, opening + 1)
        return spans[int(part_name.path[0])][0] if opening >= 0 and int(part_name.path[0]) < len(spans) else start
    return start if start >= 0 else parts.position


def _check_name(builder: ModuleBuilder, name: str, position: int, start: int) -> None:
    if not is_legal_name(name):
        suggestion = "a_" + name.lstrip("_") if name.startswith("__") else name + "_"
        raise Violation("S046", position, f"'{name}' cannot be the name of an instruction", f"rename it to '{suggestion}'")
    first = builder.scope.names.get(name)
    if first is not None:
        at = f"; the first is at {builder.location(builder.text_start(first.start))}" if first.start >= 0 else ""
        raise Violation("S003", start, f"instruction '{name}' is defined twice in computation '{builder.scope.computation.name}'{at}")


def _build_instruction(builder: ModuleBuilder, name: str, parts: InstructionParts, start: int, end: int) -> Instruction:
    op, wrapped = OPS.get(parts.opcode), None
    if op is None:
        op, wrapped = _find_unlisted_op(builder, parts)
    for operand in parts.operands:
        if isinstance(operand, Reference) and operand.name == name and name not in builder.scope.names:
            raise Violation("S028", operand.position, f"'{name}' depends on itself: {name} -> {name}")
    operands = [_resolve_operand(builder, operand) for operand in _drop_unnamed_operands(builder, parts.operands)]
    if not op.variadic:
        # XLA counts the operands of variadic opcodes after it has read their attributes.
        require_operand_count(op, len(operands))
    metadata, backend_config, rest = split_annotations(parts.attributes)
    hidden = None
    if wrapped is not None and op.name == "async-start":
        attributes, hidden = build_wrapped(builder, wrapped, parts.shape, rest, parts.position)
    else:
        attributes = make_attributes(builder, op, rest, parts.position)
        if op.name == "async-start":
            annotate_wrapped(builder.module.notes, attributes, metadata, backend_config)
        elif "async-start" in (op.update_of, op.done_of):
            attributes = continuation_attributes(parts.opcode, operands, attributes, wrapped, parts.position)
            if "calls" in attributes:
                annotate_root(builder.module.notes, attributes["calls"], attributes, metadata, backend_config)
        elif _ends_transfer(op):
            _check_channel(op, operands[0], attributes)
    immediate: Any = _parameter_number(builder, parts) if op.name == "parameter" else None
    shape = resolve_shape(op, parts.shape, operands, attributes)
    if parts.shape is None and shape.is_tuple:
        builder.count_inferred(shape)
    if op.name == "constant":
        immediate = literal_at(shape, *parts.immediate)
        # The shape of a literal is static, and so is the shape of the constant, even if it is
        # written as dynamic.
        shape = immediate.shape
    attributes = resolve_pending(builder, op, shape, attributes, {a.name: a.position for a in rest})
    if hidden is not None:
        _add_hidden_computation(builder, hidden, parts, metadata, backend_config)
    instruction = Instruction(name, op, shape, tuple(operands), attributes, immediate, metadata, backend_config, start, end)
    if isinstance(immediate, int):
        builder.scope.numbers[immediate] = instruction
    if "async-start" in (op.update_of, op.done_of):
        before = producer(operands[0], {})
        if before is None or not before.called or before in builder.unbound:
            builder.unbound[instruction] = parts.position
        elif wrapped is not None:
            complete_wrapped(builder.module, instruction)
    return instruction


def _find_unlisted_op(builder: ModuleBuilder, parts: InstructionParts) -> tuple[OpDef, OpDef | None]:
    """Returns the op for an opcode that is not in the table, and the op that it wraps, if any.

    Only the syntactic sugar for async operations wraps an op. If the builder is strict, raises
    Violation for an unknown opcode.
    """
    try:
        return desugar(parts.opcode, parts.position)
    except Violation as violation:
        if builder.strict:
            raise
        builder.report(violation.code, parts.position, violation.message, violation.hint, severity="warning")
        return unknown_op(parts.opcode), None


def needs_operands(op: OpDef) -> bool:
    """Returns whether the checks of an opcode need more than the shapes of its operands."""
    return "async-start" in (op.name, op.update_of, op.done_of) or _ends_transfer(op)


def _ends_transfer(op: OpDef) -> bool:
    """Returns whether the opcode completes a transfer, and so must have its operand's channel."""
    return op.done_of is not None and "channel_id" in op.attributes


def _check_channel(op: OpDef, before: Instruction, attributes: AttributeSet) -> None:
    """Raises Violation unless the op that completes a transfer has the channel of its operand."""
    if "channel_id" not in before.op.attributes:
        return
    own, others = attributes.get("channel_id"), before.attributes.get("channel_id")
    if own != others:
        message = f"'{op.name}' {_channel_text(own)}, but '{before.name}' {_channel_text(others)}"
        raise Violation("A022", "channel_id", message, "give both the same channel_id")


def _channel_text(channel: int | None) -> str:
    return "has no channel_id" if channel is None else f"is on channel {channel}"


def _add_hidden_computation(
    builder: ModuleBuilder, hidden: Computation, parts: InstructionParts, metadata: str | None, backend_config: str | None
) -> None:
    """Completes the computation built by `build_wrapped`, and adds it to the module."""
    root = hidden.root
    shape = _wrapped_shape(root)
    set_field(root, "shape", shape)
    set_annotations(root, Annotations(resolve_pending(builder, root.op, shape, root.attributes, {}), metadata, backend_config))
    builder.module.computations.append(hidden)
    builder.module.hidden.add(hidden)


def _wrapped_shape(root: Instruction) -> Shape:
    """Returns the result shape of a wrapped instruction.

    The shape written on the start op may have only the first parts of the result. Raises Violation
    for everything that XLA's parser rejects.
    """
    if any(operand.shape is UNBOUND for operand in root.operands):
        return root.shape
    if root.op.infers and root.shape.is_tuple:
        inferred = inferred_shape(root.op, tuple([x.shape for x in root.operands]), root.attributes)
        if is_prefix(root.shape, inferred) and not compatible(root.shape, inferred):
            return inferred
    try:
        return resolve_shape(root.op, root.shape, root.operands, root.attributes)
    except Violation:
        if not root.op.variadic:
            raise
        # Updates may pass further operands.
        return root.shape


def literal_at(shape: Shape, text: str, at: int) -> Any:
    """Parses the literal in `text`, which starts at offset `at` in the source.

    Raises Violation if the literal is invalid.
    """
    try:
        return parse_literal(shape, text)
    except Violation as violation:
        offset = violation.at if isinstance(violation.at, int) else 0
        raise Violation(violation.code, at + offset, violation.message, violation.hint) from None


def _parameter_number(builder: ModuleBuilder, parts: InstructionParts) -> int:
    number: int = parts.immediate
    if number < 0:
        raise Violation("S019", parts.position, f"a parameter number cannot be negative: {number}")
    if number in builder.scope.numbers:
        first = builder.scope.numbers[number]
        raise Violation("S020", "instruction", f"parameter number {number} is already used by '{first.name}'")
    return number
