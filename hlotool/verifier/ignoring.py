"""Adds suppressions for findings to text. `verifier.suppressions` describes their forms.

Suppressions are added only if they reduce the number of findings and leave the module unchanged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from hlotool.errors import Diagnostic, Edit, ParseError, Source
from hlotool.ir.equal import differences
from hlotool.ir.model import Module
from hlotool.text.parse.parser import decode_text, parse_source, parts_of
from hlotool.verifier.fixing import Check, FixedText, apply_edits
from hlotool.verifier.suppressions import Mark, marks_of

__all__ = ["add_ignores", "ignore_edits"]

_UNUSED = "W050"


def add_ignores(text: str, filename: str, check: Check) -> FixedText:
    """Adds a suppression to each line for which `check` reports a finding.

    Returns the text and the number of newly hidden findings of each code. Modules that do
    not parse are left unchanged, since parse errors cannot be suppressed.

    >>> from hlotool.verifier.engine import verify
    >>> add_ignores("ENTRY e {\\n  ROOT p = f32[?] parameter(0)\\n}", "m.hlo", verify).text.splitlines()[1]
    '  ROOT p = f32[?] parameter(0) // hlotool: ignore[T083]'
    """
    out, count = [], Counter[str]()
    for part in parts_of(decode_text(text), filename):
        after, hidden = (part.source.text, Counter[str]()) if part.is_separator else _add_marks(part.source, check)
        out.append(after)
        count += hidden
    return FixedText("".join(out), count)


def _add_marks(source: Source, check: Check) -> tuple[str, Counter[str]]:
    unchanged = source.text, Counter[str]()
    try:
        module = parse_source(source)
        diagnostics = [d for d in check(module) if d.code != _UNUSED]
        if not diagnostics:
            return unchanged
        after = apply_edits(source.text, ignore_edits(source, module, diagnostics))
        copy = parse_source(Source(after, source.filename, source.first_line))
    except ParseError:
        return unchanged
    left = [d for d in check(copy) if d.code != _UNUSED]
    if next(differences(module, copy), None) is not None or len(left) >= len(diagnostics):
        return unchanged
    return after, Counter(d.code for d in diagnostics) - Counter(d.code for d in left)


def ignore_edits(source: Source, module: Module, diagnostics: Iterable[Diagnostic]) -> Iterator[Edit]:
    """Yields the edits that suppress findings: new suppressions, or more codes in existing ones."""
    codes: dict[int, list[str]] = {}
    for d in diagnostics:
        if d.code not in codes.setdefault(d.line, []):
            codes[d.line].append(d.code)
    marks: dict[int, Mark] = {source.line_column(mark.start)[0]: mark for mark in marks_of(module, source) if mark.verb == "ignore"}
    for line, line_codes in codes.items():
        mark = marks.get(line)
        if mark is not None and mark.words:
            yield Edit(mark.end - 1, mark.end - 1, "".join(f", {code}" for code in sorted(line_codes)))
        else:
            end = source.line_start(line) + len(source.line_text(line).rstrip())
            yield Edit(end, end, f" // hlotool: ignore[{', '.join(sorted(line_codes))}]")
