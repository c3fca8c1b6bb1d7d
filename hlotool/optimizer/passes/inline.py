"""Inlining: replaces calls with the instructions of the computations that they call."""

from __future__ import annotations

from hlotool.ir.model import Computation, Instruction
from hlotool.opdefs.traits import NONDETERMINISTIC
from hlotool.optimizer.context import Context
from hlotool.optimizer.inlining import can_replace_caller, copy_body, has_no_other_attributes, replace_caller

__all__ = ["inline_calls"]


def inline_calls(context: Context) -> bool:
    """call(a, ...), to_apply=f -> the instructions of f, if nothing else calls f

    If f has several callers, all calls are inlined, but only if the module does not get larger.
    """
    before = context.report.count
    if context.module.is_scheduled:
        return False
    # For each computation, whether all calls to it are inlined; decided at the first call.
    decisions: dict[Computation, bool] = {}
    # Callees come first, so the calls in a body are inlined before the body itself is inlined.
    for computation in context.computations():
        for x in context.instructions(computation):
            if x.op.name == "call" and _is_inlinable(context, x, decisions) and _allows(context, x):
                _inline(context, x, x.called[0])
    return context.report.count > before


def _allows(context: Context, x: Instruction) -> bool:
    return context.allows("inline", x, (f"the instructions of {x.called[0].name}",))


def _is_inlinable(context: Context, x: Instruction, decisions: dict[Computation, bool]) -> bool:
    body = x.called[0]
    if not context.is_movable(x) or not has_no_other_attributes(x) or not can_replace_caller(context.rewriter, x, body):
        return False
    if context.rewriter.is_only_caller(x, body):
        return True
    decision = decisions.get(body)
    if decision is None:
        decision = decisions[body] = _may_be_copied(context, body) and _added_instructions(context, body, context.rewriter.callers(body)) <= 0
    return decision


def _may_be_copied(context: Context, body: Computation) -> bool:
    if any(caller.op.name != "call" for caller in context.rewriter.callers(body)):
        return False
    # A copy of a fusion would need its own computation, and a copy of a random number generator
    # would have its own state.
    return not any(y.op.name == "fusion" or NONDETERMINISTIC in y.op.traits for y in context.instructions(body))


def _added_instructions(context: Context, body: Computation, callers: tuple[Instruction, ...]) -> int:
    """Returns the number of instructions that inlining all calls to a computation would add."""
    rewriter = context.rewriter
    instructions = [y for y in context.instructions(body) if y.op.name != "parameter"]
    # Copies of the same constant in one computation will be merged, and so will copies of iotas and
    # of broadcasts of constants.
    shared: set[Instruction] = set()
    for y in instructions:
        if y.literal is not None or y.op.name == "iota" or (y.op.name == "broadcast" and y.operands[0] in shared):
            shared.add(y)
    added = len(shared) * len({rewriter.owner(caller) for caller in callers}) - len(instructions)
    for caller in callers:
        users = rewriter.users(caller)
        added += len(instructions) - len(shared) - 1
        if body.root.op.name == "tuple" and not rewriter.is_root(caller) and all(user.op.name == "get-tuple-element" for user in users):
            added -= 1 + len(users)
    return added


def _inline(context: Context, x: Instruction, body: Computation) -> None:
    operands = dict.fromkeys(x.operands)
    replace_caller(context.rewriter, x, body, copy_body(context.rewriter, body, x.operands, x))
    context.erase_if_dead(operands)
