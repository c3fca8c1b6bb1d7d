"""The call graph: the calls to each computation, and the computations reachable through calls."""

from __future__ import annotations

from collections.abc import Container, Iterable

from hlotool.ir.model import Computation, Instruction, Module

__all__ = ["Call", "callers", "calling", "reachable"]

Call = tuple[Computation, Instruction]
"""A calling instruction, preceded by the computation that contains it."""


def calling(computation: Computation) -> list[Instruction]:
    """Returns the instructions that call computations.

    >>> from hlotool.text.parse.parser import parse
    >>> module = parse("f { ROOT x = f32[] parameter(0) }  ENTRY e { p = f32[] parameter(0) ROOT c = f32[] call(p), to_apply=f }")
    >>> [x.name for x in calling(module.entry)]
    ['c']
    """
    return [x for x in computation.instructions if x.op.calls and x.called]


def callers(module: Module) -> dict[Computation, list[Call]]:
    """Returns the calls to each called computation, in textual order.

    >>> from hlotool.text.parse.parser import parse
    >>> module = parse("f { ROOT x = f32[] parameter(0) }  ENTRY e { p = f32[] parameter(0) ROOT c = f32[] call(p), to_apply=f }")
    >>> [(computation.name, x.name) for computation, x in callers(module)[module.computations[0]]]
    [('e', 'c')]
    """
    callers: dict[Computation, list[Call]] = {}
    for computation in module.computations:
        for x in calling(computation):
            for called in x.called:
                callers.setdefault(called, []).append((computation, x))
    return callers


def reachable(starts: Iterable[Computation], known: Container[Computation] = ()) -> set[Computation]:
    """Returns `starts` and all computations that they call, directly or indirectly.

    Computations in `known`, and those reachable only through them, are left out.

    >>> from hlotool.text.parse.parser import parse
    >>> module = parse("f { ROOT x = f32[] parameter(0) }  ENTRY e { p = f32[] parameter(0) ROOT c = f32[] call(p), to_apply=f }")
    >>> sorted(computation.name for computation in reachable([module.entry]))
    ['e', 'f']
    """
    reached = {computation for computation in starts if computation not in known}
    stack = list(reached)
    while stack:
        for x in calling(stack.pop()):
            for called in x.called:
                if called not in reached and called not in known:
                    reached.add(called)
                    stack.append(called)
    return reached
