"""Opcodes that call computations: call, while, conditional, fusion, custom-call and async ops.

Definitions have no access to instructions, so verifier rules check that the operand of an
async-done is an async-start.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NoReturn

from hlotool.errors import Violation
from hlotool.opdefs.base import ParsedCheck, op, require
from hlotool.opdefs.constraints import difference, same_order, same_shape
from hlotool.opdefs.custom_call_targets import BUFFER_CONVERTERS, LAYOUT_KEEPERS, check_buffers, check_target
from hlotool.opdefs.inference import (
    bare,
    bounds,
    count,
    is_scalar,
    require_written_shape,
    with_bounds,
)
from hlotool.opdefs.kinds import (
    ApiVersion,
    Bool,
    Computation,
    Computations,
    ContinuedComputation,
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
from hlotool.opdefs.layouts import require_kept_layout
from hlotool.opdefs.modes import VerifyModes
from hlotool.opdefs.traits import (
    ANY_SIGNATURE,
    CONTROL_FLOW,
    EXPENSIVE,
    FORWARDS,
    HOLDS_BUFFERS,
    LAYOUT_KEPT,
    MIXED_PRECISION,
    RETURNS,
    RUNS_COMPUTATIONS,
    SAME_THREAD,
    SAME_THREAD_ON_REQUEST,
    SHAPE_GUESSED,
    VIEW,
)
from hlotool.shapes.shape import ProgramShape, Shape, array_shape, compatible, is_prefix, subshape, tuple_shape
from hlotool.shapes.values import AliasPair

__all__ = ["async_done", "async_start", "async_update", "call", "conditional", "custom_call", "fusion", "while_"]


def _verify_call(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> None:
    _require_arguments(operands, attributes["to_apply"], "C002", modes)
    if attributes["is_composite"]:
        _check_composite(attributes.get("frontend_attributes") or {})


def _require_arguments(operands: tuple[Shape, ...], called: ProgramShape, code: str, modes: VerifyModes) -> None:
    """Raises Violation for operands that do not have the shapes of the parameters."""
    for k, (operand, parameter) in enumerate(zip(operands, called.parameters, strict=False)):
        # Messages about tuples are built only when they are needed, since loops carry thousands of
        # arrays.
        if not same_shape(operand, parameter, modes):
            _reject_argument(operand, parameter, code, k, f"parameter {k}")


def _reject_argument(operand: Shape, parameter: Shape, code: str, k: int, name: str) -> NoReturn:
    where, expected, actual = difference(parameter, operand)
    if compatible(operand, parameter):
        message = f"{where}operand {k} has the layout of {actual}, but {where}{name} has the layout of {expected}"
        raise Violation("L025", "operands", message, "insert a copy to change the layout")
    raise Violation(code, f"call of operand {k}", f"{where}operand {k} is {actual}, but {where}{name} is {expected}")


def _check_composite(frontend_attributes: dict[str, str]) -> None:
    """Raises Violation unless the frontend attributes of a composite call name its operation.

    The attributes and the version of the operation are optional.
    """
    values = {key: value.strip('"') for key, value in frontend_attributes.items()}
    require(values.get("composite.name"), "C034", "is_composite", "frontend attribute composite.name is missing or empty")
    if "composite.attributes" in values:
        require(values["composite.attributes"], "C034", "is_composite", "frontend attribute composite.attributes is empty")
    version = values.get("composite.version")
    is_number = version is None or (version.isascii() and version.isdigit())
    require(is_number, "C034", "is_composite", f"composite.version must be a non-negative integer, got '{version}'")


@op(
    verify=_verify_call,
    result_code="C003",
    traits=(MIXED_PRECISION, LAYOUT_KEPT, CONTROL_FLOW, HOLDS_BUFFERS, ANY_SIGNATURE, SAME_THREAD_ON_REQUEST),
)
def call(*operands: Shape, to_apply: Computation, is_composite: Bool = False) -> Shape:
    """Calls a computation with the operands.

    A composite call represents a named operation, which the computation implements.

        r = f32[4] call(f32[4] x), to_apply=f
    """
    parameters = to_apply.parameters
    fits = len(parameters) == len(operands)
    require(fits, "C001", "operands", f"'call' must have {count(len(parameters), 'operand')} (one per parameter of to_apply), got {len(operands)}")
    for k, (operand, parameter) in enumerate(zip(operands, parameters, strict=True)):
        if not compatible(operand, parameter):
            _reject_argument(operand, parameter, "C002", k, f"parameter {k}")
    return to_apply.result


def _verify_while(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> Shape:
    """Checks, as XLA does, that the written shape is the shape of the body's result.

    Another rule (`while_state`) checks that this shape fits the next iteration.
    """
    condition: ProgramShape = attributes["condition"]
    body: ProgramShape = attributes["body"]
    if not compatible(result, body.result) or compatible(result, operands[0]):
        # Inference reports these faults with better messages.
        while_(*operands, condition=condition, body=body)
    _check_loop_parts(condition, body)
    _require_arguments(operands, body, "C005", modes)
    _require_arguments(operands, condition, "C005", modes)
    return body.result


def _check_loop_parts(condition: ProgramShape, body: ProgramShape) -> None:
    for name, computation in (("condition", condition), ("body", body)):
        parameters = len(computation.parameters)
        require(parameters == 1, "C004", name, f"the {name} of 'while' must have 1 parameter, got {parameters}")
    verdict = condition.result
    if not compatible(verdict, array_shape("pred")):
        raise Violation("C007", "root of condition", f"the condition of 'while' must return pred[], got {verdict.text_without_layout}")


@op(
    verify=_verify_while,
    result_code="C006",
    traits=(MIXED_PRECISION, LAYOUT_KEPT, CONTROL_FLOW, HOLDS_BUFFERS, SAME_THREAD, SHAPE_GUESSED),
)
def while_(init: Shape, *, condition: Computation, body: Computation) -> Shape:
    """Runs the body on the loop state repeatedly, as long as the condition is true.

    r = (s32[], f32[4]) while((s32[], f32[4]) init), condition=c, body=b
    """
    _check_loop_parts(condition, body)
    state = body.result
    for code, at, what, shape in (
        ("C006", "root of body", "the parameter of the body", body.parameters[0]),
        ("C005", "operands", "init", init),
        ("C005", "condition", "the parameter of the condition", condition.parameters[0]),
    ):
        if not compatible(state, shape):
            where, returned, other = difference(state, shape)
            raise Violation(code, at, f"{where}the body's result is {returned}, but {where}{what} is {other}")
    return init


def _conditional_rule(result: Shape | None, operands: tuple[Shape, ...], attributes: dict[str, Any]) -> None:
    selector = bare(operands[0])
    if not is_scalar(selector) or selector.element_type not in ("pred", "s32"):
        raise Violation("C008", "call of operand 0", f"the selector of 'conditional' must be pred[] or s32[], got {operands[0].text_without_layout}")
    by_name = ("true_computation", "false_computation")
    required, foreign = (by_name, ("branch_computations",)) if selector.element_type == "pred" else (("branch_computations",), by_name)
    for name in foreign:
        if name in attributes:
            other = "s32" if selector.element_type == "pred" else "pred"
            raise Violation("C045", name, f"{name} is for {other} selectors, but the selector is {selector.text_without_layout}")
    for name in required:
        if name not in attributes:
            raise Violation("S014", "opcode", f"'conditional' with a selector {selector.text_without_layout} needs the attribute '{name}'")
    branches = 2 if selector.element_type == "pred" else len(attributes["branch_computations"])
    _check_branches(branches, len(operands))


def _check_branches(branches: int, operands: int) -> None:
    """Checks that there is at least one branch, and an operand for each branch."""
    require(branches, "C009", "branch_computations", "'conditional' must have at least 1 branch")
    message = f"'conditional' must have {branches + 1} operands (the selector and one per branch), got {operands}"
    require(operands == branches + 1, "C009", "operands", message)


def _verify_conditional(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> None:
    branches = attributes["branch_computations"] or (attributes["true_computation"], attributes["false_computation"])
    for k, (branch, operand) in enumerate(zip(branches, operands[1:], strict=True)):
        if not same_shape(branch.parameters[0], operand, modes):
            _reject_argument(operand, branch.parameters[0], "C010", k + 1, f"the parameter of branch {k}")
    for k, branch in enumerate(branches[1:], 1) if modes.layout_sensitive else ():
        # Inference returns the result of branch 0.
        if compatible(branch.result, result) and branch.result != result:
            where, returned, written = difference(branch.result, result)
            message = f"{where}the result must have the layout of branch {k}, {returned}, but {written} is written"
            raise Violation("L024", "shape", message)


@op(check_parsed=_conditional_rule, verify=_verify_conditional, result_code="C011", traits=(MIXED_PRECISION, LAYOUT_KEPT, CONTROL_FLOW, SAME_THREAD))
def conditional(
    selector: Shape,
    *operands: Shape,
    true_computation: Computation | None = None,
    false_computation: Computation | None = None,
    branch_computations: Computations = (),
) -> Shape:
    """Runs one of several branches, chosen by a selector, with the operand for that branch.

    A pred selector chooses between two named computations. An s32 selector is an index into a list;
    an index that is out of range chooses the last branch.

        r = f32[] conditional(s32[] i, f32[] x, f32[4] y), branch_computations={f, g}
    """
    require(
        selector.is_array and is_scalar(selector),
        "C008",
        "call of operand 0",
        f"the selector of 'conditional' must be pred[] or s32[], got {selector.text_without_layout}",
    )
    branches = branch_computations
    if true_computation is not None and false_computation is not None:
        branches = (true_computation, false_computation)
    _check_branches(len(branches), len(operands) + 1)
    for k, (branch, operand) in enumerate(zip(branches, operands, strict=True)):
        parameters = branch.parameters
        require(len(parameters) == 1, "C010", f"call of operand {k + 1}", f"branch {k} must have 1 parameter, got {len(parameters)}")
        if not compatible(parameters[0], operand):
            _reject_argument(operand, parameters[0], "C010", k + 1, f"the parameter of branch {k}")
        if not compatible(branches[0].result, branch.result):
            where, first, other = difference(branches[0].result, branch.result)
            raise Violation("C011", "result", f"{where}the result of branch 0 is {first}, but the result of branch {k} is {other}")
    return _merge_dynamic([branch.result for branch in branches])


def _merge_dynamic(results: list[Shape]) -> Shape:
    """Returns the first shape; a dimension is dynamic if it is dynamic in any of the shapes."""
    leaves = (_merge_dynamic_leaf(same) for same in zip(*(result.leaves() for result in results), strict=True))
    return _with_leaves(results[0], leaves)


def _merge_dynamic_leaf(leaves: tuple[Shape, ...]) -> Shape:
    columns = zip(*map(bounds, leaves), strict=True)
    merged = [(column[0][0], any(dynamic for _, dynamic in column)) for column in columns]
    return leaves[0] if merged == bounds(leaves[0]) else with_bounds(leaves[0], merged)


def _with_leaves(shape: Shape, leaves: Iterator[Shape]) -> Shape:
    """Returns the shape with its leaves replaced, in order."""
    if not shape.is_tuple:
        return next(leaves)
    # Uses an explicit stack, since shapes may be nested more deeply than Python can recurse.
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


def _verify_fusion(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> Shape:
    called: ProgramShape = attributes["calls"]
    parameters = len(called.parameters)
    message = f"'fusion' must have at least {count(parameters, 'operand')} (one per parameter of its computation), got {len(operands)}"
    # Compilers may leave surplus operands; a verifier rule reports them.
    require(parameters <= len(operands), "C012", "operands", message)
    _require_arguments(operands[:parameters], called, "C013", modes)
    _check_aliases(result, operands, attributes["output_to_operand_aliasing"], modes)
    return called.result


def _check_aliases(
    result: Shape,
    operands: tuple[Shape, ...],
    pairs: tuple[AliasPair, ...],
    modes: VerifyModes,
    codes: tuple[str, str] = ("C036", "C037"),
    *,
    converts: bool = False,
) -> None:
    """Raises Violation if an aliased output does not have the operand's shape.

    `codes` contains the codes for missing indices and for mismatched shapes. With `converts`, an
    array may be aliased with a buffer.
    """
    for number, pair in enumerate(pairs):
        at = f"output_to_operand_aliasing[{number}][parentheses]"
        known = 0 <= pair.number < len(operands)
        require(known, codes[0], at, f"operand {pair.number} is out of range for {count(len(operands), 'operand')}")
        output, operand = subshape(result, pair.output_index), subshape(operands[pair.number], pair.index)
        if output is None or operand is None:
            index = pair.output_index if output is None else pair.index
            raise Violation(codes[0], at, f"the {_side(output)} shape has no index {_text(index)}")
        if converts:
            output, operand = bare(output), bare(operand)
        if not same_order(output, operand, modes):
            where, *texts = difference(output, operand, partial(same_order, modes=modes))
            message = f"{where}output {_text(pair.output_index)} is {texts[0]}, but its alias in operand {pair.number} is {texts[1]}"
            raise Violation(codes[1], "output_to_operand_aliasing", message)


def _text(index: tuple[int, ...]) -> str:
    return f"{{{','.join(map(str, index))}}}"


def _side(output: Shape | None) -> str:
    return "result's" if output is None else "operand's"


@op(
    infers=False,
    verify=_verify_fusion,
    result_code="C014",
    traits=(MIXED_PRECISION, LAYOUT_KEPT, RETURNS, FORWARDS, ANY_SIGNATURE, SAME_THREAD, EXPENSIVE),
)
def fusion(*operands: Shape, kind: FusionKind, output_to_operand_aliasing: OutputAliases = (), calls: Computation) -> Shape:
    """Runs a computation that a compiler will emit as one kernel.

    r = f32[4] fusion(f32[4] x, f32[4] y), kind=kLoop, calls=fused
    """
    require_written_shape("fusion")


def _custom_call_rule(result: Shape | None, operands: tuple[Shape, ...], attributes: dict[str, Any]) -> None:
    constraints = attributes.get("operand_layout_constraints")
    if constraints is None:
        return
    if len(constraints) != len(operands):
        message = f"operand_layout_constraints must have {count(len(operands), 'shape')} (one per operand), got {len(constraints)}"
        raise Violation("L020", "operand_layout_constraints", message)
    for k, (constraint, operand) in enumerate(zip(constraints, operands, strict=True)):
        if not compatible(constraint, operand):
            message = f"constraint {k} is {constraint.text_without_layout}, but operand {k} is {operand.text_without_layout}"
            raise Violation("L020", f"operand_layout_constraints[{k}]", message)


def _verify_custom_call(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> None:
    pairs = attributes["output_to_operand_aliasing"]
    target = attributes["custom_call_target"]
    check_target(target, result, operands, pairs)
    if target in LAYOUT_KEEPERS:
        require_kept_layout(result, operands, modes)
    _check_aliases(result, operands, pairs, modes, converts=target in BUFFER_CONVERTERS)
    check_buffers(target, result, operands, pairs)


@op(
    infers=False,
    check_parsed=_custom_call_rule,
    verify=_verify_custom_call,
    traits=(MIXED_PRECISION, LAYOUT_KEPT, HOLDS_BUFFERS, SAME_THREAD_ON_REQUEST, EXPENSIVE),
    effect_if="custom_call_has_side_effect",
)
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
    """Calls an external function by name.

    `to_apply` is another way to write a single called computation, and overrides
    `called_computations`. With operand_layout_constraints, XLA drops both attributes.

        r = f32[4] custom-call(f32[4] x), custom_call_target="f"
    """
    require_written_shape("custom-call")


def _async_shape_rule(opcode: str) -> ParsedCheck:
    def rule(result: Shape | None, operands: tuple[Shape, ...], attributes: dict[str, Any]) -> None:
        if result is not None and not _is_in_flight(result):
            message = f"the shape of '{opcode}' must be ((operands...), result, ...), got {result.text_without_layout}"
            raise Violation("A004", "shape", message, "write, for example, ((f32[4]), f32[4], u32[])")

    return rule


def _is_in_flight(shape: Shape) -> bool:
    """Returns whether a shape can represent an operation in flight: operands, result, contexts."""
    return shape.is_tuple and len(shape.elements) >= 2 and shape.elements[0].is_tuple


def _check_bound(result: Shape, called: ProgramShape, opcode: str, modes: VerifyModes) -> None:
    """Raises Violation unless the shape of an operation in flight fits the computation.

    Element 0 must match the first parameters of the computation, and element 1 must match the first
    parts of its result.
    """
    bound, promised = result.elements[:2]
    message = f"the shape has {count(len(bound.elements), 'operand')}, but the computation of '{opcode}' takes {len(called.parameters)}"
    require(len(bound.elements) <= len(called.parameters), "A005", "shape", message)
    same = partial(same_shape, modes=modes)
    for k, (held, parameter) in enumerate(zip(bound.elements, called.parameters, strict=False)):
        if not is_prefix(held, parameter, same):
            where, expected, actual = difference(parameter, held)
            raise Violation("A005", "shape", f"{where}operand {k} is {actual} in the shape, but {expected} as a parameter")
    if not is_prefix(promised, called.result, same):
        where, written, returned = difference(promised, _first_parts(called.result, promised))
        raise Violation("A006", "result", f"{where}the computation's result is {returned}, but {written} is written")


def _first_parts(whole: Shape, part: Shape) -> Shape:
    """Returns as many elements of `whole` as `part` has; all of it if either is not a tuple."""
    return tuple_shape(whole.elements[: len(part.elements)]) if whole.is_tuple and part.is_tuple else whole


def _check_passed(bound: tuple[Shape, ...], passed: tuple[Shape, ...], first: int, code: str, modes: VerifyModes) -> None:
    """Raises Violation unless the passed operands have the shapes listed in the result.

    `first` is the number of the first passed operand.
    """
    for k, (held, operand) in enumerate(zip(bound, passed, strict=True), first):
        if not same_shape(held, operand, modes):
            where, actual, expected = difference(operand, held)
            raise Violation(code, "shape", f"{where}operand {k} is {actual}, but {expected} in the shape")


def _verify_async_start(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> None:
    """Checks the tuple that an async-start returns.

    Element 0 contains the operands, which match the first parameters of the computation. Element 1
    contains the computation's result, or the first parts of that result.
    """
    called: ProgramShape = attributes["calls"]
    bound = result.elements[0].elements
    message = f"the shape has {count(len(bound), 'operand')}, 'async-start' has {len(operands)} and the computation takes {len(called.parameters)}"
    require(len(bound) == len(operands) <= len(called.parameters), "A005", "shape", message)
    _check_passed(bound, operands, 0, "A005", modes)
    _check_bound(result, called, "async-start", modes)
    pairs = attributes["output_to_operand_aliasing"]
    require(all(pair.output_index for pair in pairs), "A031", "output_to_operand_aliasing value", "the output index must not be empty")
    # Aliases may also name operands and parts of the result that are bound only by an update.
    whole = tuple_shape((tuple_shape(called.parameters), called.result, *result.elements[2:]))
    _check_aliases(whole, called.parameters, pairs, modes, ("A031", "A031"), converts=True)


@op(
    infers=False,
    check_parsed=_async_shape_rule("async-start"),
    verify=_verify_async_start,
    traits=(MIXED_PRECISION, RUNS_COMPUTATIONS, FORWARDS, HOLDS_BUFFERS),
    operands_index=0,
)
def async_start(*operands: Shape, async_execution_thread: Text = "main", output_to_operand_aliasing: OutputAliases = (), calls: Computation) -> Shape:
    """Starts a computation on another thread; returns the operands, the future result and contexts.

    The start may pass only the first operands of the computation, and its shape may list only the
    first elements of the result, or `()`. Updates bind the rest.

        s = ((f32[4]), f32[4], u32[]) async-start(f32[4] x), calls=f
        t = ((), (), u32[]) async-start(), calls=f
    """
    require_written_shape("async-start")


def _verify_async_update(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> None:
    """Checks that the result contains the parts bound earlier and the new operands.

    Also checks that aliases connect only contexts.
    """
    before, passed = operands[0], operands[1:]
    if not _is_in_flight(before):
        # The rules for asynchronous chains check the operand of an update.
        return
    same = partial(same_shape, modes=modes)
    for k in (0, 1):
        if not is_prefix(before.elements[k], result.elements[k], same):
            where, known, written = difference(before.elements[k], _first_parts(result.elements[k], before.elements[k]))
            message = f"{where}the {('shape of the operands', 'result')[k]} is {written}, but it is {known} in the operation that is updated"
            raise Violation("A032", "result", message)
    bound = result.elements[0].elements
    first = len(before.elements[0].elements)
    listed = count(len(bound) - first, "operand")
    message = f"the shape adds {listed}, but 'async-update' passes {len(passed)}"
    require(len(bound) - first == len(passed), "A032", "shape", message)
    _check_passed(bound[first:], passed, 1, "A032", modes)
    if attributes["calls"] is not None:
        _check_bound(result, attributes["calls"], "async-update", modes)
    pairs = attributes["output_to_operand_aliasing"]
    for number, pair in enumerate(pairs):
        at = f"output_to_operand_aliasing[{number}][parentheses]"
        require(
            pair.number == 0, "A031", at, f"the alias must refer to operand 0, the operation that the update continues, not to operand {pair.number}"
        )
        require(pair.index[:1] == (_CONTEXT,), "A031", at, f"operand index {_text(pair.index)} is not in the context, which begins at {{{_CONTEXT}}}")
        inside = pair.output_index[:1] == (_CONTEXT,)
        require(inside, "A031", at, f"output index {_text(pair.output_index)} is not in the context, which begins at {{{_CONTEXT}}}")
    _check_aliases(result, operands, pairs, modes, ("A031", "A031"), converts=True)


_CONTEXT = 2


@op(
    infers=False,
    check_parsed=_async_shape_rule("async-update"),
    verify=_verify_async_update,
    traits=(MIXED_PRECISION, VIEW, FORWARDS, HOLDS_BUFFERS),
    update_of="async-start",
)
def async_update(
    previous: Shape,
    *operands: Shape,
    async_execution_thread: Text | None = None,
    output_to_operand_aliasing: OutputAliases = (),
    calls: ContinuedComputation | None = None,
) -> Shape:
    """Continues an asynchronous operation.

    The update may add operands and parts of the result that the async-start left out. The
    computation runs as soon as it has all operands and its result is in the shape, but no later
    than the async-done. Operands are passed in the order of the parameters. Aliases connect only
    contexts. `calls` and the thread only repeat the values from the start.

        u = ((f32[4]), f32[4], u32[]) async-update(((f32[4]), f32[4], u32[]) s)
        v = ((f32[4], f32[2]), f32[4], u32[]) async-update(((f32[4]), (), u32[]) t, f32[2] y)
    """
    require_written_shape("async-update")


def _verify_async_done(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> Shape | None:
    # The rules for asynchronous chains report an async-done whose operand is not a start. A wrong
    # result of the start is reported at the start.
    called: ProgramShape | None = attributes["calls"]
    if called is None or not _is_in_flight(operands[0]):
        return None
    return called.result if is_prefix(operands[0].elements[1], called.result, partial(same_shape, modes=modes)) else None


@op(
    infers=False,
    verify=_verify_async_done,
    result_code="A006",
    traits=(MIXED_PRECISION, LAYOUT_KEPT, FORWARDS, HOLDS_BUFFERS),
    done_of="async-start",
    returned_index=1,
)
def async_done(previous: Shape, *, async_execution_thread: Text | None = None, calls: ContinuedComputation | None = None) -> Shape:
    """Waits for an asynchronous operation and returns its result.

    The attributes only repeat the values from the async-start.

        r = f32[4] async-done(((f32[4]), f32[4], u32[]) s)
    """
    require_written_shape("async-done")
