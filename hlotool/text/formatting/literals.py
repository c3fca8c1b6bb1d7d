"""Formats literals, with braces and spaces as XLA prints them and numbers as written."""

from __future__ import annotations

import itertools
import re

from hlotool.errors import Violation
from hlotool.literals.parse import parse_literal
from hlotool.literals.print import literal_text
from hlotool.shapes.shape import Shape
from hlotool.text.formatting.pieces import INDEX_MARK, Joiner
from hlotool.text.source.trivia import COMMENT

__all__ = ["format_literal"]

# The characters that formatting a literal may add or remove.
_INSIGNIFICANT = re.compile(r"[\s,]++|/\*i[0-9]++=[0-9]++\*/")
_ROW_MARK = re.compile(r"/\*i[0-9]++=[0-9]++\*/ ?")
_PART = re.compile(rf"{COMMENT}|[{{}}(),]|[^\s{{}}(),/]++")


def format_literal(shape: Shape | None, text: str, joiner: Joiner, start: int) -> str:
    """Formats the literal `text`, at offset `start` in the source, as a value of `shape`.

    The result has XLA's braces and index marks, provided that every number stays as written. If XLA
    would write a number differently, or if the literal has block comments, only the spaces change.
    Line comments are moved out of the literal first.
    """
    if "//" in text:
        text = _PART.sub(lambda part: _hoist_line_comment(part, joiner, start), text)
    if shape is not None:
        try:
            printed = literal_text(parse_literal(shape, text))
        except Violation:
            printed = None
        if printed is not None and (printed == text or _significant(printed) == _significant(text)):
            # As in lists, existing index marks are rewritten, but none are added.
            return printed if "/*" in text else _ROW_MARK.sub("", printed)
    return _normalize_spaces(text)


def _significant(text: str) -> str:
    return _INSIGNIFICANT.sub("", text)


def _hoist_line_comment(part: re.Match[str], joiner: Joiner, start: int) -> str:
    if not part[0].startswith("//"):
        return part[0]
    joiner.hoisted.append((start + part.start(), part[0].rstrip()))
    return ""


def _normalize_spaces(text: str) -> str:
    parts = [part for part in _PART.findall(text) if not INDEX_MARK.fullmatch(part)]
    nested = any(part == "{" and before == "{" for before, part in itertools.pairwise(parts))
    out: list[str] = []
    before = ""
    for part in parts:
        if before in ("", "(") or part in (",", ")"):
            separator = ""
        elif before == "{" or part == "}":
            separator = " " if nested and before + part != "{}" else ""
        else:
            separator = " "
        out.append(separator + part)
        before = part
    return "".join(out)
