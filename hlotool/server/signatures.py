"""Signature help: the signature of the opcode whose operands or attributes are being typed."""

from __future__ import annotations

from lsprotocol import types

from hlotool.opdefs.base import OpDef
from hlotool.server.documents import Document
from hlotool.server.statement import Statement, statement_before
from hlotool.verifier.explanations import describe_kind, explain_op
from hlotool.verifier.markdown import plain

__all__ = ["signature"]


def signature(document: Document, position: types.Position) -> types.SignatureHelp | None:
    """Returns the signature of the opcode before a position, and the parameter being typed.

    >>> text = "ENTRY e { p = f32[] parameter(0) ROOT n = f32[] add(p, "
    >>> help = signature(Document("file:///m.hlo", text), types.Position(0, len(text)))
    >>> help.signatures[0].label, help.active_parameter
    ('add(lhs, rhs)', 1)
    """
    statement = statement_before(document.text, document.lines.offset(position))
    if statement.op is None or statement.phase not in ("operands", "attribute", "value"):
        return None
    return types.SignatureHelp([_signature(statement.op)], active_signature=0, active_parameter=_active(statement, statement.op))


def _signature(op: OpDef) -> types.SignatureInformation:
    explanation = explain_op(op)
    operands = [*op.operands, *(["..."] if op.variadic else [])]
    parameters, label = [], f"{op.name}("
    for k, name in enumerate(operands):
        label += ", " * bool(k)
        parameters.append(types.ParameterInformation((len(label), len(label) + len(name))))
        label += name
    label += ")"
    for spec in op.attributes.values():
        label += ", "
        about = types.MarkupContent(types.MarkupKind.Markdown, plain(describe_kind(spec.kind)))
        parameters.append(types.ParameterInformation((len(label), len(label) + len(spec.name)), about))
        label += f"{spec.name}="
    return types.SignatureInformation(label, types.MarkupContent(types.MarkupKind.Markdown, plain(explanation.summary)), parameters)


def _active(statement: Statement, op: OpDef) -> int | None:
    """Returns the number of the parameter being typed; None if the opcode has no such parameter."""
    count = len(op.operands) + op.variadic
    if statement.phase == "operands":
        number = len(statement.operands)
        return number if number < count else count - 1 if op.variadic else None
    names = list(op.attributes)
    return count + names.index(statement.attribute) if statement.attribute in names else None
