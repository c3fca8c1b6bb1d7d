"""Turns every case file into a test: who adds a case adds a file, not test code.

What the folders mean is the table at the end; the notation inside the files is in `case_files`.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from case_files import (
    Case,
    expected_errors,
    expected_line,
    read_bytes_as_text,
    read_cases,
    style_of,
    write_outputs,
)
from compare import differences

from hlotool.errors import Diagnostic, HlotoolError, ParseError, Source
from hlotool.ir.equal import differences as different
from hlotool.ir.model import Module
from hlotool.text.formatting import formatter
from hlotool.text.formatting.formatter import format_text
from hlotool.text.formatting.session import NoLines
from hlotool.text.formatting.style import FormatStyle
from hlotool.text.parser import parse, parse_all, parse_source
from hlotool.text.print_options import PrintOptions
from hlotool.text.printer import to_text

HERE = Path(__file__).parent
XLA = PrintOptions.xla_default()
XLA_WITH_CONSTANTS = dataclasses.replace(XLA, print_large_constants=True)

# The corpus is large and lies outside the project: its tests exist only for those who have it.
collect_ignore = [] if os.environ.get("HLOTOOL_CORPUS") else ["corpus"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite the `// output` sections of case files with what hlotool prints")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--update") and os.environ.get("CI"):
        raise pytest.UsageError("--update rewrites expectations; it is not for CI")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix != ".hlo" or file_path.name.endswith(".printed.hlo"):
        return None
    folder = file_path.parent.relative_to(HERE).as_posix() if file_path.is_relative_to(HERE) else ""
    return CaseFile.from_parent(parent, path=file_path) if folder in CHECKS else None


class Mismatch(Exception):
    """What a case says and what hlotool does differ; shown without a traceback."""


class CaseFile(pytest.File):
    """One `.hlo` file: a test for each of its cases."""

    def collect(self) -> Iterable[pytest.Item]:
        folder = self.path.parent.relative_to(HERE).as_posix()
        check = CHECKS[folder]
        if self.config.getoption("--update"):
            made = OUTPUTS.get(folder, _printed)
            write_outputs(self.path, [made(case) for case in read_cases(self.path)])
        for number, case in enumerate(read_cases(self.path), 1):
            yield CaseItem.from_parent(self, name=f"case{number}", case=case, check=check)


class CaseItem(pytest.Item):
    """One case of a file."""

    def __init__(self, *, case: Case, check: Callable[[Path, Case], None], **rest: object) -> None:
        super().__init__(**rest)  # type: ignore[arg-type]
        self.case = case
        self.check = check

    def runtest(self) -> None:
        self.check(self.path, self.case)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, Mismatch):
            return f"{self.path.relative_to(HERE.parent)}:{self.case.first_line}: {excinfo.value}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.case.first_line - 1, f"{self.path.relative_to(HERE.parent).as_posix()}::{self.name}"


# ---- what each kind of case must do -----------------------------------------------------------------------------------


def _printed(case: Case) -> str | None:
    try:
        return to_text(parse(case.text), XLA).rstrip("\n") + "\n" if case.output is not None else None
    except ParseError:
        return None


def _parsed(text: str) -> Module:
    """The module, by both paths of the parser, which must agree."""
    try:
        fused = parse_source(Source(text))
    except ParseError as error:
        raise Mismatch(f"does not parse: {'; '.join(map(str, error.diagnostics))}") from None
    found = differences(fused, parse_source(Source(text), fused=False))
    if found:
        raise Mismatch(f"fused and slow path differ: {found[:3]}")
    return fused


def _same(wanted: str, found: str, what: str) -> None:
    for number, (a, b) in enumerate(zip([*wanted.rstrip().split("\n"), "<end>"], [*found.rstrip().split("\n"), "<end>"], strict=False), 1):
        if a != b:
            raise Mismatch(f"{what}, line {number}:\n  wanted {a}\n  found  {b}")


def _lossless(module: Module) -> None:
    """The lossless print reads back as a module that prints the same, losslessly and as XLA prints."""
    text = to_text(module)
    again = _parsed(text)
    _same(text, to_text(again), "the lossless print is no fixed point")
    _same(to_text(module, XLA), to_text(again, XLA), "the lossless print lost what XLA's print shows")


def _accepted(path: Path, case: Case) -> None:
    module = _parsed(case.text)
    if case.output is not None:
        _same(case.output, to_text(module, XLA), "the print differs")
    _lossless(module)


def _printed_like_xla(path: Path, case: Case) -> None:
    wanted = read_bytes_as_text(path.with_name(path.stem + ".printed.hlo"))
    module = _parsed(read_bytes_as_text(path))
    _same(wanted, to_text(module, XLA_WITH_CONSTANTS), "the print differs from XLA's")
    _lossless(module)
    if _parsed(wanted).fused_count == 0:
        raise Mismatch("the fused path read nothing of XLA's print")


def _faults(text: str) -> list[Diagnostic]:
    """What is wrong with a text, which both paths of the parser must refuse on the same line."""
    found = []
    for fused in (False, True):
        try:
            parse_source(Source(text), fused=fused)
        except ParseError as error:
            found.append(error.diagnostics)
        else:
            raise Mismatch(f"was accepted by the {'fused' if fused else 'slow'} path")
    slow, fast = found
    if [(d.line, d.code) for d in slow] != [(d.line, d.code) for d in fast]:
        raise Mismatch(f"the paths report different things:\n  slow  {list(map(str, slow))}\n  fused {list(map(str, fast))}")
    return fast


def _rejected(path: Path, case: Case) -> None:
    wanted = expected_errors(case.text)
    if not wanted:
        raise Mismatch("a case that is refused announces it with `// error: CODE`")
    found = sorted(_faults(case.text), key=lambda d: (d.line, d.code))
    shown = "\n  ".join(f"{d} [{d.hint}]" for d in found)
    if [(d.line, d.code) for d in found] != [(e.line, e.code) for e in wanted]:
        raise Mismatch(f"wanted {[f'{e.code} on line {e.line}' for e in wanted]}, found\n  {shown}")
    for expected, diagnostic in zip(wanted, found, strict=True):
        if expected.words not in f"{diagnostic.message} [{diagnostic.hint}]":
            raise Mismatch(f"'{expected.words}' is neither in message nor hint of\n  {diagnostic} [{diagnostic.hint}]")


def _rejected_like_xla(path: Path, case: Case) -> None:
    text = read_bytes_as_text(path)
    found = _faults(text)
    allowed = expected_line(path.with_suffix(".err").read_text(encoding="utf-8"), text)
    if allowed and found[0].line not in allowed:
        raise Mismatch(f"XLA points at line {sorted(allowed)}, found {found[0]}")


def _formatted(case: Case) -> str:
    width, lines = style_of(case.text)
    return format_text(case.text, FormatStyle(width=width), lines=lines)


def _formatted_or_none(case: Case) -> str | None:
    try:
        return _formatted(case)
    except HlotoolError:
        return None


def _formatted_by_the_grammar_alone(case: Case) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(formatter, "FormattedLines", lambda session, automaton: NoLines())
        return _formatted(case)


def _formatted_well(path: Path, case: Case) -> None:
    try:
        found = _formatted(case)
    except ParseError as error:
        raise Mismatch(f"does not parse: {'; '.join(map(str, error.diagnostics))}") from None
    wanted = case.text if case.output is None else case.output
    _same(wanted, found, "the formatted text differs")
    if wanted != found:
        raise Mismatch("only blanks at the end differ")
    before, after = (parse_all(text, strict=False) for text in (case.text, found))
    for a, b in zip(before, after, strict=True):
        for difference in different(a, b):
            raise Mismatch(f"another module: {difference}")
    # A range names other lines in the new text.
    if style_of(case.text)[1] is None:
        _same(found, _formatted(Case(found, 1, None)), "it is no fixed point")
    _same(found, _formatted_by_the_grammar_alone(case), "line by line and by the grammar it is formatted differently")


CHECKS: dict[str, Callable[[Path, Case], None]] = {
    "text/syntax": _printed_like_xla,
    "text/errors": _rejected_like_xla,
    "text/accept": _accepted,
    "text/reject": _rejected,
    "text/formatting": _formatted_well,
}
# What `--update` writes, where it is not XLA's print.
OUTPUTS: dict[str, Callable[[Case], str | None]] = {"text/formatting": _formatted_or_none}
