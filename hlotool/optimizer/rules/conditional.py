"""Conditionals whose branch is known, or whose branches return the same value."""

from __future__ import annotations

from hlotool.analysis.simplify import constant_value
from hlotool.ir.model import Computation, Instruction
from hlotool.literals.literal import Literal
from hlotool.optimizer.pattern_rewriter import PatternRewriter
from hlotool.optimizer.registry import rule

__all__: list[str] = []


@rule("conditional")
def known_branch(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """conditional(true, a, b), f, g -> call(a), to_apply=f

    An index that is out of range selects the last branch.
    """
    selector = x.operands[0]
    value = constant_value(selector)
    if value is None:
        return None
    last = len(x.called) - 1
    if selector.shape.element_type == "pred":
        number = 0 if value else 1
    else:
        number = int(value) if 0 <= value <= last else last
    return rewriter.add("call", [x.operands[number + 1]], x.shape, to_apply=x.called[number])


@rule("conditional")
def equal_branches(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """conditional(p, a, a), f, f -> call(a), to_apply=f"""
    if any(operand is not x.operands[1] for operand in x.operands[2:]) or any(branch is not x.called[0] for branch in x.called):
        return None
    return rewriter.add("call", [x.operands[1]], x.shape, to_apply=x.called[0])


@rule("get-tuple-element", of=("conditional",))
def element_that_branches_agree_on(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """get-tuple-element(conditional(p, tuple(a, b), b), 1) -> b, if b is element 1 in each branch

    The element may also be the same scalar constant in all branches.
    """
    conditional = x.operands[0]
    index: int = x.attributes["index"]
    pairs = zip(conditional.called, conditional.operands[1:], strict=True)
    first, *others = [_returned(branch, operand, index) for branch, operand in pairs]
    if not isinstance(first, Literal):
        return first if all(value is first for value in others) else None
    return rewriter.constant(first) if all(value == first for value in others) else None


def _returned(branch: Computation, operand: Instruction, index: int) -> Instruction | Literal | None:
    """Returns the value of an element of a branch's result, in terms of the branch's operand.

    The value is an instruction outside the branch, or a scalar constant. Returns None for anything
    else.
    """
    root = branch.root
    if root.op.name != "tuple":
        return None
    element = root.operands[index]
    if element.op.name == "parameter":
        return operand
    if element.literal is not None and element.shape.is_array and not element.shape.dimensions:
        return element.literal
    if element.op.name != "get-tuple-element" or element.operands[0].op.name != "parameter" or operand.op.name != "tuple":
        return None
    number: int = element.attributes["index"]
    return operand.operands[number]
