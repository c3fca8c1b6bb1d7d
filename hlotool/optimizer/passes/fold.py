"""Constant folding: instructions whose operands are constants become constants."""

from __future__ import annotations

from math import prod

from hlotool.errors import EvaluationError
from hlotool.interp.evaluator import compute
from hlotool.interp.options import RunOptions
from hlotool.ir.model import Instruction
from hlotool.opdefs.traits import COMMUNICATES, DEVICE_ID, NONDETERMINISTIC
from hlotool.optimizer.constants import literal_of
from hlotool.optimizer.context import Context
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.shapes.shape import Shape

__all__ = ["fold_constants"]

_OPTIONS = RunOptions(max_iterations=10_000)
# A result may be larger than its operands up to this number of elements; larger ones are clearer as broadcasts and iotas of their own.
_MOST_NEW_ELEMENTS = 64


def fold_constants(context: Context) -> bool:
    """op(constant, ...) -> constant, computed by the interpreter; results that are much larger than the operands are left alone."""
    before = context.report.count
    for computation in context.computations():
        # The interpreter reads the computations that instructions call.
        context.rewriter.flush()
        for x in context.instructions(computation):
            if context.report.is_exhausted:
                return context.report.count > before
            if _is_foldable(context, x):
                _fold(context, x)
    return context.report.count > before


def _is_foldable(context: Context, x: Instruction) -> bool:
    if not x.operands or any(operand.literal is None or operand.literal.elided for operand in x.operands):
        return False
    if x.op.kernel is None or x.op.traits & {NONDETERMINISTIC, DEVICE_ID, COMMUNICATES} or context.has_effect(x) or not context.is_movable(x):
        return False
    if x.op.name in ("custom-call", "tuple") or not all(map(_can_be_literal, x.shape.leaves())):
        return False
    size = sum(prod(leaf.dimensions) * max(ELEMENT_TYPES[leaf.element_type].bits, 8) // 8 for leaf in x.shape.leaves())
    elements = sum(prod(leaf.dimensions) for leaf in x.shape.leaves())
    given = sum(prod(leaf.dimensions) for operand in x.operands for leaf in operand.shape.leaves())
    return size <= context.options.max_constant_bytes and elements <= max(given, _MOST_NEW_ELEMENTS)


def _can_be_literal(shape: Shape) -> bool:
    return shape.is_array and not any(shape.dynamic) and (shape.layout is None or not shape.layout.tiles)


def _fold(context: Context, x: Instruction) -> None:
    rewriter = context.rewriter
    try:
        value = compute(x, [compute(operand, []) for operand in x.operands], options=_OPTIONS)
    except EvaluationError:
        # Such as a loop without an end. It stays, and fails when the module runs.
        return
    if x.shape.is_tuple:
        parts = [
            rewriter.insert("constant", before=x, shape=shape, immediate=literal_of(part, shape), origin=x)
            for part, shape in zip(value, x.shape.elements, strict=True)
            if not shape.is_tuple
        ]
        if len(parts) < len(x.shape.elements):
            return
        new = rewriter.insert("tuple", parts, before=x, shape=x.shape, origin=x)
    else:
        new = rewriter.insert("constant", before=x, shape=x.shape, immediate=literal_of(value, x.shape), origin=x)
    context.allows("fold", x, (new,))
    rewriter.replace_all_uses(x, new)
    operands = dict.fromkeys(x.operands)
    rewriter.erase(x)
    context.erase_if_dead(operands)
