"""L002, L003, L004, L006, L018 and L027: layouts that no array can have."""

from __future__ import annotations

from itertools import pairwise

from hlotool.errors import Violation
from hlotool.opdefs.layouts import HOST_MEMORY
from hlotool.opdefs.modes import VerifyModes
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.shapes.layout import COMBINE, Layout, is_left_out
from hlotool.shapes.shape import Shape
from hlotool.verify.registry import shape_rule

__all__: list[str] = []

_BITS_OF_A_BYTE = 8


@shape_rule("L002", "L003", "L004", "L006", "L018", "L027")
def layouts(shape: Shape, modes: VerifyModes) -> None:
    """A layout orders the dimensions that the array has, in tiles of some size, in a memory that there is.

    Checks: each dimension is ordered once (L002, L003), tiles have positive sizes (L004), `E(n)` packs types of less than a byte only (L006, not
    where tiles show that the target is neither a CPU nor a GPU), host memory is allowed (L018, under the mode `no_host_memory`), and split
    configurations cut an existing dimension inside (L027).
    Why: XLA's text parser takes such layouts and refuses them when it reads the module back.
    Bad: `p = f32[2,3]{1,1} parameter(0)`
    Good: `p = f32[2,3]{1,0} parameter(0)`
    """
    is_tuple = shape.is_tuple
    for k, leaf in enumerate(shape.elements if is_tuple else (shape,)):
        for array in leaf.leaves():
            layout = array.layout
            if layout is None or is_left_out(layout, array.rank):
                continue
            at = f"shape[{k}][layout]" if is_tuple else "shape[layout]"
            _check_order(layout, array.rank, at)
            if layout.text.find(":") >= 0:
                _check_suffixes(array, layout, at, modes)


def _check_order(layout: Layout, rank: int, at: str) -> None:
    order = layout.minor_to_major
    if len(order) == len(set(order)) == rank and min(order, default=0) >= 0 and max(order, default=0) < max(rank, 1):
        return
    if len(order) != rank:
        raise Violation("L003", at, f"{len(order)} dimensions are ordered, the array has rank {rank}")
    for k, dimension in enumerate(order):
        if not 0 <= dimension < rank:
            raise Violation("L003", at, f"dimension {dimension} is out of range for rank {rank}")
        if dimension in order[:k]:
            raise Violation("L002", at, f"dimension {dimension} is listed twice")


def _check_suffixes(array: Shape, layout: Layout, at: str, modes: VerifyModes) -> None:
    for number, tile in enumerate(layout.tiles):
        wrong = next((k for k, size in enumerate(tile) if size < 1 and size != COMBINE), None)
        if wrong is not None or not tile:
            what = f"size {wrong} of tile {number} must be positive" if wrong is not None else f"tile {number} has no sizes"
            raise Violation("L004", f"{at}[T]", what)
    bits, size = ELEMENT_TYPES[array.element_type].bits, layout.element_size_in_bits
    if size and bits >= _BITS_OF_A_BYTE and not layout.tiles and modes.target != "tpu":
        raise Violation("L006", f"{at}[E]", f"an element size of {size} bits for {array.element_type} ({bits} bits), which is never packed")
    if layout.memory_space == HOST_MEMORY and modes.no_host_memory:
        raise Violation("L018", f"{at}[S]", "host memory space is not allowed here")
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
            raise Violation("L027", at, f"split index {indices[-1]} is beyond dimension size {size}")
