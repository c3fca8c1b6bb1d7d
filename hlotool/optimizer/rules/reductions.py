"""Reductions and products of arrays.

Without a fast-math flag, the order in which floats are summed does not change. The interpreter's
order of summation depends on the dimensions of the operands.
"""

from __future__ import annotations

from hlotool.analysis.simplify import identity_of, is_splat
from hlotool.ir.model import Instruction
from hlotool.opdefs.base import OpDef
from hlotool.opdefs.traits import ASSOCIATIVE, IDEMPOTENT
from hlotool.optimizer.dimensions import dimensions_of
from hlotool.optimizer.pattern_rewriter import PatternRewriter
from hlotool.optimizer.patterns import element_type, is_complex, is_integral
from hlotool.optimizer.registry import rule

__all__: list[str] = []


def _combiner(x: Instruction) -> OpDef | None:
    """Returns the opcode that combines two elements.

    Returns None unless `x` reduces one static array with a single operation on one element type.
    """
    if x.operands[0].shape.dynamic:
        return None
    root = x.attributes["to_apply"].root
    if len(root.operands) != 2 or any(operand.op.name != "parameter" for operand in root.operands) or root.operands[0] is root.operands[1]:
        return None
    # For several arrays, the result is a tuple, whose type differs from the types of the arrays.
    # All associative operations are also commutative.
    same = all(operand.shape.element_type == x.shape.element_type for operand in (*root.operands, *x.operands))
    return root.op if same and ASSOCIATIVE in root.op.traits else None


def _starts_neutral(x: Instruction, combiner: OpDef) -> bool:
    """Returns whether the initial value is neutral: 0 for integer sums, -0.0 for sums of floats."""
    neutral = identity_of(combiner, element_type(x))
    return neutral is not None and is_splat(x.operands[1], neutral)


def _is_exact_in_any_order(x: Instruction, combiner: OpDef) -> bool:
    return is_integral(x) or (IDEMPOTENT in combiner.traits and not is_complex(x))


