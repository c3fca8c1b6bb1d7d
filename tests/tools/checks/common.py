"""What the checks of cases share: how a mismatch is told, and texts compared line by line."""

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
    """What a case says and what hlotool does differ; shown without a traceback."""


def compare_findings(found: Iterable[Diagnostic], wanted: list[Expected]) -> None:
    """Demands exactly the announced findings, with their columns and words where these are announced."""
    found = sorted(found, key=lambda d: (d.line, d.code))
    shown = "\n  ".join(f"{d} [{d.hint}]" for d in found)
    if [(d.line, d.code) for d in found] != [(e.line, e.code) for e in wanted]:
        raise Mismatch(f"wanted {[f'{e.code} on line {e.line}' for e in wanted]}, found\n  {shown}")
    for expected, d in zip(wanted, found, strict=True):
        if expected.words not in f"{d.message} [{d.hint}] {d.notes}":
            raise Mismatch(f"'{expected.words}' is neither in message, hint nor notes of\n  {d} [{d.hint}]")
        if expected.column and expected.column != d.column:
            raise Mismatch(f"points to column {d.column}, wanted {expected.column}:\n  {d}")
        if (expected.is_warning and d.severity == "error") or (d.severity != "error" == severity_of(d.code) and not expected.is_warning):
            raise Mismatch(f"is of severity {d.severity}:\n  {d}")


def parsed(text: str, filename: str = "<string>") -> Module:
    """The module, by both paths of the parser, which must agree; its constants are held as the test asks for."""
    try:
        fast = parse_source(Source(text, filename))
    except ParseError as error:
        raise Mismatch(f"does not parse: {'; '.join(map(str, error.diagnostics))}") from None
    found = differences(fast, parse_source(Source(text), fast_path=False))
    if found:
        raise Mismatch(f"fast and grammar path differ: {found[:3]}")
    return as_held(fast)


def same(wanted: str, found: str, what: str) -> None:
    for number, (a, b) in enumerate(zip([*wanted.rstrip().split("\n"), "<end>"], [*found.rstrip().split("\n"), "<end>"], strict=False), 1):
        if a != b:
            raise Mismatch(f"{what}, line {number}:\n  wanted {a}\n  found  {b}")
