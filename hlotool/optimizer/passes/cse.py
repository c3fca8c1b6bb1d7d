"""Common subexpressions: equal instructions become one, and equal computations, too."""

from __future__ import annotations

from typing import Any

from hlotool.analysis.value_numbers import ComputationClasses
from hlotool.ir.model import Computation, Instruction
from hlotool.ir.walk import fusion_computations
from hlotool.literals.data import decode
from hlotool.opdefs.traits import COMMUTATIVE
from hlotool.optimizer.context import Context
from hlotool.shapes.literal import Literal

__all__ = ["equal_instructions", "merge_computations", "merge_instructions"]

# Longer texts are only equal if they have the same spelling; decoding them would take longer than the rest.
_LONGEST_LITERAL = 20_000


def merge_instructions(context: Context) -> bool:
    """op(a, b), op(a, b) -> one of them, if opcode, shape, attributes and operands are equal. Operands of commutative operations may be swapped."""
    before = context.report.count
    context.rewriter.flush()
    keys = _Keys(context)
    for computation in context.computations():
        _merge(context, computation, keys)
    return context.report.count > before


def _merge(context: Context, computation: Computation, keys: _Keys) -> None:
    rewriter = context.rewriter
    known: dict[Any, Instruction] = {}
    for x in context.instructions(computation):
        if context.has_effect(x):
            continue
        first = known.setdefault(keys.of(x), x)
        if first is x:
            continue
        if not context.allows("cse", x, (first,)):
            return
        rewriter.replace_all_uses(x, first)
        rewriter.erase(x)


def equal_instructions(context: Context) -> dict[Instruction, Instruction]:
    """For each instruction that computes the same as one before it, the first of these; without those that are equal only once operands are one."""
    keys, equal = _Keys(context), dict[Instruction, Instruction]()
    for computation in context.computations():
        first: dict[Any, Instruction] = {}
        for x in context.instructions(computation):
            if x.op.name != "parameter" and not context.has_effect(x) and (other := first.setdefault(keys.of(x), x)) is not x:
                equal[x] = other
    return equal


class _Keys:
    """Keys of instructions, which are equal for those that compute the same."""

    def __init__(self, context: Context) -> None:
        self._frozen = ComputationClasses(context.module).frozen
        # By identity. The literals are kept, so that no other one gets their id.
        self._literals: dict[int, tuple[Any, Literal]] = {}

    def of(self, x: Instruction) -> Any:
        # What gives another value each time has an effect, and is not asked about.
        immediate = x.immediate
        if isinstance(immediate, Literal):
            if immediate.elided:
                return x
            immediate = self._literal(immediate)
        operands = tuple([id(y) for y in x.operands])
        if COMMUTATIVE in x.op.traits:
            operands = tuple(sorted(operands))
        return (
            x.op.name,
            x.shape,
            operands,
            immediate,
            self._frozen(x.attributes) if x.attributes else None,
            x.backend_config,
            x.control_predecessors,
        )

    def _literal(self, literal: Literal) -> Any:
        key = self._literals.get(id(literal))
        if key is None:
            # A short text may stand for many elements, most of which are 0 then.
            is_short = not literal.shape.is_tuple and max(len(literal.text), literal.element_count) <= _LONGEST_LITERAL
            key = self._literals[id(literal)] = (decode(literal) if is_short else literal, literal)
        return key[0]


def merge_computations(context: Context) -> bool:
    """f, g -> f, if they differ in names and metadata only: callers of g call f."""
    before = context.report.count
    rewriter, module = context.rewriter, context.module
    rewriter.flush()
    first = ComputationClasses(module).first
    # Each fusion has a computation of its own, and what is started asynchronously must not be called.
    started = {f for f in rewriter.computations() if any(caller.op.is_asynchronous for caller in rewriter.callers(f))}
    alone = started.union(fusion_computations(module))
    for computation in context.computations():
        other = first[computation]
        if other is computation or computation in alone or other in alone:
            continue
        for caller in rewriter.callers(computation):
            if context.allows("dedup", caller, (f"calls {other.name} instead of {computation.name}",)):
                rewriter.update(caller, attributes={name: _replaced(value, computation, other) for name, value in caller.attributes.items()})
    return context.report.count > before


def _replaced(value: Any, old: Computation, new: Computation) -> Any:
    if value is old:
        return new
    return tuple(new if part is old else part for part in value) if isinstance(value, tuple) else value
