"""The orders in which XLA visits instructions and computations. All walks are iterative."""

from __future__ import annotations

from collections.abc import Iterable

from hlotool.ir.model import Computation, Instruction, Module

__all__ = ["computation_post_order", "fusion_computations", "instruction_post_order", "is_fusion_computation", "print_order", "shown_computations"]


def instruction_post_order(computation: Computation) -> list[Instruction]:
    """Returns the instructions in the order of XLA's MakeInstructionPostOrder.

    This is a post-order walk that starts at each instruction without users and follows both control
    predecessors and operands.

    >>> from hlotool.text.parse.parser import parse
    >>> instruction_post_order(parse("ENTRY e { p = f32[] parameter(0) q = f32[] parameter(1) ROOT n = f32[] negate(p) }").entry)
    [<q = f32[] parameter>, <p = f32[] parameter>, <n = f32[] negate>]
    """
    used = {operand for x in computation.instructions for operand in x.operands}
    order: list[Instruction] = []
    # False while the dependencies of an instruction are still on the stack, True once it is in the
    # order.
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
    """Returns the computations of XLA's MakeEmbeddedComputationsList, followed by the root.

    Before XLA walks the first computation that an instruction calls, it marks all computations that
    the instruction calls as visited. If one of them calls another, the caller therefore comes
    first. This bug is visible in the text that XLA prints, so it is reproduced here.
    """
    visited: set[Computation] = set()
    order: list[Computation] = []
    stack = [(root, iter(root.instructions))]
    while stack:
        computation, rest = stack[-1]
        for x in rest:
            unvisited = []
            for called in reversed(x.called):
                if called not in visited:
                    visited.add(called)
                    unvisited.append((called, iter(called.instructions)))
            if unvisited:
                stack.extend(unvisited)
                break
        else:
            stack.pop()
            order.append(computation)
    return order


def computation_post_order(module: Module) -> list[Computation]:
    """Returns the computations in the order of XLA's MakeComputationPostOrder.

    Callees come before callers. The walk starts at each computation that is not called, in textual
    order.

    >>> from hlotool.text.parse.parser import parse
    >>> module = parse("f { ROOT x = f32[] parameter(0) } ENTRY e { p = f32[] parameter(0) ROOT c = f32[] call(p), to_apply=f }")
    >>> [computation.name for computation in computation_post_order(module)]
    ['f', 'e']
    """
    called = {c for computation in module.computations for x in computation.instructions for c in x.called}
    order: dict[Computation, None] = {}
    for computation in module.computations:
        if computation not in called:
            order.update(dict.fromkeys(_called_post_order(computation)))
    return list(order)


def fusion_computations(module: Module) -> set[Computation]:
    """Returns the computations that fusions call; a schedule does not order their instructions."""
    return {c for computation in module.computations for x in computation.instructions if x.op.name == "fusion" for c in x.called}


def is_fusion_computation(callers: Iterable[Instruction]) -> bool:
    """Returns whether a computation with these callers is one of `fusion_computations`."""
    return any(caller.op.name == "fusion" for caller in callers)


def print_order(module: Module, computation: Computation, fused: set[Computation]) -> list[Instruction]:
    """Returns the instructions in XLA's print order.

    The order is the schedule if the module is scheduled, and a post-order otherwise.
    """
    if module.is_scheduled and computation not in fused:
        return computation.instructions
    return instruction_post_order(computation)


def shown_computations(module: Module) -> list[Computation]:
    """Returns the computations that appear in the module's text.

    Omits hidden computations, which are implied by the syntactic sugar of async operations.

    >>> from hlotool.text.parse.parser import parse
    >>> text = "ENTRY e { p = f32[2] parameter(0) s = ((f32[2]), f32[2], s32[]) negate-start(p) ROOT d = f32[2] negate-done(s) }"
    >>> module = parse(text)
    >>> len(module.computations), [computation.name for computation in shown_computations(module)]
    (2, ['e'])
    """
    return [computation for computation in module.computations if computation not in module.hidden]
