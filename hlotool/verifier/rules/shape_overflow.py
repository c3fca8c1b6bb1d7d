"""T084: sizes that do not fit in signed 64-bit integers."""

from __future__ import annotations

from math import prod

from hlotool.errors import Violation
from hlotool.opdefs.modes import VerifyModes
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.shapes.shape import UNBOUNDED, Shape
from hlotool.verifier.registry import shape_rule

__all__: list[str] = []

_INT64_MAX = (1 << 63) - 1


@shape_rule("T084")
def shape_overflow(shape: Shape, modes: VerifyModes) -> None:
    """Element counts and sizes in bytes fit in signed 64-bit integers.

    Checks: the product of all sizes is less than 2^63, and so is that product times the size of an
    element in bytes.
    """
    for leaf in shape.leaves():
        elements = prod(size for size in leaf.dimensions if size != UNBOUNDED)
        row = ELEMENT_TYPES.get(leaf.element_type)
        size = elements * max(1, row.bits // 8 if row is not None else 1)
        if elements > _INT64_MAX or size > _INT64_MAX:
            what = "elements" if elements > _INT64_MAX else "bytes"
            raise Violation("T084", "shape", f"{leaf.text_without_layout} has more {what} than 64 bits can count")
