"""S045: constants whose values were left out of a dump."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []


@module_rule("S045", stage="lint")
def elided_constant(facts: Facts) -> Iterator[Finding]:
    """The values of constants are in the file.

    Checks: there is no `constant({...})`. There is one finding for each module, with the number of
    such constants.
    """
    elided = [(computation, x) for computation, x in facts.instructions_of("constant") if x.literal is not None and x.literal.elided]
    if elided:
        computation, x = elided[0]
        message = "this constant's values are elided ({...})" + (f"; {len(elided) - 1} more like it" if len(elided) > 1 else "")
        yield Finding("S045", computation, x, "literal", message, "dump with XLA_FLAGS=--xla_dump_large_constants")
