"""Inlining: calls become the instructions of the computation that they call."""

from __future__ import annotations

from hlotool.ir.model import Computation, Instruction
from hlotool.optimizer.context import Context

__all__ = ["inline_calls"]

# Bodies of that many instructions are inlined at each call, others only where they are called once, so that modules do not grow.
_SMALL = 2


def inline_calls(context: Context) -> bool:
    """call(a, ...), to_apply=f -> the instructions of f, if nothing else calls f, or if f is small."""
    before = context.report.count
    # Callees come first, so a body has been inlined into when it is inlined itself.
    for computation in context.computations():
        for x in context.instructions(computation):
            if x.op.name == "call" and x in context.rewriter and _is_inlinable(context, x) and _allows(context, x):
                _inline(context, x, x.called[0])
    return context.report.count > before


def _allows(context: Context, x: Instruction) -> bool:
    return context.allows("inline", x, (f"the instructions of {x.called[0].name}",))


def _is_inlinable(context: Context, x: Instruction) -> bool:
    if not context.is_movable(x) or x.backend_config or x.attributes.keys() - {"to_apply", "metadata"}:
        return False
    body = x.called[0]
    is_small = sum(y.op.name != "parameter" for y in context.instructions(body)) <= _SMALL
    return (is_small or len(context.rewriter.callers(body)) == 1) and not context.module.is_scheduled


def _inline(context: Context, x: Instruction, body: Computation) -> None:
    rewriter = context.rewriter
    copies: dict[Instruction, Instruction] = {}
    for y in context.instructions(body):
        if y.op.name == "parameter":
            copies[y] = x.operands[y.immediate]
            continue
        copies[y] = rewriter.insert_copy(y, [copies[operand] for operand in y.operands], before=x)
        if y.control_predecessors:
            rewriter.update(copies[y], attributes={"control-predecessors": tuple(copies[z] for z in y.control_predecessors)})
    root = copies[body.root]
    rewriter.replace_all_uses(x, root)
    operands = dict.fromkeys(x.operands)
    rewriter.erase(x)
    context.erase_if_dead(operands)
    if rewriter.callers(body):
        return
    rewriter.erase_computation(body)
    for y, copy in copies.items():
        # Nothing else has the name now.
        if y.op.name != "parameter" and copy in rewriter:
            rewriter.rename(copy, y.name)
