"""Finds the statement that is being typed, given the text before the cursor.

The text may not parse yet.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from hlotool.opdefs.base import OpDef
from hlotool.opdefs.table import OPS
from hlotool.text.source.tokens import NAME, tokens
from hlotool.text.source.trivia import comment_spans

__all__ = ["Statement", "statement_before"]

# Statements with more characters than this before the cursor are constants.
_MAX_LENGTH = 20_000
_BEGINNING = re.compile(
    rf"(?:(?P<root>ROOT)[ \t]+)?%?(?P<name>{NAME})[ \t]+=|^[^\S\n]*\}}|\{{[ \t]*\r?\n|(?P<header>^HloModule\b)",
    re.MULTILINE,
)
_OPENING = {"(": ")", "{": "}", "[": "]"}


class Statement(NamedTuple):
    """The statement before the cursor.

    `phase` is "name" (nothing yet, or a name), "opcode" (after `=`: a shape or an opcode),
    "operands", "attribute" (an attribute's name), "value" (of the attribute `attribute`), "end"
    (after the operands or a value), "header" (the attributes of a module) or "comment". `word` is
    the word being typed, without a percent sign. `start` is its offset, and `beginning` is the
    offset of the statement. `operands` lists the names of the operands before the one being typed,
    and `written` lists the names of the attributes written so far.
    """

    phase: str
    start: int
    word: str = ""
    op: OpDef | None = None
    opcode: str = ""
    operands: tuple[str, ...] = ()
    attribute: str = ""
    written: tuple[str, ...] = ()
    shape: str = ""
    beginning: int = 0


def statement_before(text: str, offset: int) -> Statement:
    """Returns the statement being typed at an offset of a string.

    >>> text = "ENTRY e { p = f32[] parameter(0) ROOT n = f32[] add(p, "
    >>> statement = statement_before(text, len(text))
    >>> statement.phase, statement.opcode, statement.operands
    ('operands', 'add', ('p',))
    """
    low = max(0, offset - _MAX_LENGTH)
    before = text[low:offset]
    line = text.rfind("\n", 0, offset) + 1
    if any(start <= offset - line <= end and text.startswith("//", line + start) for start, end in comment_spans(text[line:offset])):
        return Statement("comment", offset)
    beginning = None
    for match in _BEGINNING.finditer(before):
        beginning = match
    if beginning is None or not (beginning["name"] or beginning["header"]):
        return _with_word(Statement("name", offset), before, offset)
    return _Reader(before, beginning, offset).read()


def _with_word(statement: Statement, before: str, offset: int) -> Statement:
    """Returns the statement with the word that ends at the cursor."""
    word = re.search(r"[A-Za-z0-9_.\-]*\Z", before)
    text = word[0] if word is not None else ""
    start = offset - len(text)
    return statement._replace(word=text, start=start, beginning=start if statement.phase == "name" else statement.beginning)


class _Reader:
    """A reader of a statement, token by token."""

    def __init__(self, before: str, beginning: re.Match[str], offset: int) -> None:
        self.before = before
        self.beginning = beginning
        self.offset = offset
        self.brackets: list[str] = []
        self.opcode = ""
        self.operands: list[str] = []
        self.attributes: list[str] = []
        self.phase = "header" if beginning["header"] else "opcode"
        self.shape = ""

    def read(self) -> Statement:
        at, last, in_string = self.beginning.end(), "", False
        start = at
        for token in tokens(self.before, at):
            if token.lastgroup == "comment" or (token.lastgroup == "mark" and token[0] not in ",="):
                continue
            in_string = token.end() == len(self.before) and token[0].startswith('"')
            if token.lastgroup in ("mark", "open", "close"):
                self._mark(token[0], last, self.before[start : token.start()])
            elif token["word"] is not None and self.phase == "operands" and len(self.brackets) == 1:
                self.last_operand = token["word"]
            last = token[0]
        statement = Statement(
            "comment" if in_string else self.phase,
            self.offset,
            "",
            OPS.get(self.opcode),
            self.opcode,
            tuple(self.operands),
            self.attributes[-1] if self.attributes and self.phase == "value" else "",
            tuple(self.attributes),
            self.shape,
            self.offset - len(self.before) + self.beginning.start(),
        )
        return _with_word(statement, self.before, self.offset)

    last_operand = ""

    def _mark(self, mark: str, last: str, before: str) -> None:
        depth = len(self.brackets)
        if mark in _OPENING:
            is_call = mark == "(" and self.phase == "opcode" and depth == 0 and last not in ("", "=", ",", "b") and last[-1] not in ")}]"
            if is_call:
                self.phase, self.opcode = "operands", last
                self.shape = before.strip().removesuffix(last).strip()
            self.brackets.append(_OPENING[mark])
        elif mark in ")}]":
            if self.brackets:
                self.brackets.pop()
            if self.phase == "operands" and not self.brackets:
                self._take_operand()
                self.phase = "end"
        elif mark == ",":
            self._comma(depth)
        elif depth == 0 and self.phase == "attribute":
            self.attributes.append(last)
            self.phase = "value"

    def _comma(self, depth: int) -> None:
        if self.phase == "operands" and depth == 1:
            self._take_operand()
        elif depth == 0 and self.phase in ("end", "value", "header", "attribute"):
            self.phase = "attribute"

    def _take_operand(self) -> None:
        self.operands.append(self.last_operand.removeprefix("%"))
        self.last_operand = ""
