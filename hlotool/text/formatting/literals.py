"""Formatted literals: XLA's braces and spaces around the author's numbers."""

from __future__ import annotations

import itertools
import re

from hlotool.errors import Violation
from hlotool.shapes.shape import Shape
from hlotool.text.formatting.pieces import INDEX_MARK, Joiner
from hlotool.text.literals.parse import parse_literal
from hlotool.text.literals.print import literal_text
from hlotool.text.source.trivia import COMMENT

__all__ = ["formatted_literal"]

# Loose literals differ from printed ones in these only.
_UNIMPORTANT = re.compile(r"[\s,]++|/\*i[0-9]++=[0-9]++\*/")
_ROW_MARK = re.compile(r"/\*i[0-9]++=[0-9]++\*/ ?")
_PART = re.compile(rf"{COMMENT}|[{{}}(),]|[^\s{{}}(),/]++")


def formatted_literal(shape: Shape | None, text: str, joiner: Joiner, start: int) -> str:
    """The literal as XLA lays it out, if that keeps all that is written; with comments inside, or numbers that XLA would replace, only
    its spaces are made even. Line comments leave the literal, and do not count."""
    if "//" in text:
        text = _PART.sub(lambda part: _left(part, joiner, start), text)
    if shape is not None:
        try:
            printed = literal_text(parse_literal(shape, text))
        except Violation:
            printed = None
        if printed is not None and (printed == text or _essence(printed) == _essence(text)):
            # Marks as for lists: anew where there are some, none where there are none.
            return printed if "/*" in text else _ROW_MARK.sub("", printed)
    return _respaced(text)


def _essence(text: str) -> str:
    return _UNIMPORTANT.sub("", text)


def _left(part: re.Match[str], joiner: Joiner, start: int) -> str:
    if not part[0].startswith("//"):
        return part[0]
    joiner.hoisted.append((start + part.start(), part[0].rstrip()))
    return ""


def _respaced(text: str) -> str:
    parts = [part for part in _PART.findall(text) if not INDEX_MARK.fullmatch(part)]
    nested = any(part == "{" and before == "{" for before, part in itertools.pairwise(parts))
    out: list[str] = []
    before = ""
    for part in parts:
        if before in ("", "(") or part in (",", ")"):
            glue = ""
        elif before == "{" or part == "}":
            glue = " " if nested and before + part != "{}" else ""
        else:
            glue = " "
        out.append(glue + part)
        before = part
    return "".join(out)
