"""Follows the value of an asynchronous operation to its update and done instructions.

The value may pass through tuples, barriers, loops and calls. The verifier's rules decide which
paths are allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from hlotool.analysis.callgraph import Call
from hlotool.ir.async_chain import continues
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.opdefs.traits import CONTROL_FLOW, IDENTITY
from hlotool.shapes.shape import subshape

__all__ = ["AsyncFlow", "written_opcode"]

Users = Callable[[Computation], Mapping[Instruction, Sequence[Instruction]]]
Path = tuple[int, ...]
_Carrier = tuple[Computation, Instruction, Path]


class AsyncFlow:
    """The flow of values through a module.

    It caches the users of elements of wide tuples, since many values may pass through one tuple.
    """

    def __init__(self, users: Users, callers: Mapping[Computation, Sequence[Call]]) -> None:
        self.users = users
        self.callers = callers
        self._positions: dict[Instruction, dict[Instruction, list[int]]] = {}
        self._elements: dict[Instruction, dict[int, list[Instruction]]] = {}

    def arrivals(self, computation: Computation, start: Instruction) -> Iterator[Call]:
        """Yields every instruction that the whole value of `start` reaches, with its computation.

        `start` itself is included.

        >>> from hlotool.analysis.callgraph import callers
        >>> from hlotool.analysis.users import users
        >>> from hlotool.text.parse.parser import parse
        >>> module = parse("ENTRY e { p = f32[4] parameter(0) s = ((f32[4]), f32[4]) abs-start(p) ROOT d = f32[4] abs-done(s) }")
        >>> [x.name for _, x in AsyncFlow(users, callers(module)).arrivals(module.entry, module.entry.instructions[1])]
        ['s', 'd']
        """
        pending: list[_Carrier] = [(computation, start, ())]
        seen: set[tuple[Instruction, Path]] = set()
        while pending:
            inside, x, path = pending.pop()
            # In a module with wrong types, a loop may nest its state in ever deeper tuples.
            if (x, path) in seen or subshape(x.shape, path) is None:
                continue
            seen.add((x, path))
            yield inside, x
            if x is not start and continues(x):
                continue
            for user in self._takers(inside, x, path):
                pending.extend(self._passed_to(inside, user, x, path))
            if x is inside.root:
                pending.extend(self._returned_to(inside, path))

    def _takers(self, inside: Computation, x: Instruction, path: Path) -> Sequence[Instruction]:
        """Returns the users of `x`, except those that take a different element."""
        if not path:
            return self.users(inside).get(x, ())
        by_element = self._elements.get(x)
        if by_element is None:
            by_element = self._elements[x] = {}
            for user in self.users(inside).get(x, ()):
                element = user.attributes["index"] if user.op.name == "get-tuple-element" else -1
                by_element.setdefault(element, []).append(user)
        return [*by_element.get(-1, ()), *by_element.get(path[0], ())]

    def _positions_in(self, user: Instruction, x: Instruction) -> Sequence[int]:
        """Returns the positions of `x` among the operands of `user`."""
        positions = self._positions.get(user)
        if positions is None:
            positions = self._positions[user] = {}
            for k, operand in enumerate(user.operands):
                positions.setdefault(operand, []).append(k)
        return positions.get(x, ())

    def _passed_to(self, inside: Computation, user: Instruction, x: Instruction, path: Path) -> Iterator[_Carrier]:
        """Yields the instructions that hold the value after `user` has taken `x` as an operand.

        In `x`, the value is at `path`.
        """
        opcode = user.op.name
        # Some custom calls only mark a value and return it. Any custom call might be one of them.
        if continues(user) or IDENTITY in user.op.traits or opcode == "custom-call":
            yield inside, user, path
        elif opcode == "tuple":
            yield from ((inside, user, (k, *path)) for k in self._positions_in(user, x))
        elif opcode == "get-tuple-element":
            if path[:1] == (user.attributes["index"],):
                yield inside, user, path[1:]
        elif opcode == "while":
            yield inside, user, path
            yield from ((called, called.parameters[0], path) for called in user.called if called.parameters)
        elif opcode == "call":
            parameters = user.called[0].parameters
            yield from ((user.called[0], parameters[k], path) for k in self._positions_in(user, x) if k < len(parameters))
        elif opcode == "conditional":
            branches = [(user.called[k - 1], user.called[k - 1].parameters) for k in self._positions_in(user, x) if 0 < k <= len(user.called)]
            yield from ((branch, parameters[0], path) for branch, parameters in branches if parameters)

    def _returned_to(self, inside: Computation, path: Path) -> Iterator[_Carrier]:
        for outside, caller in self.callers.get(inside, ()):
            if CONTROL_FLOW in caller.op.traits:
                yield outside, caller, path
            if caller.op.name == "while" and inside.parameters:
                yield inside, inside.parameters[0], path


def written_opcode(x: Instruction, module: Module, suffix: str | None = None) -> str:
    """Returns the opcode of an asynchronous instruction as it is written.

    For example, an async-start may be written in the short form `negate-start`. Given a suffix such
    as "done", returns the opcode of that part of the same operation instead.

    >>> from hlotool.text.parse.parser import parse
    >>> module = parse("ENTRY e { p = f32[4] parameter(0) s = ((f32[4]), f32[4]) abs-start(p) ROOT d = f32[4] abs-done(s) }")
    >>> written_opcode(module.entry.root, module), written_opcode(module.entry.root, module, "start")
    ('abs-done', 'abs-start')
    """
    wrapped = x.called[0].root.op.name if x.called and x.called[0] in module.hidden else "async"
    return f"{wrapped}-{suffix or x.op.name.rpartition('-')[2]}"
