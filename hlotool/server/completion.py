"""Completion: opcodes, attributes, values, names in scope, and rule codes in comments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice

from lsprotocol import types

from hlotool.codes import CODE_NAMES, summary_of
from hlotool.ir.model import Instruction
from hlotool.opdefs.base import CALLED_KINDS, REQUIRED, AttributeSpec, OpDef
from hlotool.opdefs.codecs.enums import ENUMS, PRECISION
from hlotool.opdefs.common import COMMON_ATTRIBUTES
from hlotool.opdefs.inference import brief
from hlotool.opdefs.module_attributes import MODULE_ATTRIBUTES
from hlotool.opdefs.table import OPS
from hlotool.opdefs.traits import ELEMENTWISE
from hlotool.server.documents import Document
from hlotool.server.parts import signature_text
from hlotool.server.statement import Statement, statement_before
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.verifier.explanations import describe_kind, explain_op
from hlotool.verifier.markdown import op_markdown
from hlotool.verifier.suppressions import VERBS

__all__ = ["complete", "describe"]

_MAX_NAMES = 200
_CODES = re.compile(r"hlotool:\s*[a-z\-]+\[(?:[^\]]*,)?\s*(?P<word>[A-Za-z0-9\-]*)\Z")
_VERB = re.compile(r"hlotool:\s*(?P<word>[a-z\-]*)\Z")
# Matches the first character of the example in the description of an attribute. This character
# determines how a value begins and ends.
_BRACES = re.compile(r": (?P<open>[{\"])")
Kinds = types.CompletionItemKind


def complete(document: Document, position: types.Position, *, with_snippets: bool = False) -> types.CompletionList:
    """Returns the completions at a position.

    If `with_snippets` is true, the items contain placeholders.

    >>> text = "ENTRY e { p = f32[4] parameter(0) ROOT n = f32[4] negate("
    >>> [item.label for item in complete(Document("file:///m.hlo", text), types.Position(0, len(text))).items]
    ['p']
    """
    offset = document.lines.offset(position)
    statement = statement_before(document.text, offset)
    make = _MAKERS.get(statement.phase)
    items = list(islice(make(document, statement, offset, with_snippets), 2 * _MAX_NAMES)) if make is not None else []
    return types.CompletionList(len(items) >= _MAX_NAMES, [_as_edit(document, statement, offset, item) for item in items])


def _as_edit(document: Document, statement: Statement, offset: int, item: types.CompletionItem) -> types.CompletionItem:
    """Returns the item as an edit of the word being typed.

    Editors disagree on what a word is. Without a filter text, Neovim assumes that edits have been
    filtered already, and shows all of them regardless of the typed text.
    """
    item.filter_text = item.filter_text or item.label
    if item.text_edit is None:
        text = item.insert_text if item.insert_text is not None else item.label
        item.text_edit = types.TextEdit(document.lines.range(statement.start, offset), text)
        item.insert_text = None
    return item


def describe(item: types.CompletionItem) -> types.CompletionItem:
    """Returns an item with its documentation, which editors request when the item is selected."""
    op = OPS.get(item.label)
    if op is not None and (item.detail or "").startswith(f"{op.name}("):
        item.documentation = types.MarkupContent(types.MarkupKind.Markdown, op_markdown(explain_op(op)))
    return item


# ---- opcodes and names -------------------------------------------------------------------------


def _beginnings(document: Document, statement: Statement, offset: int, with_snippets: bool) -> Iterator[types.CompletionItem]:
    view = document.view
    offset_in_text = view.offset_in_text(offset)
    module = view.module_at(offset_in_text)
    inside = module.computation_at(offset_in_text - module.start) if module is not None else None
    words = ("ROOT",) if inside is not None else ("ENTRY", "HloModule")
    yield from (types.CompletionItem(word, kind=Kinds.Keyword, insert_text=f"{word} ") for word in words)


def _opcodes(document: Document, statement: Statement, offset: int, with_snippets: bool) -> Iterator[types.CompletionItem]:
    if "[" in document.text[offset - 1 : offset]:
        return
    for op in OPS.values():
        # Without snippets, Kate adds parentheses to functions by itself.
        text = _snippet(op) if with_snippets else op.name
        form = types.InsertTextFormat.Snippet if with_snippets else None
        operands = ", ".join([*op.operands, *(["..."] if op.variadic else [])])
        yield types.CompletionItem(
            op.name, kind=Kinds.Function, detail=f"{op.name}({operands})", insert_text=text, insert_text_format=form, sort_text=f"1{op.name}"
        )
    for name in ELEMENT_TYPES:
        yield types.CompletionItem(name, kind=Kinds.TypeParameter, insert_text=f"{name}[", sort_text=f"2{name}")


def _snippet(op: OpDef) -> str:
    """Returns an opcode with placeholders for its operands and its required attributes."""
    names = op.operands or (("operands",) if op.variadic else ())
    if op.name in ("parameter", "constant"):
        names = ("0",)
    positions = [f"${{{k}:{name}}}" for k, name in enumerate(names, 1)]
    parts = [f"{op.name}({', '.join(positions)})"]
    for k, name in enumerate(op.required, len(positions) + 1):
        parts.append(f"{name}={_value_placeholder(op.attributes[name], k)}")
    return ", ".join(parts)


def _value_placeholder(spec: AttributeSpec, number: int) -> str:
    if spec.kind in ENUMS:
        return f"${{{number}|{','.join(ENUMS[spec.kind].words)}|}}"
    opening = _BRACES.search(describe_kind(spec.kind))
    if opening is None:
        return f"${number}"
    # A closing brace that does not end a placeholder must be escaped.
    return f'"${number}"' if opening["open"] == '"' else f"{{${number}\\}}"


def _operands(document: Document, statement: Statement, offset: int, with_snippets: bool) -> Iterator[types.CompletionItem]:
    if statement.opcode in ("parameter", "constant"):
        return
    found = _scope(document, statement, offset)
    by_name = {x.name: x for x in found}
    operands = [by_name.get(name) for name in statement.operands]
    fits = _operand_filter(statement.op, operands)
    for k, x in enumerate(reversed(found)):
        if k >= _MAX_NAMES and not x.name.startswith(statement.word):
            continue
        yield _name(x.name, f"{brief(x.shape)} {x.op.name}", Kinds.Variable, k, is_likely=fits(x))


def _scope(document: Document, statement: Statement, offset: int) -> list[Instruction]:
    """Returns the instructions that precede a statement in its computation."""
    view = document.view
    offset_in_text = view.offset_in_text(statement.beginning)
    module = view.module_at(offset_in_text)
    computation = module.computation_at(offset_in_text - module.start) if module is not None else None
    if computation is None or module is None:
        # The closing brace has not been typed yet.
        repaired, offset_in_text = Document(document.uri, f"{document.text[: statement.beginning]}\n}}", previous=document), statement.beginning
        module = repaired.module_at(offset_in_text)
        computation = module.computation_at(offset_in_text - module.start) if module is not None else None
    if computation is None or module is None:
        return []
    at = offset_in_text - module.start
    return [x for x in computation.instructions if 0 <= x.start < at and x.name]


def _operand_filter(op: OpDef | None, operands: list[Instruction | None]) -> Callable[[Instruction], bool]:
    """Returns a function that decides whether an instruction may be the next operand.

    The function performs only quick checks.
    """
    if op is None:
        return lambda x: True
    first = operands[0] if operands else None
    if op.done_of is not None and first is None:
        return lambda x: x.op.name == op.done_of or x.op.update_of == op.done_of
    if op.name == "get-tuple-element":
        return lambda x: x.shape.is_tuple
    if ELEMENTWISE in op.traits and first is not None:
        shape = first.shape
        return lambda x: x.shape.is_array and shape.is_array and x.shape.dimensions == shape.dimensions
    if ELEMENTWISE in op.traits:
        return lambda x: x.shape.is_array
    return lambda x: True


def _name(name: str, detail: str, kind: types.CompletionItemKind, rank: int, *, is_likely: bool = True) -> types.CompletionItem:
    return types.CompletionItem(name, kind=kind, detail=detail, sort_text=f"{0 if is_likely else 1}{rank:06}")


# ---- attributes --------------------------------------------------------------------------------


def _attributes(document: Document, statement: Statement, offset: int, with_snippets: bool) -> Iterator[types.CompletionItem]:
    if not statement.opcode:
        specs = dict(MODULE_ATTRIBUTES.items())
        own = 0
    else:
        specs = {**(statement.op.attributes if statement.op is not None else {}), **COMMON_ATTRIBUTES}
        own = len(statement.op.attributes) if statement.op is not None else 0
    for k, (name, spec) in enumerate(specs.items()):
        if name in statement.written:
            continue
        text = f"{name}={_value_placeholder(spec, 1)}" if with_snippets else f"{name}="
        form = types.InsertTextFormat.Snippet if with_snippets else None
        is_missing = spec.default is REQUIRED
        detail = f"{'required: ' if is_missing else ''}{describe_kind(spec.kind)}"
        sort = f"{0 if is_missing else 1 if k < own else 2}{k:03}"
        yield types.CompletionItem(name, kind=Kinds.Property, detail=detail, insert_text=text, insert_text_format=form, sort_text=sort)


def _values(document: Document, statement: Statement, offset: int, with_snippets: bool) -> Iterator[types.CompletionItem]:
    attributes = statement.op.attributes if statement.op is not None else {}
    spec = attributes.get(statement.attribute) or COMMON_ATTRIBUTES.get(statement.attribute) or MODULE_ATTRIBUTES.get(statement.attribute)
    if spec is None:
        return
    if spec.kind in CALLED_KINDS:
        yield from _computations(document, offset)
    elif spec.kind == "Names":
        found = _scope(document, statement, offset)
        yield from (_name(x.name, x.op.name, Kinds.Variable, k) for k, x in enumerate(reversed(found[-_MAX_NAMES:])))
    else:
        words = ENUMS[spec.kind].words if spec.kind in ENUMS else _WORDS.get(spec.kind, ())
        yield from (types.CompletionItem(word, kind=Kinds.EnumMember, sort_text=f"{k:03}") for k, word in enumerate(words))


_WORDS = {"Bool": ("true", "false"), "OperandPrecision": PRECISION.words}


def _computations(document: Document, offset: int) -> Iterator[types.CompletionItem]:
    """Yields the computations that end before an offset, last to first."""
    view = document.view
    offset_in_text = view.offset_in_text(offset)
    module = view.module_at(offset_in_text)
    if module is None:
        return
    before = [c for c in module.module.computations if c.start >= 0 and c.end <= offset_in_text - module.start]
    for k, computation in enumerate(reversed(before[-_MAX_NAMES:])):
        yield _name(computation.name, signature_text(computation), Kinds.Function, k)


# ---- comments ----------------------------------------------------------------------------------


def _comment(document: Document, statement: Statement, offset: int, with_snippets: bool) -> Iterator[types.CompletionItem]:
    before = document.text[document.text.rfind("\n", 0, offset) + 1 : offset]
    codes, verb = _CODES.search(before), _VERB.search(before)
    if codes is not None:
        area = document.lines.range(offset - len(codes["word"]), offset)
        for code, name in CODE_NAMES.items():
            yield types.CompletionItem(
                code,
                kind=Kinds.EnumMember,
                detail=name,
                documentation=summary_of(code),
                filter_text=f"{code} {name}",
                text_edit=types.TextEdit(area, code),
            )
    elif verb is not None:
        area = document.lines.range(offset - len(verb["word"]), offset)
        yield from (types.CompletionItem(word, kind=Kinds.Keyword, text_edit=types.TextEdit(area, f"{word}[")) for word in VERBS)


_MAKERS = {
    "name": _beginnings,
    "opcode": _opcodes,
    "operands": _operands,
    "attribute": _attributes,
    "header": _attributes,
    "value": _values,
    "comment": _comment,
}
