"""What the checks of cases share: how a mismatch is told, and texts compared line by line."""

from __future__ import annotations

from compare import differences

from hlotool.errors import ParseError, Source
from hlotool.ir.model import Module
from hlotool.text.parser import parse_source

__all__ = ["Mismatch", "parsed", "same"]


class Mismatch(Exception):
    """What a case says and what hlotool does differ; shown without a traceback."""


def parsed(text: str, filename: str = "<string>") -> Module:
    """The module, by both paths of the parser, which must agree."""
    try:
        fused = parse_source(Source(text, filename))
    except ParseError as error:
        raise Mismatch(f"does not parse: {'; '.join(map(str, error.diagnostics))}") from None
    found = differences(fused, parse_source(Source(text), fused=False))
    if found:
        raise Mismatch(f"fused and slow path differ: {found[:3]}")
    return fused


def same(wanted: str, found: str, what: str) -> None:
    for number, (a, b) in enumerate(zip([*wanted.rstrip().split("\n"), "<end>"], [*found.rstrip().split("\n"), "<end>"], strict=False), 1):
        if a != b:
            raise Mismatch(f"{what}, line {number}:\n  wanted {a}\n  found  {b}")
