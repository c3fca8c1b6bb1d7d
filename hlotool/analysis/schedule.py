"""The asynchronous operations in flight in a schedule, as spans from start to done instructions.

The schedule is the textual order, even in modules that are not marked as scheduled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hlotool.ir.model import Computation, Instruction
from hlotool.record import Record

__all__ = ["Span", "spans"]


class Span(Record):
    """An operation in flight.

    `first` and `last` are the positions of `start` and `done` in the schedule.
    """

    start: Instruction
    done: Instruction
    first: int
    last: int


def spans(computation: Computation, users: Mapping[Instruction, Sequence[Instruction]]) -> list[Span]:
    """Returns the operations that begin and end in the same computation, ordered by start.

    >>> from hlotool.analysis.users import users
    >>> from hlotool.text.parse.parser import parse
    >>> entry = parse("ENTRY e { p = f32[4] parameter(0) s = ((f32[4]), f32[4]) abs-start(p) ROOT d = f32[4] abs-done(s) }").entry
    >>> [(span.start.name, span.done.name, span.first, span.last) for span in spans(entry, users(entry))]
    [('s', 'd', 1, 2)]
    """
    starts = [(k, x) for k, x in enumerate(computation.instructions) if x.op.done is not None]
    if not starts:
        return []
    positions = {x: k for k, x in enumerate(computation.instructions)}
    pairs = []
    for first, start in starts:
        done = _done_of(start, users)
        if done is not None and done in positions:
            pairs.append(Span(start, done, first, positions[done]))
    return pairs


def _done_of(start: Instruction, users: Mapping[Instruction, Sequence[Instruction]]) -> Instruction | None:
    """Returns the done instruction that ends a start, possibly after updates."""
    x = start
    # In a module built by a program, updates may form a cycle.
    seen: set[Instruction] = set()
    while x not in seen:
        seen.add(x)
        following = users.get(x, ())
        done = next((user for user in following if user.op.name == start.op.done), None)
        if done is not None:
            return done
        x = next((user for user in following if user.op.update_of == start.op.name), x)
    return None
