"""Asynchronous operations: syntactic sugar such as `negate-start`, and inherited attributes."""

from __future__ import annotations

from collections.abc import Sequence

from hlotool.errors import Violation
from hlotool.ir.async_chain import UNBOUND, producer
from hlotool.ir.model import AttributeSet, Computation, Instruction, set_field
from hlotool.ir.notes import Annotations, SourceNotes
from hlotool.opdefs.base import OpDef
from hlotool.opdefs.common import COMMON_ATTRIBUTES
from hlotool.opdefs.inference import count
from hlotool.opdefs.table import OPS
from hlotool.opdefs.traits import ANY_SIGNATURE, RETURNS
from hlotool.shapes.shape import Shape, is_prefix
from hlotool.text.parse.attributes import (
    Attribute,
    convert_value,
    make_attributes,
    unknown_attribute,
)
from hlotool.text.parse.builder import ModuleBuilder
from hlotool.text.parse.near_names import opcode_hint

__all__ = [
    "ASYNC_OPCODES",
    "annotate_root",
    "annotate_wrapped",
    "build_wrapped",
    "continuation_attributes",
    "desugar",
    "set_annotations",
]

ASYNC_OPCODES = {"start": "async-start", "update": "async-update", "done": "async-done"}
# Annotations that XLA copies from a start op to the wrapped instruction.
_COPIED_ANNOTATIONS = ("frontend_attributes", "statistics", "origin")


def desugar(opcode: str, position: int) -> tuple[OpDef, OpDef]:
    """Returns the async op and the wrapped op for `X-start`, `X-update` or `X-done`.

    Raises Violation for other opcodes.
    """
    prefix, _, suffix = opcode.rpartition("-")
    wrapped, name = OPS.get(prefix), ASYNC_OPCODES.get(suffix)
    if wrapped is None or name is None or f"{prefix}-start" in OPS or f"{prefix}-done" in OPS:
        raise Violation("S012", position, f"unknown opcode '{opcode}'", opcode_hint(opcode))
    return OPS[name], wrapped


def build_wrapped(
    builder: ModuleBuilder, wrapped: OpDef, shape: Shape | None, attributes: list[Attribute], position: int
) -> tuple[AttributeSet, Computation]:
    """Builds the hidden computation of `X-start`, and the attributes of the async-start.

    `shape` is the result shape of the async-start. The computation is not added to the module, its
    root has no metadata, and the shape of its root is not checked. The shapes of operands and of
    parts of the result that only updates bind are taken from the computation that X calls, or are
    added when the updates are parsed.
    """
    start = OPS["async-start"]
    if shape is None or not shape.is_tuple or len(shape.elements) < 2 or not shape.elements[0].is_tuple:
        actual = f", found {shape.text_without_layout}" if shape is not None else ""
        raise Violation("S017", position, f"the shape of '{wrapped.name}-start' must be ((operands...), result, ...){actual}")
    own = [a for a in attributes if a.name in start.attributes and a.name not in wrapped.attributes and a.name != "calls"]
    outer = own + [a for a in attributes if a.name in COMMON_ATTRIBUTES]
    inner = [a for a in attributes if a.name in wrapped.attributes or a.name in _COPIED_ANNOTATIONS]
    for attribute in attributes:
        if attribute not in outer and attribute not in inner:
            raise unknown_attribute(wrapped, attribute)
    called = Computation("async_wrapped")
    thread = next((a.value for a in own if a.name == "async_execution_thread"), "main")
    passed = shape.elements[0].elements
    if 0 <= wrapped.arity < len(passed):
        raise Violation("S013", position, f"'{wrapped.name}' takes {count(wrapped.arity, 'operand')}, but the shape has {len(passed)}")
    root_attributes = make_attributes(builder, wrapped, inner, position)
    callee = _callee(wrapped, root_attributes)
    operands = _operand_shapes(wrapped, passed, callee)
    called.instructions = [Instruction("async_param", OPS["parameter"], s, (), immediate=k) for k, s in enumerate(operands)]
    result = shape.elements[1]
    if callee is not None and is_prefix(result, callee.root.shape):
        result = callee.root.shape
    root = Instruction(wrapped.name, wrapped, result, tuple(called.instructions), root_attributes)
    called.instructions.append(root)
    move_to_thread(called, thread)
    called.root = root
    values = {a.name: convert_value(start.attributes.get(a.name) or COMMON_ATTRIBUTES[a.name], a) for a in outer}
    return AttributeSet({**values, "calls": called}), called


