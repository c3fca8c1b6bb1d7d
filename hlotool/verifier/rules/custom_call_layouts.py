"""L019: custom calls that constrain only some layouts."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.shapes.layout import is_implicit_layout
from hlotool.shapes.shape import Shape
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []


@module_rule("L019", stage="module")
def custom_call_layouts(facts: Facts) -> Iterator[Finding]:
    """A custom call that constrains layouts constrains all of them.

    Checks: if a call has `operand_layout_constraints`, and its operands or result have layouts,
    then each constraint and the result have layouts, too (scalars need none). If the text has no
    layouts at all, XLA accepts constraints without layouts.
    """
    for computation, x in facts.instructions_of("custom-call"):
        constraints = x.attributes.get("operand_layout_constraints")
        if constraints is None or not any(_has_layout(shape) for shape in (x.shape, *(operand.shape for operand in x.operands))):
            continue
        for k, constraint in enumerate(constraints):
            if _lacks_layout(constraint):
                at = f"operand_layout_constraints[{k}]"
                yield Finding("L019", computation, x, at, f"constraint {k} has no layout", f"write {constraint.text}")
                break
        else:
            if _lacks_layout(x.shape):
                yield Finding("L019", computation, x, "shape", "the result of a call that constrains layouts has no layout", f"write {x.shape.text}")


def _has_layout(shape: Shape) -> bool:
    return any(leaf.rank and leaf.layout is not None and not is_implicit_layout(leaf.layout, leaf.rank) for leaf in shape.leaves())


def _lacks_layout(shape: Shape) -> bool:
    return any(leaf.rank and is_implicit_layout(leaf.layout, leaf.rank) for leaf in shape.leaves())
