"""Builders of shapes and layouts."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from hlotool.errors import Violation
from hlotool.opdefs.codecs.base import builds
from hlotool.opdefs.codecs.scalars import integer, integers
from hlotool.opdefs.inference import count
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.shapes.layout import COMBINE, Layout, default_layout, is_valid_layout
from hlotool.shapes.shape import (
    UNBOUNDED,
    Shape,
    array_shape,
    buffer_shape,
    tuple_shape,
)

__all__ = ["plain_array", "valid_tuple"]

_TOKEN_TYPES = frozenset(name for name, row in ELEMENT_TYPES.items() if row.kind in ("token", "opaque"))
# The order in which XLA reads the suffixes of a layout.
_ORDER = {"D": 0, "T": 1, "L": 2, "#": 3, "*": 4, "E": 5, "S": 6, "SC": 7, "P": 8, "M": 9}


@builds("dimension")
def build_dimension(children: list[Any]) -> tuple[int, bool]:
    return _size(children[0]), False


@builds("bounded_dimension")
def build_bounded_dimension(children: list[Any]) -> tuple[int, bool]:
    return _size(children[0]), True


@builds("unbounded_dimension")
def build_unbounded_dimension(children: list[Any]) -> tuple[int, bool]:
    return UNBOUNDED, True


def _size(token: Any) -> int:
    size = integer(token)
    if size < 0:
        raise Violation("S017", token.start_pos, f"a dimension cannot be negative: {size}")
    return size


@builds("array_shape")
def build_array_shape(children: list[Any]) -> Shape:
    element_type, *rest = children
    layout = rest.pop() if rest and isinstance(rest[-1], LayoutText) else None
    sizes = tuple(size for size, _ in rest)
    dynamic = tuple(flag for _, flag in rest)
    if layout is not None and len(layout.value.minor_to_major) != len(sizes):
        code = "L032" if element_type in _TOKEN_TYPES else "L001"
        hint = f"the row-major layout is {default_layout(len(sizes)).text}" if sizes else "leave the layout out"
        ordered = count(len(layout.value.minor_to_major), "dimension")
        rank = f"{element_type}[] has no dimensions" if code == "L032" and not sizes else f"the shape has rank {len(sizes)}"
        raise Violation(code, layout.position, f"the layout orders {ordered}, but {rank}", hint)
    if element_type in _TOKEN_TYPES:
        # XLA aborts on a token or an opaque value with dimensions.
        if sizes:
            raise Violation("S017", element_type.start_pos, f"{element_type} cannot have dimensions", f"write {element_type}[]")
        return Shape(str(element_type))
    return array_shape(str(element_type), sizes, dynamic, layout.value if layout is not None else None)


def plain_array(element_type: str, sizes: str, order: str | None) -> Shape:
    """Returns the shape with the given static sizes and order of dimensions.

    `sizes` and `order` are strings without brackets, and must match the grammar's terminals.
    `order` is None if there is no layout. Raises Violation for shapes that only `build_array_shape`
    can handle.
    """
    dimensions = tuple(map(int, sizes.split(","))) if sizes else ()
    if element_type in _TOKEN_TYPES or any(size >= 1 << 63 for size in dimensions):
        raise Violation("S017", 0, "not a plain array")
    if order is None:
        return array_shape(element_type, dimensions)
    minor_to_major = tuple(map(int, order.split(",")))
    if len(minor_to_major) != len(dimensions):
        raise Violation("S017", 0, "layout and shape differ in rank")
    return Shape(element_type, dimensions, (), Layout(minor_to_major))


@builds("tuple_shape")
def build_tuple_shape(children: list[Any]) -> Shape:
    parenthesis, *elements = children
    return valid_tuple(elements, parenthesis.start_pos)


def valid_tuple(elements: list[Shape], position: int) -> Shape:
    """Returns the tuple of these shapes, which is written at offset `position`.

    Raises Violation L003 for an element that XLA rejects. XLA checks the layouts and sizes of
    arrays only if the arrays are in a tuple.
    """
    for element in elements:
        # The elements of inner tuples have already been checked; checking them again would take
        # quadratic time.
        reason = None if element.is_tuple else _rejection_reason(element)
        if reason is not None:
            raise Violation("L003", position, f"{element.text} cannot be an element of a tuple: {reason}")
    return tuple_shape(elements)


@lru_cache(maxsize=4096)
def _rejection_reason(element: Shape) -> str | None:
    """Returns the reason why XLA rejects a shape as a tuple element; None if XLA accepts it."""
    array = element.elements[0] if element.element_type == "buffer" else element
    if array.layout is None:
        return None
    if not is_valid_layout(array.layout, array.dimensions):
        return "its layout is not valid"
    size = max(1, ELEMENT_TYPES[array.element_type].bits // 8)
    for dimension in array.dimensions:
        size *= max(dimension, 0) if dimension != UNBOUNDED else 1
        if size >= 1 << 63:
            return "it is too large"
    return None


@builds("buffer_shape")
def build_buffer_shape(children: list[Any]) -> Shape:
    token, element = children
    if not element.is_array:
        raise Violation("S017", token.start_pos, f"a buffer must contain an array, got {element.text}")
    return buffer_shape(element)


@builds("shape")
def build_shape(children: list[Any]) -> Shape:
    shape: Shape = children[0]
    return shape


class LayoutText:
    """A parsed layout and its offset."""

    __slots__ = ("position", "value")

    def __init__(self, value: Layout, position: int) -> None:
        self.value = value
        self.position = position


@builds("layout")
def build_layout(children: list[Any]) -> LayoutText:
    brace, *rest = children
    numbers = [child for child in rest if not isinstance(child, tuple)]
    items = [child for child in rest if isinstance(child, tuple)]
    fields: dict[str, Any] = {}
    last = -1
    for name, position, key, value in items:
        if _ORDER[name] <= last:
            raise Violation("S001", position, f"layout suffix {name} is out of order; the order is {' '.join(_ORDER)}")
        last = _ORDER[name]
        if key is not None:
            fields[key] = value
    return LayoutText(Layout(integers(numbers), **fields), brace.start_pos)


@builds("layout_dim_levels")
def build_dim_levels(children: list[Any]) -> tuple[str, int, None, None]:
    """Parses and drops level types, as XLA does."""
    return "D", children[0].start_pos, None, None


@builds("dim_level")
def build_dim_level(children: list[Any]) -> Any:
    return children[0]


@builds("layout_tiles")
def build_tiles(children: list[Any]) -> tuple[str, int, str, Any]:
    return "T", children[0].start_pos, "tiles", tuple(children[1:])


@builds("layout_tile")
def build_tile(children: list[Any]) -> tuple[int, ...]:
    return tuple(children)


@builds("layout_tile_dimension")
def build_tile_dimension(children: list[Any]) -> int:
    token = children[0]
    if token.type == "ASTERISK":
        return COMBINE
    size = integer(token)
    if size < 0:
        raise Violation("S017", token.start_pos, f"a tile dimension cannot be negative: {size}")
    return size


_INT_FIELDS = {
    "L": "tail_padding_alignment_in_elements",
    "E": "element_size_in_bits",
    "S": "memory_space",
    "M": "dynamic_shape_metadata_prefix_bytes",
}


@builds("layout_int")
def build_layout_int(children: list[Any]) -> tuple[str, int, str, int]:
    letter, token = children
    value = integer(token)
    if letter == "L" and value < 1:
        raise Violation("L028", letter.start_pos, f"the tail padding alignment must be at least 1, got {value}")
    return str(letter), letter.start_pos, _INT_FIELDS[letter], value


@builds("layout_type")
def build_layout_type(children: list[Any]) -> tuple[str, int, str, str]:
    symbol, token = children
    # XLA accepts signed types too, and prints `invalid` for all other types.
    if not ELEMENT_TYPES[token].is_integral:
        role = "index" if symbol == "#" else "pointer"
        raise Violation("S017", token.start_pos, f"the {role} type must be an integer type, got {token}")
    return str(symbol), symbol.start_pos, "index_type" if symbol == "#" else "pointer_type", str(token)


@builds("layout_splits")
def build_splits(children: list[Any]) -> tuple[str, int, str, Any]:
    return "SC", children[0].start_pos, "split_configs", tuple(children[1:])


@builds("split")
def build_split(children: list[Any]) -> tuple[int, tuple[int, ...]]:
    dimension, *at = integers(children)
    return dimension, tuple(at)


@builds("layout_physical_shape")
def build_physical_shape(children: list[Any]) -> Any:
    raise Violation("S017", children[0].start_pos, "only sparse arrays can have a physical shape, and HLO no longer has sparse arrays")
