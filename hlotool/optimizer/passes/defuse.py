"""Undoes fusions: replaces each fusion with its instructions."""

from __future__ import annotations

from hlotool.optimizer.context import Context
from hlotool.optimizer.inlining import can_replace_caller, copy_body, replace_caller

__all__ = ["undo_fusions"]


def undo_fusions(context: Context) -> bool:
    """fusion(a, ...), calls=f -> the instructions of f

    Fusions that run asynchronously are left alone.
    """
    before = context.report.count
    rewriter = context.rewriter
    for computation in context.computations():
        for x in context.instructions(computation):
            if x.op.name != "fusion" or not context.is_movable(x) or not can_replace_caller(context.rewriter, x, x.called[0]):
                continue
            if context.allows("defuse", x):
                replace_caller(rewriter, x, x.called[0], copy_body(rewriter, x.called[0], x.operands, x))
    return context.report.count > before
