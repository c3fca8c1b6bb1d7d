"""S045: constants whose values a dump left out."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []


@module_rule("S045", stage="lint")
def elided_constant(facts: Facts) -> Iterator[Finding]:
    """The values of constants are in the file.

    Checks: no `constant({...})`; reported once for a module, with their number.
    Why: such a module can be verified but neither run nor folded, and XLA invents other values each time it reads it.
    Bad: `c = f32[1000] constant({...})`
    Good: a dump made with --xla_dump_large_constants
    """
    elided = [(computation, x) for computation, x in facts.instructions_of("constant") if x.literal is not None and x.literal.elided]
    if elided:
        computation, x = elided[0]
        more = f", and those of {len(elided) - 1} more" if len(elided) > 1 else ""
        message = f"the values of this constant were left out{more}"
        yield Finding("S045", computation, x, "literal", message, "dump with XLA_FLAGS=--xla_dump_large_constants")
