"""What the op definitions share when they compute a result shape: element types, sizes with their dynamic marks, reducers.

Follows what XLA's parser infers when the result shape is left out, which is more lenient than its verifier; nothing here defines an opcode.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NoReturn

from hlotool.errors import Violation
from hlotool.opdefs.base import require
from hlotool.record import replace
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.shapes.layout import is_valid_layout
from hlotool.shapes.shape import (
    UNBOUNDED,
    ProgramShape,
    Shape,
    array_shape,
    compatible,
    tuple_shape,
)

__all__ = [
    "INT32_MAX",
    "Bound",
    "bare",
    "bounds",
    "change_element_type",
    "component_type",
    "has_dimensions",
    "higher_precision",
    "in_int64",
    "is_scalar",
    "kind_of",
    "made_shape",
    "made_tuple",
    "require_array",
    "require_kind",
    "require_reducer",
    "same_type_up_to_precision",
    "sizes_agree",
    "static_product",
    "with_bounds",
    "written_shape_needed",
]

Bound = tuple[int, bool]
"""Size of a dimension and whether it is dynamic; the size is UNBOUNDED for `?`."""

INT32_MAX = (1 << 31) - 1
_INT64_MIN, _INT64_MAX = -(1 << 63), (1 << 63) - 1
_COMPONENTS = {"c64": "f32", "c128": "f64"}


def written_shape_needed(opcode: str) -> NoReturn:
    """Refuses to infer: the result shape of these opcodes is information that the operands do not hold."""
    raise Violation("S037", "shape", f"cannot infer the result shape of '{opcode}'", f"write it: r = f32[...] {opcode}(...)")


# Element types


def kind_of(shape: Shape) -> str:
    """The kind of an element type ("pred", "signed", "unsigned", "float", "complex"), or the name of what is no array.

    >>> kind_of(array_shape("bf16", (2,)))
    'float'
    """
    row = ELEMENT_TYPES.get(shape.element_type)
    return row.kind if row is not None else shape.element_type


def require_array(shape: Shape, operand: int, opcode: str) -> None:
    """Refuses tuples, tokens, opaque values and buffers."""
    require(shape.is_array, "T099", f"operand {operand}", f"operand {operand} of '{opcode}' must be an array, got {shape.text_without_layout}")


def require_kind(shape: Shape, operand: int, opcode: str, kinds: Sequence[str], code: str) -> None:
    """Refuses an array whose element type is of none of `kinds`."""
    if kind_of(shape) not in kinds:
        wanted = " or ".join(kinds)
        raise Violation(code, f"operand {operand}", f"operand {operand} of '{opcode}' must be {wanted}, got {shape.text_without_layout}")


def component_type(element_type: str) -> str:
    """The type of the real part; other types stand for themselves."""
    return _COMPONENTS.get(element_type, element_type)


def same_type_up_to_precision(first: str, second: str) -> bool:
    """Equal element types, or two floating-point types of any width."""
    return first == second or (ELEMENT_TYPES[first].kind == "float" == ELEMENT_TYPES[second].kind)


def _precision(element_type: str) -> tuple[int, int, int]:
    """Range first, then significand, then width: XLA's order of floating-point types."""
    row = ELEMENT_TYPES[element_type]
    form = row.float_format
    if form is None:  # only floats are ever compared with another type
        return (-1, -1, row.bits)
    # Formats without infinity use the all-ones exponent for numbers; e8m0 has no infinity either, but spends that exponent on its NaN.
    reserved = 2 if form.nonfinite in ("ieee", "e8m0") else 1
    return ((1 << form.exponent_bits) - reserved - form.bias, form.mantissa_bits, row.bits)


def higher_precision(first: str, second: str, opcode: str) -> str:
    """The type of a result whose operands differ in floating-point precision.

    Two formats with the same range, significand and width have no higher one; XLA aborts there.

    >>> higher_precision("bf16", "f16", "add")
    'bf16'
    """
    if first == second:
        return first
    a, b = _precision(first), _precision(second)
    require(a != b, "T085", "operands", f"'{opcode}' cannot choose between {first} and {second}: neither has the higher precision")
    return first if a > b else second


def change_element_type(shape: Shape, element_type: str) -> Shape:
    """The same array of another type; an `E(n)` of the layout survives only on types that XLA packs."""
    layout = shape.layout
    if layout is not None and layout.element_size_in_bits and ELEMENT_TYPES[element_type].bits not in (1, 2, 4):
        layout = replace(layout, element_size_in_bits=0)
    return replace(shape, element_type=element_type, layout=layout)


# Sizes


def bare(shape: Shape) -> Shape:
    """The array inside a buffer: where XLA asks for dimensions without asking for an array, it looks through `b(...)`."""
    return shape.elements[0] if shape.element_type == "buffer" else shape


