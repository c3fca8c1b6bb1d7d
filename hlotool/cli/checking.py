"""Checks one file: text to findings, with what each output needs beside them.

Which files, which rules and which output is decided elsewhere; results can come from another process.
"""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import NamedTuple

from hlotool.cli.inputs import read_input
from hlotool.cli.render import Finding
from hlotool.cli.rule_choice import Checks
from hlotool.cli.workers import in_order
from hlotool.errors import Diagnostic, Edit, Fix, HlotoolError, ParseError, Source

__all__ = ["Checked", "Job", "check_file", "check_files", "check_text", "collapsed"]

# So many findings alike are shown in full.
_MOST_ALIKE = 3
_VARIABLE = re.compile(r"'[^']*'|\([^()]*\)|[a-z][a-z0-9]*\[[^\]]*\](?:\{[^}]*\})?|[0-9]+")


class Job(NamedTuple):
    """What to do with every file."""

    stdin_filename: str = "<stdin>"
    wants_fixes: bool = False


class Checked(NamedTuple):
    """What came of one file; `failure` is set when there is no more to say than one line, `is_bug` when that is our fault."""

    name: str
    findings: list[Finding]
    failure: str | None = None
    exit_code: int = 0
    is_bug: bool = False


def check_file(file: str, checks: Checks, job: Job) -> Checked:
    """Checks a file; every failure is a Checked, so that it can come from another process."""
    try:
        name, text = read_input(file, job.stdin_filename)
        return Checked(name, check_text(text, name, checks, wants_fixes=job.wants_fixes))
    except HlotoolError as error:
        return Checked(file, [], str(error), max(error.exit_code, 2))
    except MemoryError:
        return Checked(file, [], f"not enough memory for '{file}'", 2)
    except Exception as error:
        if os.environ.get("HLOTOOL_DEBUG"):
            traceback.print_exception(error)
        return Checked(file, [], f"{type(error).__name__}: {error}", 3, is_bug=True)


def check_text(text: str, name: str, checks: Checks, *, wants_fixes: bool = False) -> list[Finding]:
    """The findings in all modules of a text, by place."""
    # --help imports this module, and shall not wait for the parser.
    from hlotool.text.parse.parser import decoded, parse_source, parts_of  # noqa: PLC0415
    from hlotool.verifier.engine import check  # noqa: PLC0415

    source = Source(text, name)
    found: list[Finding] = []
    for part in parts_of(decoded(text), name):
        if part.is_separator:
            continue
        entry = None
        try:
            module = parse_source(part.source)
            entry = module.entry.name
            diagnostics = check(module, checks.modes, checks.selection)
            if wants_fixes and diagnostics:
                diagnostics = import_module("hlotool.verifier.fixing").with_fixes(module, diagnostics)
        except ParseError as error:
            diagnostics = _fixes_for_broken(part.source, error.diagnostics) if wants_fixes else error.diagnostics
        for d in diagnostics:
            d = _adjusted(d, checks, part.start)
            found.append(Finding(d, source.line_text(d.line), d.computation is not None and d.computation == entry))
    return sorted(found, key=lambda f: (f.diagnostic.line, f.diagnostic.column, f.diagnostic.code))


def _fixes_for_broken(source: Source, found: list[Diagnostic]) -> list[Diagnostic]:
    """The errors of a text that does not parse, with the fixes that need no more than what can be read of it."""
    fixing = import_module("hlotool.verifier.fixing")
    if fixing.fix_rules().keys().isdisjoint(d.code for d in found):
        return found
    try:
        module = import_module("hlotool.text.parse.parser").parse_source(source, strict=False)
        return fixing.with_fixes(module, found)  # type: ignore[no-any-return]
    except ParseError:
        return found


def _adjusted(d: Diagnostic, checks: Checks, start: int) -> Diagnostic:
    """A diagnostic with the severity that the settings give it, and with edits at their place in the whole file."""
    severity = checks.severities.get(d.code, d.severity)
    if severity != d.severity:
        d = replace(d, severity=severity)
    if d.fix is not None and start:
        edits = tuple(Edit(edit.start + start, edit.end + start, edit.text) for edit in d.fix.edits)
        d = replace(d, fix=Fix(edits, d.fix.title, d.fix.is_safe))
    return d


def check_files(files: Sequence[tuple[str, Checks]], job: Job, jobs: int) -> Iterator[Checked]:
    """The results in the order of the files; from several processes when there are enough of them."""
    return in_order(partial(check_file, job=job), files, jobs)


def collapsed(findings: Sequence[Finding]) -> Iterator[Finding]:
    """The findings of a file, those that say the same many times over as one that tells of the others.

    >>> from hlotool.errors import Diagnostic
    >>> found = [Finding(Diagnostic("T003", "result-shape", "error", f"'a.{k}' is wrong", computation="e"), "") for k in range(5)]
    >>> [f.alike for f in collapsed(found)]
    ["4 more like it in 'e'"]
    """
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        d = finding.diagnostic
        groups.setdefault((d.code, _VARIABLE.sub("_", d.message)), []).append(finding)
    if all(len(group) <= _MOST_ALIKE for group in groups.values()):
        yield from findings
        return
    alike = {id(group[0]): group for group in groups.values() if len(group) > _MOST_ALIKE}
    hidden = {id(finding) for group in alike.values() for finding in group[1:]}
    for finding in findings:
        if id(finding) in alike:
            yield finding._replace(alike=_others(alike[id(finding)][1:]))
        elif id(finding) not in hidden:
            yield finding


def _others(group: Sequence[Finding]) -> str:
    names = list(dict.fromkeys(f.diagnostic.computation for f in group if f.diagnostic.computation))
    shown = " and ".join(f"'{name}'" for name in names[:2]) if len(names) <= 2 else f"'{names[0]}' and {len(names) - 1} other computations"
    return f"{len(group)} more like it" + (f" in {shown}" if names else "")
