"""Finds the instructions with side effects, which must not be removed, duplicated or merged.

These are the instructions for which XLA's HasSideEffect is true, and also the start, update and
done instructions of asynchronous operations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hlotool.ir.model import Computation, Instruction, Module
from hlotool.opdefs.traits import EFFECT

__all__ = ["computations_with_effects", "has_effect", "has_own_effect", "select_with_effects"]


def computations_with_effects(module: Module) -> set[Computation]:
    """Returns the computations that contain an instruction with a side effect.

    Computations that call such a computation are included.

    >>> from hlotool.text.parse.parser import parse
    >>> module = parse("ENTRY e { t = token[] after-all() ROOT i = (f32[], token[]) infeed(t) }")
    >>> module.entry in computations_with_effects(module)
    True
    """
    return select_with_effects((computation, computation.instructions) for computation in module.computations)


def select_with_effects(computations: Iterable[tuple[Computation, Sequence[Instruction]]]) -> set[Computation]:
    """Returns the given computations that contain an instruction with a side effect.

    As in `computations_with_effects`, callers of such computations are included. Each computation
    is given with its instructions, and must come after the computations that it calls.
    """
    with_effects: set[Computation] = set()
    for computation, instructions in computations:
        for x in instructions:
            if x.op.may_have_effect and has_effect(x, with_effects):
                with_effects.add(computation)
                break
    return with_effects


def has_own_effect(x: Instruction) -> bool:
    """Returns whether the instruction itself has a side effect.

    This is XLA's HasSideEffectNoRecurse, which does not count asynchronous operations.

    >>> from hlotool.text.parse.parser import parse
    >>> [has_own_effect(x) for x in parse("ENTRY e { t = token[] after-all() ROOT i = (f32[], token[]) infeed(t) }").entry.instructions]
    [False, True]
    """
    if EFFECT in x.op.traits:
        return True
    flag = x.op.effect_if
    return flag is not None and bool(x.attributes.get(flag, False))


def has_effect(x: Instruction, computations: set[Computation]) -> bool:
    """Returns whether an instruction has a side effect, given all computations with side effects.

    >>> from hlotool.text.parse.parser import parse
    >>> [has_effect(x, set()) for x in parse("ENTRY e { t = token[] after-all() ROOT i = (f32[], token[]) infeed(t) }").entry.instructions]
    [False, True]
    """
    # Only a few opcodes can have a side effect.
    if not x.op.may_have_effect:
        return False
    return has_own_effect(x) or x.op.is_asynchronous or any(called in computations for called in x.called)
