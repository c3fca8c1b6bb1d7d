"""W038 and W052: reductions of single or equal elements."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from hlotool.analysis.simplify import binary_root
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []


@module_rule("W038", "W052", stage="lint")
def reductions(facts: Facts) -> Iterator[Finding]:
    """A reduction combines different values.

    Checks: no reduce is over no dimension or only over dimensions of size 1 (W038); no reduce
    combines only the copies of elements that a broadcast makes (W052).
    """
    for computation, x in facts.instructions_of("reduce"):
        reduced, source = x.attributes["dimensions"], x.operands[0]
        copies = prod(source.shape.dimensions[k] for k in reduced)
        if copies == 1:
            what = "no dimension" if not reduced else "a dimension of size 1" if len(reduced) == 1 else "dimensions of size 1"
            yield Finding("W038", computation, x, "dimensions", f"'reduce' over {what} is a reshape")
        elif source.op.name == "broadcast" and len(x.operands) == 2 and not set(reduced) & set(source.attributes.get("dimensions", ())):
            root = binary_root(x.attributes["to_apply"])
            what = {"add": "sum", "multiply": "product"}.get(root.op.name, root.op.name) if root is not None else "reduction"
            yield Finding("W052", computation, x, "opcode", f"{what} of {copies} copies of '{source.operands[0].name}'")
