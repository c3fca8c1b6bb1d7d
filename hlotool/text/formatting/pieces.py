"""Formatted parts of a text and how they are joined: spaces by the table of spacing, comments kept at their place.

It knows rules by name only; what a whole line looks like is decided in `callbacks` and `writer`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from hlotool.text.formatting.spacing import CLOSERS, OPENERS, SPACING, TIGHT
from hlotool.text.source.marks import MARK_INTERVAL
from hlotool.text.source.trivia import COMMENT

__all__ = ["INDEX_MARK", "Joiner", "Piece", "flat"]

_COMMENT = re.compile(COMMENT)
INDEX_MARK = re.compile(r"/\*i(?:ndex)?[0-9]*=[0-9]+\*/")
"""What XLA numbers lists and literals with: made anew, not kept."""


class Piece:
    """Formatted text of source[start:end]; `type` is its grammar rule or terminal, `key` the name of an attribute."""

    __slots__ = ("end", "key", "start", "text", "type")

    def __init__(self, text: str, start: int, end: int, type: str, key: str = "") -> None:  # noqa: A002  # as tokens have it
        self.text = text
        self.start = start
        self.end = end
        self.type = type
        self.key = key


def flat(children: Sequence[Any]) -> list[Piece]:
    """The children of a rule, with those of its helper rules and with tokens made pieces; what is empty has no place and is left out."""
    pieces: list[Piece] = []
    for child in children:
        if isinstance(child, Piece):
            if child.end > child.start:
                pieces.append(child)
        elif isinstance(child, list):
            pieces += child
        elif child is not None and child.end_pos > child.start_pos:
            pieces.append(Piece(str(child), child.start_pos, child.end_pos, child.type))
    return pieces


class Joiner:
    """Joins pieces of one source; `marks` are the kinds of lists whose members are numbered."""

    def __init__(self, source: str, marks: frozenset[str]) -> None:
        self.source = source
        self.marks = marks
        # Line comments inside an instruction: they go before it, since nothing can follow them on their line.
        self.hoisted: list[tuple[int, str]] = []

    def comments(self, start: int, end: int) -> str:
        """The block comments between two tokens; line comments are put by for a line of their own."""
        gap = self.source[start:end]
        if "/" not in gap:
            return ""
        found = []
        for match in _COMMENT.finditer(gap):
            comment = match[0]
            if comment.startswith("//"):
                self.hoisted.append((start + match.start(), comment.rstrip()))
            elif not INDEX_MARK.fullmatch(comment):
                found.append(comment)
        return " ".join(found)

    def take_hoisted(self, end: int) -> list[str]:
        """The comments that go before the item that ends at `end`, in the order of the source; parts are joined in another."""
        if not self.hoisted:
            return []
        found = sorted(self.hoisted)
        self.hoisted = [(at, comment) for at, comment in found if at >= end]
        return [comment for at, comment in found if at < end]

    def join(self, rule: str, pieces: Sequence[Piece]) -> Piece:
        """One piece of the parts of a rule; surplus commas are dropped."""
        first = pieces[0]
        if len(pieces) == 1 and first.type != "COMMA":
            return Piece(first.text, first.start, first.end, rule, first.key)
        spacing = SPACING.get(rule, TIGHT)
        numbered = spacing.marks in self.marks
        # Some lists have no brackets of their own, so that they may begin with a surplus comma.
        text = ["" if first.type == "COMMA" else first.text]
        opened = first.type in OPENERS or first.type == "COMMA"
        members, separated = 0, False
        for before, piece in pairwise(pieces):
            comments = self.comments(before.end, piece.start)
            if piece.type == "COMMA":
                if comments:
                    text.append(comments if opened else f" {comments}")
                    opened = False
                separated = not opened
                continue
            closes = piece.type in CLOSERS
            glue = ""
            if separated and not closes:
                members += 1
                glue = spacing.comma + spacing.lead.get(piece.type, "")
                if numbered and members % MARK_INTERVAL == 0:
                    glue += f"/*index={members}*/"
            elif opened or closes:
                glue = spacing.pad if not (opened and closes) or comments else ""
            elif piece.type in spacing.lead:
                glue = spacing.lead[piece.type]
            elif piece.type != "COLON" and before.type != "COLON" and not before.text.endswith("="):
                glue = spacing.between
            if comments:
                left = glue if glue or opened or separated else " "
                glue = f"{left}{comments}{spacing.pad if closes else ' '}"
            text.append(glue)
            text.append(spacing.colon if piece.type == "COLON" else piece.text)
            separated, opened = False, piece.type in OPENERS
        return Piece("".join(text), first.start, pieces[-1].end, rule)
