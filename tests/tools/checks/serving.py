"""Checks cases of the language server: the response to a request at a position in a document.

The name of the case file is the name of the request. A `^` marks the cursor, and two of them
enclose a selection; the marks are not part of the document. Further parameters of a request, such
as a new name, are given in a `// ask: ...` comment. The output is a description of the response, or
the text after an edit. With a comment `// at every word`, the request is made at each word; equal
responses are described once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from case_files import Case
from lsprotocol import types

from checks.common import same
from hlotool.errors import HlotoolError
from hlotool.server import actions, completion, diagnostics, formatting, hints, hover, lenses, navigation, renaming, signatures, symbols, tokens
from hlotool.server.documents import Document
from hlotool.workspace.rules import RuleChoice
from hlotool.workspace.settings import Settings

__all__ = ["answer_text", "answered"]

_MARK = "^"
_EVERYWHERE = "// at every word\n"
_WORD = re.compile(r"[\w.-]+|%|\(|=|,")
_ASK = re.compile(r"// ask: (.*)")
_CHECKS = RuleChoice(extend_select=("W",)).checks_for("m.hlo", Settings({}, None))


class Question(NamedTuple):
    """A document, and the position of a request in it."""

    document: Document
    area: types.Range
    ask: str

    @property
    def position(self) -> types.Position:
        return self.area.start


def answered(path: Path, case: Case) -> None:
    assert case.output is not None, "the case has no output"
    same(case.output, answer_text(path, case) or "", "the answer differs")


def answer_text(path: Path, case: Case) -> str | None:
    parts = case.text.split(_MARK)
    text, offsets = "".join(parts), [len("".join(parts[: k + 1])) for k in range(len(parts) - 1)]
    document = Document("file:///m.hlo", text)
    ask = _ASK.search(text)
    answer = _ANSWERS[path.stem]
    if _EVERYWHERE in text:
        return "".join(f"{line}\n" for line in _answers_everywhere(answer, document, ask[1] if ask is not None else ""))
    area = document.lines.range(offsets[0], offsets[-1]) if offsets else document.lines.range(0, len(text))
    try:
        lines = answer(Question(document, area, ask[1] if ask is not None else ""))
    except HlotoolError as error:
        lines = [f"error: {error}"]
    return "".join(f"{line}\n" for line in lines)


def _answers_everywhere(answer: Callable[[Question], list[str]], document: Document, ask: str) -> Iterable[str]:
    """Yields the responses at all words, except for empty ones."""
    seen: dict[tuple[str, ...], str] = {}
    for word in _WORD.finditer(document.text):
        area = document.lines.range(word.start(), word.start())
        lines = answer(Question(document, area, ask))
        # The first line of a description is the range that it applies to.
        key, place = tuple(lines[1:]), _position(document, document.lines.range(word.start(), word.end()))
        if lines == ["nothing"]:
            continue
        known = seen.setdefault(key, place) if key else place
        yield f"// at {place}: {lines[0].removeprefix('// ')}{'' if known == place else f', as at {known}'}"
        if known == place:
            yield from (f"//   {line.removeprefix('// ')}" for line in key if line != "//")


# ---- responses as text ------------------------------------------------------------------------------------------------


def _position(document: Document, area: types.Range) -> str:
    start, end = document.lines.span(area)
    text = document.text[start:end]
    shown = text if "\n" not in text else f"{text.split(chr(10))[0]}..."
    return f"{area.start.line + 1}:{area.start.character + 1} {shown}".rstrip()


def _edited(document: Document, edits: Iterable[types.TextEdit] | None) -> list[str]:
    spans = sorted(((*document.lines.span(edit.range), edit.new_text) for edit in edits or ()), reverse=True)
    if not spans:
        return ["nothing"]
    text = document.text
    for start, end, new in spans:
        text = text[:start] + new + text[end:]
    return text.rstrip("\n").split("\n")


def _workspace_edited(document: Document, edit: types.WorkspaceEdit | None) -> list[str]:
    return _edited(document, edit.changes[document.uri] if edit is not None and edit.changes else None)


def _hover(q: Question) -> list[str]:
    found = hover.hover(q.document, q.position)
    if found is None or not isinstance(found.contents, types.MarkupContent) or found.range is None:
        return ["nothing"]
    return [f"// {line}".rstrip() for line in (_position(q.document, found.range), *found.contents.value.split("\n"))]


def _diagnostics(q: Question) -> list[str]:
    lines = []
    for d in diagnostics.to_diagnostics(q.document, diagnostics.findings_in(q.document, _CHECKS)):
        tags = f" {','.join(tag.name for tag in d.tags)}" if d.tags else ""
        lines.append(f"{_position(q.document, d.range)}: {d.code}{tags} {d.message}".replace("\n", " | "))
        lines += [f"  {_position(q.document, other.location.range)}: {other.message}" for other in d.related_information or ()]
    return lines or ["nothing"]


def _definition(q: Question) -> list[str]:
    found = navigation.definition(q.document, q.position)
    return ["nothing"] if found is None else [_position(q.document, found.range)]


def _references(q: Question) -> list[str]:
    return [_position(q.document, found.range) for found in navigation.reference_locations(q.document, q.position)] or ["nothing"]


def _highlights(q: Question) -> list[str]:
    found = navigation.highlights(q.document, q.position)
    return [f"{_position(q.document, one.range)} {types.DocumentHighlightKind(one.kind or 1).name}" for one in found] or ["nothing"]


def _calls(q: Question) -> list[str]:
    item = navigation.call_item(q.document, q.position)
    if item is None:
        return ["nothing"]
    lines = [f"{item.name}: {item.detail}"]
    for call in navigation.incoming_calls(q.document, item):
        lines += [f"called by {call.from_.name} at {_position(q.document, area)}" for area in call.from_ranges]
    for called in navigation.outgoing_calls(q.document, item):
        lines += [f"calls {called.to.name} at {_position(q.document, area)}" for area in called.from_ranges]
    return lines


def _symbols(q: Question) -> list[str]:
    lines, stack = [], [(0, symbol) for symbol in reversed(symbols.document_symbols(q.document))]
    while stack:
        level, symbol = stack.pop()
        detail = f": {symbol.detail}" if symbol.detail else ""
        lines.append(f"{'  ' * level}{symbol.name} {symbol.kind.name}{detail}")
        stack += [(level + 1, child) for child in reversed(symbol.children or [])]
    found = symbols.workspace_symbols([q.document], q.ask) if q.ask else []
    return [*lines, *(f"found {one.name} in {one.container_name}" for one in found)]


def _folding(q: Question) -> list[str]:
    folds = symbols.folding_ranges(q.document)
    return [f"{fold.start_line + 1}-{fold.end_line + 1} {fold.kind.value if fold.kind else ''}".rstrip() for fold in folds] or ["nothing"]


def _selection(q: Question) -> list[str]:
    lines, found = [], symbols.selection_ranges(q.document, [q.position])[0]
    while found is not None:
        lines.append(_position(q.document, found.range))
        found = found.parent
    return lines


def _completion(q: Question) -> list[str]:
    """Returns the offered items in order.

    With `// ask: WORDS`, returns only the items that begin with one of these words.
    """
    words = tuple(q.ask.split())
    items = completion.complete(q.document, q.position, with_snippets=True).items
    chosen = sorted((item for item in items if not words or item.label.startswith(words)), key=lambda item: item.sort_text or item.label)
    return [f"{item.label}: {item.detail or ''} -> {item.text_edit.new_text if item.text_edit else ''}" for item in chosen] or ["nothing"]


def _signature(q: Question) -> list[str]:
    found = signatures.signature(q.document, q.position)
    if found is None:
        return ["nothing"]
    (shown,) = found.signatures
    active = found.active_parameter
    label = shown.parameters[active].label if shown.parameters and active is not None and active < len(shown.parameters) else None
    return [shown.label, shown.label[slice(*label)] if isinstance(label, tuple) else "none"]


def _hints(q: Question) -> list[str]:
    text, found = q.document.text, hints.hints(q.document, q.area)
    for hint in sorted(found, key=lambda hint: -q.document.lines.offset(hint.position)):
        at = q.document.lines.offset(hint.position)
        text = f"{text[:at]}<{hint.label}>{text[at:]}"
    return text.rstrip("\n").split("\n")


def _tokens(q: Question) -> list[str]:
    data, lines, line, column = tokens.tokens(q.document, q.area).data, [], 0, 0
    for k in range(0, len(data), 5):
        down, right, length, kind, modifiers = data[k : k + 5]
        line, column = line + down, right if down else column + right
        words = [name for bit, name in enumerate(tokens.LEGEND.token_modifiers) if modifiers >> bit & 1]
        start, end = (q.document.lines.offset(types.Position(line, at)) for at in (column, column + length))
        lines.append(" ".join([f"{line + 1}:{column + 1}", q.document.text[start:end], tokens.LEGEND.token_types[kind], *words]))
    return lines


def _lenses(q: Question) -> list[str]:
    found = [lens if lens.command else lenses.resolve(q.document, lens) for lens in lenses.lenses(q.document)]
    return [f"{_position(q.document, lens.range)}: {lens.command.title if lens.command else ''}" for lens in found]


def _actions(q: Question) -> list[str]:
    """Returns the titles of all actions; with `// ask: TITLE`, the text after that action."""
    request = actions.ActionRequest(diagnostics.findings_in(q.document, _CHECKS), _CHECKS, can_resolve=bool(q.ask))
    found = actions.actions(q.document, q.area, types.CodeActionContext([]), request)
    if not q.ask:
        return [f"{action.title} ({getattr(action.kind, 'value', action.kind)})" for action in found] or ["nothing"]
    chosen = next((action for action in found if action.title == q.ask), None)
    if chosen is None:
        return [f"there are only: {', '.join(action.title for action in found)}"]
    return _workspace_edited(q.document, actions.resolve(q.document, chosen, request).edit)


def _rename(q: Question) -> list[str]:
    return _workspace_edited(q.document, renaming.rename(q.document, q.position, q.ask))


def _typed(q: Question) -> list[str]:
    return _edited(q.document, formatting.format_on_type(q.document, q.position, "\n"))


_ANSWERS: dict[str, Callable[[Question], list[str]]] = {
    "actions": _actions,
    "calls": _calls,
    "completion": _completion,
    "definition": _definition,
    "diagnostics": _diagnostics,
    "folding": _folding,
    "formatting": lambda q: _edited(q.document, formatting.format_document(q.document)),
    "formatting_on_type": _typed,
    "formatting_range": lambda q: _edited(q.document, formatting.format_range(q.document, q.area)),
    "highlights": _highlights,
    "hints": _hints,
    "hover": _hover,
    "lenses": _lenses,
    "references": _references,
    "rename": _rename,
    "selection": _selection,
    "signature": _signature,
    "symbols": _symbols,
    "tokens": _tokens,
}
"""The functions that describe responses; the keys are requests, the names of the case files."""
