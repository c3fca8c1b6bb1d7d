"""Lines of text with marks, which the command line turns into colors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

__all__ = ["EMPTY", "Layout", "Row", "Span", "bar_rows"]

_MAX_BAR_LENGTH = 40


class Span(NamedTuple):
    """A part of a line with its own mark; `is_strong` marks a difference between two lines."""

    start: int
    end: int
    mark: str
    is_strong: bool = False


class Row(NamedTuple):
    """A line with a mark.

    `mark` is `=` for the summary, `@` for a title, `-`, `+` or `~` for instructions, `.` for a note
    about omitted lines, and a space for any other line.
    """

    mark: str
    text: str
    spans: tuple[Span, ...] = ()

    def indented(self, columns: int) -> Row:
        """Returns the line, indented unless it is empty.

        >>> Row("-", "a b", (Span(2, 3, "-"),)).indented(2)
        Row(mark='-', text='  a b', spans=(Span(start=4, end=5, mark='-', is_strong=False),))
        """
        if not self.text:
            return self
        spans = tuple(span._replace(start=span.start + columns, end=span.end + columns) for span in self.spans)
        return self._replace(text=f"{' ' * columns}{self.text}", spans=spans)


class Layout(NamedTuple):
    """The extent and form of a report.

    `width` is the width of lines (0 for no limit), and `context` is the number of lines of context.
    With `show_all`, equal changes are shown individually.
    """

    width: int = 0
    context: int = 0
    show_all: bool = False
    side_by_side: bool = False


EMPTY = Row(" ", "")


def bar_rows(rows: Sequence[tuple[str, tuple[int, int, int]]]) -> Iterator[Row]:
    """Yields a line with a bar for each title, like `git diff --stat`.

    The numbers count changed, inserted and deleted instructions.

    >>> [row.text for row in bar_rows([("main", (2, 1, 0)), ("add", (0, 0, 1))])]
    [' main |     3 ~~+', ' add  |     1 -']
    """
    column = max((len(title) for title, _ in rows), default=0)
    scale = max([_MAX_BAR_LENGTH, *(sum(counts) for _, counts in rows)])
    for title, counts in rows:
        bar = "".join(mark * -(-n * _MAX_BAR_LENGTH // scale) for mark, n in zip("~+-", counts, strict=True))
        yield Row(" ", f" {title:<{column}} | {sum(counts):>5} {bar}".rstrip())
