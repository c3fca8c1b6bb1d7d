"""L023: modules in which only some all-reduces constrain their layouts."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []


@module_rule("L023", stage="module")
def constrained_all_reduces(facts: Facts) -> Iterator[Finding]:
    """Either all or none of the all-reduces of a module constrain their layouts.

    Checks: all instances of all-reduce and all-reduce-start have the same `constrain_layout`.
    """
    calls = facts.instructions_where(lambda op: "all-reduce" in (op.name, op.start_of))
    constrained = next((call for call in calls if call[1].attributes.get("constrain_layout", False)), None)
    free = next((x for _, x in calls if not x.attributes.get("constrain_layout", False)), None)
    if constrained is not None and free is not None:
        message = f"'{constrained[1].name}' has constrain_layout=true, but '{free.name}' does not"
        yield Finding("L023", *constrained, "constrain_layout", message)
