"""W007 and W045: instructions that return their operand unchanged."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.analysis.simplify import same_value
from hlotool.ir.model import Instruction
from hlotool.opdefs.base import OpDef
from hlotool.opdefs.traits import CONVERTS, ELEMENTWISE, MOVES
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []


@module_rule("W007", stage="lint")
def no_ops(facts: Facts) -> Iterator[Finding]:
    """Each instruction does something.

    Checks: no reshape, bitcast, transpose, convert, broadcast, slice, pad, reverse or concatenate
    returns its operand unchanged, including the layout. For copies, see W008.
    """
    for computation, x in facts.instructions_where(_may_do_nothing):
        source = same_value(x) if "sharding" not in x.attributes and not _is_single_concatenation(x) else None
        if source is not None:
            yield Finding("W007", computation, x, "opcode", f"'{x.op.name}' does nothing: the result is '{source.name}'")


def _may_do_nothing(op: OpDef) -> bool:
    moves = MOVES in op.traits and ELEMENTWISE not in op.traits and op.name != "copy"
    return moves or CONVERTS in op.traits or op.name == "bitcast-convert"


@module_rule("W045", stage="lint")
def single_concatenations(facts: Facts) -> Iterator[Finding]:
    """A concatenation joins at least two arrays.

    Checks: each concatenate has at least two operands.
    """
    for computation, x in facts.instructions_of("concatenate"):
        if _is_single_concatenation(x):
            yield Finding("W045", computation, x, "opcode", f"'concatenate' of one operand: the result is '{x.operands[0].name}'")


def _is_single_concatenation(x: Instruction) -> bool:
    return x.op.name == "concatenate" and len(x.operands) == 1
