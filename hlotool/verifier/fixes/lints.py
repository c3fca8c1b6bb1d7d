"""Fixes for findings of the family W: removal of unused code.

Code with comments is not removed, since only its author knows whether the comments are still
needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hlotool.analysis.callgraph import callers, reachable
from hlotool.analysis.effects import computations_with_effects, has_effect
from hlotool.analysis.users import users as computation_users
from hlotool.errors import Edit
from hlotool.ir.model import Computation, Instruction
from hlotool.opdefs.traits import STRUCTURAL
from hlotool.text.source.trivia import has_comments, skip_trivia
from hlotool.verifier.fixing import FindingContext, fixer
from hlotool.verifier.suppressions import suppressed

__all__ = ["computation_removal", "line_removal"]


@fixer("W001")
def dead_instruction(finding: FindingContext) -> Iterator[Edit]:
    """Remove the instruction, and its operands that nothing else uses."""
    x, computation = finding.instruction, finding.computation
    if x is None or computation is None or x is computation.root or x.op.name == "parameter":
        return
    users = computation_users(computation)
    ordered = {y for z in computation.instructions for y in z.control_predecessors}
    with_effects = computations_with_effects(finding.module)
    is_suppressed = suppressed(finding.module, "W001")
    removed: set[Instruction] = set()
    # Users come after their operands, except in modules with errors, from which less is removed.
    for y in reversed(computation.instructions):
        uses = users.get(y, ())
        is_idle = y is not computation.root and y.op.name != "parameter" and y not in ordered and not y.control_predecessors
        # Instructions that take no time may be unused, but they are removed together with their
        # last user.
        if not is_idle or y.start < 0 or (not uses and STRUCTURAL in y.op.traits) or not removed.issuperset(uses) or has_effect(y, with_effects):
            continue
        if is_suppressed(y.start):
            continue
        edits = list(line_removal(finding.source.text, y.start, y.end))
        if edits:
            removed.add(y)
            yield from edits


@fixer("W003")
def dead_computation(finding: FindingContext) -> Iterator[Edit]:
    """Remove the computation, and all other computations that are never called."""
    if finding.computation is None or finding.computation is finding.module.entry:
        return
    live, calls = reachable([finding.module.entry]), callers(finding.module)
    is_suppressed = suppressed(finding.module, "W003")
    removed: set[Computation] = set()
    for computation in reversed(finding.module.computations):
        if computation in live or computation.start < 0 or is_suppressed(computation.start):
            continue
        if not removed.issuperset(caller for caller, _ in calls.get(computation, ())):
            continue
        edits = list(computation_removal(finding.source.text, computation))
        if edits:
            removed.add(computation)
            yield from edits


def computation_removal(text: str, computation: Computation) -> Iterator[Edit]:
    """Yields the edit that removes the lines of a computation.

    Yields nothing if the lines contain other code or a comment that a person wrote. Some versions
    of XLA repeat the name of a computation in a comment after it; this comment is removed, too.
    """
    # The parser treats the comment as part of the computation if it has parsed both in one piece.
    name = re.compile(rf"[ \t]*//[ \t]*%?{re.escape(computation.name)}[ \t]*(?=\r?\n|\Z)")
    start, end = skip_trivia(text, computation.start), computation.end
    brace = text.rfind("}", start, end) + 1
    repeated = name.match(text, brace)
    if not has_comments(text[start:brace]) and (repeated is not None or not has_comments(text[brace:end])):
        yield from _lines(text, start, end if repeated is None else repeated.end())


def line_removal(text: str, start: int, end: int) -> Iterator[Edit]:
    """Yields the edit that removes an instruction, unless its lines have other code or comments."""
    for edit in _lines(text, start, end):
        if not has_comments(text[edit.start : edit.end]):
            yield edit


def _lines(text: str, start: int, end: int) -> Iterator[Edit]:
    """Yields the edit that removes whole lines, unless they contain other code."""
    start = skip_trivia(text, start)
    first = text.rfind("\n", 0, start) + 1
    if text[first:start].strip():
        return
    while end < len(text) and text[end - 1] != "\n" and text[end] in " \t\r\n":
        end += 1
    is_line = end == len(text) or text[end - 1] == "\n"
    if is_line:
        # If there are empty lines before and after the removed lines, the empty lines after them
        # are removed, too.
        while text.startswith("\n", end) and (first == 0 or text.endswith("\n\n", 0, first)):
            end += 1
        yield Edit(first, end, "")
