"""Checks files, and returns their findings.

The modules `files` and `rules` choose the files and the rules. Results can be sent between
processes.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from hlotool.errors import Diagnostic, Edit, Fix, HlotoolError, ParseError, Source
from hlotool.text.parse.parser import parse_source
from hlotool.verifier.engine import check
from hlotool.verifier.fixing import with_fixes
from hlotool.workspace.findings import Checked, FileFinding
from hlotool.workspace.lint_fixes import rewrite_edits
from hlotool.workspace.modules import module_sources
from hlotool.workspace.reading import InputForm, read_input
from hlotool.workspace.rules import Checks
from hlotool.workspace.workers import map_in_order

__all__ = ["CheckRequest", "check_file", "check_files", "check_text"]

_PLAIN = InputForm()


class CheckRequest(NamedTuple):
    """The options that apply to every file.

    These are the name for standard input, whether findings need fixes, and the form of the input.
    """

    stdin_filename: str = "<stdin>"
    wants_fixes: bool = False
    form: InputForm = InputForm()


def check_file(file: str, checks: Checks, request: CheckRequest) -> Checked:
    """Checks a file.

    Failures are returned as a Checked, so that they can be sent between processes.
    """
    try:
        name, text = read_input(file, request.stdin_filename)
        return Checked(name, check_text(text, name, checks, wants_fixes=request.wants_fixes, form=request.form))
    except HlotoolError as error:
        return Checked(file, [], str(error), max(error.exit_code, 2))
    except MemoryError:
        return Checked(file, [], f"not enough memory for '{file}'", 2)
    except Exception as error:
        trace = "".join(traceback.format_exception(error))
        return Checked(file, [], f"{type(error).__name__}: {error}", 3, trace)


def check_files(files: Sequence[tuple[str, Checks]], request: CheckRequest, jobs: int) -> Iterator[Checked]:
    """Returns the results in the order of the files, computed by `jobs` processes.

    If `jobs` is 0, the size of the files determines how many processes are started.
    """
    return map_in_order(
        partial(check_file, request=request), files, jobs, lambda file, reason: Checked(file, [], f"cannot check '{file}': {reason}", 2)
    )


def check_text(text: str, name: str, checks: Checks, *, wants_fixes: bool = False, form: InputForm = _PLAIN) -> list[FileFinding]:
    """Returns the findings in all modules of `text`, sorted by position.

    >>> from hlotool.workspace.rules import RuleChoice
    >>> from hlotool.workspace.settings import Settings
    >>> checks = RuleChoice().checks_for("m.hlo", Settings({}, None))
    >>> [finding.diagnostic.code for finding in check_text("ENTRY e { p = f32[4] parameter(0) ROOT c = f32[5] negate(p) }", "m.hlo", checks)]
    ['T003']
    """
    source = Source(text, name)
    findings: list[FileFinding] = []
    for part in module_sources(text, name, form):
        diagnostics, entry = _check_source(part.source, checks, wants_fixes=wants_fixes, legacy=form.legacy)
        for d in diagnostics:
            d = _adjust(d, checks, part.start)
            findings.append(FileFinding(d, source.line_text(d.line), d.computation is not None and d.computation == entry))
    return sorted(findings, key=lambda f: (f.diagnostic.line, f.diagnostic.column, f.diagnostic.code))


def _check_source(source: Source, checks: Checks, *, wants_fixes: bool, legacy: bool) -> tuple[list[Diagnostic], str | None]:
    """Returns the findings in the source of one module, and the name of its entry computation.

    If the source does not parse as a whole, the parts that do parse are still verified.
    """
    errors: list[Diagnostic] = []
    try:
        try:
            module = parse_source(source, legacy=legacy)
        except ParseError as error:
            errors = error.diagnostics
            module = parse_source(source, strict=False, legacy=legacy)
    except ParseError:
        return errors, None
    diagnostics = check(module, checks.modes, checks.selection, errors)
    if wants_fixes and diagnostics:
        diagnostics = with_fixes(module, diagnostics, rewrite_edits)
    return diagnostics, module.entry.name


def _adjust(d: Diagnostic, checks: Checks, start: int) -> Diagnostic:
    """Returns a diagnostic with the severity from the settings.

    The offsets of its edits become relative to the whole file.
    """
    severity = checks.severities.get(d.code, d.severity)
    if severity != d.severity:
        d = replace(d, severity=severity)
    if d.fix is not None and start:
        edits = tuple(Edit(edit.start + start, edit.end + start, edit.text) for edit in d.fix.edits)
        d = replace(d, fix=Fix(edits, d.fix.title, d.fix.is_safe))
    return d
