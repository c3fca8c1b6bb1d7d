"""The collective-permute opcodes, with which each device sends data to another device."""

from __future__ import annotations

from typing import Any

from hlotool.errors import Violation
from hlotool.opdefs.base import op, require
from hlotool.opdefs.collectives import as_result
from hlotool.opdefs.inference import count, require_written_shape
from hlotool.opdefs.kinds import Int, Pairs, SliceSizeLists
from hlotool.opdefs.modes import VerifyModes
from hlotool.opdefs.traits import COLLECTIVE, EFFECT, MIXED_PRECISION, ORDER_KEPT
from hlotool.shapes.shape import Shape, tuple_shape

__all__ = ["collective_permute", "collective_permute_start"]


def _permute_rule(result: Shape | None, operands: tuple[Shape, ...], attributes: dict[str, Any]) -> None:
    if attributes.get("slice_sizes") is not None and len(operands) != 4:
        raise Violation("P016", "operands", f"in-place 'collective-permute' takes 4 operands, got {len(operands)}")


def _check_offsets(buffer: Shape, offsets: Shape, at: str) -> None:
    """Checks the offsets of slices.

    For a single slice, `offsets` is a tuple with one element per dimension. For several slices, it
    is a tuple of such tuples.
    """
    require(offsets.is_tuple, "P016", at, f"offsets must be a tuple, got {offsets.text_without_layout}")
    nested = any(element.is_tuple for element in offsets.elements)
    for slice_offsets in offsets.elements if nested else (offsets,):
        require(slice_offsets.is_tuple, "P016", at, "the offsets of each slice must be a tuple")
        offsets_per_slice = len(slice_offsets.elements)
        require(
            offsets_per_slice == buffer.rank,
            "P016",
            at,
            f"a slice must have {count(buffer.rank, 'offset')} (one per dimension), got {offsets_per_slice}",
        )


def _verify_permute(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> Shape:
    require(operands, "S013", "operands", "'collective-permute' takes at least one operand")
    sliced = attributes["slice_sizes"]
    grouped = len(operands) == 1 or sliced or result.is_tuple
    require(grouped, "P016", "operands", f"in-place 'collective-permute' takes 4 operands and slice_sizes, got {count(len(operands), 'operand')}")
    for k in (0, 1) if sliced else ():
        # If the operands are tuples, each array in them has its own offsets.
        buffers, offsets = operands[k], operands[k + 2]
        matches = operands[0].is_tuple == buffers.is_tuple and len(operands[0].elements) == len(buffers.elements)
        require(matches, "P016", f"operand {k}", "input and output must both be arrays, or tuples with the same number of arrays")
        matches = not buffers.is_tuple or len(buffers.elements) == len(offsets.elements)
        require(matches, "P016", f"operand {k + 2}", f"expected offsets for {count(len(buffers.elements), 'array')}, got {len(offsets.elements)}")
        pairs = zip(buffers.elements, offsets.elements, strict=True) if buffers.is_tuple else ((buffers, offsets),)
        for buffer, offset in pairs:
            _check_offsets(buffer, offset, f"operand {k + 2}")
    # The form with slices returns operand 1, into which the slices are copied.
    return operands[1] if sliced else as_result(operands)


@op(
    infers=False,
    check_parsed=_permute_rule,
    verify=_verify_permute,
    result_code="T105",
    traits=(MIXED_PRECISION, COLLECTIVE, ORDER_KEPT),
)
def collective_permute(*operands: Shape, channel_id: Int | None = None, source_target_pairs: Pairs, slice_sizes: SliceSizeLists = ()) -> Shape:
    """Sends the operand from each source to its target; devices that are not targets get zeros.

    The form with slice_sizes copies slices of operand 0, at the offsets in operand 2, into operand
    1, at the offsets in operand 3.

        r = f32[4] collective-permute(f32[4] x), source_target_pairs={{0,1},{1,0}}
    """
    require_written_shape("collective-permute")


def _verify_permute_start(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> Shape:
    fits = result.is_tuple and len(result.elements) >= 2
    require(
        fits, "A017", "instruction", f"'collective-permute-start' returns (operand, result, contexts...), but {result.text_without_layout} is written"
    )
    moved = _verify_permute(result.elements[1], operands, attributes, modes)
    # In the form with slices, the first two elements are existing buffers.
    source = operands[0] if attributes["slice_sizes"] else as_result(operands)
    return tuple_shape((source, moved, *result.elements[2:]))


@op(
    infers=False,
    check_parsed=_permute_rule,
    verify=_verify_permute_start,
    result_code="A017",
    traits=(MIXED_PRECISION, COLLECTIVE, EFFECT),
    start_of="collective-permute",
    operands_index=0,
)
def collective_permute_start(*operands: Shape, channel_id: Int | None = None, source_target_pairs: Pairs, slice_sizes: SliceSizeLists = ()) -> Shape:
    """Starts a collective-permute; returns the operand, the future result and any contexts.

    s = (f32[4], f32[4], u32[], u32[]) collective-permute-start(f32[4] x),
        source_target_pairs={{0,1},{1,0}}
    """
    require_written_shape("collective-permute-start")
