"""The verifier's constraints on layouts and memory spaces, especially those of ops that move data.

Rules in `verifier.rules` report layouts that are invalid by themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

from hlotool.errors import Violation
from hlotool.opdefs.base import OpDef
from hlotool.opdefs.inference import count
from hlotool.opdefs.modes import VerifyModes
from hlotool.opdefs.traits import ELEMENTWISE, ORDER_KEPT
from hlotool.record import replace
from hlotool.shapes.layout import Layout
from hlotool.shapes.memory import data_size, sizes_differ
from hlotool.shapes.shape import Shape

__all__ = [
    "FAST_MEMORY",
    "HOST_MEMORY",
    "check_bitcast_memory",
    "check_copied_memory",
    "check_kept_layout",
    "check_sliced_memory",
    "check_updated_memory",
    "require_kept_layout",
]

FAST_MEMORY = 1
"""The memory space of small, fast memory near the compute units."""
HOST_MEMORY = 5
"""The memory space of the host."""


def _space(shape: Shape) -> int:
    return shape.layout.memory_space if shape.layout is not None else 0


def _is_late(modes: VerifyModes) -> bool:
    """Returns whether a module comes from the last stages of a compiler.

    These stages give memory spaces their own meanings, and use bitcasts to view parts of buffers.
    """
    return bool(modes.layout_sensitive and not modes.layouts_kept)


def _order_text(layout: Layout) -> str:
    return f"{{{','.join(map(str, layout.minor_to_major))}}}"


def _preserved_part(layout: Layout, same_type: bool) -> Layout:
    """Returns the parts of a layout that only certain ops may change.

    Any op may change the tiles, the memory space, the prefix for dynamic sizes and, if the element
    type changes, the element size.
    """
    size = layout.element_size_in_bits if same_type else 0
    return replace(layout, tiles=(), memory_space=0, dynamic_shape_metadata_prefix_bytes=0, element_size_in_bits=size)


def check_kept_layout(op: OpDef, result: Shape, operands: Sequence[Shape], modes: VerifyModes) -> None:
    """Raises Violation if the op must keep the operands' layouts, but the result has another one.

    Also raises Violation if an elementwise op moves data to or from the host.
    """
    if ORDER_KEPT in op.traits:
        require_kept_layout(result, operands, modes, is_elementwise=ELEMENTWISE in op.traits)


def require_kept_layout(result: Shape, operands: Sequence[Shape], modes: VerifyModes, *, is_elementwise: bool = False) -> None:
    """Raises Violation if the result's layout differs from that of an operand of the same rank.

    Also raises Violation if an elementwise op moves data to or from the host.
    """
    layout = result.layout
    if layout is None:
        return
    for operand in operands:
        source = operand.layout
        if source is None or source is layout or operand.rank != result.rank:
            continue
        moves = HOST_MEMORY in (source.memory_space, layout.memory_space) and source.memory_space != layout.memory_space
        if moves and is_elementwise and not _is_late(modes):
            message = f"the operand is in memory space S({source.memory_space}), but the result is in S({layout.memory_space})"
            raise Violation("L031", "opcode", message, "transfer the operand first, or keep both in host memory to compute on the host")
        if not modes.layouts_kept:
            continue
        same_type = operand.element_type == result.element_type
        if _preserved_part(source, same_type) != _preserved_part(layout, same_type):
            texts = (source.text, layout.text) if source.minor_to_major == layout.minor_to_major else (_order_text(source), _order_text(layout))
            message = f"the operand has layout {texts[0]}, but the result has layout {texts[1]}"
            raise Violation("L008", "shape[layout]", message, "insert a copy to change the layout")


def check_bitcast_memory(result: Shape, operand: Shape, modes: VerifyModes) -> None:
    """Raises Violation if a bitcast moves data to or from the host, or changes the size."""
    if not (modes.layout_sensitive and result.is_array and operand.is_array):
        return
    spaces = _space(operand), _space(result)
    if spaces[0] != spaces[1] and HOST_MEMORY in spaces:
        message = f"the operand is in {_memory(spaces[0])}, but the result is in {_memory(spaces[1])}"
        raise Violation("L010", "shape[layout]", message, "use copy-start/copy-done or copy")
    sizes = data_size(operand), data_size(result)
    if sizes[1] < sizes[0] and _is_late(modes):
        return
    # Sizes include padding only on some targets. With `bitcast_may_differ_in_size`, the sizes without
    # padding must be equal. Without this mode, it is also enough if the sizes with padding are equal,
    # since XLA's tests accept bitcasts between tiled and flat arrays.
    if sizes_differ(operand, result, data_size) and (modes.bitcast_may_differ_in_size or sizes_differ(operand, result)):
        raise Violation("L009", "shape", f"the operand has {count(sizes[0], 'byte')}, but the result has {sizes[1]}")


def _memory(space: int) -> str:
    return f"host memory S({space})" if space == HOST_MEMORY else f"S({space})"


def check_copied_memory(result: Shape, operand: Shape, modes: VerifyModes) -> None:
    """Raises Violation if a copy between host and device changes more than the memory space."""
    if not (result.is_array and operand.is_array):
        return
    spaces = _space(operand), _space(result)
    _check_fast_memory("copy", spaces, modes)
    if spaces[0] == spaces[1] or HOST_MEMORY not in spaces:
        return
    if operand.element_type != result.element_type:
        raise Violation("L014", "shape", f"a copy between host and device memory cannot convert {operand.element_type} to {result.element_type}")
    before, after = operand.layout, result.layout
    if not modes.layout_sensitive or spaces[0] != HOST_MEMORY or before is None or after is None:
        return
    if (before.minor_to_major, before.tiles) != (after.minor_to_major, after.tiles):
        message = f"a copy from host memory cannot change layout {before.text} to {after.text}"
        raise Violation("L013", "shape[layout]", message, "use two copies: one to transfer the data, and one to change the layout")


def check_sliced_memory(result: Shape, operand: Shape, modes: VerifyModes) -> None:
    """Raises Violation if a dynamic-slice moves data to the host; the reverse is allowed."""
    spaces = _space(operand), _space(result)
    _check_fast_memory("dynamic-slice", spaces, modes)
    if modes.layouts_kept and spaces[1] == HOST_MEMORY != spaces[0]:
        raise Violation("L015", "shape[layout]", f"'dynamic-slice' cannot move data from S({spaces[0]}) to {_memory(HOST_MEMORY)}")


def check_updated_memory(result: Shape, operand: Shape, modes: VerifyModes) -> None:
    """Raises Violation if a dynamic-update-slice moves a buffer out of host memory."""
    spaces = _space(operand), _space(result)
    _check_fast_memory("dynamic-update-slice", spaces, modes)
    if modes.layouts_kept and spaces[0] == HOST_MEMORY != spaces[1]:
        raise Violation("L016", "name", f"the result must stay in the memory of operand 0, S({spaces[0]}), but S({spaces[1]}) is written")


def _check_fast_memory(opcode: str, spaces: tuple[int, int], modes: VerifyModes) -> None:
    if modes.layouts_kept and spaces[0] != spaces[1] and FAST_MEMORY in spaces:
        raise Violation("L017", "shape[layout]", f"'{opcode}' cannot move data from S({spaces[0]}) to S({spaces[1]})")