def has_dimensions(shape: Shape) -> bool:
    """An array or a buffer; XLA aborts where it needs the dimensions of anything else."""
    return shape.is_array or shape.element_type == "buffer"


def is_scalar(shape: Shape) -> bool:
    """An array of rank 0, possibly in a buffer."""
    return has_dimensions(shape) and not bare(shape).dimensions


def bounds(shape: Shape) -> list[Bound]:
    """Size and dynamic mark of each dimension.

    >>> bounds(array_shape("f32", (2, 3), (False, True)))
    [(2, False), (3, True)]
    """
    return list(zip(shape.dimensions, shape.dynamic or (False,) * shape.rank, strict=True))


def sizes_agree(first: int, second: int) -> bool:
    """Equal, or at least one is unbounded."""
    return first in (second, UNBOUNDED) or second == UNBOUNDED


def in_int64(value: int) -> int:
    """What a sum is in XLA's 64-bit arithmetic, which wraps."""
    return (value - _INT64_MIN) % (1 << 64) + _INT64_MIN


def static_product(dimensions: Iterable[int]) -> int:
    """The number of elements, unbounded dimensions left out; modulo 2^64 like XLA's own count."""
    product = 1
    for size in dimensions:
        if size != UNBOUNDED:
            product *= size
    return product % (1 << 64)


def made_shape(element_type: str, dimensions: Iterable[Bound], opcode: str) -> Shape:
    """A new array with the default layout, refused when XLA cannot represent it.

    Negative sizes are refused, and sizes whose running product in bytes leaves 64 bits, even if a later size is 0.
    """
    sizes: list[int] = []
    marks: list[bool] = []
    for size, dynamic in dimensions:
        require(size >= 0 or size == UNBOUNDED, "T003", "shape", f"the result of '{opcode}' would have a dimension of size {size}")
        sizes.append(size)
        marks.append(dynamic)
    _require_countable(element_type, sizes, opcode)
    return array_shape(element_type, tuple(sizes), tuple(marks))


def _require_countable(element_type: str, sizes: Iterable[int], opcode: str) -> None:
    extent = max(1, ELEMENT_TYPES[element_type].bits // 8)
    for size in sizes:
        extent *= 1 if size == UNBOUNDED else size
        require(extent <= _INT64_MAX, "T084", "shape", f"the result of '{opcode}' would have more bytes than 64 bits can count")


def with_bounds(shape: Shape, dimensions: Sequence[Bound]) -> Shape:
    """The same element type and layout with other sizes; unlike made_shape it checks nothing, as XLA does when it edits a shape."""
    return array_shape(shape.element_type, tuple(size for size, _ in dimensions), tuple(mark for _, mark in dimensions), shape.layout)


# Tuples


def made_tuple(shapes: Sequence[Shape], opcode: str) -> Shape:
    """A tuple of arrays and buffers, of which XLA examines each when it makes a tuple during inference.

    The layouts of arrays outside tuples, and of those in tuples made by the tuple opcode, are never examined.
    """
    for shape in shapes:
        array = bare(shape)
        _require_countable(array.element_type, array.dimensions, opcode)
        valid = array.layout is None or is_valid_layout(array.layout, array.dimensions)
        require(valid, "L003", "operands", f"'{opcode}' cannot put {shape} into a tuple: its layout is not valid")
    return tuple_shape(shapes)


# Called computations


def require_reducer(to_apply: ProgramShape, inits: Sequence[str], elements: Sequence[str], opcode: str) -> None:
    """Refuses a computation that does not fold `elements` into accumulators that start as `inits` (element types, one for each input).

    It takes the accumulators, then the elements, all scalars, and gives the accumulators: bare when there is one, or as a tuple.
    """
    count = len(inits)
    result, parameters = to_apply.result, to_apply.parameters
    require(len(parameters) == 2 * count, "C020", "to_apply", f"to_apply of '{opcode}' must take {2 * count} parameters, takes {len(parameters)}")
    accumulators = result.elements if result.is_tuple else (result,)
    fits = (result.is_tuple or result.is_array) and len(accumulators) == count and all(map(is_scalar, accumulators))
    require(fits, "C021", "to_apply", f"to_apply of '{opcode}' must give {count} scalars, gives {result.text_without_layout}")
    for k, (accumulator, init, element) in enumerate(zip(accumulators, inits, elements, strict=True)):
        taken = parameters[count + k]
        holds = (
            accumulator.is_array
            and compatible(accumulator, parameters[k])
            and same_type_up_to_precision(accumulator.element_type, init)
            and taken.is_array
            and not taken.dimensions
            and same_type_up_to_precision(element, taken.element_type)
            and same_type_up_to_precision(accumulator.element_type, taken.element_type)
        )
        message = f"to_apply of '{opcode}' must fold {element}[] into {init}[] as its accumulator {k}"
        require(holds, "C022", "to_apply", message)
