"""Helpers shared by the checks of cases: mismatches, and line-by-line comparison."""

from __future__ import annotations

from collections.abc import Iterable

from case_files import Expected
from compare import differences
from held import as_held

from hlotool.codes import severity_of
from hlotool.errors import Diagnostic, ParseError, Source
from hlotool.ir.model import Module
from hlotool.text.parse.parser import parse_source

__all__ = ["Mismatch", "compare_findings", "parsed", "same"]


class Mismatch(Exception):
    """Raised if hlotool does not do what a case expects; shown without a traceback."""


def compare_findings(found: Iterable[Diagnostic], wanted: list[Expected]) -> None:
    """Checks that the findings are exactly those that a case announces.

    Columns and words are compared only if the case gives them.
    """
    found = sorted(found, key=lambda d: (d.line, d.code))
    shown = "\n  ".join(f"{d} [{d.hint}]" for d in found)
    if [(d.line, d.code) for d in found] != [(e.line, e.code) for e in wanted]:
        raise Mismatch(f"wanted {[f'{e.code} on line {e.line}' for e in wanted]}, found\n  {shown}")
    for expected, d in zip(wanted, found, strict=True):
        if expected.words not in f"{d.message} [{d.hint}] {d.notes}":
            raise Mismatch(f"'{expected.words}' is in neither the message, the hint nor the notes of\n  {d} [{d.hint}]")
        if expected.column and expected.column != d.column:
            raise Mismatch(f"reported in column {d.column}, wanted column {expected.column}:\n  {d}")
        if (expected.is_warning and d.severity == "error") or (d.severity != "error" == severity_of(d.code) and not expected.is_warning):
            raise Mismatch(f"reported with the wrong severity, {d.severity}:\n  {d}")


def parsed(text: str, filename: str = "<string>") -> Module:
    """Parses a text with both paths of the parser, which must agree.

    The constants of the result are stored as text or as bytes, depending on the test.
    """
    try:
        fast = parse_source(Source(text, filename))
    except ParseError as error:
        raise Mismatch(f"does not parse: {'; '.join(map(str, error.diagnostics))}") from None
    found = differences(fast, parse_source(Source(text), fast_path=False))
    if found:
        raise Mismatch(f"the fast path and the grammar path differ: {found[:3]}")
    return as_held(fast)


def same(wanted: str, found: str, what: str) -> None:
    for number, (a, b) in enumerate(zip([*wanted.rstrip().split("\n"), "<end>"], [*found.rstrip().split("\n"), "<end>"], strict=False), 1):
        if a != b:
            raise Mismatch(f"{what}, line {number}:\n  wanted {a}\n  found  {b}")
