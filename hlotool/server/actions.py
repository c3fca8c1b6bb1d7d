"""Code actions: quick fixes, suppression comments and refactorings at a position.

Listing actions is quick, because the edits of refactorings are computed only when an action is
chosen, if the editor supports this.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from lsprotocol import types

from hlotool.errors import Edit, EditError, HlotoolError
from hlotool.ir.model import Computation, Instruction
from hlotool.server.diagnostics import Finding, to_diagnostics
from hlotool.server.documents import Document, ModuleText
from hlotool.server.formatting import changes_between, format_range
from hlotool.server.parts import written_attributes
from hlotool.server.refactoring import extract, inline
from hlotool.text.formatting.attribute_order import UNKNOWN, attribute_order
from hlotool.text.locate.instruction import locate
from hlotool.text.source.part_names import PartName
from hlotool.text.source.tokens import whole_word
from hlotool.verifier.explanations import has_fix
from hlotool.verifier.fixing import with_fixes
from hlotool.verifier.ignoring import ignore_edits
from hlotool.workspace.lint_fixes import rewrite_edits
from hlotool.workspace.rewriting import RewriteRequest, rewrite_text
from hlotool.workspace.rules import Checks

__all__ = ["FIX_ALL", "KINDS", "ActionRequest", "actions", "resolve"]

FIX_ALL = "source.fixAll.hlotool"
Kind = types.CodeActionKind
KINDS = (Kind.QuickFix, Kind.RefactorInline, Kind.RefactorExtract, Kind.RefactorRewrite, FIX_ALL)
"""The kinds of actions."""

_DID_YOU_MEAN = re.compile(r"did you mean '(?P<word>[^']+)'\?")
_QUOTED = re.compile(r"'(?P<word>[^']+)'")
# The maximum number of findings in a selection for which fixes are tried.
_MAX_FIXED = 20
_DEAD = ("W001", "W003")
# The maximum number of selected instructions whose attributes are examined.
_MAX_SORTED = 500
# In characters. Computing the edits of refactorings takes seconds in longer documents.
_MAX_AT_ONCE = 100_000


class ActionRequest(NamedTuple):
    """The context of code actions.

    It contains the findings in the document, the checks and the settings file, and whether the
    editor can request edits later.
    """

    findings: Sequence[Finding]
    checks: Checks | None
    config: str | None = None
    can_resolve: bool = False


def actions(document: Document, area: types.Range, context: types.CodeActionContext, request: ActionRequest) -> list[types.CodeAction]:
    """Returns the actions for a range of a document."""
    found = [action for make in (_fixes, _refactorings, _document_actions) for action in make(document, area, request)]
    if context.only is not None:
        wanted = tuple(str(getattr(kind, "value", kind)) for kind in context.only)
        found = [action for action in found if any(_is_kind(_kind(action), kind) for kind in wanted)]
    if request.can_resolve:
        return found
    complete = []
    for action in found:
        if action.edit is None and context.only is None and len(document.text) > _MAX_AT_ONCE:
            # Editors request actions whenever the cursor moves. An editor that cannot request edits
            # later gets this action only when it requests actions of this kind.
            continue
        try:
            action = resolve(document, action, request)
        except HlotoolError:
            continue
        complete.append(action)
    return complete


def _kind(action: types.CodeAction) -> str:
    return str(getattr(action.kind, "value", action.kind))


def _is_kind(kind: str, wanted: str) -> bool:
    return kind == wanted or kind.startswith(f"{wanted}.") or not wanted


# ---- findings ----------------------------------------------------------------------------------


def _fixes(document: Document, area: types.Range, request: ActionRequest) -> Iterator[types.CodeAction]:
    low, high = document.lines.span(area)
    near = [f for f in request.findings if _touches(f, low, high)][:_MAX_FIXED]
    for finding in near:
        (shown,) = to_diagnostics(document, [finding])
        for title, edits, is_safe in _edits_for(finding):
            yield _action(document, title, Kind.QuickFix, finding.module, edits, [shown], is_preferred=is_safe)
    for code in dict.fromkeys(f.diagnostic.code for f in near if f.diagnostic.code[0] != "S"):
        finding = next(f for f in near if f.diagnostic.code == code)
        edits = list(ignore_edits(finding.module.source, finding.module.module, [finding.diagnostic]))
        # Parse errors cannot be suppressed, and they hide the findings that a comment would
        # suppress.
        if not any(d.severity == "error" for d in finding.module.module.diagnostics):
            yield _action(document, f"Suppress {code} on this line", Kind.QuickFix, finding.module, edits, to_diagnostics(document, [finding]))


def _touches(finding: Finding, low: int, high: int) -> bool:
    start, end = finding.span
    start, end = start + finding.module.start, end + finding.module.start
    return start <= high and low <= end


def _edits_for(finding: Finding) -> Iterator[tuple[str, Sequence[Edit], bool]]:
    """Yields the title and the edits of each fix for a finding, and whether the fix is safe.

    The offsets of the edits refer to the module's source.
    """
    d, module = finding.diagnostic, finding.module
    if d.fix is not None or has_fix(d.code):
        for fixed in with_fixes(module.module, [d], rewrite_edits):
            if fixed.fix is not None:
                yield fixed.fix.title, fixed.fix.edits, fixed.fix.is_safe
    meant = _DID_YOU_MEAN.search(d.hint or "")
    if meant is not None and (edit := _replacement(finding, meant["word"])) is not None:
        yield f"Change to '{meant['word']}'", [edit], True


def _replacement(finding: Finding, word: str) -> Edit | None:
    """Returns the edit that replaces a word quoted in the message with `word`, or None.

    The quoted word must occur at the finding.
    """
    text, (start, end) = finding.module.source.text, finding.span
    line_end = text.find("\n", start)
    for quoted in _QUOTED.finditer(finding.diagnostic.message):
        found = whole_word(quoted["word"]).search(text, start, max(end, line_end if line_end >= 0 else len(text)))
        if found is not None and quoted["word"] != word:
            return Edit(found.start(), found.end(), word)
    return None


def _action(
    document: Document,
    title: str,
    kind: str,
    module: ModuleText,
    edits: Iterable[Edit],
    diagnostics: list[types.Diagnostic] | None = None,
    *,
    is_preferred: bool = False,
) -> types.CodeAction:
    changes = types.WorkspaceEdit(changes={document.uri: [document.edit(edit, module.start) for edit in edits]})
    return types.CodeAction(title, kind, diagnostics, is_preferred or None, edit=changes)


# ---- refactorings and whole documents ----------------------------------------------------------


def _deferred_action(document: Document, title: str, kind: str, what: str, area: types.Range) -> types.CodeAction:
    """Returns an action whose edits are computed when it is chosen."""
    start, end = document.lines.span(area)
    return types.CodeAction(title, kind, data={"uri": document.uri, "version": document.version, "what": what, "start": start, "end": end})


def _refactorings(document: Document, area: types.Range, request: ActionRequest) -> Iterator[types.CodeAction]:
    found = _instructions(document, *document.lines.span(area))
    if found is None:
        return
    module, _, chosen = found
    if len(chosen) == 1 and chosen[0].op.name == "call":
        yield _deferred_action(document, f"Inline '{chosen[0].name}'", Kind.RefactorInline, "inline", area)
    if area.start != area.end and any(x.op.name != "parameter" for x in chosen):
        yield _deferred_action(document, "Extract into a computation", Kind.RefactorExtract, "extract", area)
    if not all(_are_attributes_sorted(module.source.text, x) for x in chosen[:_MAX_SORTED]):
        yield _deferred_action(document, "Sort attributes as XLA does", Kind.RefactorRewrite, "sort", area)


def _are_attributes_sorted(text: str, x: Instruction) -> bool:
    """Returns whether the attributes of an instruction are in the order of XLA's printer."""
    if x.start < 0:
        return True
    order = attribute_order(text[slice(*locate(text, x.start, x.end, PartName("opcode")))])
    ranks = [order.get(name, order[UNKNOWN]) for name in written_attributes(text, x)]
    return ranks == sorted(ranks)


