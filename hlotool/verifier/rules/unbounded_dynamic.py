"""T083: sizes without a bound."""

from __future__ import annotations

from hlotool.errors import Violation
from hlotool.opdefs.modes import VerifyModes
from hlotool.shapes.shape import UNBOUNDED, Shape
from hlotool.verifier.registry import shape_rule

__all__: list[str] = []


@shape_rule("T083")
def unbounded_dynamic(shape: Shape, modes: VerifyModes) -> None:
    """No dimension may be unbounded.

    Checks: there is no `?` in a result shape, unless the mode `unbounded_dynamic` allows it.
    """
    if modes.unbounded_dynamic:
        return
    for leaf in shape.leaves():
        if UNBOUNDED in leaf.dimensions:
            raise Violation(
                "T083", "shape", f"{leaf.text_without_layout} has an unbounded dynamic dimension", "give the dimension a bound, such as <=8"
            )
