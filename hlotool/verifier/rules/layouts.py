"""L002, L003, L004, L006, L018, L027 and L033: layouts that are invalid for their array."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from itertools import pairwise

from hlotool.errors import Violation
from hlotool.opdefs.inference import count
from hlotool.opdefs.layouts import HOST_MEMORY
from hlotool.opdefs.modes import VerifyModes
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.shapes.layout import COMBINE, Layout, is_implicit_layout
from hlotool.shapes.shape import Shape
from hlotool.verifier.registry import shape_rule

__all__ = ["order_fault", "tile_fault"]

_BITS_PER_BYTE = 8


@shape_rule("L002", "L003", "L004", "L006", "L018", "L027", "L033")
def layouts(shape: Shape, modes: VerifyModes) -> None:
    """A layout lists each dimension once, and its tiles, sizes and memory space are valid.

    Checks: each dimension is listed once (L002, L003); tiles have positive sizes (L004); `E(n)`
    packs only types smaller than a byte (L006, unless tiles show that the target is neither a CPU
    nor a GPU); host memory is allowed (L018, in the mode `no_host_memory`); split configurations
    split an existing dimension within its size (L027); no array is sparse (L033).
    """
    is_nested = any(element.is_tuple for element in shape.elements)
    for number, array in enumerate(shape.leaves()):
        layout = array.layout
        if layout is None or is_implicit_layout(layout, array.rank):
            continue
        fault = order_fault(layout.minor_to_major, array.rank)
        if fault is None and ":" not in layout.text:
            continue
        # A position in a nested tuple would be a path, so the whole shape is reported.
        at = "shape" if is_nested else f"shape[{number}][layout]" if shape.is_tuple else "shape[layout]"
        if fault is not None:
            raise Violation(fault[0], at, fault[1])
        _check_suffixes(array, layout, at, modes)


@lru_cache(maxsize=1024)
def _is_permutation(order: tuple[int, ...], rank: int) -> bool:
    return len(order) == rank and sorted(order) == list(range(rank))


def order_fault(order: tuple[int, ...], rank: int) -> tuple[str, str] | None:
    """Returns the code and message if an order does not list each dimension of an array once."""
    if _is_permutation(order, rank):
        return None
    outside = next((dimension for dimension in order if not 0 <= dimension < rank), None)
    if outside is not None:
        return "L003", f"dimension {outside} is out of range for rank {rank}"
    if len(order) < rank:
        return "L003", f"the layout lists {count(len(order), 'dimension')}, but the array has rank {rank}"
    return "L002", f"the layout lists dimension {Counter(order).most_common(1)[0][0]} twice"


def tile_fault(layout: Layout) -> str | None:
    """Returns the message if a tile has no sizes, or a size that is not positive."""
    for number, tile in enumerate(layout.tiles):
        wrong = next((k for k, size in enumerate(tile) if size < 1 and size != COMBINE), None)
        if wrong is not None:
            return f"the sizes of tile {number} must be positive, got {tile[wrong]} at position {wrong}"
        if not tile:
            return f"tile {number} has no sizes"
    return None


def _check_suffixes(array: Shape, layout: Layout, at: str, modes: VerifyModes) -> None:
    fault = tile_fault(layout)
    if fault is not None:
        raise Violation("L004", f"{at}[T]", fault)
    if layout.index_type is not None or layout.pointer_type is not None:
        raise Violation("L033", at, "index and pointer types are for sparse arrays, which XLA no longer supports")
    bits, size = ELEMENT_TYPES[array.element_type].bits, layout.element_size_in_bits
    if size < 0:
        raise Violation("L006", f"{at}[E]", f"the element size must not be negative, got {size} bits")
    if size and bits >= _BITS_PER_BYTE and not layout.tiles and modes.target != "tpu":
        raise Violation("L006", f"{at}[E]", f"{array.element_type} has {bits} bits and is never packed, but the layout says E({size})")
    if layout.memory_space == HOST_MEMORY and modes.no_host_memory:
        raise Violation("L018", f"{at}[S]", "host memory, S(5), is not allowed on this target")
    _check_splits(array, layout, f"{at}[SC]")


def _check_splits(array: Shape, layout: Layout, at: str) -> None:
    seen: set[int] = set()
    for dimension, indices in layout.split_configs:
        if not 0 <= dimension < array.rank or dimension in seen:
            raise Violation(
                "L027", at, f"dimension {dimension} is " + ("split twice" if dimension in seen else f"out of range for rank {array.rank}")
            )
        seen.add(dimension)
        # A split configuration counts dimensions from the most major one in memory.
        size = array.dimensions[layout.minor_to_major[array.rank - 1 - dimension]]
        if any(a >= b for a, b in pairwise((0, *indices))):
            raise Violation("L027", at, f"split indices {list(indices)} must be positive and increase")
        if indices and indices[-1] >= size:
            raise Violation("L027", at, f"split index {indices[-1]} is out of range for a dimension of size {size}")
