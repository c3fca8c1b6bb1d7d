"""Removes elements from tuples that computations take or return: of the operand, the parameter, the root and the result together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hlotool.ir.edit import Rewriter
from hlotool.ir.model import Instruction
from hlotool.shapes.shape import tuple_shape
from hlotool.shapes.sharding import tuple_sharding

__all__ = [
    "is_only_taken_apart",
    "is_removable_root",
    "keep_elements_of_operand",
    "keep_elements_of_result",
    "keep_elements_of_root",
    "taken_elements",
]

# Attributes that describe each element of the result.
_BY_ELEMENT = frozenset({"parameter_replication", "frontend_attributes", "statistics"})


def is_only_taken_apart(rewriter: Rewriter, x: Instruction) -> bool:
    """Whether x is a tuple that only get-tuple-elements use, and whose elements can be removed one by one."""
    if not x.shape.is_tuple or rewriter.is_root(x) or rewriter.control_successors(x):
        return False
    return _has_plain_attributes(x) and all(user.op.name == "get-tuple-element" for user in rewriter.users(x))


def _has_plain_attributes(x: Instruction) -> bool:
    sharding = x.attributes.get("sharding")
    is_flat = sharding is None or not sharding.is_tuple or len(sharding.elements) == len(x.shape.elements) == x.shape.leaf_count
    return is_flat and _BY_ELEMENT.isdisjoint(x.attributes)


def is_removable_root(rewriter: Rewriter, root: Instruction) -> bool:
    """Whether a root is a tuple that nothing else uses, so that elements can be removed."""
    return root.op.name == "tuple" and not rewriter.users(root) and not rewriter.control_successors(root) and _has_plain_attributes(root)


def taken_elements(rewriter: Rewriter, x: Instruction) -> set[int]:
    """The elements of a tuple that get-tuple-elements take."""
    return {user.attributes["index"] for user in rewriter.users(x)}


def keep_elements_of_result(rewriter: Rewriter, x: Instruction, kept: Sequence[int]) -> None:
    """Changes the shape of an instruction that is only taken apart, such as a parameter, and the numbers in its users."""
    _narrow(rewriter, x, kept)
    numbers = {old: new for new, old in enumerate(kept)}
    for user in rewriter.users(x):
        index = user.attributes["index"]
        if numbers[index] != index:
            rewriter.update(user, attributes={"index": numbers[index]})


def keep_elements_of_root(rewriter: Rewriter, root: Instruction, kept: Sequence[int]) -> list[Instruction]:
    """Changes a root for which `is_removable_root` holds; returns the operands that it has lost."""
    lost = _difference(root.operands, kept)
    _narrow(rewriter, root, kept, [root.operands[k] for k in kept])
    return lost


def keep_elements_of_operand(rewriter: Rewriter, x: Instruction, number: int, kept: Sequence[int]) -> list[Instruction]:
    """Changes an operand that is a tuple instruction, or inserts another one if it has other users; returns what may be dead."""
    group = x.operands[number]
    lost = [group, *_difference(group.operands, kept)]
    if rewriter.use_count(group) > 1 or rewriter.is_root(group) or rewriter.control_successors(group) or group.control_predecessors:
        copy = rewriter.insert("tuple", group.operands, before=x, shape=group.shape, attributes=_sharding_of(group), origin=group)
        rewriter.set_operand(x, number, copy)
        group = copy
    _narrow(rewriter, group, kept, [group.operands[k] for k in kept])
    return lost


def _sharding_of(x: Instruction) -> dict[str, object]:
    sharding = x.attributes.get("sharding")
    return {} if sharding is None else {"sharding": sharding}


def _difference(operands: Sequence[Instruction], kept: Iterable[int]) -> list[Instruction]:
    rest = set(kept)
    return [operand for k, operand in enumerate(operands) if k not in rest]


def _narrow(rewriter: Rewriter, x: Instruction, kept: Sequence[int], operands: Sequence[Instruction] | None = None) -> None:
    shape = tuple_shape([x.shape.elements[k] for k in kept])
    attributes: dict[str, object] = {}
    sharding = x.attributes.get("sharding")
    if sharding is not None and sharding.is_tuple:
        # XLA gives the empty tuple a sharding of one element.
        attributes["sharding"] = tuple_sharding([sharding.elements[k] for k in kept]) if kept else None
    if "origin" in x.attributes:
        attributes["origin"] = None
    rewriter.update(x, shape=shape, operands=x.operands if operands is None else operands, attributes=attributes)
