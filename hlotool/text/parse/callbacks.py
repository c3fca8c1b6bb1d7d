"""Callbacks of the grammar rules.

The codecs' builders create values; the functions below build the structure of the HLO module.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

from hlotool.errors import Violation
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.literals.literal import Literal, tuple_literal
from hlotool.opdefs.codecs.scalars import integer, string
from hlotool.opdefs.table import BUILDERS
from hlotool.shapes.metadata import StackTables
from hlotool.shapes.shape import Shape
from hlotool.shapes.values import Raw
from hlotool.text.parse.attributes import Attribute
from hlotool.text.parse.instructions import (
    InstructionParts,
    Reference,
    add_instruction,
    literal_at,
)
from hlotool.text.parse.lexer import ACTIVE
from hlotool.text.parse.session import ParseSession

__all__ = ["BROKEN", "OPENED", "callbacks"]


class _Sentinel:
    """A marker on Lark's value stack."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<{self.name}>"


def _current_session() -> ParseSession:
    """Returns the session of the parse in this thread."""
    return cast("ParseSession", ACTIVE.session)


BROKEN = _Sentinel("broken")
"""The value of a rule whose error has been reported."""

OPENED = _Sentinel("opened")
"""The value of a computation's opening line; error recovery counts these values on the stack."""

Children = list[Any]
_STRUCTURE: dict[str, Callable[[Children], Any]] = {}


def _rule(*names: str) -> Callable[[Callable[[Children], Any]], Callable[[Children], Any]]:
    """Registers a function as the callback of these rules."""

    def register(function: Callable[[Children], Any]) -> Callable[[Children], Any]:
        for name in names:
            _STRUCTURE[name] = function
        return function

    return register


def _guard(function: Callable[[Children], Any]) -> Callable[[Children], Any]:
    """Wraps a function so that it reports a Violation and returns BROKEN instead of raising it."""

    def call(children: Children) -> Any:
        if BROKEN in children:
            return BROKEN
        try:
            return function(children)
        except Violation as violation:
            builder = _current_session().builder
            if builder.in_segment:
                raise
            if violation.code:
                builder.report_violation(violation, next((c.start_pos for c in children if hasattr(c, "start_pos")), 0))
            return BROKEN

    return call


def callbacks() -> SimpleNamespace:
    """Returns the functions for Lark's `transformer`, by rule name."""
    values = {name: _guard(function) for name, function in BUILDERS.items()}
    return SimpleNamespace(**values, **_STRUCTURE)


# ---- names and operands ------------------------------------------------------------------------


@_rule("name")
def _name(children: Children) -> Reference:
    token = children[0]
    text = str(token)
    if token.type == "PERCENT_NAME":
        text = text[1:]
    elif token.type == "COLON_NAME":
        text = text[:-1]
    return Reference(text, token.start_pos)


@_rule("tuple_path")
def _tuple_path(children: Children) -> tuple[int, ...]:
    return tuple(int(token) if len(token) < 10 else -1 for token in children)


@_rule("operand")
def _operand(children: Children) -> Any:
    if BROKEN in children:
        return BROKEN
    shape = children.pop(0) if isinstance(children[0], Shape) else None
    reference: Reference = children[0]
    return Reference(reference.name, reference.position, shape, children[1] if len(children) > 1 else ())


@_rule("unnamed_operand")
def _unnamed_operand(children: Children) -> Any:
    return BROKEN if BROKEN in children else Reference(None, _current_session().previous_end, children[0])


@_rule("operands")
def _operands(children: Children) -> Any:
    return BROKEN if BROKEN in children else children


@_rule("call")
def _call(children: Children) -> Any:
    opcode, operands = children
    return BROKEN if operands is BROKEN else InstructionParts(None, str(opcode), opcode.start_pos, operands, None, [])


def _parameter_call(children: Children) -> InstructionParts:
    opcode, number = children
    return InstructionParts(None, "parameter", opcode.start_pos, [], integer(number), [])


_STRUCTURE["parameter_call"] = _guard(_parameter_call)


@_rule("constant_call")
def _constant_call(children: Children) -> InstructionParts:
    opcode, (start, end) = children
    return InstructionParts(None, "constant", opcode.start_pos, [], (_current_session().text[start:end], start), [])


# ---- literals: only their ends are found here; the literal parser needs their declared shapes --


@_rule("literal", "loose_literal", "loose_tuple", "dense", "complex")
def _literal(children: Children) -> tuple[int, int]:
    if not children:
        return (0, 0)
    first, last = children[0], children[-1]
    start: int = first[0] if isinstance(first, tuple) else first.start_pos
    end: int = last[1] if isinstance(last, tuple) else last.end_pos
    return start, end


def _typed_array(children: Children) -> Literal:
    shape, (start, end) = children
    literal: Literal = literal_at(shape, _current_session().text[start:end], start)
    return literal


def _typed_tuple(children: Children) -> Literal:
    return tuple_literal(children)


_STRUCTURE["typed_array"] = _guard(_typed_array)
_STRUCTURE["typed_tuple"] = _guard(_typed_tuple)


# ---- attributes --------------------------------------------------------------------------------


@_rule("module_attribute", "instruction_attribute")
def _attribute(children: Children) -> Any:
    key, value = children
    return BROKEN if isinstance(value, _Sentinel) else Attribute(str(key[:-1]), value, key.start_pos)


