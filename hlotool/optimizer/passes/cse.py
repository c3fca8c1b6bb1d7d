"""Common subexpression elimination: merges equal instructions, and equal computations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hlotool.analysis.value_numbers import ComputationClasses
from hlotool.ir.model import Computation, Instruction
from hlotool.ir.walk import fusion_computations
from hlotool.opdefs.inference import kind_of
from hlotool.opdefs.table import OPS
from hlotool.opdefs.traits import COMMUTATIVE
from hlotool.optimizer.context import Context

__all__ = ["equal_instructions", "merge_computations", "merge_instructions"]

_COMMUTATIVE = frozenset(op for op in OPS.values() if COMMUTATIVE in op.traits)


def merge_instructions(context: Context) -> bool:
    """op(a, b), op(a, b) -> one of them, if opcode, shape, attributes and operands are equal

    Operands of commutative operations may be swapped, except for those of complex products: with
    swapped operands, processors that fuse a multiplication and an addition would round differently.
    """
    before, start, changed = context.report.count, context.rewriter.change_count, context.changed_computations("cse")
    context.rewriter.flush()
    keys = _Keys(context)
    for computation in changed:
        _merge(context, computation, keys)
    context.mark_finished("cse", start)
    return context.report.count > before


def _merge(context: Context, computation: Computation, keys: _Keys) -> None:
    rewriter = context.rewriter
    for x, first in _equal_pairs(context, computation, keys):
        if not context.allows("cse", x, (first,)):
            return
        rewriter.replace_all_uses(x, first)
        rewriter.erase(x)


def _equal_pairs(context: Context, computation: Computation, keys: _Keys) -> Iterator[tuple[Instruction, Instruction]]:
    """Yields pairs of an instruction and the first instruction that computes the same value.

    The caller may replace operands before it requests the next pair.
    """
    # Most instructions share their opcode, operands and literal with no other instruction, so their
    # complete keys are not computed.
    known: dict[Any, Instruction | dict[Any, Instruction]] = {}
    for x in context.instructions(computation):
        if x.op.may_have_effect and context.has_effect(x):
            continue
        operands: Sequence[Instruction] = x.operands
        if x.op in _COMMUTATIVE and not (x.op.name == "multiply" and kind_of(x.shape.element_type) == "complex"):
            operands = tuple(sorted(operands, key=id))
        outline = (x.op, x.immediate, operands)
        other = known.get(outline)
        if other is None:
            known[outline] = x
            continue
        if isinstance(other, Instruction):
            other = known[outline] = {keys.of(other): other}
        if (first := other.setdefault(keys.of(x), x)) is not x:
            yield x, first


def equal_instructions(context: Context) -> dict[Instruction, Instruction]:
    """Maps each redundant instruction to the first one that computes the same value.

    Instructions that would be equal only after merging their operands are left out.
    """
    keys = _Keys(context)
    return {x: first for computation in context.computations() for x, first in _equal_pairs(context, computation, keys)}


class _Keys:
    """Keys that are equal for instructions that compute the same value.

    The instructions must have the same opcode, operands and literal.
    """

    def __init__(self, context: Context) -> None:
        self._freeze = ComputationClasses(context.module).freeze

    def of(self, x: Instruction) -> Any:
        # An instruction whose value may differ each time counts as having an effect, and never gets
        # here.
        if x.op.name == "constant" and x.immediate.elided:
            return x
        return (x.shape, self._freeze(x.attributes) if x.attributes else None, x.backend_config, x.control_predecessors)


def merge_computations(context: Context) -> bool:
    """f, g -> f, if they differ only in names and metadata

    Callers of g call f instead.
    """
    before = context.report.count
    context.rewriter.flush()
    kept = _kept_computations(context)
    # A conditional may call thousands of equal branches, so each caller is changed only once.
    callers = dict.fromkeys(caller for computation in kept for caller in context.rewriter.callers(computation))
    for caller in callers:
        new = {called: kept[called] for called in caller.called if called in kept}
        if context.allows("dedup", caller, tuple(f"calls {g.name} instead of {f.name}" for f, g in new.items())):
            context.rewriter.update(caller, attributes={name: _replaced(value, new) for name, value in caller.attributes.items()})
    return context.report.count > before


def _kept_computations(context: Context) -> dict[Computation, Computation]:
    """Maps each redundant computation to an equal one that can be called instead."""
    module, classes = context.module, ComputationClasses(context.module).first
    # Each fusion and each asynchronous operation must have its own computation.
    separate = {module.entry, *fusion_computations(module), *module.hidden}
    kept: dict[Computation, Computation] = {}
    first: dict[Computation, Computation] = {}
    for computation in module.computations:
        if computation in separate or context.is_started(computation):
            continue
        other = first.setdefault(classes[computation], computation)
        if other is not computation and context.is_optimized(computation):
            kept[computation] = other
    return kept


def _replaced(value: Any, new: dict[Computation, Computation]) -> Any:
    if isinstance(value, Computation):
        return new.get(value, value)
    if isinstance(value, tuple):
        return tuple([new.get(part, part) for part in value])
    return value
