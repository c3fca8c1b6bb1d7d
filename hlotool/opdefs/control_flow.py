"""Opcodes that run computations: call, while, conditional, fusion, custom-call and the async family.

Sees called computations only as parameter and result shapes; whether an operand is an async op is for the instruction level to check.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hlotool.errors import Violation
from hlotool.opdefs.base import op, require
from hlotool.opdefs.inference import (
    bare,
    bounds,
    count,
    is_scalar,
    with_bounds,
    written_shape_needed,
)
from hlotool.opdefs.kinds import (
    ApiVersion,
    Bool,
    Computation,
    Computations,
    CustomCallSchedule,
    DimLabels,
    FusionKind,
    Int,
    OperandPrecision,
    OutputAliases,
    PaddingType,
    Shapes,
    Text,
    TypedLiteral,
    Window,
)
from hlotool.shapes.shape import Shape, array_shape, compatible, tuple_shape

__all__ = ["async_done", "async_start", "async_update", "call", "conditional", "custom_call", "fusion", "while_"]


@op()
def call(*operands: Shape, to_apply: Computation, is_composite: Bool = False) -> Shape:
    """Runs a computation on the operands; a composite call names an operation whose meaning the computation spells out.

    r = f32[4] call(f32[4] x), to_apply=f
    """
    parameters = to_apply.parameters
    fits = len(parameters) == len(operands)
    require(fits, "C001", "operands", f"the computation has {count(len(parameters), 'parameter')}, got {count(len(operands), 'operand')}")
    for k, (operand, parameter) in enumerate(zip(operands, parameters, strict=True)):
        message = f"operand {k} is {operand.text_without_layout}, the parameter is {parameter.text_without_layout}"
        require(compatible(operand, parameter), "C002", f"operand {k}", message)
    return to_apply.result


@op()
def while_(init: Shape, *, condition: Computation, body: Computation) -> Shape:
    """Replaces the loop state by the body's result for as long as the condition holds.

    r = (s32[], f32[4]) while((s32[], f32[4]) init), condition=c, body=b
    """
    for name, computation in (("condition", condition), ("body", body)):
        parameters = len(computation.parameters)
        require(parameters == 1, "C004", name, f"the {name} has {count(parameters, 'parameter')}, while needs 1")
    verdict = condition.result
    require(compatible(verdict, array_shape("pred")), "C007", "condition", f"condition returns {verdict.text_without_layout}, needs pred[]")
    state = body.result
    for code, at, what, shape in (
        ("C005", "condition", "the parameter of the condition", condition.parameters[0]),
        ("C006", "body", "the parameter of the body", body.parameters[0]),
        ("C005", "operand 0", "init", init),
    ):
        require(compatible(state, shape), code, at, f"the body returns {state.text_without_layout}, {what} is {shape.text_without_layout}")
    return init


def _conditional_rule(result: Shape | None, operands: tuple[Shape, ...], attributes: dict[str, Any]) -> None:
    if not operands:
        raise Violation("S013", "operands", "'conditional' needs a selector operand")
    selector = bare(operands[0])
    if not is_scalar(selector) or selector.element_type not in ("pred", "s32"):
        raise Violation("C008", "operand 0", f"selector is {operands[0].text_without_layout}, needs pred[] or s32[]")
    by_name = ("true_computation", "false_computation")
    wanted, unwanted = (by_name, ("branch_computations",)) if selector.element_type == "pred" else (("branch_computations",), by_name)
    for name in unwanted:
        if name in attributes:
            other = "s32" if selector.element_type == "pred" else "pred"
            raise Violation("C045", name, f"the selector is {selector.text_without_layout}; {name} is for {other} selectors")
    for name in wanted:
        if name not in attributes:
            raise Violation("S014", "opcode", f"'conditional' on {selector.text_without_layout} needs attribute '{name}'")
    branches = 2 if selector.element_type == "pred" else len(attributes["branch_computations"])
    if branches == 0:
        raise Violation("C009", "branch_computations", "'conditional' needs at least 1 branch")
    if len(operands) != branches + 1:
        raise Violation("C009", "operands", f"{branches} branches need {count(branches + 1, 'operand')}, got {len(operands)}")


@op(parse_rule=_conditional_rule)
def conditional(
    selector: Shape,
    *operands: Shape,
    true_computation: Computation | None = None,
    false_computation: Computation | None = None,
    branch_computations: Computations = (),
) -> Shape:
    """Runs the one branch that the selector picks, on that branch's own operand.

    A pred selector picks between two named computations; an s32 one indexes a list, and the last branch takes every index outside.

        r = f32[] conditional(s32[] i, f32[] x, f32[4] y), branch_computations={f, g}
    """
    require(selector.is_array and is_scalar(selector), "C008", "operand 0", f"selector is {selector.text_without_layout}, needs pred[] or s32[]")
    branches = branch_computations
    if true_computation is not None and false_computation is not None:
        branches = (true_computation, false_computation)
    require(branches, "C009", "operands", "'conditional' needs at least 1 branch")
    fits = len(operands) == len(branches)
    require(fits, "C009", "operands", f"{len(branches)} branches need {count(len(branches) + 1, 'operand')}, got {len(operands) + 1}")
    for k, (branch, operand) in enumerate(zip(branches, operands, strict=True)):
        at, parameters = f"operand {k + 1}", branch.parameters
        require(len(parameters) == 1, "C010", at, f"branch {k} has {count(len(parameters), 'parameter')}, needs 1")
        message = f"operand {k + 1} is {operand.text_without_layout}, parameter of branch {k} is {parameters[0].text_without_layout}"
        require(compatible(parameters[0], operand), "C010", at, message)
        message = f"branch 0 returns {branches[0].result.text_without_layout}, branch {k} {branch.result.text_without_layout}"
        require(compatible(branches[0].result, branch.result), "C011", "shape", message)
    return _dynamic_where_any([branch.result for branch in branches])


def _dynamic_where_any(results: list[Shape]) -> Shape:
    """The first shape, with every dimension marked dynamic that is so in any of the matching shapes."""
    leaves = (_dynamic_where_any_leaf(same) for same in zip(*(result.leaves() for result in results), strict=True))
    return _with_leaves(results[0], leaves)


def _dynamic_where_any_leaf(leaves: tuple[Shape, ...]) -> Shape:
    columns = zip(*map(bounds, leaves), strict=True)
    merged = [(column[0][0], any(dynamic for _, dynamic in column)) for column in columns]
    return leaves[0] if merged == bounds(leaves[0]) else with_bounds(leaves[0], merged)


def _with_leaves(shape: Shape, leaves: Iterator[Shape]) -> Shape:
    """A shape of the same nesting with other leaves, taken in order."""
    if not shape.is_tuple:
        return next(leaves)
    # An explicit stack: shapes may nest deeper than Python's recursion limit.
    frames: list[tuple[Iterator[Shape], list[Shape]]] = [(iter(shape.elements), [])]
    while True:
        pending, done = frames[-1]
        child = next(pending, None)
        if child is None:
            frames.pop()
            if not frames:
                return tuple_shape(done)
            frames[-1][1].append(tuple_shape(done))
        elif child.is_tuple:
            frames.append((iter(child.elements), []))
        else:
            done.append(next(leaves))


@op(infers=False)
def fusion(*operands: Shape, kind: FusionKind, output_to_operand_aliasing: OutputAliases = (), calls: Computation) -> Shape:
    """Runs a computation that a compiler has chosen to emit as one kernel.

    r = f32[4] fusion(f32[4] x, f32[4] y), kind=kLoop, calls=fused
    """
    written_shape_needed("fusion")


def _custom_call_rule(result: Shape | None, operands: tuple[Shape, ...], attributes: dict[str, Any]) -> None:
    if attributes.get("api_version") == "API_VERSION_UNSPECIFIED":
        raise Violation("S018", "api_version", "API_VERSION_UNSPECIFIED cannot be written")
    constraints = attributes.get("operand_layout_constraints")
    if constraints is None:
        return
    if len(constraints) != len(operands):
        raise Violation("L020", "operand_layout_constraints", f"{count(len(constraints), 'constraint')} for {count(len(operands), 'operand')}")
    for k, (constraint, operand) in enumerate(zip(constraints, operands, strict=True)):
        if not compatible(constraint, operand):
            message = f"constraint {k} is {constraint.text_without_layout}, operand {k} is {operand.text_without_layout}"
            raise Violation("L020", "operand_layout_constraints", message)


@op(infers=False, parse_rule=_custom_call_rule)
def custom_call(
    *operands: Shape,
    window: Window | None = None,
    dim_labels: DimLabels | None = None,
    feature_group_count: Int = 1,
    batch_group_count: Int = 1,
    operand_precision: OperandPrecision = (),
    padding_type: PaddingType = "PADDING_INVALID",
    custom_call_target: Text,
    operand_layout_constraints: Shapes | None = None,
    custom_call_has_side_effect: Bool = False,
    literal: TypedLiteral | None = None,
    output_to_operand_aliasing: OutputAliases = (),
    schedule: CustomCallSchedule = "SCHEDULE_NONE",
    api_version: ApiVersion = "API_VERSION_ORIGINAL",
    called_computations: Computations = (),
    to_apply: Computation | None = None,
) -> Shape:
    """Calls a function outside HLO by its name.

    `to_apply` is another spelling of one called computation and wins over `called_computations`; layout constraints make XLA drop both.

        r = f32[4] custom-call(f32[4] x), custom_call_target="f"
    """
    written_shape_needed("custom-call")


def _async_start_rule(result: Shape | None, operands: tuple[Shape, ...], attributes: dict[str, Any]) -> None:
    if result is not None and not (result.is_tuple and len(result.elements) >= 2 and result.elements[0].is_tuple):
        raise Violation("A004", "shape", "async shape must be ((operands...), result, ...)", "((f32[4]), f32[4], u32[])")


@op(infers=False, parse_rule=_async_start_rule)
def async_start(*operands: Shape, async_execution_thread: Text = "main", output_to_operand_aliasing: OutputAliases = (), calls: Computation) -> Shape:
    """Begins to run a computation on another thread; the result holds operands, eventual result and contexts.

    s = ((f32[4]), f32[4], u32[]) async-start(f32[4] x), calls=f
    """
    written_shape_needed("async-start")


def _async_update_rule(result: Shape | None, operands: tuple[Shape, ...], attributes: dict[str, Any]) -> None:
    if result is not None and result != operands[0]:
        raise Violation("A032", "shape", f"result {result.text} is not the operand's shape {operands[0].text}")


@op(infers=False, parse_rule=_async_update_rule)
def async_update(previous: Shape, *, async_execution_thread: Text | None = None, calls: Computation | None = None) -> Shape:
    """Marks progress of an asynchronous operation; the attributes only repeat what the async-start says.

    u = ((f32[4]), f32[4], u32[]) async-update(((f32[4]), f32[4], u32[]) s)
    """
    written_shape_needed("async-update")


@op(infers=False)
def async_done(previous: Shape, *, async_execution_thread: Text | None = None, calls: Computation | None = None) -> Shape:
    """Waits for an asynchronous operation and gives its result; the attributes only repeat what the async-start says.

    r = f32[4] async-done(((f32[4]), f32[4], u32[]) s)
    """
    written_shape_needed("async-done")
