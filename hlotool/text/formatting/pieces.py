"""Pieces of formatted text, joined with comments and with the spaces in `spacing.SPACING`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from hlotool.text.formatting.spacing import CLOSERS, NO_SPACES, OPENERS, SPACING
from hlotool.text.source.marks import MARK_INTERVAL
from hlotool.text.source.trivia import find_comments

__all__ = ["INDEX_MARK", "Joiner", "Piece", "flatten"]

INDEX_MARK = re.compile(r"/\*i(?:ndex)?[0-9]*=[0-9]+\*/")
"""Matches XLA's index marks in lists and literals. They are rewritten rather than kept."""


class Piece:
    """The formatted text of source[start:end].

    `type` is its grammar rule or terminal; `key` is the name of an attribute, or an opcode.
    """

    __slots__ = ("end", "key", "start", "text", "type")

    def __init__(self, text: str, start: int, end: int, type: str, key: str = "") -> None:  # noqa: A002  # named as in Lark's tokens
        self.text = text
        self.start = start
        self.end = end
        self.type = type
        self.key = key


def flatten(children: Sequence[Any]) -> list[Piece]:
    """Returns the children of a rule as one list of pieces.

    Converts tokens, inlines lists from helper rules, and drops empty children.
    """
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
    """A joiner of the pieces of one source.

    `marks` holds the kinds of lists, "operands" or "shapes", that get index marks.
    """

    def __init__(self, source: str, marks: frozenset[str]) -> None:
        self.source = source
        self.marks = marks
        # The offset and text of each line comment inside an item. These comments move before the
        # item, since nothing can follow them on a line.
        self.hoisted: list[tuple[int, str]] = []

    def comments(self, start: int, end: int) -> str:
        """Returns the block comments between two tokens, joined by spaces.

        Adds line comments to `hoisted`.
        """
        gap = self.source[start:end]
        if "/" not in gap:
            return ""
        comments = []
        for match in find_comments(gap):
            comment = match[0]
            if comment.startswith("//"):
                self.hoisted.append((start + match.start(), comment.rstrip()))
            elif not INDEX_MARK.fullmatch(comment):
                comments.append(comment)
        return " ".join(comments)

    def take_hoisted(self, end: int) -> list[str]:
        """Removes and returns the hoisted comments before offset `end`, in source order."""
        if not self.hoisted:
            return []
        # Attributes are not joined in source order, so the comments must be sorted.
        comments = sorted(self.hoisted)
        self.hoisted = [(offset, comment) for offset, comment in comments if offset >= end]
        return [comment for offset, comment in comments if offset < end]

    def join(self, rule: str, pieces: Sequence[Piece]) -> Piece:
        """Joins the pieces of a grammar rule and drops surplus commas."""
        first = pieces[0]
        if len(pieces) == 1 and first.type != "COMMA":
            return Piece(first.text, first.start, first.end, rule, first.key)
        spacing = SPACING.get(rule, NO_SPACES)
        numbered = spacing.marks in self.marks
        # The brackets of some lists belong to the parent rule, so the first piece may be a surplus
        # comma.
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
            separator = ""
            if separated and not closes:
                members += 1
                separator = spacing.comma + spacing.lead.get(piece.type, "")
                if numbered and members % MARK_INTERVAL == 0:
                    separator += f"/*index={members}*/"
            elif opened or closes:
                separator = spacing.pad if not (opened and closes) or comments else ""
            elif piece.type in spacing.lead:
                separator = spacing.lead[piece.type]
            elif piece.type != "COLON" and before.type != "COLON" and not before.text.endswith("="):
                separator = spacing.between
            if comments:
                left = separator if separator or opened or separated else " "
                separator = f"{left}{comments}{spacing.pad if closes else ' '}"
            text.append(separator)
            text.append(spacing.colon if piece.type == "COLON" else piece.text)
            separated, opened = False, piece.type in OPENERS
        return Piece("".join(text), first.start, pieces[-1].end, rule)
