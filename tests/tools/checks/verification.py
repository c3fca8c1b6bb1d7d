"""Cases of the verifier: exactly the announced findings, at their places."""

from __future__ import annotations

from pathlib import Path

from case_files import Case, case_modes, expected_errors, read_cases

from checks.common import compare_findings, parsed
from hlotool.codes import CODE_NAMES, severity_of
from hlotool.opdefs.modes import VerifyModes
from hlotool.verifier.engine import verify

__all__ = ["verified"]


def verified(path: Path, case: Case) -> None:
    # Some rules are about the file's name.
    module = parsed(case.text, path.name)
    modes = case_modes(case.text)
    wanted = expected_errors(case.text)
    # Lints have opinions about every module: only those count that the file is about.
    selected = {e.code for other in read_cases(path) for e in expected_errors(other.text)} | {c for c in CODE_NAMES if severity_of(c) == "error"}
    compare_findings(verify(module, VerifyModes(**modes), select=sorted(selected)), wanted)
