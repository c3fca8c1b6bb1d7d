"""Orders of instructions and computations, as XLA computes them. All walks are iterative."""

from __future__ import annotations

from hlotool.ir.model import Computation, Instruction, Module

__all__ = ["computation_post_order", "fusion_computations", "instruction_post_order", "print_order"]


def instruction_post_order(computation: Computation) -> list[Instruction]:
    """XLA's MakeInstructionPostOrder: from each instruction without users its control predecessors and operands, then itself."""
    used = {operand for x in computation.instructions for operand in x.operands}
    order: list[Instruction] = []
    # False while an instruction's dependencies are on the stack above it.
    done: dict[Instruction, bool] = {}
    for start in computation.instructions:
        if start in used:
            continue
        stack = [start]
        while stack:
            x = stack[-1]
            state = done.get(x)
            if state is None:
                done[x] = False
                stack.extend(reversed(x.operands))
                stack.extend(x.control_predecessors)
            else:
                stack.pop()
                if not state:
                    done[x] = True
                    order.append(x)
    return order


def _called_post_order(root: Computation) -> list[Computation]:
    """XLA's MakeEmbeddedComputationsList, and the root after it.

    All computations that one instruction calls are marked before the first is walked, so one that calls another of them comes out
    before it: a bug of XLA that its prints show.
    """
    visited: set[Computation] = set()
    order: list[Computation] = []
    stack = [(root, iter(root.instructions))]
    while stack:
        computation, rest = stack[-1]
        for x in rest:
            fresh = []
            for called in reversed(x.called):
                if called not in visited:
                    visited.add(called)
                    fresh.append((called, iter(called.instructions)))
            if fresh:
                stack.extend(fresh)
                break
        else:
            stack.pop()
            order.append(computation)
    return order


def computation_post_order(module: Module) -> list[Computation]:
    """XLA's MakeComputationPostOrder: callees first, beginning with each computation that nobody calls, in textual order."""
    called = {c for computation in module.computations for x in computation.instructions for c in x.called}
    order: dict[Computation, None] = {}
    for computation in module.computations:
        if computation not in called:
            order.update(dict.fromkeys(_called_post_order(computation)))
    return list(order)


def fusion_computations(module: Module) -> set[Computation]:
    """The bodies of fusions, whose order a schedule does not fix."""
    return {c for computation in module.computations for x in computation.instructions if x.op.name == "fusion" for c in x.called}


def print_order(module: Module, computation: Computation, fused: set[Computation]) -> list[Instruction]:
    """The order in which XLA prints: the schedule when there is one, else post-order."""
    if module.is_scheduled and computation not in fused:
        return computation.instructions
    return instruction_post_order(computation)
