"""Opcodes that apply a called function to arrays.

They are reduce, reduce-window, select-and-scatter, map and scan.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import prod
from typing import Any

from hlotool.errors import Violation
from hlotool.opdefs.base import op, require
from hlotool.opdefs.inference import (
    ReducerRules,
    array_operand,
    arrays_compatible_up_to_precision,
    bare,
    bounds,
    count,
    dimensions_agree,
    has_dimensions,
    is_scalar,
    new_array,
    require_array,
    require_arrays,
    require_dimension,
    require_distinct_dimensions,
    require_reducer,
    same_type_up_to_precision,
    window_result,
)
from hlotool.opdefs.kinds import Always, Bool, Computation, Dims, Int, SingleDim, Window
from hlotool.opdefs.modes import VerifyModes
from hlotool.opdefs.traits import EXPENSIVE, FOLDABLE, MIXED_PRECISION, ORDER_KEPT, REDUCTION, SHAPE_GUESSED
from hlotool.opdefs.work import Work, elements
from hlotool.shapes.layout import Layout, is_valid_layout
from hlotool.shapes.shape import UNBOUNDED, ProgramShape, Shape, array_shape, compatible, sizes_text, tuple_shape

__all__ = ["map_", "reduce", "reduce_window", "scan", "select_and_scatter"]


@cache
def _reducer_rules(first_init: int) -> ReducerRules:
    return ReducerRules("C020", "C021", "C022", "T094", first_init)


def _check_reducer_types(operands: tuple[Shape, ...], computation: ProgramShape, code: str, modes: VerifyModes) -> None:
    """Raises Violation if a parameter and its operand have different floating-point types.

    Inference accepts different types.
    """
    if modes.allow_mixed_precision:
        return
    for k, (operand, parameter) in enumerate(zip(operands, computation.parameters, strict=False)):
        passed, expected = bare(operand).element_type, bare(parameter).element_type
        require(passed == expected, code, "to_apply", f"parameter {k} of the computation is {expected}, but operand {k} is {passed}")


def _check_operand_pairs(result: Shape | None, operands: tuple[Shape, ...], attributes: dict[str, Any]) -> None:
    if len(operands) % 2:
        raise Violation("S013", "operands", f"the number of operands (inputs and init values) must be even, got {len(operands)}")


def _verify_reduce(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> None:
    _check_reducer_types(operands, attributes["to_apply"], "C022", modes)


def _reduce_work(result: Shape, operands: tuple[Shape, ...], attributes: Mapping[str, Any]) -> Work:
    """Counts the runs of the computation.

    The first element that is combined into each result needs no run, since init values are assumed
    to be identities.
    """
    kept = next(result.leaves())
    return Work(runs={"to_apply": elements(operands[0]) - elements(kept)})


@op(check_parsed=_check_operand_pairs, verify=_verify_reduce, result_code="T093", traits=(REDUCTION, FOLDABLE, EXPENSIVE), work=_reduce_work)
def reduce(*operands: Shape, dimensions: Dims, to_apply: Computation) -> Shape:
    """Reduces the given dimensions with a function, starting from an init value for each input.

    The operands are n inputs followed by n init values, which are scalars. If there is more than
    one input, the result is a tuple.

        r = f32[3] reduce(f32[2,3] x, f32[] zero), dimensions={0}, to_apply=add
    """
    require(operands, "S013", "operands", "'reduce' takes at least 2 operands, got 0")
    _check_operand_pairs(None, operands, {})
    inputs = [array_operand(shape, f"operand {k}", "reduce") for k, shape in enumerate(operands[: len(operands) // 2])]
    first = inputs[0]
    for k, other in enumerate(inputs):
        same = dimensions_agree(first.dimensions, other.dimensions)
        require(
            same,
            "T094",
            f"operand {k}",
            f"inputs must have the same dimensions, got {sizes_text(first.dimensions)} and {sizes_text(other.dimensions)}",
        )
    require_distinct_dimensions(dimensions, first.rank, "T092", "dimensions", "reduce")
    require_reducer(to_apply, "to_apply", "reduce", operands[len(inputs) :], [shape.element_type for shape in inputs], _reducer_rules(len(inputs)))
    reduced = set(dimensions)
    kept = [bound for k, bound in enumerate(bounds(first)) if k not in reduced]
    if not to_apply.result.is_tuple:
        return new_array(to_apply.result.element_type, kept, "reduce")
    return tuple_shape(new_array(bare(accumulator).element_type, kept, "reduce") for accumulator in to_apply.result.elements)


def _verify_reduce_window(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> Shape:
    require(operands, "S013", "operands", "'reduce-window' takes at least 2 operands, got 0")
    _check_operand_pairs(None, operands, {})
    inputs, inits = operands[: len(operands) // 2], operands[len(operands) // 2 :]
    window, to_apply = attributes["window"], attributes["to_apply"]
    require_arrays(inputs, "reduce-window")
    for k, other in enumerate(inputs):
        same = dimensions_agree(inputs[0].dimensions, other.dimensions)
        require(
            same,
            "T094",
            f"operand {k}",
            f"inputs must have the same dimensions, got {sizes_text(inputs[0].dimensions)} and {sizes_text(other.dimensions)}",
        )
    require_reducer(to_apply, "to_apply", "reduce-window", inits, [shape.element_type for shape in inputs], _reducer_rules(len(inputs)))
    _check_reducer_types(operands, to_apply, "C022", modes)
    results = [_window_shape(bare(init).element_type, operand, window, "reduce-window") for operand, init in zip(inputs, inits, strict=True)]
    return tuple_shape(results) if to_apply.result.is_tuple else results[0]


def _reduce_window_work(result: Shape, operands: tuple[Shape, ...], attributes: Mapping[str, Any]) -> Work:
    return Work(runs={"to_apply": elements(next(result.leaves())) * (prod(dimension.size for dimension in attributes["window"]) - 1)})


@op(
    check_parsed=_check_operand_pairs,
    verify=_verify_reduce_window,
    result_code="T095",
    traits=(SHAPE_GUESSED, MIXED_PRECISION, REDUCTION, ORDER_KEPT, EXPENSIVE),
    work=_reduce_window_work,
)
def reduce_window(*operands: Shape, window: Window = (), to_apply: Computation) -> Shape:
    """Combines the elements in each window with a function; skips padding and holes.

    r = f32[4] reduce-window(f32[8] x, f32[] zero), window={size=2 stride=2}, to_apply=add
    """
    require(operands, "S013", "operands", "'reduce-window' takes at least 2 operands, got 0")
    # XLA infers the shape from operands 0 and 1 even if there are several inputs, so the shape of a
    # variadic reduce-window must be written.
    operand, init = operands[:2]
    array = array_operand(operand, "operand 0", "reduce-window")
    require_reducer(to_apply, "to_apply", "reduce-window", (init,), (array.element_type,), _reducer_rules(1))
    require_array(operand, "operand 0", "reduce-window")
    return _window_shape(bare(init).element_type, operand, window, "reduce-window")


def _window_shape(element_type: str, operand: Shape, window: Window, opcode: str) -> Shape:
    """Returns an array shape with an element for each window position.

    A dimension is dynamic if it is dynamic in the operand.
    """
    sizes = window_result(operand.dimensions, window)
    return new_array(element_type, [(size, dynamic) for size, (_, dynamic) in zip(sizes, bounds(operand), strict=True)], opcode)


_SCATTER_RULES = ReducerRules("C024", "C024", "C024", "T094", 2)


def _select_and_scatter_work(result: Shape, operands: tuple[Shape, ...], attributes: Mapping[str, Any]) -> Work:
    window, sources = prod(dimension.size for dimension in attributes["window"]), elements(operands[1])
    return Work(runs={"select": sources * (window - 1), "scatter": sources})


@op(traits=(ORDER_KEPT, EXPENSIVE), work=_select_and_scatter_work)
def select_and_scatter(operand: Shape, source: Shape, init_value: Shape, *, window: Window = (), select: Computation, scatter: Computation) -> Shape:
    """Selects one element in each window of the operand, and scatters a source value to its index.

    `select` compares two elements of the window. `scatter` combines the window's source value with
    the element of the result at the index of the selected element. Each element of the result
    starts as the init value.

        r = f32[4] select-and-scatter(f32[4] x, f32[2] s, f32[] zero), window={size=2 stride=2}, select=ge, scatter=add
    """
    require_array(operand, "operand 0", "select-and-scatter")
    parameters = select.parameters
    require(len(parameters) == 2, "C024", "select", f"select must have 2 parameters, got {len(parameters)}")
    verdict = compatible(select.result, array_shape("pred"))
    require(verdict, "C024", "select", f"select must return pred[], got {select.result.text_without_layout}")
    element = array_shape(operand.element_type)
    for k, parameter in enumerate(parameters):
        matches = arrays_compatible_up_to_precision(element, parameter)
        require(matches, "C024", "select", f"parameter {k} of select is {parameter.text_without_layout}, but the elements are {operand.element_type}")
    array = array_operand(source, "operand 1", "select-and-scatter")
    require_reducer(scatter, "scatter", "select-and-scatter", (init_value,), (array.element_type,), _SCATTER_RULES)
    positions = _window_shape(operand.element_type, operand, window, "select-and-scatter")
    matches = arrays_compatible_up_to_precision(source, positions)
    require(
        matches,
        "T091",
        "definition of operand 1",
        f"the source must be {positions.text_without_layout} (one element per window), got {source.text_without_layout}",
    )
    return operand


def _map_rule(result: Shape | None, operands: tuple[Shape, ...], attributes: dict[str, Any]) -> None:
    if result is None:
        if "dimensions" not in attributes:
            raise Violation("S014", "opcode", "'map' needs the attribute 'dimensions' if its result shape is left out")
    elif not has_dimensions(result):
        # XLA replaces `dimensions` with all dimensions of the written shape, and aborts if that
        # shape is neither an array nor a buffer.
        raise Violation("T003", "shape", f"'map' returns an array, not {result.text_without_layout}")


def _verify_map(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> Shape:
    # XLA ignores the written list and uses all dimensions; an empty list is accepted as well.
    rank = max((bare(operand).rank for operand in operands), default=0)
    dimensions = attributes["dimensions"] or tuple(range(rank))
    inferred = map_(*operands, dimensions=dimensions, to_apply=attributes["to_apply"])
    _check_reducer_types(operands, attributes["to_apply"], "C029", modes)
    return inferred


@op(
    "map",
    check_parsed=_map_rule,
    verify=_verify_map,
    traits=(SHAPE_GUESSED, ORDER_KEPT),
    work=lambda result, operands, attributes: Work(runs={"to_apply": elements(result)}),
    derived={"dimensions": lambda result: tuple(range(result.rank))},
)
def map_(*operands: Shape, dimensions: Always[Dims] = (), to_apply: Computation) -> Shape:
    """Applies a scalar function to the elements of the operands at each index.

    r = f32[4] map(f32[4] x, f32[4] y), dimensions={0}, to_apply=add
    """
    require(operands, "S013", "operands", "'map' takes at least 1 operand, got 0")
    arrays = [array_operand(shape, f"operand {k}", "map") for k, shape in enumerate(operands)]
    common = arrays[0]
    same_kind = operands[0].is_array
    for k in range(1, len(operands)):
        require_array(operands[k], f"operand {k}", "map")
        if same_kind and dimensions_agree(arrays[k].dimensions, common.dimensions):
            continue
        scalars_mix = same_type_up_to_precision(arrays[k].element_type, common.element_type)
        require(
            scalars_mix and (not arrays[k].dimensions or not common.dimensions),
            "T096",
            f"operand {k}",
            f"operands of 'map' must have the same dimensions, got {sizes_text(common.dimensions)} and {sizes_text(arrays[k].dimensions)}",
        )
        if arrays[k].dimensions:
            common, same_kind = arrays[k], True
    ordered = dimensions == tuple(range(common.rank))
    require(ordered, "T096", "dimensions", f"dimensions of 'map' must be {list(range(common.rank))}, got {list(dimensions)}")
    parameters, result = to_apply.parameters, to_apply.result
    message = f"the computation of 'map' must have {count(len(operands), 'parameter')} (one per operand), got {len(parameters)}"
    require(len(parameters) == len(operands), "C029", "to_apply", message)
    require(is_scalar(result), "C029", "to_apply", f"the computation of 'map' must return a scalar, got {result.text_without_layout}")
    for k, (parameter, array) in enumerate(zip(parameters, arrays, strict=True)):
        fits = is_scalar(parameter) and same_type_up_to_precision(bare(parameter).element_type, array.element_type)
        message = f"parameter {k} of the computation is {parameter.text_without_layout}, but the elements of operand {k} are {array.element_type}"
        require(fits, "C029", "to_apply", message)
    return new_array(bare(result).element_type, bounds(common), "map")


def _check_scan_operands(result: Shape | None, operands: tuple[Shape, ...], attributes: dict[str, Any]) -> None:
    carries = attributes["num_carries"]
    if not 0 <= carries <= len(operands):
        raise Violation("T104", "num_carries", f"num_carries must be from 0 to {len(operands)}, the number of operands, got {carries}")
    to_apply = attributes["to_apply"]
    parameters = len(to_apply.parameters)
    if parameters != len(operands):
        raise Violation(
            "C040", "to_apply", f"the computation of 'scan' must have {count(len(operands), 'parameter')} (one per operand), got {parameters}"
        )


def _verify_scan(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> Shape:
    _check_scan_operands(result, operands, attributes)
    expanded = not modes.layout_sensitive or attributes["is_associative"]
    require(
        expanded, "T106", "opcode", "a scan that is not associative must become a loop before layouts are assigned", "rewrite the scan as a while"
    )
    num_carries, to_apply, dimension = attributes["num_carries"], attributes["to_apply"], attributes["dimensions"][0]
    inputs = len(operands) - num_carries
    for k, (operand, parameter) in enumerate(zip(operands, to_apply.parameters, strict=True)):
        array = bare(operand)
        slice_sizes = array.dimensions[:dimension] + array.dimensions[dimension + 1 :] if k < inputs else array.dimensions
        fits = _same_scanned_type(bare(parameter), array, modes) and dimensions_agree(bare(parameter).dimensions, slice_sizes)
        part = f"{array.element_type}[{','.join(map(str, slice_sizes))}]"
        require(fits, "C040", "to_apply", f"parameter {k} of the computation is {parameter.text_without_layout}, but operand {k} provides {part}")
    _check_carries(to_apply, num_carries, modes)
    if inputs:
        expected = scan(*operands, dimensions=(dimension,), num_carries=num_carries, to_apply=to_apply)
        return _match_tuple_form(expected, result)
    # Without inputs, only the written result determines the number of steps.
    return _scan_result(result.elements[0] if result.elements else result, "shape", dimension, num_carries, to_apply.result)


def _same_scanned_type(first: Shape, second: Shape, modes: VerifyModes) -> bool:
    """Returns whether the element types of two shapes may be used for the same value of a scan.

    The types must be equal. However, in layout-sensitive mode with mixed precision, float types may
    differ, since compilers that lower the precision leave scans with different types in place while
    layouts are assigned.
    """
    is_mixed = modes.layout_sensitive and modes.allow_mixed_precision
    return first.element_type == second.element_type or bool(is_mixed and same_type_up_to_precision(first.element_type, second.element_type))


def _check_carries(to_apply: ProgramShape, num_carries: int, modes: VerifyModes) -> None:
    """Raises Violation if the computation cannot accept the carried values that it returns."""
    results = to_apply.result.elements if to_apply.result.is_tuple else (to_apply.result,)
    if not 0 < num_carries <= min(len(results), len(to_apply.parameters)):
        return
    for k, (parameter, result) in enumerate(zip(to_apply.parameters[-num_carries:], results[-num_carries:], strict=True)):
        fits = _same_scanned_type(bare(parameter), bare(result), modes) and dimensions_agree(bare(parameter).dimensions, bare(result).dimensions)
        message = (
            f"carried value {k} is {parameter.text_without_layout} as a parameter of the computation, but {result.text_without_layout} in its result"
        )
        require(fits, "C040", "to_apply", message)


def _match_tuple_form(expected: Shape, result: Shape) -> Shape:
    """Returns the expected result in the form of the written result.

    As in XLA, a single value may be written with or without a tuple, regardless of the form that
    the computation returns.
    """
    if expected.is_tuple and len(expected.elements) == 1 and not result.is_tuple:
        return expected.elements[0]
    if result.is_tuple and len(result.elements) == 1 and not expected.is_tuple:
        return tuple_shape([expected])
    return expected


@op(check_parsed=_check_scan_operands, verify=_verify_scan, result_code="T104", traits=(MIXED_PRECISION, SHAPE_GUESSED))
def scan(
    *operands: Shape,
    dimensions: SingleDim,
    num_carries: Int,
    is_reverse: Bool = False,
    is_associative: Always[Bool] = False,
    to_apply: Computation,
) -> Shape:
    """Iterates along one dimension, calling a function at each step.

    The function takes a slice of each input, followed by the carried values, and returns outputs
    and new carried values. The operands are the inputs followed by `num_carries` initial values.
    The result consists of the stacked outputs and the final carried values.

        r = (f32[4], f32[]) scan(f32[4] x, f32[] zero), dimensions={0}, num_carries=1, is_associative=false, to_apply=f
    """
    require(num_carries < len(operands), "S037", "shape", "the result shape of a scan without inputs cannot be inferred")
    return _scan_result(operands[0], "operand 0", dimensions[0], num_carries, to_apply.result)


def _scan_result(along: Shape, at: str, dimension: int, num_carries: int, body: Shape) -> Shape:
    """Returns the result of a scan: the results of the body, with the outputs stacked.

    The number of steps is the size of the given dimension in `along`, an input or an output.
    """
    array = array_operand(along, at, "scan")
    outputs = len(body.elements) - num_carries if body.is_tuple else num_carries == 0
    if outputs <= 0:
        return body
    require_dimension(dimension, array.rank, "T104", "dimensions", "scan")
    steps = array.dimensions[dimension]
    require(steps != UNBOUNDED, "T083", at, "the scan dimension must be bounded")
    if not body.is_tuple:
        return _stack(body, dimension, steps)
    return tuple_shape(_stack(element, dimension, steps) if k < outputs else element for k, element in enumerate(body.elements))


def _stack(element: Shape, dimension: int, steps: int) -> Shape:
    """Returns the shape of `steps` elements stacked along a new dimension.

    In memory, the new dimension is just outside the one that it displaces. Tiles, the memory space
    and the marks of dynamic dimensions are dropped. XLA also drops the mark of an unbounded
    dimension, and prints a size of -2^63 that it cannot read back; this function raises Violation
    in that case.
    """
    require(has_dimensions(element), "T104", "to_apply", f"outputs of 'scan' must be arrays, got {element.text_without_layout}")
    array = bare(element)
    require(UNBOUNDED not in array.dimensions, "T083", "to_apply", f"output {array.text_without_layout} must not be unbounded")
    require(dimension <= array.rank, "T104", "dimensions", f"dimension {dimension} is out of range for output {array.text_without_layout}")
    sizes = [*array.dimensions[:dimension], steps, *array.dimensions[dimension:]]
    stacked = new_array(array.element_type, [(size, False) for size in sizes], "scan")
    if array.layout is None or element is not array:
        return stacked
    valid = is_valid_layout(array.layout, array.dimensions)
    require(valid, "L003", "to_apply", f"the layout of output {array.text} of 'scan' is not valid")
    order: list[int] = [] if dimension < array.rank else [dimension]
    for k in array.layout.minor_to_major:
        order.append(k + (k >= dimension))
        if k == dimension:
            order.append(dimension)
    return stacked.with_layout(Layout(tuple(order)))
