"""Gaps between items of the output: comments, normalized empty lines, and verbatim text."""

from __future__ import annotations

from typing import NamedTuple

from hlotool.text.formatting.verbatim import VerbatimRanges
from hlotool.text.source.trivia import find_comments

__all__ = ["Gap", "read_gap"]


class _GapPart(NamedTuple):
    """A comment or verbatim text, and the number of line ends before it."""

    newlines: int
    text: str
    is_verbatim: bool


class Gap(NamedTuple):
    """A gap: its parts, and the number of line ends after the last part.

    `joins_next` is true if the next item follows the last part without a line end.
    """

    parts: list[_GapPart]
    newlines: int
    joins_next: bool

    def _line_counts(self) -> list[int]:
        """Returns the number of line ends before each part and after the last one."""
        return [*(part.newlines for part in self.parts), self.newlines]

    def text(self, newline: str, indent: str, *, at_start: bool, empty_first: int | None, empty_last: int | None) -> str:
        """Returns the formatted gap, up to and including the line end before the next item.

        `empty_first` and `empty_last` are the numbers of empty lines before the first part and
        before the next item. If a number is None, one empty line is kept if the source has any. If
        the source has no empty line before the first part but has one after a later part, the
        `empty_first` lines are written after that part, so that a comment stays with the item that
        it follows.
        """
        out: list[str] = []
        on_new_line = at_start
        empty = empty_first
        # Verbatim text keeps its line end, which may differ from `newline`.
        line_end = newline
        last_empty = max((k for k, newlines in enumerate(self._line_counts()) if newlines > 1), default=-1)
        for k, (newlines, text, is_verbatim) in enumerate(self.parts):
            if not newlines and not on_new_line:
                out.append(text if is_verbatim else f" {text}")
                # Verbatim text includes its own empty lines.
                empty = None if is_verbatim else empty
            else:
                waits = bool(empty) and newlines <= 1 and k < last_empty
                out.append("" if on_new_line else line_end + _empty_lines(newline, newlines, None if waits else empty))
                out.append(text if is_verbatim else indent + text)
                empty = empty if waits else None
            on_new_line = False
            line_end = "" if is_verbatim and text.endswith("\n") else newline
        if self.joins_next:
            out.append(" " if self.parts and not self.parts[-1].is_verbatim else "")
        elif not on_new_line:
            out.append(line_end + _empty_lines(newline, self.newlines, empty_last if empty is None or empty_last == 0 else empty))
        return "".join(out)


def _empty_lines(newline: str, count: int, empty: int | None) -> str:
    """Returns `empty` empty lines; if `empty` is None, returns one if the source has any.

    `count` is the number of line ends in the source.
    """
    return newline * (int(count > 1) if empty is None else empty)


def read_gap(source: str, start: int, end: int, verbatim: VerbatimRanges, hoisted: list[str], *, next_is_verbatim: bool) -> Gap:
    """Reads the gap source[start:end].

    The `hoisted` comments are added after the comments in the gap, each on its own line.
    """
    parts: list[_GapPart] = []
    # The start of the text counts as the start of a line.
    newlines = int(start == 0)
    ends_verbatim = next_is_verbatim and start == end
    for low, high, ends_verbatim in verbatim.split(start, end) if verbatim else ((start, end, False),):
        if ends_verbatim:
            text = source[low:high]
            parts.append(_GapPart(newlines, text, True))
            # The line end of verbatim text counts like the line end after a comment.
            newlines = int(text.endswith("\n"))
            continue
        position = low
        for match in find_comments(source, low, high):
            parts.append(_GapPart(newlines + source.count("\n", position, match.start()), match[0].rstrip(), False))
            newlines, position = 0, match.end()
        newlines += source.count("\n", position, high)
    if hoisted:
        first = max(newlines, 1)
        parts += [_GapPart(first if k == 0 else 1, comment, False) for k, comment in enumerate(hoisted)]
        newlines, ends_verbatim = 1, False
    return Gap(parts, newlines, _joins_next(parts, newlines, ends_verbatim=ends_verbatim, next_is_verbatim=next_is_verbatim))


def _joins_next(parts: list[_GapPart], newlines: int, *, ends_verbatim: bool, next_is_verbatim: bool) -> bool:
    if ends_verbatim:
        # Verbatim text has its own line ends and indentation.
        return next_is_verbatim or not newlines
    return bool(parts) and not newlines and parts[-1].newlines > 0 and not parts[-1].text.startswith("//")
