"""Applies fixes to the text of a file, or adds comments that suppress findings.

`verifier.fixing` and `verifier.ignoring` compute the edits and check them.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from hlotool.codes import CODE_NAMES, severity_of
from hlotool.errors import Diagnostic, ParseError, Source
from hlotool.ir.model import Module
from hlotool.text.legacy.rewrite import modernize
from hlotool.text.parse.parser import decode_text, parse_source, parts_of
from hlotool.verifier.engine import check
from hlotool.verifier.fixing import FixedText, fix_text
from hlotool.verifier.ignoring import add_ignores
from hlotool.verifier.selection import Layer, Selection
from hlotool.workspace.lint_fixes import rewrite_edits
from hlotool.workspace.rules import Checks

__all__ = ["RewriteRequest", "rewrite_text"]

_ERRORS = frozenset(code for code in CODE_NAMES if severity_of(code) == "error")
# Reported regardless of the selected rules.
_PARSE_ERRORS = frozenset(code for code in _ERRORS if code[0] == "S")


class RewriteRequest(NamedTuple):
    """The changes to make: fixes, unsafe fixes, and comments that suppress the remaining findings.

    With `legacy`, the text is first converted to today's spelling.
    """

    fix: bool = True
    unsafe_fixes: bool = False
    add_ignore: bool = False
    legacy: bool = False


def rewrite_text(text: str, name: str, checks: Checks, request: RewriteRequest) -> FixedText:
    """Returns the text with fixes or suppressions, and the number of removed findings by code.

    >>> from hlotool.workspace.rules import RuleChoice
    >>> from hlotool.workspace.settings import Settings
    >>> checks = RuleChoice().checks_for("m.hlo", Settings({}, None))
    >>> rewrite_text("ENTRY e {\\n  p = f32[4] parameter(0)\\n}", "m.hlo", checks, RewriteRequest()).text.splitlines()[1]
    '  ROOT p = f32[4] parameter(0)'
    """
    modern = _modern(text, name) if request.legacy else FixedText(text, Counter())
    text = modern.text
    everything = Selection.layered([Layer(tuple(sorted(checks.selection.codes | _ERRORS)))])

    def check_with_errors(module: Module) -> list[Diagnostic]:
        return list(check(module, checks.modes, everything))

    def check_selected(module: Module) -> list[Diagnostic]:
        return list(check(module, checks.modes, checks.selection))

    if request.add_ignore and not request.fix:
        return add_ignores(text, name, check_selected)
    # No fix may introduce an error, regardless of the selected rules.
    fixed = fix_text(text, name, check_with_errors, codes=checks.selection.codes | _PARSE_ERRORS, unsafe=request.unsafe_fixes, rewrite=rewrite_edits)
    fixed = FixedText(fixed.text, modern.fixed + fixed.fixed)
    if not request.add_ignore:
        return fixed
    suppressed = add_ignores(fixed.text, name, check_selected)
    return FixedText(suppressed.text, fixed.fixed + suppressed.fixed)


def _modern(text: str, name: str) -> FixedText:
    """Returns the text in today's spelling, except for modules that would get more parse errors."""
    out, fixed = [], Counter[str]()
    for part in parts_of(decode_text(text), name):
        after, warnings = (part.source, []) if part.is_separator else modernize(part.source)
        is_better = bool(warnings) and _error_count(after) <= _error_count(part.source)
        out.append(after.text if is_better else part.source.text)
        fixed.update(warning.code for warning in warnings if is_better)
    return FixedText("".join(out), fixed)


def _error_count(source: Source) -> int:
    try:
        parse_source(source)
    except ParseError as error:
        return len(error.diagnostics)
    return 0
