"""What one run of the formatter carries through Lark: the writer, the joiner, and the parse whose memos it reads."""

from __future__ import annotations

from typing import cast

from hlotool.errors import Violation
from hlotool.shapes.shape import Shape
from hlotool.text.formatting.literals import formatted_literal
from hlotool.text.formatting.pieces import Joiner
from hlotool.text.formatting.writer import Writer
from hlotool.text.parse.fast_path import FastPath
from hlotool.text.parse.lexer import ACTIVE
from hlotool.text.parse.line_reader import NoLines
from hlotool.text.parse.segments import Stop
from hlotool.text.parse.session import LexerSession

__all__ = ["FormatSession", "current"]


class FormatSession(LexerSession):
    """The state of one run; without a reader of lines everything goes by the grammar."""

    __slots__ = ("joiner", "path", "writer")

    def __init__(self, joiner: Joiner, writer: Writer, path: FastPath) -> None:
        super().__init__(NoLines(), joiner.source)
        self.joiner = joiner
        self.writer = writer
        self.path = path

    def hoist(self, start: int, end: int) -> None:
        """Puts the comments between two tokens, which have no place of their own, before the item that is being made."""
        comments = self.joiner.comments(start, end)
        if comments:
            self.joiner.hoisted.append((start, comments))

    def literal(self, shape_text: str, text: str, start: int) -> str:
        """The text of a constant laid out by its shape; it stands at `start` in the source."""
        shape: Shape | None = None
        if shape_text:
            try:
                shape = self.path.segments.shapes[shape_text]
            except (Stop, Violation):
                shape = None
        return formatted_literal(shape, text, self.joiner, start)


def current() -> FormatSession:
    """The run that Lark works for in this thread."""
    return cast("FormatSession", ACTIVE.session)
