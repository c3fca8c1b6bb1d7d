"""Removes elements from tuples that computations take or return.

Callers edit both sides of a call: the operand with the callee's parameter, or the result of the
call with the callee's root.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from hlotool.ir.edit import Rewriter
from hlotool.ir.model import Instruction
from hlotool.shapes.shape import tuple_shape
from hlotool.shapes.sharding import tuple_sharding

__all__ = [
    "is_only_unpacked",
    "is_removable_root",
    "keep_elements_of_operand",
    "keep_elements_of_result",
    "keep_elements_of_tuple",
    "taken_elements",
]

# Attributes that describe each element of the result.
_BY_ELEMENT = frozenset({"parameter_replication", "frontend_attributes", "statistics"})


def is_only_unpacked(rewriter: Rewriter, x: Instruction) -> bool:
    """Returns whether elements can be removed from `x`.

    All its users must be get-tuple-elements, and it must not be a root or have attributes that
    describe single elements.
    """
    if rewriter.is_root(x) or not _BY_ELEMENT.isdisjoint(x.attributes):
        return False
    return all(user.op.name == "get-tuple-element" for user in rewriter.users(x))


def is_removable_root(rewriter: Rewriter, root: Instruction) -> bool:
    """Returns whether elements can be removed from a root.

    The root must be a tuple instruction without users, and must not have attributes that describe
    single elements.
    """
    return root.op.name == "tuple" and not rewriter.users(root) and _BY_ELEMENT.isdisjoint(root.attributes)


def taken_elements(rewriter: Rewriter, x: Instruction) -> set[int]:
    """Returns the indices of the elements that get-tuple-elements take from a tuple."""
    return {user.attributes["index"] for user in rewriter.users(x)}


def keep_elements_of_result(rewriter: Rewriter, x: Instruction, kept: Sequence[int]) -> None:
    """Removes all but the kept elements of an instruction, and updates the indices of its users.

    `is_only_unpacked` must be true for the instruction, which may be a parameter, for example.
    """
    _narrow(rewriter, x, kept)
    numbers = {old: new for new, old in enumerate(kept)}
    for user in rewriter.users(x):
        rewriter.update(user, attributes={"index": numbers[user.attributes["index"]]})


def keep_elements_of_tuple(rewriter: Rewriter, group: Instruction, kept: Sequence[int]) -> Sequence[Instruction]:
    """Removes all but the kept operands of a tuple instruction, such as a root.

    `is_removable_root` must be true for a root. Returns the previous operands, some of which may
    now be dead.
    """
    operands = group.operands
    _narrow(rewriter, group, kept, [operands[k] for k in kept])
    return operands


def keep_elements_of_operand(rewriter: Rewriter, x: Instruction, number: int, kept: Sequence[int]) -> Sequence[Instruction]:
    """Applies `keep_elements_of_tuple` to an operand, or to a copy of it if it has other users."""
    group = x.operands[number]
    if rewriter.use_count(group) > 1 or rewriter.is_root(group):
        group = rewriter.insert_copy(group, before=x)
        rewriter.set_operand(x, number, group)
    return keep_elements_of_tuple(rewriter, group, kept)


def _narrow(rewriter: Rewriter, x: Instruction, kept: Sequence[int], operands: Sequence[Instruction] | None = None) -> None:
    shape = tuple_shape([x.shape.elements[k] for k in kept])
    attributes: dict[str, object] = {"origin": None}
    sharding = x.attributes.get("sharding")
    if sharding is not None:
        starts = list(accumulate((element.leaf_count for element in x.shape.elements), initial=0))
        leaves = [leaf for k in kept for leaf in sharding.elements[starts[k] : starts[k + 1]]]
        # In XLA, the sharding of an empty tuple has one element, so it is left out here.
        attributes["sharding"] = tuple_sharding(leaves) if leaves else None
    rewriter.update(x, shape=shape, operands=x.operands if operands is None else operands, attributes=attributes)
