"""Helpers for op definitions: operands, element types, sizes, new shapes, reducers and windows.

These functions infer the shape that XLA's parser infers if no shape is written. The parser's
inference is more lenient than XLA's verifier.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NoReturn

from hlotool.errors import Violation
from hlotool.opdefs.base import require
from hlotool.record import Record, replace
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.shapes.layout import is_valid_layout
from hlotool.shapes.shape import (
    UNBOUNDED,
    ProgramShape,
    Shape,
    array_shape,
    compatible,
    size_text,
    tuple_shape,
)
from hlotool.shapes.values import WindowDimension

__all__ = [
    "Bound",
    "ReducerRules",
    "array_operand",
    "arrays_compatible_up_to_precision",
    "bare",
    "bounds",
    "brief",
    "change_element_type",
    "component_type",
    "count",
    "dimensions_agree",
    "has_dimensions",
    "higher_precision",
    "is_scalar",
    "kind_of",
    "new_array",
    "new_tuple",
    "require_array",
    "require_arrays",
    "require_ascending_dimensions",
    "require_dimension",
    "require_distinct_dimensions",
    "require_kind",
    "require_reducer",
    "require_valid_array",
    "require_written_shape",
    "same_type_up_to_precision",
    "sizes_agree",
    "window_result",
    "with_bounds",
]

Bound = tuple[int, bool]
"""The size of a dimension (UNBOUNDED for `?`), and whether the dimension is dynamic."""

_INT64_MAX = (1 << 63) - 1
_MAX_ELEMENTS = 8
# Attributes whose value is a single dimension number instead of a list.
_SINGLE_DIMENSIONS = frozenset({"feature_index", "iota_dimension"})
_WINDOW_KEYS = {"base_dilation": "lhs_dilate", "window_dilation": "rhs_dilate"}
_COMPONENTS = {"c64": "f32", "c128": "f64"}


def require_written_shape(opcode: str) -> NoReturn:
    """Raises Violation, because the result shape of the opcode cannot be inferred."""
    raise Violation("S037", "shape", f"cannot infer the result shape of '{opcode}'", f"write the shape: r = f32[...] {opcode}(...)")


def count(number: int, noun: str, plural: str | None = None) -> str:
    """Returns the number with its noun, in the plural unless the number is 1.

    >>> count(1, "operand"), count(2, "operand"), count(2, "index", "indices")
    ('1 operand', '2 operands', '2 indices')
    """
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def brief(shape: Shape) -> str:
    """Returns the shape without layouts; for a long or nested tuple, only its number of elements.

    >>> brief(tuple_shape([tuple_shape([])] * 3))
    'a tuple of 3 elements'
    """
    elements = shape.elements
    is_long = shape.is_tuple and (len(elements) > _MAX_ELEMENTS or any(element.is_tuple for element in elements))
    return f"a tuple of {count(len(elements), 'element')}" if is_long else shape.text_without_layout


# Arrays, and arrays in buffers


def bare(shape: Shape) -> Shape:
    """Returns the array shape inside a buffer shape, or the shape unchanged.

    XLA also looks through `b(...)` wherever it needs dimensions but does not check for an array.
    """
    return shape.elements[0] if shape.element_type == "buffer" else shape


def has_dimensions(shape: Shape) -> bool:
    """Returns whether the shape is an array or a buffer.

    XLA aborts if it needs the dimensions of any other shape.
    """
    return bare(shape).is_array


def is_scalar(shape: Shape) -> bool:
    """Returns whether the shape is an array of rank 0, possibly in a buffer."""
    return has_dimensions(shape) and not bare(shape).dimensions


def require_array(shape: Shape, at: str, opcode: str) -> None:
    """Raises Violation for tuples, tokens, opaque values and buffers."""
    # Here and below, messages are built only when they are needed, since the verifier checks every
    # operand of every instruction.
    if not shape.is_array:
        raise Violation(
            "T099", f"call of {at}" if at.startswith("operand ") else at, f"{at} of '{opcode}' must be an array, got {shape.text_without_layout}"
        )


def require_arrays(operands: Iterable[Shape], opcode: str) -> None:
    """Calls `require_array` for operand 0, operand 1 and so on."""
    for k, operand in enumerate(operands):
        require_array(operand, f"operand {k}", opcode)


def array_operand(shape: Shape, at: str, opcode: str) -> Shape:
    """Returns the array, or the array in a buffer; raises Violation for other shapes.

    Unlike `require_array`, it accepts buffers.
    """
    array = bare(shape)
    require_array(array, at, opcode)
    return array


# Element types


def kind_of(element_type: str) -> str:
    """Returns the kind of an element type: "pred", "signed", "unsigned", "float" or "complex".

    For the types of shapes other than arrays, returns the name itself.

    >>> kind_of("bf16"), kind_of("tuple")
    ('float', 'tuple')
    """
    row = ELEMENT_TYPES.get(element_type)
    return row.kind if row is not None else element_type


def require_kind(shape: Shape, at: str, opcode: str, kinds: Sequence[str], code: str) -> None:
    """Raises Violation unless the kind of the element type is in `kinds`."""
    if kind_of(shape.element_type) not in kinds:
        what = at.removeprefix("definition of ")
        raise Violation(code, at, f"{what} of '{opcode}' must have {_kinds_text(kinds)} elements, got {shape.text_without_layout}")


def _kinds_text(kinds: Sequence[str]) -> str:
    """Returns the kinds in words.

    >>> _kinds_text(("signed", "unsigned", "float", "complex")), _kinds_text(("signed", "float"))
    ('integer, float or complex', 'signed integer or float')
    """
    both = {"signed", "unsigned"} <= {*kinds}
    words = {kind: "integer" if both else f"{kind} integer" for kind in ("signed", "unsigned")}
    names = list(dict.fromkeys(words.get(kind, kind) for kind in kinds))
    return " or ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]


def component_type(element_type: str) -> str:
    """Returns the type of the real part of a complex type; returns other types unchanged."""
    return _COMPONENTS.get(element_type, element_type)


def same_type_up_to_precision(first: str, second: str) -> bool:
    """Returns whether two element types are equal, or both are floating-point types."""
    return first == second or (kind_of(first) == "float" == kind_of(second))


def _precision(element_type: str) -> tuple[bool, int, int, int, bool]:
    """Returns the sort key of an element type by precision: range, then significand, then width."""
    row = ELEMENT_TYPES[element_type]
    form = ELEMENT_TYPES[component_type(element_type)].float_format
    exponent = significand = -1
    if form is not None:
        # Formats without infinities use the all-ones exponent for numbers, except e8m0, which uses
        # it for its NaN.
        reserved = 2 if form.nonfinite in ("ieee", "e8m0") else 1
        exponent = (1 << form.exponent_bits) - reserved - form.bias + 1
        significand = form.mantissa_bits + 1
    bits = 1 if row.kind == "pred" else row.bits
    return row.kind == "complex", exponent, significand, bits, row.kind == "signed"


def higher_precision(first: str, second: str, opcode: str) -> str:
    """Returns the result type for operands of different types.

    The result type is the type with the wider range; if the ranges are equal, the significand, the
    width and finally the sign decide. For some pairs (f8e5m2 and f8e5m2fnuz, pred and u1), all of
    these are equal, and XLA aborts.

    >>> higher_precision("f16", "bf16", "dot"), higher_precision("s8", "u8", "dot"), higher_precision("f64", "c64", "dot")
    ('bf16', 's8', 'c64')
    """
    if first == second:
        return first
    a, b = _precision(first), _precision(second)
    require(a != b, "T085", "operands", f"'{opcode}' cannot choose between {first} and {second}: neither has the higher precision")
    return first if a > b else second


def change_element_type(shape: Shape, element_type: str) -> Shape:
    """Returns the shape with another element type; keeps `E(n)` only if XLA packs the type."""
    layout = shape.layout
    if layout is not None and layout.element_size_in_bits and ELEMENT_TYPES[element_type].bits not in (1, 2, 4):
        layout = replace(layout, element_size_in_bits=0)
    return replace(shape, element_type=element_type, layout=layout)


# Sizes and dimension numbers


def bounds(shape: Shape) -> list[Bound]:
    """Returns the size of each dimension, and whether it is dynamic.

    >>> bounds(array_shape("f32", (2, 3), (False, True)))
    [(2, False), (3, True)]
    """
    return list(zip(shape.dimensions, shape.dynamic or (False,) * shape.rank, strict=True))


def sizes_agree(first: int, second: int) -> bool:
    """Returns whether two sizes may be equal at run time; an unbounded size agrees with any."""
    return first in (second, UNBOUNDED) or second == UNBOUNDED


def dimensions_agree(first: Sequence[int], second: Sequence[int]) -> bool:
    """Returns whether two lists have the same length and their sizes agree."""
    return len(first) == len(second) and all(map(sizes_agree, first, second))


def arrays_compatible_up_to_precision(first: Shape, second: Shape) -> bool:
    """Returns whether two arrays have agreeing sizes and the same type up to precision.

    Either array may be in a buffer. The result is False for other shapes.

    Unlike `shapes.shape.compatible`, which accepts other shapes too, this function does not
    distinguish floating-point types.
    """
    if first.element_type == "buffer" == second.element_type:
        first, second = bare(first), bare(second)
    same_type = first.is_array and second.is_array and same_type_up_to_precision(first.element_type, second.element_type)
    return same_type and dimensions_agree(first.dimensions, second.dimensions)


def require_dimension(dimension: int, rank: int, code: str, at: str, opcode: str) -> None:
    """Raises Violation if an array of this rank has no such dimension."""
    if not 0 <= dimension < rank:
        name = f"{at.removesuffix(' value')} of '{opcode}'"
        found = f"{name} is {dimension}, which is" if at in _SINGLE_DIMENSIONS else f"dimension {dimension} in {name} is"
        raise Violation(code, at, f"{found} out of range for rank {rank}")


def require_distinct_dimensions(dimensions: Sequence[int], rank: int, code: str, at: str, opcode: str) -> None:
    """Raises Violation if a dimension in the list is out of range or listed twice."""
    for dimension in dimensions:
        require_dimension(dimension, rank, code, at, opcode)
    if len(set(dimensions)) != len(dimensions):
        name = at.removesuffix(" value")
        raise Violation(code, at, f"{name} of '{opcode}' must not repeat a dimension, got {list(dimensions)}")


def require_ascending_dimensions(dimensions: Sequence[int], rank: int, code: str, at: str, opcode: str) -> None:
    """Raises Violation if the dimensions are out of range or not in ascending order."""
    require_distinct_dimensions(dimensions, rank, code, at, opcode)
    require(all(a < b for a, b in pairwise(dimensions)), code, at, f"{at} of '{opcode}' must be sorted, got {list(dimensions)}")


# New shapes


def new_array(element_type: str, dimensions: Iterable[Bound], opcode: str) -> Shape:
    """Returns an array shape with the default layout.

    Raises Violation if XLA cannot represent the shape.
    """
    sizes: list[int] = []
    marks: list[bool] = []
    for size, dynamic in dimensions:
        if size < 0 and size != UNBOUNDED:
            raise Violation("T003", "shape", f"the result of '{opcode}' would have a dimension of size {size}")
        sizes.append(size)
        marks.append(dynamic)
    _require_countable(element_type, sizes, "shape", opcode)
    return array_shape(element_type, tuple(sizes), tuple(marks))


def with_bounds(shape: Shape, dimensions: Sequence[Bound]) -> Shape:
    """Returns the shape with other sizes but the same element type and layout.

    Unlike `new_array`, this function checks nothing. XLA checks nothing either when it edits a
    shape.
    """
    return array_shape(shape.element_type, tuple(size for size, _ in dimensions), tuple(mark for _, mark in dimensions), shape.layout)


def new_tuple(elements: Sequence[Shape], at: str, opcode: str) -> Shape:
    """Returns a tuple shape; raises Violation if it contains invalid arrays.

    XLA checks arrays only when inference creates a tuple. It checks neither arrays outside of
    tuples nor the elements of `tuple` instructions.
    """
    for element in elements:
        for leaf in element.leaves():
            if has_dimensions(leaf):
                require_valid_array(bare(leaf), at, opcode)
    return tuple_shape(elements)


def require_valid_array(array: Shape, at: str, opcode: str) -> None:
    """Raises Violation for invalid sizes and layouts, which XLA's parser rejects only in tuples."""
    _require_countable(array.element_type, array.dimensions, at, opcode)
    valid = array.layout is None or is_valid_layout(array.layout, array.dimensions)
    require(valid, "L003", at, f"the layout of {array.text} in '{opcode}' is not valid")


