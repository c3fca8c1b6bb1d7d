"""W030 and W047: results that may differ from run to run."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.analysis.simplify import binary_root
from hlotool.ir.model import Computation
from hlotool.opdefs.traits import IDEMPOTENT
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []


@module_rule("W030", stage="lint")
def nondeterministic(facts: Facts) -> Iterator[Finding]:
    """The same inputs always produce the same results.

    Checks: there is no rng, since its state is hidden; no scatter or select-and-scatter may add
    several floats to the same element.
    """
    for computation, x in facts.instructions_of("rng"):
        yield Finding("W030", computation, x, "opcode", "'rng' depends on hidden state", "use rng-bit-generator with explicit state")
    for computation, x in facts.instructions_of("scatter", "select-and-scatter"):
        combiner = x.attributes["to_apply" if x.op.name == "scatter" else "scatter"]
        root = binary_root(combiner)
        row = ELEMENT_TYPES.get(root.shape.element_type) if root is not None else None
        adds = root is not None and IDEMPOTENT not in root.op.traits and row is not None and row.kind in ("float", "complex")
        if adds and not x.attributes.get("unique_indices", False):
            yield Finding("W030", computation, x, "opcode", f"'{x.op.name}' adds floats in an order that is not fixed")


@module_rule("W047", stage="lint")
def unstable_sorts(facts: Facts) -> Iterator[Finding]:
    """A sort specifies the order of equal keys.

    Checks: each sort of several operands has `is_stable=true`, or a comparator that does not
    compare only the first operand.
    """
    for computation, x in facts.instructions_of("sort"):
        if len(x.operands) > 1 and not x.attributes.get("is_stable", False) and _compares_only_first(facts, x.attributes["to_apply"]):
            yield Finding("W047", computation, x, "opcode", "the order of equal keys is not specified", "add is_stable=true")


def _compares_only_first(facts: Facts, comparator: Computation) -> bool:
    users = facts.users(comparator)
    return not any(p in users or p is comparator.root for p in comparator.parameters[2:])
