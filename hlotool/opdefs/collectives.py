"""Collectives, in which devices gather, reduce or exchange data, and opcodes for device ids.

XLA's parser ignores group sizes, on which result shapes depend, so it requires the shapes of
collectives to be written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hlotool.errors import Violation
from hlotool.opdefs.base import Verify, op, require
from hlotool.opdefs.constraints import difference, without_memory_space
from hlotool.opdefs.inference import (
    bounds,
    new_array,
    require_array,
    require_dimension,
    require_kind,
    require_written_shape,
)
from hlotool.opdefs.kinds import (
    Always,
    Bool,
    CollectiveMode,
    Computation,
    FirstDim,
    IgnoredDims,
    Int,
    ReplicaGroups,
    SingleDim,
)
from hlotool.opdefs.modes import VerifyModes
from hlotool.opdefs.traits import (
    COLLECTIVE,
    COMBINABLE,
    DEVICE_ID,
    EFFECT,
    FREE,
    MIXED_PRECISION,
    MOVES,
    ORDER_KEPT,
    UNIFORM_GROUPS,
    VIEW,
)
from hlotool.opdefs.work import count_result_elements
from hlotool.record import Record
from hlotool.shapes.shape import UNBOUNDED, ProgramShape, Shape, array_shape, compatible, tuple_shape

__all__ = [
    "all_gather",
    "all_gather_start",
    "all_reduce",
    "all_reduce_start",
    "all_to_all",
    "as_result",
    "collective_broadcast",
    "collective_reduce",
    "ragged_all_to_all",
    "reduce_scatter",
]


def _results(result: Shape, operands: tuple[Shape, ...], opcode: str) -> tuple[Shape, ...]:
    """Returns the part of the result that belongs to each operand.

    A single operand has the whole result; each of several operands has one element of the result.
    """
    for k, operand in enumerate(operands):
        require_array(operand, f"operand {k}", opcode)
    if len(operands) == 1:
        require_array(result, "shape", opcode)
        return (result,)
    fits = result.is_tuple and len(result.elements) == len(operands)
    message = f"'{opcode}' of {len(operands)} operands returns a tuple of {len(operands)} arrays, but {result.text_without_layout} is written"
    require(fits, "T003", "shape", message)
    return result.elements


def as_result(parts: Sequence[Shape]) -> Shape:
    """Returns the shape of a collective's result: the only part, or a tuple of the parts."""
    return parts[0] if len(parts) == 1 else tuple_shape(parts)


