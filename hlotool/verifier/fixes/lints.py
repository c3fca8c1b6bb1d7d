"""Fixes for the family W: removing unused code.

Code with comments is not removed, since only its author knows whether the comments are still needed.
"""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.errors import Edit
from hlotool.text.source.trivia import comment_spans, skip_trivia
from hlotool.verifier.fixing import Faulty, fixer

__all__: list[str] = []


@fixer("W001")
def dead_instruction(faulty: Faulty) -> Iterator[Edit]:
    """Remove the instruction."""
    x, computation = faulty.instruction, faulty.computation
    if x is not None and computation is not None and x is not computation.root and x.start >= 0 and x.op.name != "parameter":
        yield from _removed(faulty.source.text, x.start, x.end)


@fixer("W003")
def dead_computation(faulty: Faulty) -> Iterator[Edit]:
    """Remove the computation."""
    computation = faulty.computation
    if computation is not None and computation is not faulty.module.entry and computation.start >= 0:
        yield from _removed(faulty.source.text, computation.start, computation.end)


def _removed(text: str, start: int, end: int) -> Iterator[Edit]:
    """Removes whole lines, unless they contain something else or a comment."""
    start = skip_trivia(text, start)
    first = text.rfind("\n", 0, start) + 1
    if text[first:start].strip():
        return
    while end < len(text) and text[end - 1] != "\n" and text[end] in " \t\r\n":
        end += 1
    is_line = end == len(text) or text[end - 1] == "\n"
    if is_line and next(comment_spans(text[first:end]), None) is None:
        # An empty line before and one after would become two.
        while text.startswith("\n", end) and (first == 0 or text.endswith("\n\n", 0, first)):
            end += 1
        yield Edit(first, end, "")
