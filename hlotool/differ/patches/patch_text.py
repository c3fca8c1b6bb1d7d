"""Writes and reads the text of a patch: a unified diff whose hunks are parts of a module.

The hunks come in this order; a hunk without lines is omitted:

    @@ header @@            attributes of the module: `name=value`
    @@ stack frames @@      the stack frames that the lines below refer to by number
    @@ computation NAME @@  lines of a computation; `-` and `+` lines with the same name belong to
                            one instruction
    @@ names @@             changed names, alternating between old and new: `HloModule NAME`,
                            `%COMPUTATION` or `%COMPUTATION %INSTRUCTION`
    @@ references @@        `module HASH` for the whole text of each module, and
                            `COMPUTATION INSTRUCTION FINGERPRINT` for each instruction to be found:
                            context lines in both modules, `-` lines in the left one, `+` lines in
                            the right one
    @@ end @@

The lines of a computation use the names of the left module; new instructions have names that are
unused there. A context line is an unchanged line that a changed line refers to or directly follows;
other unchanged lines are omitted. A line feed within a line is followed by the line's sign and a
backslash.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from hlotool.errors import HlotoolError
from hlotool.text.source.tokens import NAME

__all__ = ["END", "FRAMES", "HEADER", "NAMES", "REFERENCES", "Hunk", "Line", "PatchError", "PatchSyntaxError", "read_patch", "write_patch"]

HEADER, FRAMES, COMPUTATION, NAMES, REFERENCES, END = "header", "stack frames", "computation", "names", "references", "end"
_ONCE = (HEADER, FRAMES, NAMES, REFERENCES, END)
_TITLE = re.compile(rf"@@ (?:(?P<title>{'|'.join(_ONCE)})|{COMPUTATION} (?P<name>{NAME})) @@")
_SIGNS = " -+"
_MAX_SHOWN = 60


class PatchError(HlotoolError):
    """Raised if a patch does not apply to a module; the module is not changed.

    `messages` contains a message for each reason.
    """

    def __init__(self, *messages: str) -> None:
        super().__init__("\n".join(messages))
        self.messages = messages


class PatchSyntaxError(PatchError):
    """Raised if a string or file is not a valid patch."""

    exit_code = 2


class Line(NamedTuple):
    """A line of a hunk: its sign (a space, `-` or `+`), its text, and its number in the patch."""

    sign: str
    text: str
    number: int = 0


class Hunk(NamedTuple):
    """A part of a patch; `computation` is empty unless the title is `computation`."""

    title: str
    lines: list[Line]
    computation: str = ""
    number: int = 0


def write_patch(hunks: Iterable[Hunk], left_name: str, right_name: str) -> Iterator[str]:
    """Yields the lines of a patch, including line ends."""
    yield f"--- {left_name}\n"
    yield f"+++ {right_name}\n"
    for hunk in hunks:
        yield f"@@ {f'{COMPUTATION} {hunk.computation}' if hunk.computation else hunk.title} @@\n"
        for line in hunk.lines:
            text = line.text.replace("\n", f"\n{line.sign}\\")
            yield f"{line.sign}{text}\n"
    yield f"@@ {END} @@\n"


def read_patch(text: str, filename: str = "<patch>") -> list[Hunk]:
    """Returns the hunks of a patch.

    Text before and after the patch, such as the rest of an e-mail, is skipped. Raises
    PatchSyntaxError, with line and column, if the text is not a valid patch.

    >>> hunks = read_patch("--- a\\n+++ b\\n@@ header @@\\n-replica_count=2\\n@@ end @@\\n")
    >>> hunks[0].title, hunks[0].lines
    ('header', [Line(sign='-', text='replica_count=2', number=4)])
    """
    lines = text.rstrip().split("\n")
    ending = "\r" if any(line.startswith("--- ") and line.endswith("\r") for line in lines[:1000]) else ""
    start = next((k for k, line in enumerate(lines[:-1]) if line.startswith("--- ") and lines[k + 1].startswith("+++ ")), None)
    if start is None:
        hint = "a patch begins with the lines '--- FILE' and '+++ FILE'; create one with `hlotool diff --patch A B`"
        raise PatchSyntaxError(f"{filename}:1:1: this is not a patch: {hint}")
    reader = _Reader(filename)
    for number, line in enumerate(lines[start + 2 :], start + 3):
        reader.read(line.removesuffix(ending), number)
        if reader.hunks and reader.hunks[-1].title == END:
            return reader.hunks[:-1]
    raise PatchSyntaxError(f"{filename}:{len(lines) + 1}:1: the patch is truncated: its last line '@@ {END} @@' is missing; create the patch again")


class _Reader:
    """Reads a patch line by line."""

    def __init__(self, filename: str) -> None:
        self.filename = filename
        self.hunks: list[Hunk] = []
        self.titles: set[str] = set()
        # The pieces of the last line, split at line feeds.
        self.pieces: list[str] = []

    def read(self, line: str, number: int) -> None:
        if line.startswith("@@"):
            self._finish_line()
            self._title(line, number)
            return
        if not self.hunks or line[:1] not in _SIGNS or not line:
            raise self.error(number, f"expected '@@ ... @@' or a line that begins with a space, '-' or '+', but found {_shown(line)}")
        lines, sign = self.hunks[-1].lines, line[0]
        if not line.startswith("\\", 1):
            self._finish_line()
            lines.append(Line(sign, line[1:], number))
            self.pieces.append(line[1:])
        elif lines and lines[-1].sign == sign:
            self.pieces.append(line[2:])
        else:
            raise self.error(number, f"'{sign}\\' continues the previous line, but that line does not begin with '{sign}'")

    def _finish_line(self) -> None:
        if len(self.pieces) > 1:
            lines = self.hunks[-1].lines
            lines[-1] = lines[-1]._replace(text="\n".join(self.pieces))
        self.pieces.clear()

    def _title(self, line: str, number: int) -> None:
        match = _TITLE.fullmatch(line.rstrip())
        if match is None:
            raise self.error(
                number,
                f"unknown section {_shown(line)}; expected '@@ {COMPUTATION} NAME @@' or one of {', '.join(f'@@ {title} @@' for title in _ONCE)}",
            )
        title = match["title"] or COMPUTATION
        if title in _ONCE:
            if title in self.titles:
                raise self.error(number, f"'@@ {title} @@' occurs twice; a patch applies to one module")
            self.titles.add(title)
        self.hunks.append(Hunk(title, [], match["name"] or "", number))

    def error(self, number: int, message: str) -> PatchSyntaxError:
        return PatchSyntaxError(f"{self.filename}:{number}:1: {message}")


def _shown(line: str) -> str:
    return f"'{line if len(line) <= _MAX_SHOWN else line[:_MAX_SHOWN] + '...'}'" if line else "an empty line"
