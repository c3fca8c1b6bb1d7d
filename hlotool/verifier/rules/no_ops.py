"""W007 and W045: instructions that give back what they take."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hlotool.ir.model import Instruction
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []


@module_rule("W007", stage="lint")
def no_ops(facts: Facts) -> Iterator[Finding]:
    """Each instruction does something.

    Checks: reshapes, bitcasts, transposes, converts, broadcasts, slices, pads, reverses and concatenations whose result is their operand,
    layout included. Copies are another rule's.
    Why: the reader looks for a difference that is not there; a compiler removes it.
    Bad: `r = f32[4] reshape(p)` of f32[4]
    Good: p in place of r
    """
    for computation, x in facts.instructions_of(*_KEEPS):
        if x.operands[0].shape == x.shape and _KEEPS[x.op.name](x) and "sharding" not in x.attributes:
            yield Finding("W007", computation, x, "opcode", f"'{x.op.name}' does nothing: this is '{x.operands[0].name}'")


@module_rule("W045", stage="lint")
def single_concatenations(facts: Facts) -> Iterator[Finding]:
    """A concatenation joins at least two arrays.

    Checks: concatenate with one operand.
    Why: it copies an array, or does nothing at all.
    Bad: `concatenate(p), dimensions={0}`
    Good: p
    """
    for computation, x in facts.instructions_of("concatenate"):
        if len(x.operands) == 1:
            yield Finding("W045", computation, x, "opcode", f"one operand only: this is '{x.operands[0].name}'")


def _in_order(x: Instruction) -> bool:
    return tuple(x.attributes.get("dimensions", ())) == tuple(range(x.shape.rank))


def _always(x: Instruction) -> bool:
    return True


_KEEPS: dict[str, Callable[[Instruction], bool]] = {
    "reshape": _always,
    "bitcast": _always,
    "convert": _always,
    "bitcast-convert": _always,
    "transpose": _in_order,
    "broadcast": _in_order,
    # All of an array, since the sizes are the same.
    "slice": lambda x: all(part.start == 0 and part.stride == 1 for part in x.attributes["slice"]),
    "pad": lambda x: all(not (part.low or part.high or part.interior) for part in x.attributes["padding"]),
    "reverse": lambda x: all(x.shape.dimensions[k] == 1 for k in x.attributes["dimensions"]),
    "concatenate": lambda x: len(x.operands) > 1 and sum(operand.shape == x.shape for operand in x.operands) == 1,
}
"""By opcode, whether an instruction whose result is shaped like its operand keeps the values."""
