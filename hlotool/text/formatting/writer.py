"""Puts formatted items under one another: indentation, empty lines, and the comments between items.

An item is what stands on lines of its own: the header, a computation's opening line, an instruction, a closing brace. The writer takes them in
the order of the source; what stands between two of them can only be whitespace and comments.
"""

from __future__ import annotations

import re

from hlotool.text.formatting.gaps import read_gap
from hlotool.text.formatting.kept import KeptText
from hlotool.text.formatting.pieces import Joiner
from hlotool.text.formatting.wrap import wrapped
from hlotool.text.source.trivia import BLOCK_COMMENT

__all__ = ["Writer"]

INDENT = "  "
# Up to the first line end that is the formatter's to write: comments and strings keep theirs.
_FIRST_LINE = re.compile(rf"(?:[^\n\"'/]++|\"(?:[^\"\\]++|\\.)*+\"|'(?:[^'\\]++|\\.)*+'|{BLOCK_COMMENT}|//[^\n]*+|[\"'/])*+\n", re.DOTALL)


class _Block:
    """Lines that are being written: the text as a whole, or a computation inside an instruction."""

    __slots__ = ("has_tables", "hoisted", "is_fresh", "last", "level", "parts")

    def __init__(self, level: int, last: int) -> None:
        self.level = level
        # Up to here the source has been written.
        self.last = last
        self.parts: list[str] = []
        # Comments of the enclosing instruction, while a computation inside it is written.
        self.hoisted: list[tuple[int, str]] = []
        # Whether nothing stands after the opening brace, or before the first item, yet.
        self.is_fresh = True
        # Whether the item written last is the tables of stack frames.
        self.has_tables = False


class Writer:
    """The output of one run over one source."""

    def __init__(self, joiner: Joiner, kept: KeptText, width: int | None) -> None:
        self.joiner = joiner
        self.source = joiner.source
        self.kept = kept
        self.width = width
        found = _FIRST_LINE.match(self.source)
        self.newline = "\r\n" if found and found[0].endswith("\r\n") else "\n"
        self.blocks = [_Block(0, 0)]

    @property
    def block(self) -> _Block:
        return self.blocks[-1]

    # ---- items --------------------------------------------------------------------------------------------------------

    def item(self, start: int, end: int, text: str, *, empty_lines: int = 0) -> None:
        """Writes source[start:end] as `text`, on its own line after what precedes it, after at least `empty_lines` empty lines."""
        block = self.block
        keep = bool(self.kept) and self.kept.touches(start, end)
        if keep:
            self.joiner.hoisted = []
        joins = self.separate(start, end, empty_lines=empty_lines)
        indent = INDENT * block.level
        if keep:
            text = self.source[start:end]
        elif self.width is not None and len(indent) + len(text) > self.width:
            text = wrapped(text, indent, self.width, self.newline)
        block.parts.append(text if joins else indent + text)
        block.last = end

    def tables(self, start: int, end: int, text: str) -> None:
        """Writes the tables of stack frames."""
        self.item(start, end, text, empty_lines=1)
        self.block.has_tables = True

    def separate(self, start: int, end: int, *, empty_lines: int = 0, closes: bool = False) -> bool:
        """Writes what stands before the item source[start:end]; whether the item goes on the line of a comment."""
        block, hoisted = self.block, self.joiner.take_hoisted(end)
        was_fresh, block.is_fresh = block.is_fresh, False
        source, last = self.source, block.last
        empty_first = 0 if was_fresh else empty_lines or None
        if not hoisted and not self.kept:
            gap = source[last:start]
            if not gap or gap.isspace():
                if block.parts:
                    count = empty_first if empty_first is not None else int(not closes and gap.count("\n") > 1)
                    block.parts.append(self.newline * (1 + count))
                return False
        found = read_gap(source, last, start, self.kept, hoisted)
        indent = INDENT * (block.level + closes)
        block.parts.append(found.text(self.newline, indent, at_start=not block.parts, empty_first=empty_first, empty_last=0 if closes else None))
        return found.joins_next

    @property
    def empty_before_computation(self) -> int:
        """XLA leaves an empty line between computations, and two after the tables of stack frames."""
        return 1 + self.block.has_tables

    def open(self) -> None:
        """What follows stands inside the braces of the item written last."""
        self.block.level += 1
        self.block.is_fresh = True
        self.block.has_tables = False

    def close(self, start: int, end: int, text: str) -> None:
        """Writes the brace that ends a computation."""
        block = self.block
        block.level -= 1
        joins = self.separate(start, end, closes=True)
        block.parts.append(text if joins else INDENT * block.level + text)
        block.last = end

    # ---- computations inside instructions -----------------------------------------------------------------------------

    def begin_body(self, end: int) -> None:
        """A computation inside an instruction begins; its brace ends at `end`."""
        outer = self.block
        outer.hoisted, self.joiner.hoisted = self.joiner.hoisted, []
        block = _Block(outer.level + 1, end)
        block.parts.append(INDENT * outer.level + "{")
        self.blocks.append(block)

    def end_body(self, start: int, end: int) -> str:
        """The text of that computation, from the line of its opening brace to its closing one."""
        self.close(start, end, "}")
        block = self.blocks.pop()
        self.joiner.hoisted, self.block.hoisted = self.block.hoisted, []
        return "".join(block.parts)

    # ---- the end ------------------------------------------------------------------------------------------------------

    def finish(self) -> str:
        """Everything, with what stands after the last item; the empty line with which XLA's files end may stay."""
        block, end = self.block, len(self.source)
        found = read_gap(self.source, block.last, end, self.kept, [])
        if found.remarks and found.remarks[-1].is_kept and not found.lines:
            block.parts.append(found.text(self.newline, "", at_start=not block.parts, empty_first=None, empty_last=None))
            return "".join(block.parts)
        closed = found._replace(lines=max(1, found.lines))
        block.parts.append(closed.text(self.newline, "", at_start=not block.parts, empty_first=None, empty_last=None))
        return "".join(block.parts)
