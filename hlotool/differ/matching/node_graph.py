"""The graph that the matcher works on: the instructions of two modules as numbered nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from typing import TypeVar

from hlotool.differ.matching.instruction_parts import Parts, calls_of
from hlotool.ir.attributes import NO_ATTRIBUTES
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.opdefs.traits import ANY_SIGNATURE, COMMUTATIVE

__all__ = ["Graph"]


Item = TypeVar("Item")

# The callers of a computation are candidates for a node's counterpart only if there are at most
# this many.
_MAX_CALLERS = 32


# The lists with an entry for each node that does not mention other nodes.
_PER_NODE = ("nodes", "commutes", "forwards", "is_parameter", "contents", "keys", "structures")


def _rotate(items: list[Item], count: int) -> list[Item]:
    return items[count:] + items[:count]


class Graph:
    """The instructions and computations of two modules as numbers, in textual order, left first.

    Nodes below `split` and computations below `computation_split` belong to the left module.
    `computations`, `members`, `roots` and `callers` have an entry for each computation; the other
    lists have an entry for each node. Each entry of `users` lists pairs of an operand position and
    a user; the positions in commutative operations are -1. `forwards` contains the nodes that may
    have the value of another node.
    """

    def __init__(self, left: Module, right: Module) -> None:
        self.parts = Parts()
        self.nodes: list[Instruction] = []
        self.computations: list[Computation] = []
        self.home: list[int] = []
        self.operands: list[tuple[int, ...]] = []
        self.control: list[tuple[int, ...]] = []
        self.users: list[list[tuple[int, int]]] = []
        self.calls: dict[int, dict[str, tuple[int, ...]]] = {}
        self.commutes: list[bool] = []
        self.is_parameter: list[bool] = []
        self.forwards: list[bool] = []
        self.members: list[range] = []
        self.roots: list[int] = []
        self.callers: list[list[int]] = []
        first = self.parts.add(left)
        self._add(left)
        self.split, self.computation_split = len(self.nodes), len(self.computations)
        second = self.parts.add(right)
        self._add(right)
        # `contents` covers all parts of instructions; `keys` covers only the parts that are
        # compared.
        self.contents = first + second
        self.keys = self.parts.comparable(first, second)
        structures = self.parts.structures
        self.structures = [structures[key] for key in self.keys]
        self.entries = (
            self._numbers_of(left, 0)[left.entry],
            self._numbers_of(right, self.computation_split)[right.entry],
        )
        self.forget()

    @staticmethod
    def _numbers_of(module: Module, first: int) -> dict[Computation, int]:
        return {computation: number for number, computation in enumerate(module.computations, first)}

    def _add(self, module: Module) -> None:
        first = len(self.nodes)
        computations = self._numbers_of(module, len(self.computations))
        index = {x: number for number, x in enumerate(module.all_instructions(), first)}
        self.nodes += index
        self.users += [[] for _ in index]
        self.callers += [[] for _ in computations]
        ops = [x.op for x in index]
        commutes_by_op = {op: COMMUTATIVE in op.traits and op.arity == 2 for op in {*ops}}
        forwards_by_op = {op: ANY_SIGNATURE in op.traits or op.name in ("parameter", "get-tuple-element") for op in commutes_by_op}
        self.commutes += [commutes_by_op[op] for op in ops]
        self.forwards += [forwards_by_op[op] for op in ops]
        self.is_parameter += [op.name == "parameter" for op in ops]
        for computation, number in computations.items():
            instructions = computation.instructions
            start = index[instructions[0]] if instructions else len(self.nodes)
            self.members.append(range(start, start + len(instructions)))
            self.roots.append(index[computation.root])
            self.home += [number] * len(instructions)
        self.computations += computations
        self.control += [()] * len(index)
        users, all_operands, commutes = self.users, self.operands, self.commutes
        # Instructions share attributes, most of which refer to no computation or instruction.
        plain: set[int] = {id(NO_ATTRIBUTES)}
        for node, x in enumerate(index, first):
            operands = tuple([index[operand] for operand in x.operands])
            all_operands.append(operands)
            for position, operand in enumerate(operands):
                users[operand].append((-1 if commutes[node] else position, node))
            if id(x.attributes) not in plain and not self._add_references(node, x, index, computations):
                plain.add(id(x.attributes))

    def _add_references(self, node: int, x: Instruction, index: Mapping[Instruction, int], computations: Mapping[Computation, int]) -> bool:
        """Adds the references in an instruction's attributes; returns whether there are any."""
        called = calls_of(x)
        if called:
            self.calls[node] = {name: tuple([computations[c] for c in value if c in computations]) for name, value in called.items()}
            for numbers in self.calls[node].values():
                for callee in numbers:
                    self.callers[callee].append(node)
        has_control = "control-predecessors" in x.attributes
        if has_control:
            self.control[node] = tuple([index[y] for y in x.control_predecessors if y in index])
        return has_control or bool(called)

    def reversed(self) -> Graph:
        """Returns the same graph with the modules exchanged.

        Node `n` becomes node `(n - split) % len(nodes)`.
        """
        split, size = self.split, len(self.nodes)
        at, count = self.computation_split, len(self.computations)
        moved = [*range(size - split, size), *range(size - split)]
        renumbered = [*range(count - at, count), *range(count - at)]
        shift = [size - split] * at + [-split] * (count - at)
        calls = {moved[x]: {name: tuple([renumbered[c] for c in callees]) for name, callees in called.items()} for x, called in self.calls.items()}
        other = copy(self)
        other.__dict__.update(
            {name: _rotate(getattr(self, name), split) for name in _PER_NODE},
            split=size - split,
            computation_split=count - at,
            home=_rotate([renumbered[c] for c in self.home], split),
            operands=_rotate([tuple([moved[x] for x in nodes]) for nodes in self.operands], split),
            control=_rotate([tuple([moved[x] for x in nodes]) if nodes else () for nodes in self.control], split),
            users=_rotate([[(position, moved[x]) for position, x in uses] for uses in self.users], split),
            calls=calls,
            computations=_rotate(self.computations, at),
            members=_rotate([range(m.start + s, m.stop + s) for m, s in zip(self.members, shift, strict=True)], at),
            roots=_rotate([moved[root] for root in self.roots], at),
            callers=_rotate([[moved[caller] for caller in callers] for callers in self.callers], at),
            entries=(renumbered[self.entries[1]], renumbered[self.entries[0]]),
        )
        other.forget()
        return other

    def forget(self) -> None:
        """Clears all caches."""
        self.structure_classes: list[int] | None = None
        self.outlines: list[int] | None = None
        self._forwarded: dict[int, int] = {}
        self._parameters: dict[int, list[int]] = {}
        self._by_key: dict[int, dict[int, list[int]]] = {}

    def parameters(self, computation: int) -> list[int]:
        """Returns the parameters of a computation, ordered by number."""
        parameters = self._parameters.get(computation)
        if parameters is None:
            nodes = self.nodes
            parameters = [node for node in self.members[computation] if self.is_parameter[node]]
            parameters.sort(key=lambda node: (nodes[node].immediate, node))
            self._parameters[computation] = parameters
        return parameters

    def boundaries(self, first: int, second: int) -> Iterator[tuple[int, int]]:
        """Yields pairs of the roots and of the parameters of two computations."""
        yield self.roots[first], self.roots[second]
        yield from zip(self.parameters(first), self.parameters(second), strict=False)

    def nodes_of_key(self, computation: int, key: int) -> list[int]:
        """Returns the nodes of a computation with the given key."""
        if computation not in self._by_key:
            by_key: dict[int, list[int]] = {}
            for node in self.members[computation]:
                by_key.setdefault(self.keys[node], []).append(node)
            self._by_key[computation] = by_key
        return self._by_key[computation].get(key, [])

    def source(self, node: int) -> int:
        """Returns the node where the value of a node originates.

        Looks through tuples and their elements, and through parameters and results of computations
        that are called only once.
        """
        if not self.forwards[node]:
            return node
        known = self._forwarded
        if node in known:
            return known[node]
        passed, at = [node], node
        seen = {node}
        while at not in known:
            following = self._origin(at) if self.forwards[at] else None
            if following is None or following in seen:
                known[at] = at
                break
            seen.add(following)
            passed.append(following)
            at = following
        for x in passed:
            known[x] = known[at]
        return known[node]

    def only_call(self, node: int) -> int | None:
        """Returns the callee of a call or fusion if nothing else calls it, otherwise None."""
        if node not in self.calls or ANY_SIGNATURE not in self.nodes[node].op.traits:
            return None
        called = [callee for numbers in self.calls[node].values() for callee in numbers]
        return called[0] if len(called) == 1 and len(self.callers[called[0]]) == 1 else None

    def counterpart_callers(self, node: int, computations: Mapping[int, int]) -> list[int]:
        """Returns the callers of the counterparts of a node's callees.

        Counterparts with more than `_MAX_CALLERS` callers are skipped.
        """
        if node not in self.calls:
            return []
        called = [callee for numbers in self.calls[node].values() for callee in numbers]
        counterparts = dict.fromkeys(computations[callee] for callee in called if callee in computations)
        return [caller for c in counterparts if len(self.callers[c]) <= _MAX_CALLERS for caller in self.callers[c]]

    def _origin(self, node: int) -> int | None:
        x = self.nodes[node]
        if x.parameter_number is not None:
            callers = self.callers[self.home[node]]
            if len(callers) != 1 or ANY_SIGNATURE not in self.nodes[callers[0]].op.traits:
                return None
            arguments = self.operands[callers[0]]
            return arguments[x.parameter_number] if x.parameter_number < len(arguments) else None
        if ANY_SIGNATURE in x.op.traits:
            called = self.only_call(node)
            return None if called is None else self.roots[called]
        if x.op.name == "get-tuple-element":
            of, index = self.operands[node][0], int(x.attributes["index"])
            if self.nodes[of].op.name == "tuple" and index < len(self.operands[of]):
                return self.operands[of][index]
        return None
