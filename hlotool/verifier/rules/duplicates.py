"""W004 and W005: duplicate computations and instructions."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.analysis.value_numbers import value_numbers
from hlotool.ir.model import Computation, Instruction
from hlotool.opdefs.inference import count
from hlotool.opdefs.traits import CHEAP
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []


@module_rule("W004", stage="lint")
def equal_computations(facts: Facts) -> Iterator[Finding]:
    """Each computation is written only once.

    Checks: no two computations are equal up to names and metadata. There is one finding for each
    group of equal computations.
    """
    groups: dict[Computation, list[Computation]] = {}
    for computation, first in facts.classes.first.items():
        if computation is not first and computation is not facts.module.entry and computation not in facts.module.hidden:
            groups.setdefault(first, []).append(computation)
    for first, others in groups.items():
        subject = f"'{others[0].name}' is" if len(others) == 1 else f"'{others[0].name}' and {count(len(others) - 1, 'other')} are"
        message = f"{subject} the same as computation '{first.name}'"
        yield Finding("W004", others[0], None, max(0, others[0].start), message, others=tuple(others[1:]))


@module_rule("W005", stage="lint")
def equal_instructions(facts: Facts) -> Iterator[Finding]:
    """Each value is computed only once.

    Checks: no two instructions of a computation have equal opcodes, operands and attributes, unless
    they have effects. Constants and other cheap instructions are not reported.
    """
    for computation in facts.module.computations:
        first: dict[int, Instruction] = {}
        for x, number in value_numbers(computation, facts.classes.freeze).items():
            other = first.setdefault(number, x)
            if other is not x and CHEAP not in x.op.traits and not facts.has_effect(x):
                yield Finding("W005", computation, x, "name", f"'{x.name}' computes the same value as '{other.name}'")
