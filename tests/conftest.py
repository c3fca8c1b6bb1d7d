"""Turns every case file into a test: who adds a case adds a file, not test code.

What the folders mean is the table at the end; the notation inside the files is in `case_files`.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from case_files import (
    Case,
    ExpectedValue,
    case_modes,
    expected_errors,
    expected_line,
    expected_values,
    read_bytes_as_text,
    read_cases,
    write_outputs,
)
from compare import differences

import hlotool
from hlotool.codes import CODE_NAMES, severity_of
from hlotool.errors import Diagnostic, EvaluationError, ParseError, Source
from hlotool.interp.literal import literal_array
from hlotool.interp.values import leaves
from hlotool.ir.model import Module
from hlotool.opdefs.modes import VerifyModes
from hlotool.shapes.shape import Shape
from hlotool.text.literal import parse_literal
from hlotool.text.parser import parse, parse_source
from hlotool.text.print_options import PrintOptions
from hlotool.text.printer import to_text
from hlotool.verify import verify

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
        check = CHECKS[self.path.parent.relative_to(HERE).as_posix()]
        if self.config.getoption("--update"):
            write_outputs(self.path, [_printed(case) for case in read_cases(self.path)])
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


def _evaluated(path: Path, case: Case) -> None:
    wanted = expected_errors(case.text)
    module = _parsed(case.text)
    try:
        value = hlotool.evaluate(module, [])
    except EvaluationError as error:
        found = [(d.line, d.code) for d in error.diagnostics]
        if found != [(e.line, e.code) for e in wanted]:
            raise Mismatch(f"cannot be evaluated: {'; '.join(map(str, error.diagnostics))}") from None
        return
    if wanted:
        raise Mismatch("was evaluated, an error was expected")
    shapes, found_values, expected = list(module.entry.root.shape.leaves()), list(leaves(value)), expected_values(case.text)
    if len(expected) != len(shapes):
        raise Mismatch(f"the result has {len(shapes)} leaves, the case expects {len(expected)}")
    for shape, found_value, line in zip(shapes, found_values, expected, strict=True):
        _same_values(shape, found_value, line)


def _same_values(shape: Shape, found: Any, line: ExpectedValue) -> None:
    # A dynamic result is the array of its actual size.
    wanted = literal_array(parse_literal(shape.with_dimensions(found.shape), line.literal))
    if found.dtype != wanted.dtype or found.shape != wanted.shape:
        raise Mismatch(f"the value is {found.dtype}{list(found.shape)}, not {shape}")
    wide = np.result_type(found.dtype, np.int8) if found.dtype.kind in "biufc" else np.dtype(np.float64)
    a, b = found.astype(wide), wanted.astype(wide)
    if wide.kind == "c":
        a, b = (np.stack([x.real, x.imag]) for x in (a, b))
    same = (a == b) & (np.signbit(a) == np.signbit(b)) if line.exact and wide.kind == "f" else a == b
    if not line.exact:
        tolerance = {8: 1e-12, 4: 1e-5}.get(found.dtype.itemsize // (2 if wide.kind == "c" else 1), 1e-2)
        same |= np.isclose(a, b, rtol=tolerance, atol=1e-6)
    if not (same | ((a != a) & (b != b))).all():
        raise Mismatch(f"the value is\n  {found.tolist()}, wanted\n  {wanted.tolist()}")


def _verified(path: Path, case: Case) -> None:
    module = _parsed(case.text)
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


CHECKS: dict[str, Callable[[Path, Case], None]] = {
    "text/syntax": _printed_like_xla,
    "text/errors": _rejected_like_xla,
    "text/accept": _accepted,
    "text/reject": _rejected,
    "ops": _evaluated,
    "verify": _verified,
}
