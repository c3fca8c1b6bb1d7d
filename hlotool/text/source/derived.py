"""Sources whose text is derived from another source; messages show positions in the original."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from hlotool.errors import Edit, Source

__all__ = ["DerivedSource", "Piece", "edited_source"]


class Piece(NamedTuple):
    """A piece of a derived source: its text, and its offset in the original.

    If `is_copied` is true, the original has the same characters at that offset.
    """

    text: str
    origin: int
    is_copied: bool = True


class DerivedSource(Source):
    """A source that combines new text and pieces of another source; the pieces keep their order.

    >>> source = edited_source(Source("p = equal-to(a, b)"), [Edit(4, 12, "compare")])
    >>> source.text, source.line_column(source.text.index("b"))
    ('p = compare(a, b)', (1, 17))
    """

    __slots__ = ("_copied", "_lows", "_origins", "original")

    def __init__(self, original: Source, pieces: Iterable[Piece]) -> None:
        pieces = [piece for piece in pieces if piece.text] or [Piece("", 0)]
        super().__init__("".join(piece.text for piece in pieces), original.filename)
        self.original = original
        self._lows: list[int] = []
        at = 0
        for piece in pieces:
            self._lows.append(at)
            at += len(piece.text)
        self._origins = [piece.origin for piece in pieces]
        self._copied = [piece.is_copied for piece in pieces]
        self.first_line = original.line_column(self._origins[0])[0]

    def origin(self, offset: int) -> int:
        """Returns a character's offset in the original; for new text, the point of insertion."""
        k = max(0, bisect_right(self._lows, max(0, min(offset, len(self.text)))) - 1)
        return self._origins[k] + (offset - self._lows[k] if self._copied[k] else 0)

    def line_column(self, offset: int) -> tuple[int, int]:
        return self.original.line_column(self.origin(offset))

    def _end(self, k: int) -> int:
        """Returns the offset after piece number `k`."""
        return self._lows[k + 1] if k + 1 < len(self._lows) else len(self.text)

    def offset(self, line: int, column: int) -> int:
        position = self.original.offset(line, column)
        k = max(0, bisect_right(self._origins, position) - 1)
        while k > 0 and not self._copied[k]:
            k -= 1
        # After the piece, the original may have further characters that are not in this text.
        return min(self._lows[k] + max(0, position - self._origins[k]), self._end(k))

    def line_start(self, line: int) -> int:
        return self.offset(line, 1)

    def line_text(self, line: int) -> str:
        return self.original.line_text(line)

    def original_edits(self, edits: Iterable[Edit]) -> tuple[Edit, ...] | None:
        """Translates edits to offsets in the original.

        Returns None unless every edit lies within copied text.
        """
        moved = []
        for edit in edits:
            k = max(0, bisect_right(self._lows, edit.start) - 1)
            if not self._copied[k] or edit.end > self._end(k):
                return None
            shift = self._origins[k] - self._lows[k]
            moved.append(Edit(edit.start + shift, edit.end + shift, edit.text))
        return self.original.original_edits(moved)


def edited_source(original: Source, edits: Iterable[Edit]) -> DerivedSource:
    """Returns the source after applying `edits`, which must be sorted and must not overlap."""
    pieces, at = [], 0
    for edit in edits:
        pieces += [Piece(original.text[at : edit.start], at), Piece(edit.text, edit.start, is_copied=False)]
        at = edit.end
    return DerivedSource(original, [*pieces, Piece(original.text[at:], at)])
