"""T019: broadcasts that also transpose."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []


@module_rule("T019", stage="module")
def broadcast_order(facts: Facts) -> Iterator[Finding]:
    """The dimensions of a broadcast are sorted.

    Checks: `dimensions` of broadcast is in ascending order. A violation is an error in the mode
    `broadcast_dimensions_sorted`, and a warning otherwise.
    """
    severity = "error" if facts.modes.broadcast_dimensions_sorted else None
    for computation, x in facts.instructions_of("broadcast"):
        dimensions = x.attributes.get("dimensions", ())
        if any(a > b for a, b in pairwise(dimensions)):
            message = "dimensions are not sorted, so this broadcast also transposes"
            yield Finding("T019", computation, x, "dimensions value", message, "split it into a transpose and a broadcast", severity=severity)
