"""Checks cases of the formatter, which must preserve the module and its comments."""

from __future__ import annotations

from pathlib import Path

import pytest
from case_files import Case, style_of

from checks.common import Mismatch, same
from hlotool.errors import HlotoolError, ParseError
from hlotool.ir.equal import differences
from hlotool.text.formatting import formatter
from hlotool.text.formatting.formatter import format_text
from hlotool.text.formatting.style import FormatStyle
from hlotool.text.parse.line_reader import NoLines
from hlotool.text.parse.parser import parse_all

__all__ = ["formatted_or_none", "formatted_well"]


def _formatted(case: Case) -> str:
    width, lines = style_of(case.text)
    return format_text(case.text, FormatStyle(width=width), lines=lines)


def formatted_or_none(case: Case) -> str | None:
    try:
        return _formatted(case)
    except HlotoolError:
        return None


def _formatted_by_the_grammar_alone(case: Case) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(formatter, "LineFormatter", lambda session, callback: NoLines())
        return _formatted(case)


def formatted_well(path: Path, case: Case) -> None:
    try:
        found = _formatted(case)
    except ParseError as error:
        raise Mismatch(f"does not parse: {'; '.join(map(str, error.diagnostics))}") from None
    wanted = case.text if case.output is None else case.output
    same(wanted, found, "the formatted text differs")
    if wanted != found:
        raise Mismatch("only whitespace at the end differs")
    before, after = (parse_all(text, strict=False) for text in (case.text, found))
    for a, b in zip(before, after, strict=True):
        for difference in differences(a, b):
            raise Mismatch(f"formatting changes the module: {difference}")
    # In the formatted text, a range of lines would select different lines.
    if style_of(case.text)[1] is None:
        same(found, _formatted(Case(found, 1, None)), "formatting the text again changes it")
    same(found, _formatted_by_the_grammar_alone(case), "the line formatter and the grammar disagree")
