"""Loops with at most one iteration, and values that a loop does not change."""

from __future__ import annotations

from hlotool.analysis.effects import has_effect
from hlotool.analysis.loops import trip_count
from hlotool.ir.model import Computation, Instruction
from hlotool.optimizer.pattern_rewriter import PatternRewriter
from hlotool.optimizer.registry import rule

__all__: list[str] = []


def _is_pure(computation: Computation, rewriter: PatternRewriter) -> bool:
    """Returns whether a computation certainly has no effect and calls no other computation."""
    return not any(x.called or has_effect(x, set()) for x in rewriter.module_rewriter.instructions(computation))


@rule("while")
def loop_without_iterations(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """while(a) -> a, if the condition is false for a

    The condition runs once even then, so it must not have effects.
    """
    if trip_count(x) != 0 or not _is_pure(x.attributes["condition"], rewriter):
        return None
    return x.operands[0]


@rule("while")
def loop_of_one_iteration(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """while(a), body=f -> call(a), to_apply=f, if constants show that there is one iteration"""
    if trip_count(x) != 1 or not _is_pure(x.attributes["condition"], rewriter):
        return None
    return rewriter.add("call", x.operands, x.shape, to_apply=x.attributes["body"])


@rule("get-tuple-element", of=("while",))
def element_that_a_loop_keeps(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """get-tuple-element(while(tuple(a, b)), 1) -> b, if the body returns element 1 unchanged"""
    loop = x.operands[0]
    index: int = x.attributes["index"]
    root = loop.attributes["body"].root
    if root.op.name != "tuple":
        return None
    element = root.operands[index]
    if element.op.name != "get-tuple-element" or element.attributes["index"] != index or element.operands[0].op.name != "parameter":
        return None
    start = loop.operands[0]
    if start.op.name == "tuple":
        return start.operands[index]
    return rewriter.add("get-tuple-element", [start], x.shape, index=index)