@_rule("raw_value")
def _raw_value(children: Children) -> Raw:
    return Raw(str(children[0]))


def _called_computation(children: Children) -> Computation:
    reference: Reference = children[0]
    return _current_session().builder.computation(reference.name or "", reference.position)


def _called_computations(children: Children) -> tuple[Computation, ...]:
    return tuple(children)


_STRUCTURE["called_computation"] = _guard(_called_computation)
_STRUCTURE["called_computations"] = _guard(_called_computations)


@_rule("names")
def _names(children: Children) -> tuple[tuple[str | None, int], ...]:
    return tuple((reference.name, reference.position) for reference in children)


# ---- instructions ------------------------------------------------------------------------------


@_rule("right_hand_side")
def _right_hand_side(children: Children) -> Any:
    if BROKEN in children:
        return BROKEN
    shape = children.pop(0) if isinstance(children[0], Shape) else None
    parts: InstructionParts = children[0]
    return InstructionParts(shape, parts.opcode, parts.position, parts.operands, parts.immediate, children[1:])


@_rule("nested_instruction")
def _nested_instruction(children: Children) -> Any:
    parts = _right_hand_side(children)
    if parts is BROKEN:
        return BROKEN
    session = _current_session()
    start, end = parts.position, session.previous_end
    return add_instruction(session.builder, f"{parts.opcode}.anon", start, parts, start, end, nested=True) or BROKEN


@_rule("instruction")
def _instruction(children: Children) -> Instruction | None:
    session = _current_session()
    builder = session.builder
    root = children.pop(0) if getattr(children[0], "type", "") == "ROOT" else None
    reference, parts = children
    start = root.start_pos if root is not None else reference.position
    if parts is BROKEN:
        builder.scope.broken.add(reference.name)
        return None
    if root is not None and builder.scope.root_position >= 0:
        first = builder.location(builder.scope.root_position)
        builder.report("S008", start, f"computation '{builder.scope.computation.name}' has a second ROOT", notes=(f"the first is at {first}",))
        root = None
    instruction = add_instruction(builder, reference.name, reference.position, parts, start, session.previous_end)
    if session.fast_path is not None and reference.name in session.fast_path.reserved:
        builder.scope.odd_names = True
    if root is not None:
        builder.scope.root_position = start
        if instruction is not None:
            builder.scope.computation.root = instruction
    return instruction


@_rule("anonymous_instruction")
def _anonymous_instruction(children: Children) -> None:
    parts = _right_hand_side(children)
    session = _current_session()
    if parts is not BROKEN:
        add_instruction(session.builder, "_", parts.position, parts, 0, session.previous_end)


# ---- computations and modules ------------------------------------------------------------------


@_rule("signature_parameter")
def _signature_parameter(children: Children) -> Any:
    return BROKEN if BROKEN in children else None


@_rule("signature")
def _signature(children: Children) -> Any:
    if BROKEN in children:
        return None
    arrow, result = children[-2:]
    return result, arrow.end_pos + 1


@_rule("computation_open")
def _computation_open(children: Children) -> _Sentinel:
    builder = _current_session().builder
    if getattr(children[0], "type", "") == "FAST_OPEN":
        return OPENED
    entry = children.pop(0) if getattr(children[0], "type", "") == "ENTRY" else None
    reference: Reference = children[0]
    result, position = children[1] if len(children) > 1 and children[1] else (None, -1)
    start = entry.start_pos if entry is not None else reference.position
    builder.open_computation(reference.name or "", start, is_entry=entry is not None, result=result, result_position=position)
    return OPENED


@_rule("body_open")
def _body_open(children: Children) -> _Sentinel:
    session = _current_session()
    session.builder.open_computation(None, session.previous_end)
    return OPENED


def _thread(children: Children) -> tuple[int, str]:
    return children[0].start_pos, string(children[2]) if len(children) > 1 else "main"


_STRUCTURE["computation_close"] = _guard(_thread)


@_rule("computation")
def _computation(children: Children) -> None:
    session = _current_session()
    position, thread = children[-1] if isinstance(children[-1], tuple) else (session.previous_end, "main")
    session.builder.close_computation(position, session.previous_end, thread)


@_rule("inline_computation")
def _inline_computation(children: Children) -> Any:
    session = _current_session()
    builder = session.builder
    computation = builder.close_computation(children[-1].start_pos, session.previous_end, inline=True)
    return computation if builder.named.get(computation.name) is computation else BROKEN


def _module_header(children: Children) -> None:
    builder = _current_session().builder
    if isinstance(children[-1], StackTables):
        builder.module.stack_tables_text = children.pop().text
    if children[0].type == "FAST_HEADER":
        return
    _, reference, *rest = children
    builder.set_header(reference.name, [(a.position, a.name, a.value) for a in rest])


def _module_header_with_errors(children: Children) -> None:
    # Even if an attribute is broken, later messages and the printer need the name of the module.
    guard = _guard(_module_header)
    if guard(children) is BROKEN and len(children) > 1 and isinstance(children[1], Reference):
        _current_session().builder.module.name = children[1].name or ""


_STRUCTURE["module_header"] = _module_header_with_errors


@_rule("module", "headerless", "single_instruction")
def _module(children: Children) -> Module:
    return _current_session().builder.module
