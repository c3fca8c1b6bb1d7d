"""Transcripts: files in which each step is followed by its answer.

A step is a line that is not indented. Lines that begin with `| ` or `... ` continue it, and indented
lines are its answer. Lines that begin with `#`, and empty lines, are comments. A check runs the
steps, and compares the transcript with one that contains the answers of this run; `--update` writes
these answers to the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

__all__ = ["Step", "read_steps", "transcript"]

_INDENT = "  "
_CONTINUED = ("| ", "... ")
_EMPTY = "~"


class Step(NamedTuple):
    """A step: the number of its line in the transcript, its line, and the lines that continue it."""

    number: int
    line: str
    more: tuple[str, ...]


def _is_comment(line: str) -> bool:
    return not line.strip() or line.startswith("#")


def _is_continued(line: str) -> bool:
    return line.startswith(_CONTINUED) or line in {mark.rstrip() for mark in _CONTINUED}


def read_steps(text: str) -> Iterator[Step]:
    """Yields the steps of a transcript.

    >>> list(read_steps("open m\\n| e\\n|\\nhover 1:1\\n  null\\n"))
    [Step(number=1, line='open m', more=('e', '')), Step(number=4, line='hover 1:1', more=())]
    """
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if _is_comment(line) or line.startswith(_INDENT) or _is_continued(line):
            continue
        end = number
        while end < len(lines) and _is_continued(lines[end]):
            end += 1
        yield Step(number, line, tuple(part.partition(" ")[2] for part in lines[number:end]))


def transcript(text: str, answers: Iterable[list[str]]) -> str:
    """Returns a transcript with other answers, which are given for each step in order.

    >>> transcript("a\\n  old\\nb\\n", [["1", "2"], []])
    'a\\n  1\\n  2\\nb\\n'
    """
    result, remaining = list[str](), iter(answers)
    answer: list[str] = []
    for line in text.split("\n"):
        if line.startswith(_INDENT):
            continue
        if not _is_continued(line):
            result += answer
            answer = []
        result.append(line)
        if not _is_continued(line) and not _is_comment(line):
            answer = [f"{_INDENT}{part or _EMPTY}" for part in next(remaining)]
    result[-1:-1] = answer
    return "\n".join(result)
