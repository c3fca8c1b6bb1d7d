"""`--fix`, `--diff` and `--add-ignore`: what the library makes of a text is written back, or shown.

The edits and their proofs are the library's (`verifier.fixing`, `verifier.ignoring`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Protocol

from hlotool.cli.checking import Checked, check_text
from hlotool.cli.inputs import STDIN, Outcome, one_by_one, read_input
from hlotool.cli.output import complain, replace_file, write_out
from hlotool.cli.render import wants_color
from hlotool.cli.rule_choice import Checks
from hlotool.cli.text_diff import unified_diff
from hlotool.codes import CODE_NAMES, severity_of
from hlotool.errors import Diagnostic, HlotoolError
from hlotool.ir.model import Module
from hlotool.text.parse.parser import has_log_prefixes
from hlotool.text.source.files import InputError, is_compressed
from hlotool.verifier.engine import check
from hlotool.verifier.fixing import FixedText, fix_text
from hlotool.verifier.ignoring import add_ignores
from hlotool.verifier.selection import Layer, Selection

__all__ = ["Wanted", "rewrite_files"]

_ERRORS = frozenset(code for code in CODE_NAMES if severity_of(code) == "error")
# Reported whatever is selected.
_PARSE_ERRORS = frozenset(code for code in _ERRORS if code[0] == "S")


class Wanted(Protocol):
    """What the options say about rewriting."""

    @property
    def fix(self) -> bool: ...
    @property
    def unsafe_fixes(self) -> bool: ...
    @property
    def diff(self) -> bool: ...
    @property
    def add_ignore(self) -> bool: ...
    @property
    def color(self) -> str: ...
    @property
    def quiet(self) -> int: ...


def rewrite_files(work: Sequence[tuple[str, Checks]], wanted: Wanted, outcome: Outcome, stdin_filename: str) -> Iterator[Checked]:
    """Rewrites file by file, and gives what is still found in each."""
    fixed = changed = 0
    for file, (_, checks) in zip(one_by_one([name for name, _ in work]), work, strict=True):
        found: Checked | None = None
        with outcome.file(file):
            name, text = read_input(file, stdin_filename)
            try:
                result = _rewritten(text, name, checks, wanted)
                is_changed = result.text != text
                if is_changed and not wanted.diff and file != STDIN:
                    _write_back(file, text, result.text)
            except HlotoolError as error:
                outcome.failed(str(error), max(error.exit_code, 2))
                continue
            fixed, changed = fixed + sum(result.fixed.values()), changed + is_changed
            if wanted.diff:
                if is_changed:
                    outcome.at_least(1)
                write_out("".join(unified_diff(text, result.text, name, color=wants_color(wanted.color, sys.stdout))))
            elif file == STDIN:
                write_out(result.text)
            found = Checked(name, [] if wanted.diff else check_text(result.text, name, checks, wants_fixes=True))
        if found is not None:
            yield found
    if not wanted.quiet:
        complain(_summary(fixed, changed, wanted))


def _rewritten(text: str, name: str, checks: Checks, wanted: Wanted) -> FixedText:
    everything = Selection.layered([Layer(tuple(sorted(checks.selection.codes | _ERRORS)))])

    def judged(module: Module) -> list[Diagnostic]:
        return list(check(module, checks.modes, everything))

    def found(module: Module) -> list[Diagnostic]:
        return list(check(module, checks.modes, checks.selection))

    if wanted.add_ignore and not wanted.fix:
        return add_ignores(text, name, found)
    # Whatever is selected, no fix may bring out an error.
    fixed = fix_text(text, name, judged, codes=checks.selection.codes | _PARSE_ERRORS, unsafe=wanted.unsafe_fixes)
    if not wanted.add_ignore:
        return fixed
    hidden = add_ignores(fixed.text, name, found)
    return FixedText(hidden.text, fixed.fixed + hidden.fixed)


def _write_back(file: str, before: str, after: str) -> None:
    if is_compressed(file):
        raise InputError(f"cannot rewrite '{file}': it is compressed")
    if has_log_prefixes(before):
        raise InputError(f"cannot rewrite '{file}': the prefixes of a log stand before its lines, and would be lost")
    replace_file(file, after)


def _summary(fixed: int, changed: int, wanted: Wanted) -> str:
    files = f"{changed} file{'' if changed == 1 else 's'}"
    would = "would be " if wanted.diff else ""
    findings = f"{fixed} finding{'' if fixed == 1 else 's'}"
    return f"{findings} {would}{'suppressed' if wanted.add_ignore else 'fixed'} in {files}" if fixed else "nothing to fix"
