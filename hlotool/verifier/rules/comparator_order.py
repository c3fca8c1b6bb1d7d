"""C028: sort comparators."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.analysis.simplify import binary_root
from hlotool.ir.model import Computation
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []


@module_rule("C028", stage="lint")
def comparator_order(facts: Facts) -> Iterator[Finding]:
    """A sort comparator returns false for equal elements.

    Checks: a comparator that consists of a single compare has the direction LT or GT.
    """
    seen: set[Computation] = set()
    for _, x in facts.instructions_of("sort"):
        called: Computation = x.attributes["to_apply"]
        root = binary_root(called)
        if called in seen or root is None or root.op.name != "compare":
            continue
        seen.add(called)
        direction = root.attributes["direction"]
        if direction not in ("LT", "GT"):
            message = f"the comparator is not a strict weak order: direction={direction}"
            yield Finding("C028", called, root, "direction", message, "use LT for ascending and GT for descending order")