def _require_countable(element_type: str, sizes: Iterable[int], at: str, opcode: str) -> None:
    """Raises Violation if an array has more bytes than 64 bits can count.

    The running product of sizes must fit, even if a later size is 0.
    """
    extent = max(1, ELEMENT_TYPES[element_type].bits // 8)
    for size in sizes:
        extent *= 1 if size == UNBOUNDED else size
        if extent > _INT64_MAX:
            raise Violation("T084", at, f"{element_type}[{','.join(map(size_text, sizes))}] in '{opcode}' has more bytes than 64 bits can count")


# Called computations


class ReducerRules(Record):
    """The codes to report for the faults of a reducer.

    The init values are the operands starting at `first_init`. If `first_init` is None, the reduced
    arrays serve as init values.
    """

    parameters: str
    result: str
    types: str
    init: str
    first_init: int | None = None


def require_reducer(
    computation: ProgramShape, attribute: str, opcode: str, inits: Sequence[Shape], elements: Sequence[str], rules: ReducerRules
) -> None:
    """Raises Violation if a computation cannot reduce the inputs, starting from `inits`.

    `elements` contains one element type per input. A reducer takes the accumulators followed by the
    elements, all of them scalars. It returns the new accumulators: a scalar, or a tuple of scalars.
    """
    inputs = len(inits)
    result, parameters = computation.result, computation.parameters
    which = f"{attribute} of '{opcode}'"
    if len(parameters) != 2 * inputs:
        message = f"{which} must have {2 * inputs} parameters for {count(inputs, 'input')}, got {len(parameters)}"
        raise Violation(rules.parameters, attribute, message)
    accumulators = result.elements if result.is_tuple else (result,)
    fits = (result.is_tuple or result.is_array) and len(accumulators) == inputs and all(map(is_scalar, accumulators))
    if not fits:
        raise Violation(rules.result, attribute, f"{which} must return {count(inputs, 'scalar')}, got {result.text_without_layout}")
    for k, (accumulator, init, element) in enumerate(zip(accumulators, inits, elements, strict=True)):
        text = accumulator.text_without_layout
        first, second = parameters[k], parameters[inputs + k]
        if not compatible(accumulator, first):
            # If the parameter fits the init value, the result is at fault.
            fits = arrays_compatible_up_to_precision(first, init)
            message = f"{which} returns {text}, but the accumulator is {first.text_without_layout}"
            require(not fits, rules.result, attribute, message)
            raise Violation(rules.types, attribute, f"parameter {k} of {which} is {first.text_without_layout}, but the accumulator is {text}")
        if not arrays_compatible_up_to_precision(accumulator, init):
            # If the init value is a scalar of the elements' type, the computation is at fault.
            fits = is_scalar(init) and bare(init).element_type == element
            message = f"parameter {k} of {which} is {first.text_without_layout}, but the accumulator is {init.text_without_layout}"
            require(not fits, rules.types, attribute, message)
            at = attribute if rules.first_init is None else f"definition of operand {rules.first_init + k}"
            raise Violation(rules.init, at, f"an accumulator of {which} is {text}, but its init value is {init.text_without_layout}")
        for expected in (array_shape(element), accumulator):
            if not arrays_compatible_up_to_precision(expected, second):
                message = f"parameter {inputs + k} of {which} must be {expected.text_without_layout}, got {second.text_without_layout}"
                raise Violation(rules.types, attribute, message)


# Windows


def window_result(sizes: Sequence[int], window: Sequence[WindowDimension]) -> list[int]:
    """Returns the number of window positions in each dimension of an array with the given sizes.

    >>> window_result([7], [WindowDimension(3, stride=2, padding_low=1, padding_high=1)])
    [4]
    """
    require(len(sizes) == len(window), "T095", "window", f"window has {count(len(window), 'dimension')}, but the array has {len(sizes)}")
    return [_window_positions(size, dimension) for size, dimension in zip(sizes, window, strict=True)]


def _window_positions(size: int, dimension: WindowDimension) -> int:
    for name in ("size", "stride", "base_dilation", "window_dilation"):
        value = getattr(dimension, name)
        at = f"window[{_WINDOW_KEYS.get(name, name)}]"
        require(value > 0, "T054", at, f"window {name.replace('_', ' ')} must be positive, got {value}")
    if size == UNBOUNDED:
        return UNBOUNDED
    padded = dimension.padding_low + _dilated(size, dimension.base_dilation) + dimension.padding_high
    require(padded >= 0, "T095", "window", f"negative padding removes more than the dimension's size, {size}")
    covered = _dilated(dimension.size, dimension.window_dilation)
    return 0 if padded == 0 or covered > padded else (padded - covered) // dimension.stride + 1


def _dilated(size: int, dilation: int) -> int:
    return 0 if size == 0 else (size - 1) * dilation + 1
