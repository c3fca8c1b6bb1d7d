"""Cases of the verifier: exactly the announced findings, at their places."""

from __future__ import annotations

from pathlib import Path

from case_files import Case, case_modes, expected_errors, read_cases

from checks.common import Mismatch, parsed
from hlotool.codes import CODE_NAMES, severity_of
from hlotool.opdefs.modes import VerifyModes
from hlotool.verify import verify

__all__ = ["verified"]


def verified(path: Path, case: Case) -> None:
    # Some rules are about the file's name.
    module = parsed(case.text, path.name)
    modes = case_modes(case.text)
    wanted = expected_errors(case.text)
    # Lints have opinions about every module: only those count that the file is about.
    selected = {e.code for other in read_cases(path) for e in expected_errors(other.text)} | {c for c in CODE_NAMES if severity_of(c) == "error"}
    found = sorted(verify(module, VerifyModes(**modes), select=sorted(selected)), key=lambda d: (d.line, d.code))
    shown = "\n  ".join(f"{d} [{d.hint}]" for d in found)
    if [(d.line, d.code) for d in found] != [(e.line, e.code) for e in wanted]:
        raise Mismatch(f"wanted {[f'{e.code} on line {e.line}' for e in wanted]}, found\n  {shown}")
    for expected, diagnostic in zip(wanted, found, strict=True):
        if expected.words not in f"{diagnostic.message} [{diagnostic.hint}] {diagnostic.notes}":
            raise Mismatch(f"'{expected.words}' is neither in message, hint nor notes of\n  {diagnostic} [{diagnostic.hint}]")
        if expected.column and expected.column != diagnostic.column:
            raise Mismatch(f"points to column {diagnostic.column}, wanted {expected.column}:\n  {diagnostic}")