def annotate_wrapped(
    notes: SourceNotes[Computation, Instruction], attributes: AttributeSet, metadata: str | None, backend_config: str | None
) -> None:
    """Moves the computation that an async-start calls with `calls=` to the thread of the start op.

    Also copies the annotations of the start op to the root of the computation.
    """
    called: Computation = attributes["calls"]
    move_to_thread(called, attributes.get("async_execution_thread", "main"))
    annotate_root(notes, called, attributes, metadata, backend_config)


def annotate_root(
    notes: SourceNotes[Computation, Instruction], called: Computation, attributes: AttributeSet, metadata: str | None, backend_config: str | None
) -> None:
    """Copies annotations from an async op to the root of its computation, as XLA does."""
    root = called.root
    copied = {name: attributes[name] for name in _COPIED_ANNOTATIONS if name in attributes}
    if not (copied or metadata or backend_config):
        return
    notes.spans.pop(called, None)
    written = Annotations(root.attributes, root.metadata_text, root.backend_config)
    annotated = Annotations(root.attributes.changed(copied), metadata or root.metadata_text, backend_config or root.backend_config)
    set_annotations(root, annotated)
    # The printer must write the original annotations. If it wrote the copies, parsing the output
    # would copy them again and, in a chain, to further roots.
    notes.set_written(root, written, annotated)


def set_annotations(x: Instruction, annotations: Annotations) -> None:
    """Replaces the annotations of an instruction while its module is being built."""
    set_field(x, "attributes", annotations.attributes)
    set_field(x, "metadata_text", annotations.metadata_text)
    set_field(x, "backend_config", annotations.backend_config)


def move_to_thread(called: Computation, thread: str) -> None:
    """Sets the execution thread of a computation and of all its direct and indirect callees."""
    stack, seen = [called], {called}
    while stack:
        computation = stack.pop()
        computation.execution_thread = thread
        for x in computation.instructions:
            for callee in x.called:
                if callee not in seen:
                    seen.add(callee)
                    stack.append(callee)


def continuation_attributes(opcode: str, operands: list[Instruction], attributes: AttributeSet, wrapped: OpDef | None, position: int) -> AttributeSet:
    """Returns the attributes of an update or done op, including the computation of its start op.

    In a loop, the start op may come later in the text. The computation is then added after the
    whole module has been read. Raises Violation if the attributes contradict those of the start op.
    """
    if not operands:
        raise Violation("S013", position, f"the first operand of '{opcode}' must be an async-start or async-update")
    first = operands[0]
    if first.op.done_of == "async-start":
        raise Violation("A003", position, f"'{opcode}' cannot continue '{first.name}', which is already done")
    before = producer(first, {})
    if before is None or not before.called:
        return attributes.changed({"async_execution_thread": None})
    called = before.called[0]
    if wrapped is not None and called.root.op is not wrapped:
        suffix = opcode.rpartition("-")[2]
        wraps = called.root.op.name
        raise Violation("S017", position, f"'{before.name}' wraps '{wraps}', not '{wrapped.name}'", f"write {wraps}-{suffix}")
    if attributes.get("calls", called) is not called:
        raise Violation("S017", position, f"'{opcode}' calls '{attributes['calls'].name}', but its start op calls '{called.name}'")
    thread = attributes.get("async_execution_thread", called.execution_thread)
    if thread != called.execution_thread:
        raise Violation("S017", position, f'async_execution_thread is "{thread}", but that of the start op is "{called.execution_thread}"')
    return attributes.changed({"calls": called, "async_execution_thread": None})


def _callee(wrapped: OpDef, attributes: AttributeSet) -> Computation | None:
    """Returns the callee of a wrapped call or fusion, or None for other opcodes.

    The signature of the callee has all operands and the whole result.
    """
    return attributes[wrapped.calls[0]] if wrapped.traits >= {RETURNS, ANY_SIGNATURE} else None


def _operand_shapes(wrapped: OpDef, passed: Sequence[Shape], callee: Computation | None) -> list[Shape]:
    """Returns the shapes of a wrapped op's operands; the start op passes those in `passed`."""
    needed = [p.shape for p in callee.parameters] if callee is not None else [UNBOUND] * wrapped.arity
    return [*passed, *needed[len(passed) :]]
