"""Selection of the instructions that a picture shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hlotool.analysis.users import users
from hlotool.errors import nearest
from hlotool.graph.graph_options import GraphError, GraphOptions
from hlotool.ir.model import Computation, Instruction, Module

__all__ = ["Selection", "select"]


class Selection(NamedTuple):
    """The instructions to show, their computation, and the instructions named in the options."""

    computation: Computation
    instructions: list[Instruction]
    named: tuple[Instruction, ...]

    @property
    def is_whole(self) -> bool:
        """True if all instructions of the computation are shown."""
        return len(self.instructions) == len(self.computation.instructions)


def select(module: Module, options: GraphOptions) -> Selection:
    """Returns the instructions that a picture of a module shows.

    Raises GraphError if a name does not exist, if there is no path between the two instructions of
    `path`, or if the options are mutually exclusive.

    >>> from hlotool.text.parse.parser import parse
    >>> module = parse("ENTRY e { p = f32[] parameter(0) n = f32[] negate(p) ROOT m = f32[] abs(n) }")
    >>> [x.name for x in select(module, GraphOptions(around="m", depth=1)).instructions]
    ['n', 'm']
    """
    if options.around is not None and options.path is not None:
        raise GraphError("a picture shows either the surroundings of an instruction or a path, not both")
    computations = _computations(module, options.computation)
    if options.around is not None:
        computation, x = _find_instruction(computations, options.around)
        return _selection(computation, _neighborhood(computation, x, options.depth), (x,), options.select)
    if options.path is not None:
        computation, first = _find_instruction(computations, options.path[0])
        _, last = _find_instruction([computation], options.path[1])
        return _selection(computation, _paths(computation, first, last), (first, last), options.select)
    if options.select is None:
        return Selection(computations[0], computations[0].instructions, ())
    computation, x = _find_instruction(computations, options.select)
    return Selection(computation, computation.instructions, (x,))


def _selection(computation: Computation, chosen: set[Instruction], named: tuple[Instruction, ...], selected: str | None) -> Selection:
    """Returns the selection of a part of a computation.

    Raises GraphError if the instruction to mark is not in this part.
    """
    if selected is not None:
        _, x = _find_instruction([computation], selected)
        if x not in chosen:
            raise GraphError(f"'{x.name}' is not in the shown part of computation '{computation.name}'")
        named = (x,)
    return Selection(computation, [x for x in computation.instructions if x in chosen], named)


def _computations(module: Module, name: str | None) -> list[Computation]:
    """Returns the computation with this name, or all of them, entry first, if no name is given."""
    if name is None:
        return [module.entry, *(computation for computation in module.computations if computation is not module.entry)]
    wanted = name.removeprefix("%")
    for computation in module.computations:
        if computation.name == wanted:
            return [computation]
    raise GraphError(f"module '{module.name}' has no computation '{name}'" + _hint(wanted, (c.name for c in module.computations)))


def _find_instruction(computations: list[Computation], name: str) -> tuple[Computation, Instruction]:
    wanted = name.removeprefix("%")
    for computation in computations:
        for x in computation.instructions:
            if x.name == wanted:
                return computation, x
    position = f"computation '{computations[0].name}'" if len(computations) == 1 else "the module"
    raise GraphError(f"{position} has no instruction '{name}'" + _hint(wanted, (x.name for c in computations for x in c.instructions)))


def _hint(name: str, names: Iterable[str]) -> str:
    meant = nearest(name, names)
    return f"; did you mean '{meant}'?" if meant else ""


def _neighborhood(computation: Computation, x: Instruction, depth: int) -> set[Instruction]:
    """Returns the instructions up to `depth` steps from `x`, either along operands or along users.

    Other operands of users, and other users of operands, are not included.
    """
    found = {x}
    for neighbors in (_operands(computation), users(computation)):
        found |= _reachable(x, neighbors, depth)
    return found


def _paths(computation: Computation, first: Instruction, last: Instruction) -> set[Instruction]:
    found = _reachable(first, users(computation), None) & _reachable(last, _operands(computation), None)
    if found:
        return found
    if _reachable(last, users(computation), None) & _reachable(first, _operands(computation), None):
        raise GraphError(f"'{first.name}' depends on '{last.name}'; swap the two names")
    raise GraphError(f"no path leads from '{first.name}' to '{last.name}': neither depends on the other")


def _operands(computation: Computation) -> dict[Instruction, list[Instruction]]:
    return {x: [*x.operands, *x.control_predecessors] for x in computation.instructions}


def _reachable(x: Instruction, neighbors: Mapping[Instruction, list[Instruction]], depth: int | None) -> set[Instruction]:
    found, last = {x}, {x}
    while last and (depth is None or depth > 0):
        last = {other for one in last for other in neighbors.get(one, ())} - found
        found |= last
        depth = None if depth is None else depth - 1
    return found
