"""A search of HLO files for opcodes and attributes that the op table lacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hlotool.errors import Diagnostic, ParseError
from hlotool.text.parse.parser import parse_all
from hlotool.text.source.files import read_text

__all__ = ["coverage"]

_UNKNOWN = ("S012", "S015", "M017")


def coverage(paths: Iterable[str]) -> Iterator[str]:
    """Yields a line for each opcode or attribute that the op table lacks, most frequent first."""
    locations: dict[str, list[Diagnostic]] = {}
    for path in paths:
        for diagnostic in _diagnostics(path):
            if diagnostic.code in _UNKNOWN:
                locations.setdefault(diagnostic.message, []).append(diagnostic)
    for message, diagnostics in sorted(locations.items(), key=lambda item: (-len(item[1]), item[0])):
        first = diagnostics[0]
        yield f"{len(diagnostics):>6}  {message}  ({first.filename}:{first.line})"


def _diagnostics(path: str) -> list[Diagnostic]:
    try:
        return [diagnostic for module in parse_all(read_text(path), path, strict=False) for diagnostic in module.diagnostics]
    except ParseError as error:
        return error.diagnostics
