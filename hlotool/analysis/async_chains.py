"""Where the value of an asynchronous operation goes: through tuples, barriers, loops and calls to what continues or ends it.

Follows values only; which ways a value may take is for the verifier's rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from hlotool.analysis.callgraph import Call
from hlotool.ir.model import Computation, Instruction, Module

__all__ = ["CONTINUED_BY", "arrivals", "written_opcode"]

CONTINUED_BY = ("async-update", "async-done")
"""Opcodes that take over the value of an async-start or async-update."""

Users = Callable[[Computation], Mapping[Instruction, Sequence[Instruction]]]
Path = tuple[int, ...]
_Carrier = tuple[Computation, Instruction, Path]

# They give their operand, or one of them, unchanged.
_UNCHANGED = frozenset({"opt-barrier", "copy", "custom-call", "domain"})
_LEFT_BY_RETURN = frozenset({"while", "call", "conditional"})


def arrivals(computation: Computation, start: Instruction, users: Users, callers: Mapping[Computation, Sequence[Call]]) -> Iterator[Call]:
    """Every instruction that the value of `start` reaches as a whole, itself included, each with its computation.

    >>> from hlotool.analysis.callgraph import callers
    >>> from hlotool.analysis.users import users
    >>> from hlotool.text.parser import parse
    >>> module = parse("ENTRY e { p = f32[4] parameter(0) s = ((f32[4]), f32[4]) abs-start(p) ROOT d = f32[4] abs-done(s) }")
    >>> [x.name for _, x in arrivals(module.entry, module.entry.instructions[1], users, callers(module))]
    ['s', 'd']
    """
    pending: list[_Carrier] = [(computation, start, ())]
    seen: set[tuple[Instruction, Path]] = set()
    while pending:
        inside, x, path = pending.pop()
        if (x, path) in seen:
            continue
        seen.add((x, path))
        yield inside, x
        if x is not start and x.op.name in CONTINUED_BY:
            continue
        for user in users(inside).get(x, ()):
            pending.extend(_passed_to(inside, user, x, path))
        if x is inside.root:
            pending.extend(_returned_to(inside, path, callers))


def _passed_to(inside: Computation, user: Instruction, x: Instruction, path: Path) -> Iterator[_Carrier]:
    """What holds the value after `user` took `x`, which has it at `path`."""
    opcode = user.op.name
    if opcode in CONTINUED_BY or opcode in _UNCHANGED:
        yield inside, user, path
    elif opcode == "tuple":
        yield from ((inside, user, (k, *path)) for k, operand in enumerate(user.operands) if operand is x)
    elif opcode == "get-tuple-element":
        if path[:1] == (user.attributes["index"],):
            yield inside, user, path[1:]
    elif opcode == "while":
        yield inside, user, path
        yield from ((called, called.parameters[0], path) for called in user.called if called.parameters)
    elif opcode == "call":
        yield from ((user.called[0], user.called[0].parameters[k], path) for k, operand in enumerate(user.operands) if operand is x)
    elif opcode == "conditional":
        branches = zip(user.called, user.operands[1:], strict=False)
        yield from ((branch, branch.parameters[0], path) for branch, operand in branches if operand is x and branch.parameters)


def _returned_to(inside: Computation, path: Path, callers: Mapping[Computation, Sequence[Call]]) -> Iterator[_Carrier]:
    for outside, caller in callers.get(inside, ()):
        if caller.op.name in _LEFT_BY_RETURN:
            yield outside, caller, path
        if caller.op.name == "while" and inside.parameters:
            yield inside, inside.parameters[0], path


def written_opcode(x: Instruction, module: Module, suffix: str | None = None) -> str:
    """The opcode of an asynchronous instruction as its author writes it: `negate-start` where that sugar stands for async-start.

    With a suffix, what the author would write for that part of the same operation.

    >>> from hlotool.text.parser import parse
    >>> module = parse("ENTRY e { p = f32[4] parameter(0) s = ((f32[4]), f32[4]) abs-start(p) ROOT d = f32[4] abs-done(s) }")
    >>> written_opcode(module.entry.root, module), written_opcode(module.entry.root, module, "start")
    ('abs-done', 'abs-start')
    """
    wrapped = x.called[0].root.op.name if x.called and x.called[0] in module.hidden else "async"
    return f"{wrapped}-{suffix or x.op.name.rpartition('-')[2]}"
