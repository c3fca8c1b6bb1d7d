"""Calls that return a parameter or a constant, and maps of elementwise operations."""

from __future__ import annotations

from hlotool.analysis.effects import has_effect
from hlotool.ir.model import Computation, Instruction
from hlotool.opdefs.traits import ELEMENTWISE
from hlotool.optimizer.pattern_rewriter import PatternRewriter
from hlotool.optimizer.registry import rule

__all__: list[str] = []

# The rule for maps looks at each instruction of the computation, so it is limited to short
# computations.
_MAX_MAPPED = 32


@rule("call", "fusion")
def call_that_returns_an_operand(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """call(a, b), to_apply=f -> b, if f returns its second parameter"""
    (body,) = x.called
    if body.root.op.name != "parameter" or any(y.called or has_effect(y, set()) for y in rewriter.module_rewriter.instructions(body)):
        return None
    number: int = body.root.immediate
    return x.operands[number]


@rule("get-tuple-element", of=("call", "fusion"))
def element_that_a_call_passes_on(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """get-tuple-element(call(a, b), 1) -> a, if element 1 of the result is the first parameter

    The element may also be a scalar constant.
    """
    call, index = x.operands[0], x.attributes["index"]
    root = call.called[0].root
    if root.op.name != "tuple":
        return None
    element = root.operands[index]
    if element.op.name == "parameter":
        number: int = element.immediate
        return call.operands[number]
    literal = element.literal
    # The caller gets a copy of the constant, which should not be large.
    if literal is None or literal.shape.dimensions or literal.shape.is_tuple:
        return None
    return rewriter.constant(literal)


@rule("map")
def map_of_elementwise_operations(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """map(a, b), to_apply=f -> the operations of f on whole arrays, if all are elementwise

    If f has other callers, it must have only one operation.
    """
    body: Computation = x.called[0]
    instructions = rewriter.module_rewriter.instructions(body)
    operations = [y for y in instructions if y.op.name != "parameter"]
    constants = sum(y.literal is not None for y in operations)
    is_copied = rewriter.module_rewriter.caller_count(body) > 1
    if len(operations) > _MAX_MAPPED or constants > 1 or (is_copied and len(operations) + constants > 1) or not _fits_body(x, body):
        return None
    if not all(y.literal is not None or ELEMENTWISE in y.op.traits for y in operations):
        return None
    if any(y.control_predecessors or not y.shape.is_array for y in operations):
        return None
    copies: dict[Instruction, Instruction] = {}
    for y in instructions:
        if y.op.name == "parameter":
            copies[y] = x.operands[y.immediate]
            continue
        shape = x.shape.with_element_type(y.shape.element_type)
        if y.literal is None:
            copies[y] = rewriter.with_operands(y, [copies[operand] for operand in y.operands], shape)
            continue
        scalar = rewriter.constant(y.literal)
        copies[y] = rewriter.add("broadcast", [scalar], shape, dimensions=()) if shape.dimensions else scalar
    return copies[body.root]


def _fits_body(x: Instruction, body: Computation) -> bool:
    """Returns whether the operands have the element types of the parameters.

    XLA also allows floating-point types of other sizes.
    """
    pairs = zip(x.operands, body.parameters, strict=True)
    return all(a.shape == x.shape.with_element_type(y.shape.element_type) for a, y in pairs)