def _keeps_shapes(opcode: str) -> Verify:
    """Returns the constraint that each part of the result has the shape of its operand."""

    def verify(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> Shape:
        _results(result, operands, opcode)
        return as_result(operands)

    return verify


def _resize(operand: Shape, dimension: int, size: int) -> Shape:
    sizes = [(size if k == dimension else bound, dynamic) for k, (bound, dynamic) in enumerate(bounds(operand))]
    return new_array(operand.element_type, sizes, "collective")


def _check_all_gather(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], opcode: str) -> Shape:
    """Returns the required result of an all-gather.

    Each part of the result is larger than its operand in one dimension, all by the same factor.
    """
    parts, dimension, factors = [], attributes["dimensions"][0], set()
    for operand, part in zip(operands, _results(result, operands, opcode), strict=True):
        require_array(part, "shape", opcode)
        require_dimension(dimension, min(operand.rank, part.rank), "P009", "dimensions", opcode)
        size, grown = operand.dimensions[dimension], part.dimensions[dimension]
        whole = UNBOUNDED in (size, grown) or (grown == size == 0) or (size > 0 and grown % size == 0)
        require(
            whole,
            "P008",
            "shape",
            f"dimension {dimension} of the result of '{opcode}' has size {grown}, which is not a multiple of the operand's size, {size}",
        )
        if size > 0 and grown != UNBOUNDED:
            factors.add(grown // size)
        parts.append(_resize(operand, dimension, grown))
    require(len(factors) <= 1, "P008", "shape", f"the results of '{opcode}' are larger than the operands by different factors: {sorted(factors)}")
    return as_result(parts)


def _verify_all_gather(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> Shape:
    require(operands, "S013", "operands", "'all-gather' takes at least one operand")
    # XLA's parser enforces this constraint for all-reduces; for all-gathers, only its verifier does.
    _global_ids_need_channel(result, operands, attributes)
    return _check_all_gather(result, operands, attributes, "all-gather")


@op(
    infers=False,
    verify=_verify_all_gather,
    traits=(MIXED_PRECISION, COLLECTIVE, ORDER_KEPT, UNIFORM_GROUPS, COMBINABLE, MOVES),
    effect_if="constrain_layout",
)
def all_gather(
    *operands: Shape,
    channel_id: Int | None = None,
    replica_groups: Always[ReplicaGroups] = (),
    constrain_layout: Bool = False,
    dimensions: FirstDim,
    use_global_device_ids: Bool = False,
) -> Shape:
    """Concatenates the operands of a group's members along one dimension, in group order.

    r = f32[8] all-gather(f32[4] x), replica_groups={{0,1}}, dimensions={0}
    """
    require_written_shape("all-gather")


def _verify_all_gather_start(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> Shape:
    require(operands, "S013", "operands", "'all-gather-start' takes at least one operand")
    fits = result.is_tuple and len(result.elements) >= 2
    require(fits, "A017", "instruction", f"'all-gather-start' returns (operand, result), but {result.text_without_layout} is written")
    _global_ids_need_channel(result, operands, attributes)
    gathered = _check_all_gather(result.elements[1], operands, attributes, "all-gather-start")
    return tuple_shape((as_result(operands), gathered, *result.elements[2:]))


@op(
    infers=False,
    verify=_verify_all_gather_start,
    result_code="A017",
    traits=(MIXED_PRECISION, COLLECTIVE, EFFECT, UNIFORM_GROUPS),
    start_of="all-gather",
    operands_index=0,
)
def all_gather_start(
    *operands: Shape,
    channel_id: Int | None = None,
    replica_groups: Always[ReplicaGroups] = (),
    constrain_layout: Bool = False,
    dimensions: FirstDim,
    use_global_device_ids: Bool = False,
) -> Shape:
    """Starts an all-gather; returns the operands and the future results.

    s = (f32[4], f32[8]) all-gather-start(f32[4] x), replica_groups={{0,1}}, dimensions={0}
    """
    require_written_shape("all-gather-start")


def _global_ids_need_channel(result: Shape | None, operands: tuple[Shape, ...], attributes: dict[str, Any]) -> None:
    # A written mode replaces the mode that XLA derives from channel_id, so any combination is
    # accepted.
    if attributes.get("use_global_device_ids") and attributes.get("channel_id") is None and attributes.get("mode") is None:
        raise Violation("P007", "use_global_device_ids", "use_global_device_ids=true requires a channel_id")


def _all_reduce_constraint(opcode: str) -> Verify:
    """Returns the constraint on all-reduces.

    The results must have the operands' shapes, and the computation must take two values, or two
    values per operand.
    """
    same_shapes = _keeps_shapes(opcode)

    def verify(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> Shape | None:
        _check_reducer(operands, attributes["to_apply"])
        return same_shapes(result, operands, attributes, modes)

    return verify


def _check_reducer(operands: tuple[Shape, ...], to_apply: ProgramShape) -> None:
    """Checks that the computation takes two values per operand, or only two values.

    Backends use only the root of the computation.
    """
    parameters = len(to_apply.parameters)
    each = f" or {2 * len(operands)} (2 per operand)" if len(operands) > 1 else ""
    require(parameters in (2, 2 * len(operands)), "C030", "to_apply", f"to_apply must have 2 parameters{each}, got {parameters}")


@op(
    infers=False,
    check_parsed=_global_ids_need_channel,
    verify=_all_reduce_constraint("all-reduce"),
    work=count_result_elements,
    traits=(MIXED_PRECISION, COLLECTIVE, ORDER_KEPT, COMBINABLE),
    effect_if="constrain_layout",
)
def all_reduce(
    *operands: Shape,
    channel_id: Int | None = None,
    replica_groups: Always[ReplicaGroups] = (),
    constrain_layout: Bool = False,
    use_global_device_ids: Bool = False,
    to_apply: Computation,
    mode: CollectiveMode | None = None,
) -> Shape:
    """Combines the operands of all members of a group, and returns the result to each member.

    r = f32[4] all-reduce(f32[4] x), replica_groups={{0,1}}, to_apply=add
    """
    require_written_shape("all-reduce")


@op(
    infers=False,
    check_parsed=_global_ids_need_channel,
    verify=_all_reduce_constraint("all-reduce-start"),
    work=count_result_elements,
    traits=(MIXED_PRECISION, COLLECTIVE, EFFECT, ORDER_KEPT),
    start_of="all-reduce",
)
def all_reduce_start(
    *operands: Shape,
    channel_id: Int | None = None,
    replica_groups: Always[ReplicaGroups] = (),
    constrain_layout: Bool = False,
    use_global_device_ids: Bool = False,
    to_apply: Computation,
    mode: CollectiveMode | None = None,
) -> Shape:
    """Starts an all-reduce; the start has the shape of the final result.

    s = f32[4] all-reduce-start(f32[4] x), replica_groups={{0,1}}, to_apply=add
    """
    require_written_shape("all-reduce-start")


def _verify_reduce_scatter(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> Shape:
    """Checks that each operand is split along one dimension into parts of equal size."""
    require(operands, "S013", "operands", "'reduce-scatter' takes at least one operand")
    parts, dimension = [], attributes["dimensions"][0]
    for operand, part in zip(operands, _results(result, operands, "reduce-scatter"), strict=True):
        require_array(part, "shape", "reduce-scatter")
        require_dimension(dimension, min(operand.rank, part.rank), "P009", "dimensions", "reduce-scatter")
        whole, size = operand.dimensions[dimension], part.dimensions[dimension]
        fits = UNBOUNDED in (whole, size) or (whole == size == 0) or (size > 0 and whole % size == 0)
        require(
            fits, "P010", "definition of operand 0", f"'reduce-scatter' cannot split dimension {dimension} of size {whole} into parts of size {size}"
        )
        parts.append(_resize(operand, dimension, size))
    _check_reducer(operands, attributes["to_apply"])
    return as_result(parts)


@op(
    infers=False,
    check_parsed=_global_ids_need_channel,
    verify=_verify_reduce_scatter,
    traits=(MIXED_PRECISION, COLLECTIVE, ORDER_KEPT, UNIFORM_GROUPS, COMBINABLE),
    effect_if="constrain_layout",
)
def reduce_scatter(
    *operands: Shape,
    channel_id: Int | None = None,
    replica_groups: Always[ReplicaGroups] = (),
    constrain_layout: Bool = False,
    use_global_device_ids: Bool = False,
    dimensions: FirstDim,
    to_apply: Computation,
    mode: CollectiveMode | None = None,
) -> Shape:
    """Combines the operands of a group's members, and returns a part of the result to each member.

    r = f32[4] reduce-scatter(f32[8] x), replica_groups={{0,1}}, dimensions={0}, to_apply=add
    """
    require_written_shape("reduce-scatter")


def _verify_all_to_all(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> Shape | None:
    """Returns the required result of an all-to-all.

    With `dimensions`, the result has the operand's shape. Without `dimensions`, the result is a
    tuple with one part per operand, and all parts have the same shape.
    """
    require(operands, "S013", "operands", "'all-to-all' takes at least one operand")
    if attributes["dimensions"] is not None:
        require(len(operands) == 1, "S013", "operands", f"'all-to-all' with dimensions takes 1 operand, got {len(operands)}")
        require_array(operands[0], "operand 0", "all-to-all")
        require_dimension(attributes["dimensions"][0], operands[0].rank, "P009", "dimensions", "all-to-all")
        is_bounded = any(is_dynamic and size != UNBOUNDED for size, is_dynamic in bounds(operands[0]))
        text = operands[0].text_without_layout
        require(not is_bounded, "P012", "operand 0", f"'all-to-all' with dimensions takes an operand of static size, got {text}")
        return operands[0]
    for k, operand in enumerate(operands):
        # XLA compares layouts here in all modes, but not memory spaces.
        _, first, other = difference(operands[0], operand)
        message = f"operands of 'all-to-all' must all have the same shape, got {first} and {other}"
        require(without_memory_space(operands[0]) == without_memory_space(operand), "P012", f"call of operand {k}", message)
    return tuple_shape(operands)


@op(
    infers=False,
    verify=_verify_all_to_all,
    traits=(MIXED_PRECISION, COLLECTIVE, ORDER_KEPT, UNIFORM_GROUPS, MOVES),
    effect_if="constrain_layout",
)
def all_to_all(
    *operands: Shape,
    channel_id: Int | None = None,
    replica_groups: Always[ReplicaGroups] = (),
    constrain_layout: Bool = False,
    dimensions: SingleDim | None = None,
) -> Shape:
    """Sends part k to member k of the group, and returns the parts received from all members.

    With `dimensions`, the operand is split into parts along that dimension; otherwise, the parts
    are the operands, one for each member.

        r = f32[8] all-to-all(f32[8] x), replica_groups={{0,1}}, dimensions={0}
    """
    require_written_shape("all-to-all")


_RAGGED_OPERANDS = ("the input", "the output", "input offsets", "send sizes", "output offsets", "receive sizes")


def _verify_ragged(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> Shape:
    """Checks the operands; the result is the second operand with some parts overwritten."""
    arity = len(_RAGGED_OPERANDS)
    require(len(operands) == arity, "P017", "operands", f"'ragged-all-to-all' takes {arity} operands, got {len(operands)}")
    first = operands[2]
    for k, operand in enumerate(operands[2:], 2):
        at, name = f"definition of operand {k}", _RAGGED_OPERANDS[k]
        require_kind(operand, at, "ragged-all-to-all", ("signed", "unsigned"), "P017")
        require(operand.rank in (1, 2), "P017", at, f"{name} must have rank 1 or 2, got {operand.text_without_layout}")
        # XLA compares layouts here in all modes, but not memory spaces.
        _, wanted, found = difference(first, operand)
        require(without_memory_space(first) == without_memory_space(operand), "P017", at, f"{name} are {found}, but input offsets are {wanted}")
    return operands[1]


@op(infers=False, verify=_verify_ragged, traits=(COLLECTIVE, ORDER_KEPT))
def ragged_all_to_all(
    *operands: Shape,
    channel_id: Int | None = None,
    replica_groups: Always[ReplicaGroups] = (),
    dimensions: IgnoredDims | None = None,
) -> Shape:
    """Exchanges slices whose offsets and sizes are also operands; XLA ignores `dimensions`.

    r = f32[8] ragged-all-to-all(f32[8] x, f32[8] out, s32[2] a, s32[2] b, s32[2] c, s32[2] d),
        replica_groups={{0,1}}
    """
    require_written_shape("ragged-all-to-all")


def _verify_broadcast(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> Shape:
    # With has_dynamic_root, the last operand is the member number of the sender.
    data = operands[:-1] if attributes["has_dynamic_root"] else operands
    require(data, "S013", "operands", "'collective-broadcast' takes at least one operand")
    require_array(data[0], "operand 0", "collective-broadcast")
    # XLA checks only the first operand, and rejects a tuple.
    require(len(data) == 1, "S013", "operands", f"'collective-broadcast' takes 1 operand, got {len(data)}")
    return data[0]


@op(infers=False, verify=_verify_broadcast, result_code="T105", traits=(MIXED_PRECISION, COLLECTIVE, EFFECT, ORDER_KEPT))
def collective_broadcast(
    *operands: Shape,
    channel_id: Int | None = None,
    replica_groups: Always[ReplicaGroups] = (),
    has_dynamic_root: Bool = False,
) -> Shape:
    """Sends the operand of one member of a group to all members.

    With has_dynamic_root, the last operand is the member number of the sender; without it, the
    sender is the first member.

        r = f32[4] collective-broadcast(f32[4] x), replica_groups={{0,1}}
    """
    require_written_shape("collective-broadcast")


def _verify_collective_reduce(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> Shape | None:
    """Checks that each result has the shape of its operand.

    With has_dynamic_root, the last operand contains one member number for each of the other
    operands.
    """
    data = operands[:-1] if attributes["has_dynamic_root"] else operands
    require(data, "S013", "operands", "'collective-reduce' takes at least one operand")
    if attributes["has_dynamic_root"]:
        roots, expected = operands[-1], array_shape("s32", (len(data),))
        message = f"the roots must be {expected.text_without_layout}, one for each operand, got {roots.text_without_layout}"
        require(compatible(roots, expected), "T105", f"operand {len(data)}", message)
    _global_ids_need_channel(result, operands, attributes)
    _check_reducer(data, attributes["to_apply"])
    _results(result, data, "collective-reduce")
    return as_result(data)


@op(
    infers=False,
    verify=_verify_collective_reduce,
    result_code="T105",
    work=count_result_elements,
    traits=(MIXED_PRECISION, COLLECTIVE, ORDER_KEPT),
    effect_if="constrain_layout",
)
def collective_reduce(
    *operands: Shape,
    channel_id: Int | None = None,
    replica_groups: Always[ReplicaGroups] = (),
    constrain_layout: Bool = False,
    use_global_device_ids: Bool = False,
    has_dynamic_root: Always[Bool] = False,
    to_apply: Computation,
) -> Shape:
    """Combines the operands of all members of a group, and returns the result to one of them.

    With has_dynamic_root, the last operand contains, for each of the other operands, the member
    number of the receiver; without it, the receiver is the first member. Members that are not the
    receiver get zeros.

        r = f32[4] collective-reduce(f32[4] x), replica_groups={{0,1}}, has_dynamic_root=false, to_apply=add
    """
    require_written_shape("collective-reduce")


_DONE_DOCS = {
    "all-gather-done": """Waits for an all-gather and returns its result.

        r = f32[8] all-gather-done((f32[4], f32[8]) s)
    """,
    "all-reduce-done": """Waits for an all-reduce and returns its result.

        r = f32[4] all-reduce-done(f32[4] s)
    """,
    "collective-permute-done": """Waits for a collective-permute and returns its result.

        r = f32[4] collective-permute-done((f32[4], f32[4], u32[], u32[]) s)
    """,
}


def _done_inference(opcode: str) -> Callable[[Shape], Shape]:
    def infer(operand: Shape) -> Shape:
        require_written_shape(opcode)

    return infer


def _check_id(result: Shape | None, operands: tuple[Shape, ...], attributes: dict[str, Any]) -> None:
    # XLA aborts on all other types.
    if result is not None and (result.element_type != "u32" or result.dimensions):
        raise Violation("T086", "shape", f"the result must be u32[], got {result.text_without_layout}")


_ID_DOCS = {
    "partition-id": """Returns the index of the partition that runs the program.

        r = u32[] partition-id()
    """,
    "replica-id": """Returns the index of the replica that runs the program.

        r = u32[] replica-id()
    """,
}


def _device_id() -> Shape:
    return array_shape("u32")


def _returns_operand(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> Shape:
    return operands[0]


def _returns_second_element(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> Shape | None:
    # The rules for start/done pairs report a done instruction whose operand is not a start.
    return operands[0].elements[1] if operands[0].is_tuple and len(operands[0].elements) > 1 else None


class _DoneRow(Record):
    """The definition of a done opcode: its start, the constraint on its result, and its traits.

    `returned_index` is the index of the element of the start's result that the done opcode
    returns, or None if it returns the whole result.
    """

    done_of: str
    verify: Verify
    traits: tuple[str, ...] = ()
    returned_index: int | None = None


_DONE_ROWS = {
    "all-gather-done": _DoneRow("all-gather-start", _returns_second_element, returned_index=1),
    "all-reduce-done": _DoneRow("all-reduce-start", _returns_operand, traits=(VIEW,)),
    "collective-permute-done": _DoneRow("collective-permute-start", _returns_second_element, returned_index=1),
}
for _opcode, _doc in _DONE_DOCS.items():
    _row = _DONE_ROWS[_opcode]
    _traits = (MIXED_PRECISION, EFFECT, ORDER_KEPT, *_row.traits)
    op(
        _opcode,
        infers=False,
        verify=_row.verify,
        result_code="A016",
        traits=_traits,
        done_of=_row.done_of,
        returned_index=_row.returned_index,
        doc=_doc,
    )(_done_inference(_opcode))
for _opcode, _doc in _ID_DOCS.items():
    op(_opcode, check_parsed=_check_id, traits=(FREE, DEVICE_ID), doc=_doc)(_device_id)
