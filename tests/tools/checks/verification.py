"""Checks cases of the verifier: exactly the announced findings, at their positions.

Cases may also contain errors that the parser reports.
"""

from __future__ import annotations

from pathlib import Path

from case_files import Case, case_modes, expected_errors, read_cases

from checks.common import compare_findings, parsed
from hlotool.codes import CODE_NAMES, severity_of
from hlotool.errors import Diagnostic, ParseError, Source
from hlotool.opdefs.modes import VerifyModes
from hlotool.text.parse.parser import parse_source
from hlotool.verifier.engine import check
from hlotool.verifier.selection import Selection

__all__ = ["verified"]


def verified(path: Path, case: Case) -> None:
    wanted = expected_errors(case.text)
    # Some rules check the name of the file.
    source = Source(case.text, path.name)
    errors: list[Diagnostic] = []
    try:
        parse_source(source)
    except ParseError as error:
        errors = error.diagnostics
    module = parse_source(source, strict=False) if errors else parsed(case.text, path.name)
    # Most modules trigger some lint, so the only lints that are selected are those that the file
    # announces.
    selected = {e.code for other in read_cases(path) for e in expected_errors(other.text)} | {c for c in CODE_NAMES if severity_of(c) == "error"}
    compare_findings(check(module, VerifyModes(**case_modes(case.text)), Selection(sorted(selected)), errors), wanted)
