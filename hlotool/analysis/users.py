"""The users of instructions. Control successors are not users."""

from __future__ import annotations

from hlotool.ir.model import Computation, Instruction

__all__ = ["users"]


def users(computation: Computation) -> dict[Instruction, list[Instruction]]:
    """Returns the users of each instruction that has any, in textual order without repetitions.

    >>> from hlotool.text.parse.parser import parse
    >>> entry = parse("ENTRY e { p = f32[] parameter(0) ROOT c = f32[] add(p, p) }").entry
    >>> [x.name for x in users(entry)[entry.instructions[0]]]
    ['c']
    """
    users_of: dict[Instruction, list[Instruction]] = {}
    for x in computation.instructions:
        for operand in dict.fromkeys(x.operands):
            users_of.setdefault(operand, []).append(x)
    return users_of