def _instructions(document: Document, start: int, end: int) -> tuple[ModuleText, Computation, list[Instruction]] | None:
    """Returns the instructions in a range; None unless they are in exactly one computation."""
    module = document.module_at(start)
    if module is None:
        return None
    if start == end:
        found = module.instruction_at(start - module.start)
        return (module, found[0], [found[1]]) if found is not None else None
    # A selection of whole lines ends where the next line begins.
    end -= document.text[end - 1 : end] == "\n"
    pairs = list(module.instructions_between(start - module.start, end - module.start))
    computations = {computation for computation, _ in pairs}
    return (module, computations.pop(), [x for _, x in pairs]) if len(computations) == 1 else None


def _document_actions(document: Document, area: types.Range, request: ActionRequest) -> Iterator[types.CodeAction]:
    codes = {f.diagnostic.code for f in request.findings}
    if not codes.isdisjoint(_DEAD):
        yield _deferred_action(document, "Remove all dead code", Kind.RefactorRewrite, "dead", area)
    if any(has_fix(code) for code in codes):
        yield _deferred_action(document, "Fix all findings that can be fixed safely", FIX_ALL, "fix", area)


def _inline(document: Document, start: int, end: int, request: ActionRequest) -> Iterator[types.TextEdit]:
    found = _instructions(document, start, end)
    if found is None:
        raise EditError("there is no call at this position")
    module, _, chosen = found
    yield from (document.edit(edit, module.start) for edit in inline(module, chosen[0]))


