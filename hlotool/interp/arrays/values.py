"""Values of a run (arrays, tuples of values, and tokens), and conversion of arguments to values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from hlotool.errors import Violation
from hlotool.interp.arrays.bits import from_patterns, patterns
from hlotool.interp.arrays.dtypes import NUMBERS, NUMPY_TYPES, Array, NumberType
from hlotool.interp.arrays.memory_order import forward
from hlotool.shapes.shape import UNBOUNDED, Shape

__all__ = ["Token", "Value", "checked_argument", "leaves", "own_arrays", "owns_memory", "with_leaves", "zeros"]

Value: TypeAlias = Any
"""An Array (rank 0 for scalars), a tuple of values, or a Token."""


class Token:
    """The value of a `token[]`.

    Tokens determine the order of operations. They have no content, so all of them are equal.

    >>> Token() == Token()
    True
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Token)

    def __hash__(self) -> int:
        return hash(Token)

    def __repr__(self) -> str:
        return "Token()"


def leaves(value: Value) -> Iterator[Any]:
    """Yields the arrays and tokens of a value, in order."""
    # A stack is used because tuples may nest deeper than Python's recursion limit.
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, tuple):
            stack.extend(reversed(item))
        else:
            yield item


def with_leaves(shape: Shape, items: Iterable[Any]) -> Value:
    """Returns a value nested like `shape`, with the items as its leaves.

    >>> from hlotool.shapes.shape import TOKEN, tuple_shape
    >>> with_leaves(tuple_shape([TOKEN, tuple_shape([TOKEN])]), iter("ab"))
    ('a', ('b',))
    """
    rest = iter(items)
    values: list[Any] = []
    stack: list[tuple[Shape, bool]] = [(shape, False)]
    while stack:
        part, is_complete = stack.pop()
        if not part.is_tuple:
            values.append(next(rest))
        elif is_complete:
            count = len(part.elements)
            elements = tuple(values[len(values) - count :])
            del values[len(values) - count :]
            values.append(elements)
        else:
            stack.append((part, True))
            stack.extend((element, False) for element in reversed(part.elements))
    return values[0]


def zeros(shape: Shape) -> Value:
    """Returns a value of the given shape that contains only zeros."""
    return with_leaves(shape, (np.zeros(leaf.dimensions, NUMPY_TYPES[leaf.element_type]) if leaf.is_array else Token() for leaf in shape.leaves()))


def owns_memory(value: Value) -> bool:
    """Returns whether a value is a writable array that owns its memory.

    There may be other references to the array, or views of it.

    >>> owns_memory(np.zeros(2)), owns_memory(np.zeros(2)[1:])
    (True, False)
    """
    return isinstance(value, np.ndarray) and value.base is None and value.flags.owndata and value.flags.writeable


def own_arrays(value: Value, shape: Shape, arguments: Sequence[Value] = ()) -> Value:
    """Returns the value with writable arrays that do not share memory.

    Arrays that belong to the run are returned unchanged. Arrays that belong to the arguments, or
    that occur twice, are copied.
    """
    taken = {id(leaf) for argument in arguments for leaf in leaves(argument)}

    def own(leaf: Any) -> Any:
        if not isinstance(leaf, np.ndarray):
            return leaf
        if id(leaf) in taken or not owns_memory(leaf):
            return np.array(leaf)
        taken.add(id(leaf))
        return leaf

    return with_leaves(shape, map(own, leaves(value)))


# ---- arguments ---------------------------------------------------------------------------------


@np.errstate(all="ignore")
def checked_argument(argument: Any, shape: Shape, name: str) -> Value:
    """Returns the argument as a value of the shape.

    Floats are converted to any float type, and integers to any integer or float type that
    represents them exactly; nothing else is converted. If the argument does not fit, raises
    Violation with the name and the shape of the parameter.

    >>> from hlotool.shapes.shape import array_shape
    >>> checked_argument([1, 2], array_shape("s8", (2,)), "x")
    array([1, 2], dtype=int8)
    """
    checked: list[Any] = []
    # A path is a pair of the enclosing tuple's path and the element's number. Copying the path at
    # each level would take quadratic time for deep tuples.
    stack: list[tuple[Any, Shape, Any]] = [(argument, shape, None)]
    while stack:
        item, part, path = stack.pop()
        if not part.is_tuple:
            checked.append(_checked_leaf(item, part, _location_of(name, path)))
            continue
        if not isinstance(item, tuple | list) or len(item) != len(part.elements):
            got = f"length {len(item)}" if isinstance(item, tuple | list) else f"an object of type {type(item).__name__}"
            raise Violation("R002", name, f"{_location_of(name, path)} takes a tuple of length {len(part.elements)}, got {got}")
        stack.extend((item[k], part.elements[k], (path, k)) for k in range(len(item) - 1, -1, -1))
    return with_leaves(shape, checked)


def _location_of(name: str, path: Any) -> str:
    numbers: list[str] = []
    while path is not None:
        path, number = path
        numbers.append(str(number))
    return f"'{name}'" + (f", element {'.'.join(reversed(numbers))}," if numbers else "")


