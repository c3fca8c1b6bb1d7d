"""Renames instructions and computations, with all their uses."""

from __future__ import annotations

import re

from lsprotocol import types

from hlotool.errors import EditError
from hlotool.ir.model import Computation, Instruction
from hlotool.ir.names import is_legal_name
from hlotool.server.documents import Document
from hlotool.server.parts import Part, name_span, references, target_at
from hlotool.text.parse.patterns import patterns
from hlotool.text.source.tokens import NAME, whole_word

__all__ = ["prepare_rename", "rename"]

_NAME = re.compile(NAME)


def prepare_rename(document: Document, position: types.Position) -> types.PrepareRenamePlaceholder | None:
    """Returns the name at a position if it can be changed, else None."""
    part = target_at(document, position)
    if part is None or part.target is None or name_span(part.module, part.target) is None:
        return None
    return types.PrepareRenamePlaceholder(document.range(part.module, *part.span), part.target.name)


def rename(document: Document, position: types.Position, new_name: str) -> types.WorkspaceEdit:
    """Returns the edits that rename the instruction or the computation at a position.

    Raises EditError if the new name cannot be used.

    >>> document = Document("file:///m.hlo", "ENTRY e { p = f32[] parameter(0) ROOT n = f32[] add(p, p) }")
    >>> edits = rename(document, types.Position(0, 10), "x").changes["file:///m.hlo"]
    >>> [(str(edit.range), edit.new_text) for edit in edits]
    [('0:10-0:11', 'x'), ('0:52-0:53', 'x'), ('0:55-0:56', 'x')]
    """
    part = target_at(document, position)
    own = name_span(part.module, part.target) if part is not None and part.target is not None else None
    if part is None or part.target is None or own is None:
        raise EditError("there is no name to change at this position")
    # A percent sign is not part of a name.
    name = new_name.strip().removeprefix("%")
    spans = list(dict.fromkeys([own, *references(part.module, part.target)]))
    _check(part, part.target, name, spans)
    edits = [types.TextEdit(document.range(part.module, *span), name) for span in sorted(spans)]
    return types.WorkspaceEdit(changes={document.uri: edits})


def _check(part: Part, target: Instruction | Computation, name: str, spans: list[tuple[int, int]]) -> None:
    """Raises EditError if the target cannot have this name."""
    text = part.module.source.text
    is_bare = any(text[start - 1 : start] != "%" for start, _ in spans)
    if _NAME.fullmatch(name) is None:
        raise EditError(f"'{name}' is not a name: names begin with a letter or '_', and contain only letters, digits, '_', '.' and '-'")
    if not is_legal_name(name) or (is_bare and name in patterns().reserved):
        raise EditError(f"'{name}' cannot be a name, since it is reserved")
    if name == target.name:
        return
    if isinstance(target, Computation):
        is_taken = any(c.name == name for c in part.module.module.computations)
        where = "another computation"
    else:
        is_taken = any(x.name == name for x in part.computation.instructions)
        where = f"another instruction of '{part.computation.name}'"
    if is_taken:
        raise EditError(f"{where} is already called '{name}'")
    if any(d.severity == "error" for d in part.module.module.diagnostics):
        # Text that could not be parsed may use the name.
        _check_unread(part, target)


def _check_unread(part: Part, target: Instruction | Computation) -> None:
    """Raises EditError if lines that could not be parsed contain the target's name."""
    text, start, end = part.module.source.text, 0, len(part.module.source.text)
    if isinstance(target, Instruction):
        start, end = part.computation.start, part.computation.end
    known = {span[0] for span in (name_span(part.module, target), *references(part.module, target)) if span is not None}
    unread = [d for d in part.module.module.diagnostics if d.severity == "error"]
    lines = {d.line for d in unread}
    for match in whole_word(target.name).finditer(text, start, end):
        if match.start() not in known and part.module.source.line_column(match.start())[0] in lines:
            line = part.module.source.line_column(match.start())[0]
            raise EditError(f"line {line} contains '{target.name}' but cannot be parsed; correct the line first")