@rule("reduce")
def reduce_of_single_elements(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """reduce(a, init) -> reshape(a), if no dimension is reduced except those of size 1

    The function and the initial value do not matter: as in XLA, single elements are not combined
    with the initial value.
    """
    array = x.operands[0]
    if array.shape.dynamic or any(array.shape.dimensions[k] != 1 for k in dimensions_of(x)):
        return None
    # For several arrays, the result is a tuple, whose type differs from the types of the arrays.
    if not array.shape.element_type == x.operands[1].shape.element_type == x.shape.element_type:
        return None
    return array if array.shape == x.shape else rewriter.add("reshape", [array], x.shape)


@rule("reduce")
def reduce_of_empty(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """reduce(a, init) -> broadcast(init), if a has no elements"""
    init = x.operands[1]
    # For several arrays, the result is a tuple and `init` is the second array, so their types
    # differ.
    if 0 not in x.operands[0].shape.dimensions or init.shape.element_type != x.shape.element_type:
        return None
    return init if init.shape == x.shape else rewriter.add("broadcast", [init], x.shape, dimensions=())


@rule("reduce", of=("reduce",))
def reduce_of_reduce(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """reduce(reduce(a, i), j) -> reduce(a, j), if both apply the same operation and i is neutral

    The order in which the operation is applied must not matter.
    """
    return _merged(x, rewriter, any_order=False)


@rule("reduce", of=("reduce",), needs=("reassoc",))
def reduce_of_reduce_of_floats(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """reduce(reduce(a, i), j) -> reduce(a, j) for sums and products of floats, if i is neutral"""
    return _merged(x, rewriter, any_order=True)


def _merged(x: Instruction, rewriter: PatternRewriter, *, any_order: bool) -> Instruction | None:
    inner = x.operands[0]
    if inner.op.name != "reduce" or not rewriter.has_one_user(inner):
        return None
    first, second = _combiner(inner), _combiner(x)
    if first is None or first is not second or not _starts_neutral(inner, first) or not (any_order or _is_exact_in_any_order(x, first)):
        return None
    # The outer reduction does not combine single elements with its initial value, but the merged
    # reduction would.
    if all(inner.shape.dimensions[k] == 1 for k in dimensions_of(x)) and not _starts_neutral(x, first):
        return None
    gone = set(dimensions_of(inner))
    kept = [k for k in range(inner.operands[0].shape.rank) if k not in gone]
    dimensions = tuple(sorted([*gone, *(kept[k] for k in dimensions_of(x))]))
    return rewriter.with_operands(x, [inner.operands[0], x.operands[1]], dimensions=dimensions)


@rule("reduce", of=("transpose",))
def reduce_of_transpose(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """reduce(transpose(a)) -> reduce(a), over the corresponding dimensions of a

    The other dimensions must keep their order, and the order of the terms must not matter.
    """
    return _reordered(x, rewriter, any_order=False)


@rule("reduce", of=("transpose",), needs=("reassoc",))
def reduce_of_transpose_of_floats(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """reduce(transpose(a)) -> reduce(a) for sums and products of floats

    The new reduction is over the corresponding dimensions of a.
    """
    return _reordered(x, rewriter, any_order=True)


def _reordered(x: Instruction, rewriter: PatternRewriter, *, any_order: bool) -> Instruction | None:
    inner = x.operands[0]
    if inner.op.name != "transpose" or not rewriter.has_one_user(inner):
        return None
    combiner = _combiner(x)
    if combiner is None or not (any_order or _is_exact_in_any_order(x, combiner)):
        return None
    order, gone = dimensions_of(inner), set(dimensions_of(x))
    kept = [order[k] for k in range(len(order)) if k not in gone]
    if kept != sorted(kept):
        return None
    return rewriter.with_operands(x, [inner.operands[0], x.operands[1]], dimensions=tuple(sorted(order[k] for k in gone)))


@rule("reduce", of=("reshape",))
def reduce_of_reshape(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """reduce(reshape(a)) -> reduce(a), if all dimensions are reduced to a scalar

    The order of the terms must not matter.
    """
    inner, combiner = x.operands[0], _combiner(x)
    if inner.op.name != "reshape" or combiner is None or x.shape.dimensions or not _is_exact_in_any_order(x, combiner):
        return None
    array = inner.operands[0]
    if any(array.shape.dynamic) or not rewriter.has_one_user(inner):
        return None
    return rewriter.with_operands(x, [array, x.operands[1]], dimensions=tuple(range(array.shape.rank)))


@rule("reduce", of=("broadcast",))
def reduce_of_broadcast(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """reduce(broadcast(a), init) -> broadcast(a), if the broadcast adds all reduced dimensions

    This holds for maxima, minima, `and` and `or`, if init is neutral.
    """
    inner, combiner = x.operands[0], _combiner(x)
    if inner.op.name != "broadcast" or combiner is None or IDEMPOTENT not in combiner.traits or not _starts_neutral(x, combiner):
        return None
    mapped, gone = dimensions_of(inner), set(dimensions_of(x))
    if gone.intersection(mapped) or any(inner.shape.dimensions[k] == 0 for k in gone) or not rewriter.has_one_user(inner):
        return None
    kept = [k for k in range(inner.shape.rank) if k not in gone]
    return rewriter.add("broadcast", inner.operands, x.shape, dimensions=tuple(kept.index(k) for k in mapped))


@rule("dot")
def dot_of_nothing(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """dot(a, b) -> 0, if the contracting dimensions have no elements"""
    lhs = x.operands[0]
    if all(lhs.shape.dimensions[k] for k in x.attributes.get("lhs_contracting_dims", ())):
        return None
    return rewriter.number(x.shape, 0)


@rule("transpose", of=("dot",), needs=("reassoc",))
def transpose_of_dot(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """transpose(dot(a, b)) -> dot(b, a), if the transpose swaps the free dimensions of a and b"""
    inner = x.operands[0]
    if not rewriter.has_one_user(inner) or inner.attributes.keys() & {"operand_precision", "algorithm"}:
        return None
    written = inner.attributes
    batch = len(written.get("lhs_batch_dims", ()))
    free = inner.operands[0].shape.rank - batch - len(written.get("lhs_contracting_dims", ()))
    rank = inner.shape.rank
    if tuple(dimensions_of(x)) != (*range(batch), *range(batch + free, rank), *range(batch, batch + free)):
        return None
    swapped = {
        "lhs_batch_dims": written.get("rhs_batch_dims"),
        "rhs_batch_dims": written.get("lhs_batch_dims"),
        "lhs_contracting_dims": written.get("rhs_contracting_dims"),
        "rhs_contracting_dims": written.get("lhs_contracting_dims"),
    }
    return rewriter.with_operands(inner, inner.operands[::-1], x.shape, **swapped)
