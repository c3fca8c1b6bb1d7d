"""Copies the instructions of a computation to the point where it is called."""

from __future__ import annotations

from collections.abc import Sequence

from hlotool.ir.edit import Rewriter
from hlotool.ir.model import Computation, Instruction
from hlotool.opdefs.traits import ANY_SIGNATURE

__all__ = ["can_replace_caller", "can_take_sharding", "copy_body", "has_changeable_signature", "has_no_other_attributes", "replace_caller"]


def has_changeable_signature(caller: Instruction) -> bool:
    """Returns whether a caller's operands and results may change together with the computation.

    Some opcodes prescribe their operands and results. The operands and results of a composite may
    not change either: its name stands for an operation with these operands, and a compiler may have
    its own code for that operation.
    """
    return ANY_SIGNATURE in caller.op.traits and not caller.attributes.get("is_composite", False)


def copy_body(
    rewriter: Rewriter, body: Computation, operands: Sequence[Instruction], before: Instruction, *, is_last: bool = True
) -> dict[Instruction, Instruction]:
    """Inserts copies of the instructions of a computation.

    Returns a map from each original to its copy, and from each parameter to its operand. Copied
    fusions get their own computations. If `is_last` is set and `before` is the only caller, the
    instructions are moved instead of copied.
    """
    if is_last and rewriter.is_only_caller(before, body):
        instructions = rewriter.instructions(body)
        rewriter.move_body(body, operands, before)
        return {y: operands[y.immediate] if y.op.name == "parameter" else y for y in instructions}
    copies: dict[Instruction, Instruction] = {}
    for y in rewriter.instructions(body):
        if y.op.name == "parameter":
            copies[y] = operands[y.immediate]
            continue
        copy = copies[y] = rewriter.insert_copy(y, [copies[operand] for operand in y.operands], before=before)
        if y.control_predecessors:
            rewriter.update(copy, attributes={"control-predecessors": tuple(copies[z] for z in y.control_predecessors)})
        if y.op.name == "fusion":
            rewriter.update(copy, attributes={"calls": rewriter.clone_computation(y.called[0])})
    return copies


# Attributes of a caller that the copy of the root inherits.
_INHERITED = ("sharding", "origin")


def can_take_sharding(rewriter: Rewriter, x: Instruction, new: Instruction) -> bool:
    """Returns whether `new` may replace `x`, given the shardings of both.

    The shardings must be the same, unless `x` has none. The shardings of roots are compared with
    those of callers, so a root without a sharding must not get one.
    """
    sharding, other = x.attributes.get("sharding"), new.attributes.get("sharding")
    if sharding == other:
        return True
    return sharding is None and not (rewriter.is_root(x) and rewriter.caller_count(rewriter.owner(x)))


def can_replace_caller(rewriter: Rewriter, x: Instruction, body: Computation) -> bool:
    """Returns whether a copy of the body's root can take over the sharding and the origin of `x`.

    The root must have the same sharding and origin, or none.
    """
    inherited = [(x.attributes[name], body.root.attributes.get(name)) for name in _INHERITED if name in x.attributes]
    if any(old not in (None, new) for new, old in inherited):
        return False
    if body.root.op.name == "parameter":
        return not inherited and can_take_sharding(rewriter, x, x.operands[body.root.immediate])
    return "sharding" in x.attributes or can_take_sharding(rewriter, x, body.root)


def has_no_other_attributes(x: Instruction) -> bool:
    """Returns whether a call has no attribute that inlining would lose, such as backend_config."""
    return not x.backend_config and not x.attributes.keys() - {"to_apply", "metadata", *_INHERITED}


def replace_caller(rewriter: Rewriter, x: Instruction, body: Computation, copies: dict[Instruction, Instruction]) -> None:
    """Replaces a caller with the copied root. Erases the computation if it has no other callers."""
    root = copies[body.root]
    rewriter.update(root, attributes={name: x.attributes[name] for name in _INHERITED if name in x.attributes})
    rewriter.replace_all_uses(x, root)
    rewriter.erase(x)
    if not rewriter.caller_count(body):
        rewriter.erase_computation(body)
