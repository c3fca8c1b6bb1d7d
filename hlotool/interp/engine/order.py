"""The instructions that a run computes, and their order."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from hlotool.analysis.callgraph import reachable
from hlotool.analysis.effects import has_effect, has_own_effect
from hlotool.interp.kernels.libraries.handlers import handler_of
from hlotool.interp.run_options import RunOptions
from hlotool.ir.model import Computation, Instruction
from hlotool.ir.order import sorted_by_dependencies
from hlotool.memo import Memo
from hlotool.opdefs.traits import CONTROL_FLOW

__all__ = ["dependency_order", "is_unknown", "needed_instructions", "runnable_instructions", "skipped_instructions"]


def dependency_order(computation: Computation) -> list[Instruction]:
    """Returns the instructions, with operands and control predecessors before their users.

    This is the textual order unless an instruction refers to a later one. Raises ValueError for a
    cycle, which only modules with errors can have.
    """
    seen: set[Instruction] = set()
    for x in computation.instructions:
        if not seen.issuperset(x.operands) or not seen.issuperset(x.control_predecessors):
            return sorted_by_dependencies(computation.instructions, lambda x: (*x.operands, *x.control_predecessors))
        seen.add(x)
    return computation.instructions


def skipped_instructions(computation: Computation, options: RunOptions) -> set[Instruction]:
    """Returns the unneeded custom calls that hlotool cannot compute.

    A call is unneeded if it has no effect, and if neither the result of the computation nor any
    effect depends on it. Unneeded instructions that run computations with unknown custom calls are
    included, and so is everything that depends on the instructions left out.

    >>> import hlotool
    >>> module = hlotool.parse('ENTRY e { x = f32[] parameter(0) y = f32[] custom-call(x), custom_call_target="f" ROOT r = f32[] negate(x) }')
    >>> [x.name for x in skipped_instructions(module.entry, RunOptions())]
    ['y']
    """
    unknown = {x for x in computation.instructions if is_unknown(x, options)}
    callers = [x for x in computation.instructions if CONTROL_FLOW in x.op.traits]
    if not unknown and not callers:
        return unknown
    # Many instructions may call the same computation.
    contents = Memo(partial(_contents, options))
    needed: set[Instruction] = set()
    effects = (x for x in computation.instructions if has_own_effect(x) or not (x.op.is_pure or x in unknown))
    _add_needed(needed, computation.root, *effects)
    for x in callers:
        if x in needed:
            continue
        have_effects, are_unknown = contents[x.called]
        if have_effects:
            _add_needed(needed, x)
        elif are_unknown:
            unknown.add(x)
    # One pass finds everything that depends on unknown calls, since operands precede their users.
    dependent: set[Instruction] = set()
    if unknown.issubset(needed):
        return dependent
    for x in dependency_order(computation):
        if x not in needed and (x in unknown or not dependent.isdisjoint(x.operands)):
            dependent.add(x)
    return dependent


def _contents(options: RunOptions, computations: tuple[Computation, ...]) -> tuple[bool, bool]:
    """Returns whether computations and their callees have effects, and have unknown calls."""
    called = [x for computation in reachable(computations) for x in computation.instructions]
    return any(has_effect(x, set()) for x in called), any(is_unknown(x, options) for x in called)


def runnable_instructions(options: RunOptions, *starts: Computation) -> Iterator[Instruction]:
    """Yields the instructions that a run computes, in these computations and all their callees."""
    stack = list(dict.fromkeys(starts))
    seen = set(stack)
    while stack:
        computation = stack.pop()
        unknown = skipped_instructions(computation, options)
        for x in computation.instructions:
            if x not in unknown:
                yield x
                fresh = [called for called in x.called if called not in seen]
                seen.update(fresh)
                stack += fresh


def is_unknown(x: Instruction, options: RunOptions) -> bool:
    """Returns whether an instruction is a custom call that hlotool cannot compute."""
    return x.opcode == "custom-call" and handler_of(x.attributes["custom_call_target"], options) is None


def needed_instructions(*roots: Instruction) -> set[Instruction]:
    """Returns these instructions and all instructions that they are computed from."""
    needed: set[Instruction] = set()
    _add_needed(needed, *roots)
    return needed


def _add_needed(needed: set[Instruction], *roots: Instruction) -> None:
    """Adds instructions to a set, and all instructions that they are computed from."""
    stack = [x for x in roots if x not in needed]
    needed.update(stack)
    while stack:
        fresh = [operand for operand in stack.pop().operands if operand not in needed]
        needed.update(fresh)
        stack += fresh
