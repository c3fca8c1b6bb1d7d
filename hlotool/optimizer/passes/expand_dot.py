"""Expands dots with any dimension numbers into dots of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from hlotool.ir.model import Instruction
from hlotool.optimizer.context import Context
from hlotool.optimizer.dimensions import is_plain
from hlotool.optimizer.passes.expand import expand
from hlotool.optimizer.pattern_rewriter import PatternRewriter
from hlotool.shapes.shape import array_shape

__all__ = ["expand_dots"]


def expand_dots(context: Context) -> bool:
    """dot(a, b) -> reshape(dot(a', b')), where a' and b' are batches of matrices

    Batch dimensions come first, and one dimension of each matrix is contracted. As in XLA's
    DotDecomposer, the free dimensions of `a'` come before the contracting dimension, and
    the free dimensions of `b'` come after it.
    """
    return expand(context, "expand-dot", {"dot": _dot})


def _dot(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    lhs, rhs = x.operands
    attributes = x.attributes
    if not all(is_plain(shape) for shape in (x.shape, lhs.shape, rhs.shape)):
        return None
    batch, contracted = [attributes.get(f"lhs_{kind}_dims", ()) for kind in ("batch", "contracting")]
    batch_there, contracted_there = [attributes.get(f"rhs_{kind}_dims", ()) for kind in ("batch", "contracting")]
    first = _matrix(lhs, rewriter, batch, contracted, is_left=True)
    second = _matrix(rhs, rewriter, batch_there, contracted_there, is_left=False)
    if first is lhs and second is rhs:
        return None
    count = len(batch)
    batches = tuple(range(count))
    shape = array_shape(x.shape.element_type, (*first.shape.dimensions[: count + 1], second.shape.dimensions[count + 1]))
    changed = {
        "lhs_batch_dims": batches,
        "rhs_batch_dims": batches,
        "lhs_contracting_dims": (count + 1,),
        "rhs_contracting_dims": (count,),
    }
    return rewriter.reshape(rewriter.with_operands(x, [first, second], shape, **changed), x.shape.dimensions)


def _matrix(x: Instruction, rewriter: PatternRewriter, batch: Sequence[int], contracted: Sequence[int], *, is_left: bool) -> Instruction:
    """Returns an operand as a batch of matrices.

    The batch dimensions come first. The free dimensions are merged into one, and so are the
    contracted dimensions.
    """
    sizes = x.shape.dimensions
    free = [k for k in range(len(sizes)) if k not in batch and k not in contracted]
    rows, columns = (free, contracted) if is_left else (contracted, free)
    order = (*batch, *rows, *columns)
    if order != tuple(range(len(order))):
        x = rewriter.add("transpose", [x], array_shape(x.shape.element_type, tuple(sizes[k] for k in order)), dimensions=order)
    return rewriter.reshape(x, (*[sizes[k] for k in batch], prod(sizes[k] for k in rows), prod(sizes[k] for k in columns)))