def _extract(document: Document, start: int, end: int, request: ActionRequest) -> Iterator[types.TextEdit]:
    found = _instructions(document, start, end)
    if found is None:
        raise EditError("select instructions of one computation")
    module, computation, chosen = found
    yield from (document.edit(edit, module.start) for edit in extract(module, computation, chosen))


def _sort_attributes(document: Document, start: int, end: int, request: ActionRequest) -> Iterator[types.TextEdit]:
    yield from format_range(document, document.lines.range(start, max(end, start + 1)), request.config)


def _fix_all(document: Document, start: int, end: int, request: ActionRequest) -> Iterator[types.TextEdit]:
    if request.checks is not None:
        after = rewrite_text(document.text, document.name, request.checks, RewriteRequest()).text
        yield from (document.edit(edit) for edit in changes_between(document.text, after))


def _remove_dead_code(document: Document, start: int, end: int, request: ActionRequest) -> Iterator[types.TextEdit]:
    if request.checks is not None:
        codes = request.checks.selection.only(_DEAD)
        after = rewrite_text(document.text, document.name, request.checks._replace(selection=codes), RewriteRequest()).text
        yield from (document.edit(edit) for edit in changes_between(document.text, after))


_MAKERS: dict[str, Callable[[Document, int, int, ActionRequest], Iterator[types.TextEdit]]] = {
    "inline": _inline,
    "extract": _extract,
    "sort": _sort_attributes,
    "fix": _fix_all,
    "dead": _remove_dead_code,
}


def resolve(document: Document | None, action: types.CodeAction, request: ActionRequest) -> types.CodeAction:
    """Returns an action with its edits.

    Raises EditError if they cannot be computed, or if the document has changed since the action was
    listed.
    """
    data: Any = action.data
    if action.edit is not None or not isinstance(data, dict):
        return action
    make = _MAKERS.get(str(data.get("what")))
    start, end = data.get("start"), data.get("end")
    if document is None or make is None or not isinstance(start, int) or not isinstance(end, int) or data.get("version") != document.version:
        raise EditError("the text has changed since the action was listed")
    edits = list(make(document, start, end, request))
    if not edits:
        raise EditError("there is nothing to change")
    action.edit = types.WorkspaceEdit(changes={document.uri: edits})
    return action
