"""Concatenations of parts that belong together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import prod

from hlotool.analysis.simplify import constant_value, is_same_number
from hlotool.ir.model import Instruction
from hlotool.opdefs.traits import ELEMENTWISE
from hlotool.optimizer.dimensions import are_plain, dimensions_of, is_empty, is_plain
from hlotool.optimizer.pattern_rewriter import PatternRewriter
from hlotool.optimizer.registry import rule
from hlotool.shapes.shape import Shape, array_shape
from hlotool.shapes.values import PaddingDimension, SliceRange

__all__: list[str] = []

_MAX_OPERANDS = 10_000


def _joined(x: Instruction, operands: Sequence[Instruction], rewriter: PatternRewriter) -> Instruction:
    """Returns a concatenation like `x` of these operands, or the operand if there is only one."""
    return operands[0] if len(operands) == 1 else rewriter.with_operands(x, operands)


@rule("concatenate")
def concatenate_of_empty(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """concatenate(a, b) -> concatenate(a), if `b` has no elements"""
    if is_empty(x.shape) or not are_plain(x):
        return None
    kept = [operand for operand in x.operands if not is_empty(operand.shape)]
    return _joined(x, kept, rewriter) if len(kept) < len(x.operands) else None


@rule("concatenate", of=("concatenate",))
def concatenate_of_concatenate(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """concatenate(concatenate(a, b), c) -> concatenate(a, b, c)"""
    nested = {y for y in x.operands if y.op is x.op and dimensions_of(y) == dimensions_of(x) and rewriter.has_one_user(y)}
    if not nested or not are_plain(x) or not all(map(are_plain, nested)):
        return None
    operands: list[Instruction] = []
    for y in x.operands:
        operands += y.operands if y in nested else (y,)
    # Without a limit, long chains of concatenates would take quadratic time.
    return rewriter.with_operands(x, operands) if len(operands) <= _MAX_OPERANDS else None


@rule("concatenate", of=("slice",))
def concatenate_of_slices(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """concatenate(slice(a), [0:2], slice(a), [2:5]) -> slice(a), [0:5]"""
    dimension = dimensions_of(x)[0]

    def continues(one: Instruction, two: Instruction) -> bool:
        if one.op.name != "slice" or two.op.name != "slice" or one.operands[0] is not two.operands[0]:
            return False
        return _continues(one.attributes["slice"], two.attributes["slice"], dimension)

    def merge(run: Sequence[Instruction], shape: Shape) -> Instruction:
        ranges = list(run[0].attributes["slice"])
        part = ranges[dimension]
        ranges[dimension] = SliceRange(part.start, run[-1].attributes["slice"][dimension].limit, part.stride)
        return rewriter.add("slice", run[0].operands, shape, slice=tuple(ranges))

    return _with_runs(x, rewriter, continues, merge)


def _continues(one: tuple[SliceRange, ...], two: tuple[SliceRange, ...], dimension: int) -> bool:
    """Returns whether the second of two slices begins where the first one ends."""
    if one[:dimension] != two[:dimension] or one[dimension + 1 :] != two[dimension + 1 :]:
        return False
    a, b = one[dimension], two[dimension]
    count = -(-(a.limit - a.start) // a.stride)
    return a.stride == b.stride and b.start == a.start + count * a.stride


@rule("concatenate", of=("broadcast",))
def concatenate_of_broadcasts(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """concatenate(broadcast(a), broadcast(a)) -> broadcast(a)

    The broadcasts must repeat `a` along the concatenated dimension.
    """
    dimension = dimensions_of(x)[0]

    def continues(one: Instruction, two: Instruction) -> bool:
        if one.op.name != "broadcast" or two.op.name != "broadcast" or one.operands != two.operands:
            return False
        return dimensions_of(one) == dimensions_of(two) and dimension not in dimensions_of(one)

    def merge(run: Sequence[Instruction], shape: Shape) -> Instruction:
        return rewriter.add("broadcast", run[0].operands, shape, dimensions=dimensions_of(run[0]))

    return _with_runs(x, rewriter, continues, merge)


def _with_runs(
    x: Instruction,
    rewriter: PatternRewriter,
    continues: Callable[[Instruction, Instruction], bool],
    merge: Callable[[Sequence[Instruction], Shape], Instruction],
) -> Instruction | None:
    """Returns a concatenation in which operands that continue each other are merged.

    The merged operands must have no other users, unless all operands are merged into one.
    """
    runs = [[x.operands[0]]]
    for one, two in pairwise(x.operands):
        if continues(one, two):
            runs[-1].append(two)
        else:
            runs.append([two])
    merged = [len(run) > 1 and (len(runs) == 1 or rewriter.have_one_user(set(run))) for run in runs]
    if not any(merged) or not are_plain(x) or not all(is_plain(operand.shape) for y in x.operands for operand in y.operands[:1]):
        return None
    dimension, operands = dimensions_of(x)[0], []
    for run, is_merged in zip(runs, merged, strict=True):
        if not is_merged:
            operands += run
            continue
        sizes = list(run[0].shape.dimensions)
        sizes[dimension] = sum(y.shape.dimensions[dimension] for y in run)
        operands.append(merge(run, array_shape(x.shape.element_type, tuple(sizes))))
    return _joined(x, operands, rewriter)


@rule("concatenate")
def concatenate_of_equal_numbers(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """concatenate(broadcast(c), broadcast(c)) -> broadcast(c), for constants"""
    first = constant_value(x.operands[0])
    if first is None or not are_plain(x):
        return None
    for operand in x.operands[1:]:
        value = constant_value(operand)
        if value is None or not is_same_number(value, first):
            return None
    return rewriter.number(x.shape, first)


@rule("concatenate", of=("broadcast",))
def concatenate_as_pad(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """concatenate(broadcast(v), a, broadcast(v)) -> pad(a, v), with one broadcast or both"""
    splats = [y if y.op.name == "broadcast" and not y.operands[0].shape.dimensions and rewriter.has_one_user(y) else None for y in x.operands]
    middle = 0 if splats[0] is None else 1
    around = [y for k, y in enumerate(splats) if k != middle]
    if middle == len(splats) or splats[middle] is not None or not are_plain(x):
        return None
    values = {y.operands[0] for y in around if y is not None}
    if None in around or len(values) != 1:
        return None
    dimension = dimensions_of(x)[0]
    amounts = [y.shape.dimensions[dimension] for y in x.operands]
    padding = [PaddingDimension(0, 0)] * x.shape.rank
    padding[dimension] = PaddingDimension(sum(amounts[:middle]), sum(amounts[middle + 1 :]))
    return rewriter.add("pad", [x.operands[middle], values.pop()], x.shape, padding=tuple(padding))


@rule("concatenate", of=("reshape",))
def concatenate_of_reshapes(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """concatenate(reshape(a), reshape(b)) -> reshape(concatenate(a, b))

    There must be a dimension along which concatenating `a` and `b` yields the elements in the same
    order.
    """
    if any(y.op.name != "reshape" for y in x.operands):
        return None
    sources = [y.operands[0] for y in x.operands]
    if not are_plain(x) or not all(is_plain(a.shape) for a in sources):
        return None
    if not rewriter.have_one_user(set(x.operands)):
        return None
    dimension = _common_dimension(x, [a.shape.dimensions for a in sources])
    if dimension is None:
        return None
    sizes = list(sources[0].shape.dimensions)
    sizes[dimension] = sum(a.shape.dimensions[dimension] for a in sources)
    whole = rewriter.add("concatenate", sources, array_shape(x.shape.element_type, tuple(sizes)), dimensions=(dimension,))
    return rewriter.reshape(whole, x.shape.dimensions)


def _common_dimension(x: Instruction, sources: Sequence[tuple[int, ...]]) -> int | None:
    """Returns a dimension of the sources along which to concatenate them.

    The concatenation must have the elements of `x` in the same order. Returns None if there is no
    such dimension.
    """
    dimension, first = dimensions_of(x)[0], sources[0]
    outer = prod(x.shape.dimensions[:dimension])
    for k in range(len(first)):
        if prod(first[:k]) != outer:
            continue
        if all(len(sizes) == len(first) and sizes[:k] == first[:k] and sizes[k + 1 :] == first[k + 1 :] for sizes in sources):
            return k
    return None


@rule("concatenate")
def concatenate_of_elementwise(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """concatenate(negate(a), negate(b)) -> negate(concatenate(a, b))

    The same holds for all elementwise operations with one operand.
    """
    first = x.operands[0]
    if ELEMENTWISE not in first.op.traits or len(first.operands) != 1:
        return None
    if any(y.op is not first.op or y.attributes != first.attributes for y in x.operands) or not rewriter.have_one_user(set(x.operands)):
        return None
    sources = [y.operands[0] for y in x.operands]
    element_type = sources[0].shape.element_type
    if not are_plain(x) or any(a.shape.element_type != element_type for a in sources):
        return None
    # A bitcast-convert to another size adds or drops a dimension, in all operands or in none.
    if sources[0].shape.dimensions != first.shape.dimensions:
        return None
    whole = rewriter.add("concatenate", sources, array_shape(element_type, x.shape.dimensions), dimensions=dimensions_of(x))
    return rewriter.with_operands(first, [whole], shape=x.shape)
