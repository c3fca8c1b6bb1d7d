"""Checks cases of the text layer: accepted modules with their printed text, and rejected input."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from case_files import Case, expected_errors, expected_line, read_bytes_as_text

from checks.common import Mismatch, compare_findings, parsed, same
from hlotool.errors import Diagnostic, ParseError, Source
from hlotool.ir.model import Module
from hlotool.text.parse.parser import parse, parse_source
from hlotool.text.print.print_options import PrintOptions
from hlotool.text.print.printer import to_text
from hlotool.verifier.fixing import apply_edits

__all__ = ["accepted", "modern_print", "modernized", "printed", "printed_like_xla", "rejected", "rejected_like_xla"]

XLA = PrintOptions.xla_default()
XLA_WITH_CONSTANTS = dataclasses.replace(XLA, print_large_constants=True)


def printed(case: Case) -> str | None:
    try:
        return to_text(parse(case.text), XLA).rstrip("\n") + "\n" if case.output is not None else None
    except ParseError:
        return None


def _lossless(module: Module) -> None:
    """Checks that the lossless text parses back to a module that prints the same text.

    The two modules must print the same text with lossless options and with XLA's options.
    """
    text = to_text(module)
    again = parsed(text)
    same(text, to_text(again), "the lossless text changes when it is parsed and printed again")
    same(to_text(module, XLA), to_text(again, XLA), "the lossless text lost something that XLA prints")


def accepted(path: Path, case: Case) -> None:
    module = parsed(case.text)
    if case.output is not None:
        same(case.output, to_text(module, XLA), "the printed text differs")
    _lossless(module)


def printed_like_xla(path: Path, case: Case) -> None:
    wanted = read_bytes_as_text(path.with_name(path.stem + ".printed.hlo"))
    module = parsed(read_bytes_as_text(path))
    same(wanted, to_text(module, XLA_WITH_CONSTANTS), "the text differs from the text that XLA prints")
    _lossless(module)
    if parsed(wanted).notes.fast_count == 0:
        raise Mismatch("the fast path parsed no part of the text that XLA printed")


def _faults(text: str) -> list[Diagnostic]:
    """Returns the errors that both paths of the parser must report for a text."""
    found = []
    for fast_path in (False, True):
        try:
            parse_source(Source(text), fast_path=fast_path)
        except ParseError as error:
            found.append(error.diagnostics)
        else:
            raise Mismatch(f"was accepted by the {'fast' if fast_path else 'grammar'} path")
    slow, fast = found
    if [(d.line, d.code) for d in slow] != [(d.line, d.code) for d in fast]:
        raise Mismatch(f"the paths report different errors:\n  grammar {list(map(str, slow))}\n  fast    {list(map(str, fast))}")
    return fast


def rejected(path: Path, case: Case) -> None:
    wanted = expected_errors(case.text)
    if not wanted:
        raise Mismatch("a rejected case needs a comment `// error: CODE`")
    compare_findings(_faults(case.text), wanted)


def modernized(path: Path, case: Case) -> None:
    """Checks a module in an older format.

    The module must be rejected with a hint, `legacy=True` must accept it, and the fixes for its
    warnings must rewrite it in the current format. The lines that end with `// old`, and no others,
    must have warnings.
    """
    faults = _faults(case.text)
    if "--legacy" not in (faults[0].hint or ""):
        raise Mismatch(f"the first error's hint does not mention --legacy: {faults[0]} ({faults[0].hint})")
    module = parse(case.text, legacy=True)
    wanted = [number for number, line in enumerate(case.text.split("\n"), 1) if line.endswith("// old")]
    found = sorted({d.line for d in module.diagnostics})
    if found != wanted or any(d.code != "W060" for d in module.diagnostics):
        raise Mismatch(f"wanted warnings on lines {wanted}, found {list(map(str, module.diagnostics))}")
    same(case.output or "", to_text(module, XLA), "the printed text differs")
    _lossless(module)
    edits = sorted(edit for d in module.diagnostics if d.fix is not None for edit in d.fix.edits)
    same(case.output or "", to_text(parsed(apply_edits(case.text, edits)), XLA), "applying the fixes does not give the expected module")


def modern_print(case: Case) -> str | None:
    return to_text(parse(case.text, legacy=True), XLA).rstrip("\n") + "\n"


def rejected_like_xla(path: Path, case: Case) -> None:
    text = read_bytes_as_text(path)
    found = _faults(text)
    allowed = expected_line(path.with_suffix(".err").read_text(encoding="utf-8"), text)
    if allowed and found[0].line not in allowed:
        raise Mismatch(f"XLA's message points to one of the lines {sorted(allowed)}, found {found[0]}")
