"""The cost of a module: arithmetic operations, transcendental functions, and bytes accessed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

from hlotool.analysis.callgraph import reachable
from hlotool.analysis.loops import known_trip_count
from hlotool.analysis.traffic import bytes_accessed
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.opdefs.base import OpDef
from hlotool.opdefs.traits import ELEMENTWISE, RETURNS, RUNS_COMPUTATIONS, TRANSCENDENTAL
from hlotool.opdefs.work import Work, elements

__all__ = ["Cost", "instruction_cost", "instruction_costs", "module_cost"]


class Cost(NamedTuple):
    """The cost of running an instruction, a computation or a module.

    `flops` counts arithmetic operations on any type, and `transcendentals` counts evaluations of
    functions such as the exponential. `bytes_accessed` counts the bytes read from and written to
    memory.
    """

    flops: int = 0
    transcendentals: int = 0
    bytes_accessed: int = 0

    def plus(self, other: Cost, times: int = 1) -> Cost:
        """Returns the sum of this cost and `times` times another cost.

        >>> Cost(1, 2).plus(Cost(3, 4, 5), 10)
        Cost(flops=31, transcendentals=42, bytes_accessed=50)
        """
        return Cost(*[mine + times * theirs for mine, theirs in zip(self, other, strict=True)])


def module_cost(module: Module) -> Cost:
    """Returns the cost of a run of the entry computation.

    Costs are counted as in XLA's HloCostAnalysis, but every iteration of a loop counts. The number
    of iterations comes from `known_trip_count` in a loop's configuration or from constants; if
    neither determines it, the body counts once. For a conditional, each number is the maximum over
    its branches. Custom calls cost nothing, since nothing is known about them.

    >>> from hlotool.text.parse.parser import parse
    >>> module_cost(parse("ENTRY e { p = f32[2,3] parameter(0) t = f32[2,3] tanh(p) ROOT a = f32[2,3] add(t, p) }"))
    Cost(flops=6, transcendentals=6, bytes_accessed=120)
    """
    costs = instruction_costs(module)
    return _sum(costs[x] for x in module.entry.instructions)


def instruction_costs(module: Module) -> dict[Instruction, Cost]:
    """Returns the cost of running each instruction of a module once.

    The computations that an instruction calls are included. Costs are counted as in `module_cost`.

    >>> from hlotool.text.parse.parser import parse
    >>> module = parse("ENTRY e { p = f32[2,3] parameter(0) t = f32[2,3] tanh(p) ROOT a = f32[2,3] add(t, p) }")
    >>> instruction_costs(module)[module.entry.root]
    Cost(flops=6, transcendentals=0, bytes_accessed=72)
    """
    result: dict[Instruction, Cost] = {}
    costs: dict[Computation, Cost] = {}
    # Computations are defined before their callers.
    for computation in module.computations:
        for x in computation.instructions:
            result[x] = _cost(x, costs)
        costs[computation] = _sum(result[x] for x in computation.instructions)
    return result


def instruction_cost(module: Module, x: Instruction) -> Cost:
    """Returns the cost of running one instruction, counted as in `module_cost`.

    The computations that it calls are included.

    >>> from hlotool.text.parse.parser import parse
    >>> module = parse("ENTRY e { p = f32[2,3] parameter(0) t = f32[2,3] tanh(p) ROOT a = f32[2,3] add(t, p) }")
    >>> instruction_cost(module, module.entry.root)
    Cost(flops=6, transcendentals=0, bytes_accessed=72)
    """
    called, costs = reachable(x.called), dict[Computation, Cost]()
    for computation in module.computations if called else ():
        if computation in called:
            costs[computation] = _sum(_cost(y, costs) for y in computation.instructions)
    return _cost(x, costs)


def _sum(costs: Iterable[Cost]) -> Cost:
    total = Cost()
    for cost in costs:
        total = total.plus(cost)
    return total


def _cost(x: Instruction, costs: Mapping[Computation, Cost]) -> Cost:
    """Returns the cost of an instruction, given the costs of the computations that it calls."""
    work = _work(x)
    total = Cost(work.flops, work.transcendentals, bytes_accessed(x))
    if not _RUNNING.isdisjoint(x.op.traits):
        total = total.plus(_called(x, costs))
    for name, times in work.runs.items():
        # The values that a reducer reads and writes are not in memory.
        total = total.plus(costs[x.attributes[name]]._replace(bytes_accessed=0), times)
    return total


_RUNNING = frozenset({RUNS_COMPUTATIONS, RETURNS})


def _called(x: Instruction, costs: Mapping[Computation, Cost]) -> Cost:
    """Returns the cost of the computations that an instruction runs."""
    callees = [costs[callee] for callee in x.called]
    if "branch_computations" in x.op.calls:
        return Cost(*[max(values) for values in zip(*callees, strict=True)])
    once = _sum(callees)
    if "condition" not in x.op.calls:
        return once if x.op.name != "fusion" else once._replace(bytes_accessed=0)
    count = known_trip_count(x)
    return Cost().plus(once, 1 if count is None else count)


def _work(x: Instruction) -> Work:
    op = x.op
    if op.work is None:
        if ELEMENTWISE not in op.traits:
            return _NO_WORK
        count = elements(x.shape)
        return Work(0, count) if TRANSCENDENTAL in op.traits else Work(count)
    try:
        return op.work(x.shape, tuple(operand.shape for operand in x.operands), {**_defaults(op), **x.attributes})
    except (ArithmeticError, IndexError, ValueError, StopIteration):
        # An instruction that the verifier rejects may refer to dimensions that do not exist.
        return _NO_WORK


_NO_WORK = Work()


@cache
def _defaults(op: OpDef) -> dict[str, Any]:
    return {name: spec.default for name, spec in op.attributes.items()}
