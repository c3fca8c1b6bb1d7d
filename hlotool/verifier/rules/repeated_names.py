"""S004: instruction names used in several computations."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.opdefs.inference import count
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []


@module_rule("S004", stage="lint")
def repeated_names(facts: Facts) -> Iterator[Finding]:
    """Each instruction name is used only once in a module.

    Checks: no name is used in two computations. There is one finding for each module, at the first
    repetition.
    """
    seen: dict[str, str] = {}
    first = None
    repeated = set()
    for computation in facts.module.computations:
        name = computation.name
        for x in computation.instructions:
            if seen.setdefault(x.name, name) is not name and x.start >= 0:
                first = first or (computation, x)
                repeated.add(x.name)
    if first is not None:
        computation, x = first
        others = len(repeated) - 1
        more = f"; {count(others, 'other name')} {'is' if others == 1 else 'are'} also repeated" if others else ""
        message = f"instruction name '{x.name}' is also used in computation '{seen[x.name]}'{more}"
        yield Finding("S004", computation, x, "instruction", message, "XLA renames one of them when it reads the module")
