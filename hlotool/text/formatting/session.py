"""What one run of the formatter carries through Lark: the writer, the joiner, and the parse whose memos it reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from hlotool.errors import Violation
from hlotool.shapes.shape import Shape
from hlotool.text.formatting.literals import formatted_literal
from hlotool.text.formatting.pieces import Joiner
from hlotool.text.formatting.writer import Writer
from hlotool.text.fused import FusedPath
from hlotool.text.lexer import ACTIVE
from hlotool.text.segments import Stop
from hlotool.text.session import attribute_tokens

if TYPE_CHECKING:
    from hlotool.text.formatting.lines import FormattedLines

__all__ = ["FormatSession", "current"]


class FormatSession:
    """The state of one run; the lexer reads its `fused`, `attribute_tokens` and the ends of tokens as it does in a parse."""

    __slots__ = ("attribute_tokens", "fused", "joiner", "path", "previous_end", "text", "token_end", "writer")

    def __init__(self, joiner: Joiner, writer: Writer, path: FusedPath) -> None:
        self.text = joiner.source
        self.joiner = joiner
        self.writer = writer
        self.path = path
        self.fused: FormattedLines | NoLines = NoLines()
        self.attribute_tokens = attribute_tokens()
        self.token_end = 0
        self.previous_end = 0

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


class NoLines:
    """Recognises no lines: a text that is formatted token by token."""

    def announce(self, text: str, position: int, accepted: frozenset[str]) -> str | None:
        return None

    def consume(self, kind: str, text: str, position: int) -> tuple[int, bool]:
        raise AssertionError("nothing was announced")


def current() -> FormatSession:
    """The run that Lark works for in this thread."""
    session: Any = ACTIVE.session
    return cast("FormatSession", session)
