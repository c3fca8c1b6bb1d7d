"""Parser and verifier diagnostics, converted to diagnostics of the protocol."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from lsprotocol import types

from hlotool.errors import Diagnostic, HlotoolError
from hlotool.ir.model import Computation, Instruction
from hlotool.server.documents import Document, ModuleText
from hlotool.server.parts import name_span
from hlotool.verifier.engine import check
from hlotool.verifier.explanations import page_of
from hlotool.workspace.rules import Checks, RuleChoice
from hlotool.workspace.settings import settings_for

__all__ = ["Finding", "checks_for", "fading_hints", "findings_in", "settings_failure", "to_diagnostics"]

_SOURCE = "hlotool"
_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "info": types.DiagnosticSeverity.Information,
}
# Editors fade out unnecessary code, and strike through deprecated code.
_TAGS = {
    **dict.fromkeys(("W001", "W002", "W003", "W037", "W050", "C015"), types.DiagnosticTag.Unnecessary),
    **dict.fromkeys(("W048", "W060"), types.DiagnosticTag.Deprecated),
}
_LOCATION_IN_NOTE = re.compile(r"\bat (?P<line>[0-9]+):(?P<column>[0-9]+)(?![0-9])")
# No one reads more findings than this, and more of them would slow down editors.
_MAX_FINDINGS = 1000


class Finding(NamedTuple):
    """A diagnostic and the module that it is about."""

    diagnostic: Diagnostic
    module: ModuleText

    @property
    def span(self) -> tuple[int, int]:
        """The start and end offsets of the finding in the module's source."""
        d, source = self.diagnostic, self.module.source
        start = source.offset(d.line, d.column)
        return start, max(start, source.offset(d.end_line, d.end_column))


def checks_for(name: str, choice: RuleChoice, config: str | None = None) -> Checks:
    """Returns the rules and modes for a file, from its settings and the options of the server.

    Raises HlotoolError if the settings are invalid.
    """
    return choice.checks_for(name, settings_for(Path(name).parent, config=config))


def _never() -> bool:
    return False


def findings_in(document: Document, checks: Checks, is_cancelled: Callable[[], bool] = _never) -> list[Finding]:
    """Returns all findings in a document, in order.

    If the check is cancelled, the findings of modules that have not been checked yet are missing.

    >>> from hlotool.workspace.settings import Settings
    >>> document = Document("file:///m.hlo", "ENTRY e { p = f32[4] parameter(0) ROOT c = f32[5] negate(p) }")
    >>> [finding.diagnostic.code for finding in findings_in(document, RuleChoice().checks_for("m.hlo", Settings({}, None)))]
    ['T003']
    """
    found = []
    for module in document.modules:
        if is_cancelled():
            break
        errors = module.errors
        if is_cancelled():
            break
        for d in check(module.module, checks.modes, checks.selection, errors):
            severity = checks.severities.get(d.code, d.severity)
            found.append(Finding(d if severity == d.severity else replace(d, severity=severity), module))
    return found


def to_diagnostics(document: Document, findings: Sequence[Finding]) -> list[types.Diagnostic]:
    """Converts findings to diagnostics of the protocol.

    Each diagnostic has its notes as related information, tags, and a link to the documentation of
    its rule.
    """
    shown = [_diagnostic(document, finding) for finding in findings[:_MAX_FINDINGS]]
    if len(findings) > _MAX_FINDINGS:
        message = f"findings not shown: {len(findings) - _MAX_FINDINGS:,}; hlotool verify lists them all"
        shown.append(types.Diagnostic(document.lines.range(0, 0), message, types.DiagnosticSeverity.Information, source=_SOURCE))
    return shown


def _diagnostic(document: Document, finding: Finding) -> types.Diagnostic:
    d, module = finding.diagnostic, finding.module
    related = list(_related(document, module, d))
    notes = [note for note in d.notes if not _LOCATION_IN_NOTE.search(note)]
    return types.Diagnostic(
        range=document.range(module, *finding.span),
        message="\n".join([d.message, *([f"help: {d.hint}"] if d.hint else []), *notes]),
        severity=_SEVERITIES[d.severity],
        code=d.code,
        code_description=types.CodeDescription(page_of(d.code)),
        source=_SOURCE,
        tags=[_TAGS[d.code]] if d.code in _TAGS else None,
        related_information=related or None,
        data=d.name,
    )


def _related(document: Document, module: ModuleText, d: Diagnostic) -> Iterator[types.DiagnosticRelatedInformation]:
    for note in (d.message, *d.notes):
        found = _LOCATION_IN_NOTE.search(note)
        if found is not None:
            start = module.source.offset(int(found["line"]), int(found["column"]))
            location = types.Location(document.uri, document.range(module, start, start))
            yield types.DiagnosticRelatedInformation(location, note)


def fading_hints(document: Document, findings: Sequence[Finding]) -> list[types.Diagnostic]:
    """Returns hints that fade out unnecessary code that findings count but do not mark.

    >>> from hlotool.workspace.settings import Settings
    >>> document = Document("file:///m.hlo", "ENTRY e { p = f32[4] parameter(0) a = f32[4] negate(p) ROOT r = f32[4] sine(p) b = f32[4] abs(p) }")
    >>> [hint.message for hint in fading_hints(document, findings_in(document, RuleChoice().checks_for("m.hlo", Settings({}, None))))]
    ["see 'a'"]
    """
    hints = (hint for finding in findings for hint in _fading_hints(document, finding))
    return list(islice(hints, _MAX_FINDINGS))


def _fading_hints(document: Document, finding: Finding) -> Iterator[types.Diagnostic]:
    d, module = finding.diagnostic, finding.module
    if not d.others or _TAGS.get(d.code) != types.DiagnosticTag.Unnecessary:
        return
    computation = next((c for c in module.module.computations if c.name == d.computation), None)
    nodes: Iterable[Instruction | Computation] = module.module.computations
    if d.instruction is not None:
        nodes = () if computation is None else computation.instructions
    by_name = {node.name: node for node in nodes}
    for name in d.others:
        span = name_span(module, by_name[name]) if name in by_name else None
        if span is not None:
            message = f"see '{d.instruction or d.computation}'"
            area, tags = document.range(module, *span), [types.DiagnosticTag.Unnecessary]
            yield types.Diagnostic(area, message, types.DiagnosticSeverity.Hint, d.code, source=_SOURCE, tags=tags)


def settings_failure(document: Document, error: HlotoolError) -> types.Diagnostic:
    """Returns the finding for a document that cannot be checked because its settings are invalid."""
    return types.Diagnostic(document.lines.range(0, 0), str(error), types.DiagnosticSeverity.Error, source=_SOURCE)
