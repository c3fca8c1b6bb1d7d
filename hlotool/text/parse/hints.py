"""Hints for text that does not parse: old spellings, several modules, or text around a module.

The hints depend on the whole text, so they are computed only after an error.
"""

from __future__ import annotations

import re
from dataclasses import replace

from hlotool.errors import Diagnostic, Source
from hlotool.text.extract.excerpts import Excerpt, excerpts
from hlotool.text.legacy.rewrite import add_legacy_hints
from hlotool.text.source.tokens import DEFINITION
from hlotool.text.source.trivia import TRIVIA, skip_trivia

__all__ = ["add_hints"]

_ENTRY = re.compile(r"^[ \t]*+ENTRY(?![A-Za-z0-9_.\-:=])", re.MULTILINE)
_MODULE = re.compile(rf"{TRIVIA}HloModule[ \t]")
_EMPHASIS = re.compile(r"\*\*|__")
_UNDEFINED = frozenset({"S002", "S006"})
_EXTRACT = "read it with --extract (in Python, hlotool.extract)"


def add_hints(source: Source, diagnostics: list[Diagnostic], *, is_instruction: bool) -> list[Diagnostic]:
    """Returns the diagnostics with additional hints.

    Adds hints about old spellings, and, to the first error, a hint about the text as a whole.
    `is_instruction` is true if the text was read as a single instruction, because it begins neither
    like a module nor like a computation.
    """
    diagnostics = add_legacy_hints(source, diagnostics)
    first = next((k for k, d in enumerate(diagnostics) if d.severity == "error"), None)
    if first is None:
        return diagnostics
    hint = _whole_text_hint(source, diagnostics[first]) or diagnostics[first].hint
    hint = hint or _excerpt_hint(source, diagnostics, diagnostics[first], is_instruction=is_instruction)
    return [*diagnostics[:first], replace(diagnostics[first], hint=hint), *diagnostics[first + 1 :]]


def _whole_text_hint(source: Source, error: Diagnostic) -> str | None:
    """Returns a hint if the error shows that the text is incomplete or not just a single module."""
    text, offset = source.text, source.offset(error.line, error.column)
    if skip_trivia(text, 0) < len(text) and error.message.endswith("found the end of the text"):
        if error.computation is None:
            return "the text is cut off here"
        return f"the text is cut off here, inside computation '{error.computation}'; if nothing is missing, close it with }}"
    if error.computation is not None and _is_in_first_module(text, offset):
        return None
    found = excerpts(source)
    begins = bool(found) and skip_trivia(text, 0) >= found[0].start
    if not found or (begins and offset < found[0].end):
        return None
    locations = ", ".join(_lines(source, excerpt) for excerpt in found[:3]) + (", ..." if len(found) > 3 else "")
    if not begins:
        modules = "a module" if len(found) == 1 else f"{len(found)} modules"
        return f"the text contains {modules} inside other text ({locations}); {_EXTRACT}"
    if len(found) == 1:
        return f"a module is on {locations}; if the rest does not belong to it, {_EXTRACT}"
    return f"the text contains {len(found)} modules ({locations}); separate them with `// -----` lines, or {_EXTRACT}"


def _is_in_first_module(text: str, offset: int) -> bool:
    """Returns whether an error inside a computation is in the module at the start of the text.

    Such an error is not caused by the text around that module.
    """
    begin = _MODULE.match(text)
    return begin is not None and text.find("HloModule", begin.end(), offset + len("HloModule")) < 0 and text.find("```", begin.end(), offset) < 0


def _lines(source: Source, excerpt: Excerpt) -> str:
    first, last = source.line_column(excerpt.start)[0], source.line_column(max(excerpt.start, excerpt.end - 1))[0]
    return f"line {first}" if first == last else f"lines {first}-{last}"


def _excerpt_hint(source: Source, diagnostics: list[Diagnostic], error: Diagnostic, *, is_instruction: bool) -> str | None:
    """Returns a hint for an incomplete module, or for one with Markdown from a web page."""
    text = source.text
    offset = source.offset(error.line, error.column)
    if error.code in _UNDEFINED:
        missing = sum(d.code in _UNDEFINED for d in diagnostics)
        if missing == 1:
            return "define it above; if this is an excerpt, complete it"
        return f"{missing} names are not defined; if this is an excerpt, complete it"
    if error.code == "M004" and not _ENTRY.search(text):
        return "no computation is marked ENTRY, so the last one was used; the text may be cut off before its ENTRY computation"
    if error.code == "M004":
        return "an output index must select an element of the entry computation's result"
    if _EMPHASIS.match(text, offset) or _EMPHASIS.match(text, max(0, offset - 1)):
        return "this looks like Markdown emphasis; remove it"
    line = text.rfind("\n", 0, offset) + 1
    if DEFINITION.match(text, line) and (error.code == "S034" or (error.code == "S001" and error.computation is None and not is_instruction)):
        return "instructions belong in a computation, between `ENTRY name {` and `}`; check the braces above"
    if error.line == 1 and error.code == "S001" and is_instruction and not DEFINITION.match(text):
        return "HLO text begins with `HloModule name`, or with a computation `ENTRY name {`"
    return None