def _checked_leaf(argument: Any, shape: Shape, location: str) -> Any:
    wanted = shape.text_without_layout
    if shape.element_type == "token":
        if isinstance(argument, Token):
            return argument
        raise Violation("R002", location, f"{location} takes a token, got an object of type {type(argument).__name__}", "pass hlotool.Token()")
    if not shape.is_array:
        raise Violation("R002", location, f"{location} is {wanted}, which has no values to pass")
    if isinstance(argument, Mapping):
        raise Violation("R002", location, f"{location} takes {wanted}, got an object of type {type(argument).__name__}", PYTREE_HINT)
    try:
        array = np.asarray(argument)
    except (ValueError, TypeError, OverflowError) as error:
        raise Violation("R002", location, f"{location} takes {wanted}, got a value that is not an array: {error}") from None
    if array.dtype == object:
        got = f"an object of type {type(argument).__name__} that NumPy cannot convert to an array of numbers"
        raise Violation("R002", location, f"{location} takes {wanted}, got {got}", PYTREE_HINT)
    if not _sizes_fit(array.shape, shape):
        raise Violation(
            "R002", location, f"{location} takes {wanted}, got an array with the dimensions {list(array.shape)}", _shape_hint(array, shape)
        )
    return _convert(array, NUMBERS[shape.element_type], wanted, location)


def _sizes_fit(sizes: Sequence[int], shape: Shape) -> bool:
    """Returns whether the sizes equal the shape's, or are smaller in dynamic dimensions."""
    if len(sizes) != shape.rank:
        return False
    dynamic = shape.dynamic or (False,) * shape.rank
    pairs = zip(sizes, shape.dimensions, dynamic, strict=True)
    return all(size == bound or (marked and (bound == UNBOUNDED or size < bound)) for size, bound, marked in pairs)


def _shape_hint(array: Array, shape: Shape) -> str | None:
    if sorted(array.shape) == sorted(shape.dimensions):
        return "the dimensions seem to be in a different order"
    return "reshape the array; the number of elements is the same" if array.size == int(np.prod(shape.dimensions)) else None


_FLOAT_NAMES = {"bfloat16", *(row.held.name for row in NUMBERS.values() if row.kind == "float")}
_INTEGER_NAMES = {row.held.name for row in NUMBERS.values() if row.element.is_integral}


def _kind(array: Array) -> str:
    """Returns the kind of an array: pred, integer, float, complex, or an empty string."""
    name = array.dtype.name
    if name in _INTEGER_NAMES or array.dtype.kind in "iu":
        return "integer"
    if name in _FLOAT_NAMES or array.dtype.kind == "f":
        return "float"
    return {"b": "pred", "c": "complex"}.get(array.dtype.kind, "")


PYTREE_HINT = "pass the arrays of a pytree one by one, as jax.tree.leaves(arguments) lists them"
"""The hint for dictionaries and other nested arguments."""

_KINDS = {"signed": "integer", "unsigned": "integer"}


def _integers_as_floats(array: Array, number: NumberType, wanted: str, location: str) -> Array:
    """Converts integers to floats; raises Violation if one of them would be rounded."""
    array = array.astype(np.uint64 if array.dtype == np.uint64 else np.int64)
    converted = array.astype(number.held)
    wide = converted.astype(np.float64)
    limits = np.iinfo(array.dtype)
    # The numbers are converted back to integers, since NumPy rounds integers before it compares
    # them with doubles. As a double, the upper limit is 2^63 or 2^64.
    is_exact = (wide >= float(limits.min)) & (wide < float(limits.max)) & (wide.astype(array.dtype) == array)
    if not is_exact.all():
        odd = int(array.flat[np.flatnonzero(~is_exact)[0]])
        hint = f"round the array with .astype('{number.held.name}')"
        raise Violation("R002", location, f"{location} takes {wanted}, which cannot hold {odd} exactly", hint)
    return converted


def _convert(array: Array, number: NumberType, wanted: str, location: str) -> Array:
    if array.dtype == number.held:
        return forward(array if number.bits >= 8 or number.kind == "pred" else from_patterns(patterns(array), number))
    kind, wanted_kind = _kind(array), _KINDS.get(number.kind, number.kind)
    if kind == "integer" and wanted_kind == "float":
        return _integers_as_floats(array, number, wanted, location)
    # An empty list becomes an array of floats in NumPy, regardless of the intended type.
    if kind != wanted_kind and array.size:
        raise Violation(
            "R002", location, f"{location} takes {wanted}, got an array of {array.dtype}", f"convert the array with .astype('{number.held.name}')"
        )
    if wanted_kind == "integer" and array.size:
        least, most = int(array.min().item()), int(array.max().item())
        if least < number.element.minimum or most > number.element.maximum:
            odd = least if least < number.element.minimum else most
            limits = f"{number.element.minimum} to {number.element.maximum}"
            raise Violation("R002", location, f"{location} takes {wanted}, which cannot hold {odd}", f"{number.element.name} holds {limits}")
    # Doubles are converted to 16 bits via f32, as in HLO's own conversion.
    if number.computed == np.float32 and array.dtype == np.float64 and number.bits == 16:
        array = array.astype(np.float32)
    return array.astype(number.held)
