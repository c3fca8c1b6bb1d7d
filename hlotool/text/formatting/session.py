"""State of one formatter run for Lark's callbacks: writer, joiner and the parser's fast path."""

from __future__ import annotations

from typing import cast

from hlotool.errors import Violation
from hlotool.shapes.shape import Shape
from hlotool.text.formatting.literals import format_literal
from hlotool.text.formatting.pieces import Joiner
from hlotool.text.formatting.writer import Writer
from hlotool.text.parse.fast_path import FastPath
from hlotool.text.parse.lexer import ACTIVE
from hlotool.text.parse.line_reader import NoLines
from hlotool.text.parse.patterns import NeedsGrammar
from hlotool.text.parse.session import LexerSession

__all__ = ["FormatSession", "current_session"]


class FormatSession(LexerSession):
    """The state of one formatter run.

    Lines take the grammar path until `fast_path` is set. `path` is the parser's fast path from the
    preceding parse.
    """

    __slots__ = ("joiner", "path", "writer")

    def __init__(self, joiner: Joiner, writer: Writer, path: FastPath) -> None:
        super().__init__(NoLines(), joiner.source)
        self.joiner = joiner
        self.writer = writer
        self.path = path

    def hoist(self, start: int, end: int) -> None:
        """Moves all comments between two tokens, even block comments, before the current item."""
        comments = self.joiner.comments(start, end)
        if comments:
            self.joiner.hoisted.append((start, comments))

    def literal(self, shape_text: str, text: str, start: int) -> str:
        """Formats the literal at offset `start`; `shape_text` is its shape and may be empty."""
        shape: Shape | None = None
        if shape_text:
            try:
                shape = self.path.parts.segments.shapes[shape_text]
            except (NeedsGrammar, Violation):
                shape = None
        return format_literal(shape, text, self.joiner, start)


def current_session() -> FormatSession:
    """Returns the session of the run in progress in this thread."""
    return cast("FormatSession", ACTIVE.session)
