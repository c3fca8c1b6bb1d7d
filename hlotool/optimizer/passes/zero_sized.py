"""Replaces arrays without elements with constants, since nothing has to be computed for them."""

from __future__ import annotations

from hlotool.ir.model import Instruction
from hlotool.literals.literal import literal_from_bytes
from hlotool.opdefs.traits import COMMUNICATES, NONDETERMINISTIC
from hlotool.optimizer.constants import is_short_as_text
from hlotool.optimizer.context import Context
from hlotool.optimizer.dimensions import is_empty, is_plain

__all__ = ["replace_empty_arrays"]


def replace_empty_arrays(context: Context) -> bool:
    """op(a, ...) -> constant, if the result has no elements"""
    before, rewriter = context.report.count, context.rewriter
    for computation in context.computations():
        for x in context.instructions(computation):
            if not is_empty(x.shape) or not _is_replaceable(context, x):
                continue
            if context.report.is_exhausted:
                return context.report.count > before
            new = rewriter.insert("constant", before=x, shape=x.shape, immediate=literal_from_bytes(x.shape, b""), origin=x)
            if "sharding" in x.attributes:
                rewriter.update(new, attributes={"sharding": x.attributes["sharding"]})
            context.allows("zero-sized", x, (new,))
            rewriter.replace_all_uses(x, new)
            operands = dict.fromkeys(x.operands)
            rewriter.erase(x)
            context.erase_if_dead(operands)
    return context.report.count > before


def _is_replaceable(context: Context, x: Instruction) -> bool:
    if x.op.name in ("constant", "parameter") or x.op.traits & {COMMUNICATES, NONDETERMINISTIC} or not is_plain(x.shape):
        return False
    if not is_short_as_text(x.shape):
        return False
    return context.is_movable(x) and not context.has_effect(x)
