"""Writes formatted items on separate lines, with indentation, empty lines and comments.

An item is the header, the opening line of a computation, an instruction, or a closing brace. Items
arrive in source order, so the gap between two of them contains only whitespace and comments.
"""

from __future__ import annotations

from hlotool.text.formatting.gaps import read_gap
from hlotool.text.formatting.pieces import Joiner
from hlotool.text.formatting.verbatim import VerbatimRanges
from hlotool.text.formatting.wrap import wrap

__all__ = ["Writer"]

INDENT = "  "


class _Block:
    """The output so far, for the whole source or for a computation inside an instruction."""

    __slots__ = ("has_tables", "hoisted", "is_empty", "level", "parts", "written_end")

    def __init__(self, level: int, written_end: int) -> None:
        self.level = level
        # The end of the last written item in the source.
        self.written_end = written_end
        self.parts: list[str] = []
        # The hoisted comments of the enclosing instruction, while a computation inside it is
        # written.
        self.hoisted: list[tuple[int, str]] = []
        # True if no item has been written so far, or none since the opening brace.
        self.is_empty = True
        # True if the last item consists of the tables of stack frames.
        self.has_tables = False


class Writer:
    """The output of one run of the formatter over one source."""

    def __init__(self, joiner: Joiner, verbatim: VerbatimRanges, width: int | None, newline: str = "\n") -> None:
        self.joiner = joiner
        self.source = joiner.source
        self.verbatim = verbatim
        self.width = width
        self.newline = newline
        self.blocks = [_Block(0, 0)]

    @property
    def block(self) -> _Block:
        return self.blocks[-1]

    # ---- items ----------------------------------------------------------------------------------

    def item(self, start: int, end: int, text: str, *, empty_lines: int = 0) -> None:
        """Writes the item source[start:end] as `text`, after `empty_lines` empty lines.

        If `empty_lines` is 0, keeps one empty line if the source has any.
        """
        block = self.block
        is_verbatim = self.is_verbatim(start, end)
        if is_verbatim:
            self.joiner.take_hoisted(end)
        same_line = self.write_gap(start, end, empty_lines=empty_lines, is_verbatim=is_verbatim)
        indent = INDENT * block.level
        if is_verbatim:
            text = self.source[start:end]
        elif self.width is not None and len(indent) + len(text) > self.width:
            text = wrap(text, indent, self.width, self.newline)
        block.parts.append(text if same_line else indent + text)
        block.written_end = end

    def tables(self, start: int, end: int, text: str) -> None:
        """Writes the tables of stack frames."""
        self.item(start, end, text, empty_lines=1)
        self.block.has_tables = True

    def is_verbatim(self, start: int, end: int) -> bool:
        """Returns whether the item source[start:end] is kept verbatim."""
        return bool(self.verbatim) and self.verbatim.overlaps(start, end)

    def write_gap(self, start: int, end: int, *, empty_lines: int = 0, closes: bool = False, is_verbatim: bool = False) -> bool:
        """Writes the gap before the item source[start:end].

        Returns whether the item belongs on the same line as a preceding comment.
        """
        block, hoisted = self.block, self.joiner.take_hoisted(end)
        was_empty, block.is_empty = block.is_empty, False
        source, last = self.source, block.written_end
        empty_first = 0 if was_empty else empty_lines or None
        if not hoisted and not self.verbatim:
            space = source[last:start]
            if not space or space.isspace():
                if block.parts:
                    count = empty_first if empty_first is not None else int(not closes and space.count("\n") > 1)
                    block.parts.append(self.newline * (1 + count))
                return False
        gap = read_gap(source, last, start, self.verbatim, hoisted, next_is_verbatim=is_verbatim)
        indent = INDENT * (block.level + closes)
        block.parts.append(gap.text(self.newline, indent, at_start=not block.parts, empty_first=empty_first, empty_last=0 if closes else None))
        return gap.joins_next

    @property
    def empty_before_computation(self) -> int:
        """The number of empty lines that XLA prints before a computation.

        This is 1, or 2 after the tables of stack frames.
        """
        return 1 + self.block.has_tables

    def open(self) -> None:
        """Begins a level of indentation after an item that ends with an opening brace."""
        self.block.level += 1
        self.block.is_empty = True
        self.block.has_tables = False

    def close(self, start: int, end: int, text: str) -> None:
        """Writes the brace that ends a computation."""
        block = self.block
        block.level -= 1
        is_verbatim = self.is_verbatim(start, end)
        if is_verbatim:
            text = self.source[start:end]
            self.joiner.take_hoisted(end)
        same_line = self.write_gap(start, end, closes=True, is_verbatim=is_verbatim)
        block.parts.append(text if same_line else INDENT * block.level + text)
        block.written_end = end

    # ---- computations inside instructions -------------------------------------------------------

    def begin_body(self, end: int) -> None:
        """Begins a computation inside an instruction; its opening brace ends at `end`."""
        outer = self.block
        outer.hoisted, self.joiner.hoisted = self.joiner.hoisted, []
        block = _Block(outer.level + 1, end)
        block.parts.append(INDENT * outer.level + "{")
        self.blocks.append(block)

    def end_body(self, start: int, end: int) -> str:
        """Ends the computation and returns its text.

        The text starts with the line of the opening brace and ends with the closing brace.
        """
        self.close(start, end, "}")
        block = self.blocks.pop()
        self.joiner.hoisted, self.block.hoisted = self.block.hoisted, []
        return "".join(block.parts)

    # ---- the end --------------------------------------------------------------------------------

    def finish(self) -> str:
        """Returns the whole text, up to the end of the source.

        Keeps an empty line at the end, since XLA's files have one.
        """
        block, end = self.block, len(self.source)
        gap = read_gap(self.source, block.written_end, end, self.verbatim, [], next_is_verbatim=self.is_verbatim(end - 1, end))
        if not gap.joins_next or not self.is_verbatim(end - 1, end):
            gap = gap._replace(newlines=max(1, gap.newlines), joins_next=False)
        block.parts.append(gap.text(self.newline, "", at_start=not block.parts, empty_first=None, empty_last=None))
        return "".join(block.parts)
