"""Dot products over given dimensions: dot, ragged-dot and scaled-dot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from hlotool.opdefs.base import op, require
from hlotool.opdefs.inference import (
    Bound,
    bounds,
    count,
    higher_precision,
    new_array,
    require_arrays,
    require_dimension,
    require_distinct_dimensions,
    sizes_agree,
)
from hlotool.opdefs.kinds import Always, Dims, OperandPrecision, PrecisionAlgorithm
from hlotool.opdefs.modes import VerifyModes
from hlotool.opdefs.traits import ACCUMULATED, EXPENSIVE, FOLDABLE, MIXED_PRECISION, SHAPE_GUESSED
from hlotool.opdefs.work import Work, elements
from hlotool.record import Record
from hlotool.shapes.shape import UNBOUNDED, Shape, sizes_text

__all__ = ["DotDimensions", "dot", "ragged_dot", "scaled_dot"]


class DotDimensions(Record):
    """The dimension numbers that all kinds of dots have in common."""

    lhs_batch: Dims
    lhs_contracting: Dims
    rhs_batch: Dims
    rhs_contracting: Dims

    def check(self, lhs: Shape, rhs: Shape, opcode: str) -> None:
        """Raises Violation for out-of-range, repeated or unpaired dimensions, or unequal sizes."""
        for side, shape, contracting, batch in (
            ("lhs", lhs, self.lhs_contracting, self.lhs_batch),
            ("rhs", rhs, self.rhs_contracting, self.rhs_batch),
        ):
            _check_dimension_numbers(side, shape.rank, contracting, batch, opcode)
        _check_pairs(lhs, rhs, "contracting", "T047", self.lhs_contracting, self.rhs_contracting)
        _check_pairs(lhs, rhs, "batch", "T048", self.lhs_batch, self.rhs_batch)

    def result(self, lhs: Shape, rhs: Shape, group: Dims = ()) -> list[Bound]:
        """Returns the dimensions of the result.

        These are the batch dimensions, the free dimensions of lhs, and the free dimensions of rhs
        except `group`.
        """
        lhs_bounds, rhs_bounds = bounds(lhs), bounds(rhs)
        lhs_free = _others(lhs.rank, {*self.lhs_contracting, *self.lhs_batch})
        rhs_free = _others(rhs.rank, {*self.rhs_contracting, *self.rhs_batch, *group})
        return [lhs_bounds[k] for k in (*self.lhs_batch, *lhs_free)] + [rhs_bounds[k] for k in rhs_free]


def _others(rank: int, taken: set[int]) -> list[int]:
    return [k for k in range(rank) if k not in taken]


def _check_dimension_numbers(side: str, rank: int, contracting: Dims, batch: Dims, opcode: str) -> None:
    require_distinct_dimensions(contracting, rank, "T045", f"{side}_contracting_dims", opcode)
    require_distinct_dimensions(batch, rank, "T045", f"{side}_batch_dims", opcode)
    both = sorted({*contracting} & {*batch})
    require(not both, "T045", f"{side}_batch_dims", f"{side} dimensions of '{opcode}' cannot be both contracting and batch dimensions, got {both}")


def _check_pairs(lhs: Shape, rhs: Shape, role: str, code: str, lhs_dims: Dims, rhs_dims: Dims) -> None:
    require(
        len(lhs_dims) == len(rhs_dims),
        "T046",
        f"rhs_{role}_dims",
        f"lhs has {count(len(lhs_dims), f'{role} dimension')}, but rhs has {len(rhs_dims)}",
    )
    for i, j in zip(lhs_dims, rhs_dims, strict=True):
        require(
            sizes_agree(lhs.dimensions[i], rhs.dimensions[j]),
            code,
            "operands" if role == "contracting" else "lhs_batch_dims",
            f"lhs {role} dimension {i} has size {lhs.dimensions[i]}, but rhs dimension {j} has size {rhs.dimensions[j]}",
        )


def _dot_result(opcode: str, lhs: Shape, rhs: Shape, numbers: DotDimensions) -> Shape:
    require_arrays((lhs, rhs), opcode)
    numbers.check(lhs, rhs, opcode)
    return new_array(higher_precision(lhs.element_type, rhs.element_type, opcode), numbers.result(lhs, rhs), opcode)


def _work(result: Shape, operands: tuple[Shape, ...], attributes: Mapping[str, Any]) -> Work:
    """Counts a multiplication and an addition for each product."""
    contracted = prod(max(operands[0].dimensions[k], 0) for k in attributes["lhs_contracting_dims"])
    return Work(2 * elements(result) * contracted)


@op(result_code="T049", traits=(MIXED_PRECISION, ACCUMULATED, FOLDABLE, EXPENSIVE), work=_work)
def dot(
    lhs: Shape,
    rhs: Shape,
    *,
    lhs_batch_dims: Dims = (),
    lhs_contracting_dims: Always[Dims] = (),
    rhs_batch_dims: Dims = (),
    rhs_contracting_dims: Always[Dims] = (),
    operand_precision: OperandPrecision = (),
    algorithm: PrecisionAlgorithm | None = None,
) -> Shape:
    """Sums products over the contracting dimensions, for each index of the other dimensions.

    r = f32[2,4] dot(f32[2,3] a, f32[3,4] b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    """
    return _dot_result("dot", lhs, rhs, DotDimensions(lhs_batch_dims, lhs_contracting_dims, rhs_batch_dims, rhs_contracting_dims))


@op(result_code="T087", traits=(MIXED_PRECISION, ACCUMULATED, EXPENSIVE), work=_work)
def ragged_dot(
    lhs: Shape,
    rhs: Shape,
    group_sizes: Shape,
    *,
    lhs_batch_dims: Dims = (),
    lhs_contracting_dims: Always[Dims] = (),
    rhs_batch_dims: Dims = (),
    rhs_contracting_dims: Always[Dims] = (),
    lhs_ragged_dims: Dims = (),
    rhs_group_dims: Dims = (),
    operand_precision: OperandPrecision = (),
) -> Shape:
    """Computes a dot for each group; one dimension of lhs is split into groups of the given sizes.

    The ragged dimension may be free (each group has its own slice of rhs), contracting (the result
    has a leading group dimension), or a batch dimension.

        r = f32[11,7] ragged-dot(f32[11,5] a, f32[3,5,7] b, s32[3] g), lhs_contracting_dims={1}, rhs_contracting_dims={1},
            lhs_ragged_dims={0}, rhs_group_dims={0}
    """
    require_arrays((lhs, rhs, group_sizes), "ragged-dot")
    numbers = DotDimensions(lhs_batch_dims, lhs_contracting_dims, rhs_batch_dims, rhs_contracting_dims)
    numbers.check(lhs, rhs, "ragged-dot")
    require(len(lhs_ragged_dims) == 1, "T087", "lhs_ragged_dims", f"'ragged-dot' must have one ragged dimension, got {len(lhs_ragged_dims)}")
    ragged = lhs_ragged_dims[0]
    require_dimension(ragged, lhs.rank, "T087", "lhs_ragged_dims", "ragged-dot")
    _check_group_sizes(lhs, group_sizes, numbers, ragged)
    for k in rhs_group_dims:
        require_dimension(k, rhs.rank, "T087", "rhs_group_dims", "ragged-dot")
        taken = k in rhs_batch_dims or k in rhs_contracting_dims
        require(not taken, "T087", "rhs_group_dims", f"rhs group dimension {k} is a batch or contracting dimension")
    groups = group_sizes.dimensions[-1]
    if ragged in lhs_batch_dims or ragged in lhs_contracting_dims:
        role = "batch" if ragged in lhs_batch_dims else "contracting"
        message = f"rhs_group_dims must be empty if the ragged dimension is a {role} dimension, got {list(rhs_group_dims)}"
        require(not rhs_group_dims, "T087", "rhs_group_dims", message)
    else:
        require(len(rhs_group_dims) == 1, "T087", "rhs_group_dims", f"'ragged-dot' must have one group dimension, got {len(rhs_group_dims)}")
        size = rhs.dimensions[rhs_group_dims[0]]
        require(
            sizes_agree(groups, size),
            "T087",
            "definition of operand 2",
            f"operand 2 has {count(groups, 'group size')}, but the rhs group dimension has size {size}",
        )
    dimensions = numbers.result(lhs, rhs, rhs_group_dims)
    if ragged not in lhs_batch_dims and ragged in lhs_contracting_dims:
        dimensions.insert(0, bounds(group_sizes)[-1])
    return new_array(higher_precision(lhs.element_type, rhs.element_type, "ragged-dot"), dimensions, "ragged-dot")


def _check_group_sizes(lhs: Shape, group_sizes: Shape, numbers: DotDimensions, ragged: int) -> None:
    """Checks the shape of the group sizes.

    The group sizes are a vector, or an array of vectors if the sizes depend on the indices of outer
    dimensions of lhs. These dimensions come first in the array.
    """
    require(group_sizes.rank > 0, "T087", "operand 2", "group sizes must not be a scalar")
    if group_sizes.rank == 1:
        return
    if ragged in numbers.lhs_batch:
        outer = _before(numbers.lhs_batch, ragged)
    elif ragged in numbers.lhs_contracting:
        outer = [*numbers.lhs_batch, *_before(numbers.lhs_contracting, ragged)]
    else:
        free = _others(lhs.rank, {*numbers.lhs_contracting, *numbers.lhs_batch})
        outer = [*numbers.lhs_batch, *_before(free, ragged)]
    expected = [lhs.dimensions[k] for k in outer]
    require(
        list(group_sizes.dimensions[:-1]) == expected,
        "T087",
        "operand 2",
        f"group sizes must have the dimensions {sizes_text([*expected, group_sizes.dimensions[-1]])}, got {sizes_text(group_sizes.dimensions)}",
    )


def _before(dimensions: Sequence[int], ragged: int) -> Sequence[int]:
    return dimensions[: dimensions.index(ragged)]


def _verify_scaled_dot(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> Shape:
    """Checks that the scales divide each operand into equal blocks; a scalar means no scale."""
    require_arrays(operands, "scaled-dot")
    numbers = DotDimensions(*[attributes[f"{side}_{role}_dims"] for side in ("lhs", "rhs") for role in ("batch", "contracting")])
    require(operands[2].rank or operands[3].rank, "T088", "operands", "lhs_scale and rhs_scale cannot both be scalars")
    for k in (0, 1):
        operand, scale, at = operands[k], operands[k + 2], f"definition of operand {k + 2}"
        if not scale.rank:
            continue
        same = operand.rank == scale.rank
        require(same, "T088", at, f"the scale has rank {scale.rank}, but operand {k} has rank {operand.rank}")
        for number, (size, blocks) in enumerate(zip(operand.dimensions, scale.dimensions, strict=True)):
            fits = UNBOUNDED in (size, blocks) or (blocks > 0 and size % blocks == 0) or size == blocks
            message = f"dimension {number} of operand {k} has size {size}, which is not a multiple of the size of the scale's dimension, {blocks}"
            require(fits, "T088", at, message)
    contracted = len(numbers.lhs_contracting)
    require(contracted == 1, "T088", "lhs_contracting_dims", f"'scaled-dot' must have one contracting dimension, got {contracted}")
    return _dot_result("scaled-dot", operands[0], operands[1], numbers)


@op(verify=_verify_scaled_dot, traits=(SHAPE_GUESSED, MIXED_PRECISION, ACCUMULATED, EXPENSIVE), work=_work)
def scaled_dot(
    lhs: Shape,
    rhs: Shape,
    lhs_scale: Shape,
    rhs_scale: Shape,
    *,
    lhs_batch_dims: Dims = (),
    lhs_contracting_dims: Always[Dims] = (),
    rhs_batch_dims: Dims = (),
    rhs_contracting_dims: Always[Dims] = (),
    operand_precision: OperandPrecision = (),
    algorithm: PrecisionAlgorithm | None = None,
) -> Shape:
    """Computes a dot of operands whose equal-sized blocks are first multiplied by their scales.

    r = bf16[4,8] scaled-dot(f8e4m3fn[4,64] a, f8e4m3fn[8,64] b, f8e8m0fnu[4,2] s, f8e8m0fnu[8,2] t),
        lhs_contracting_dims={1}, rhs_contracting_dims={1}
    """
    # XLA infers the shape from operands 0 and 2, as if the scale of lhs were rhs, so the inferred
    # shape is correct only by accident.
    return _dot_result("scaled-dot", lhs, lhs_scale, DotDimensions(lhs_batch_dims, lhs_contracting_dims, rhs_batch_dims, rhs_contracting_dims))
