"""Which instructions do more than compute a value, so that nobody may drop, repeat or share them.

As XLA's HasSideEffect, with what starts and ends asynchronous work; nothing here judges.
"""

from __future__ import annotations

from hlotool.ir.model import Computation, Instruction, Module

__all__ = ["computations_with_effects", "has_effect"]

_EFFECTS = frozenset(
    "send send-done recv recv-done rng rng-get-and-update-state infeed outfeed all-reduce-start all-reduce-done all-gather-start all-gather-done"
    " collective-permute-start collective-permute-done async-start async-update async-done copy-start copy-done domain".split()
)
_COLLECTIVES = frozenset(
    "all-gather all-reduce all-to-all collective-broadcast collective-permute ragged-all-to-all reduce-scatter partition-id replica-id".split()
)
_MAY_HAVE_EFFECTS = _EFFECTS | _COLLECTIVES | {"custom-call"}


def computations_with_effects(module: Module) -> set[Computation]:
    """The computations in which something with an effect stands, directly or in what they call.

    >>> from hlotool.text.parse.parser import parse
    >>> module = parse("ENTRY e { t = token[] after-all() ROOT i = (f32[], token[]) infeed(t) }")
    >>> module.entry in computations_with_effects(module)
    True
    """
    found: set[Computation] = set()
    # Computations are defined before they are called, so one pass in textual order is enough.
    for computation in module.computations:
        # Few can have an effect at all, and these loops run over every instruction of a module.
        doubtful = [x for x in computation.instructions if x.op.name in _MAY_HAVE_EFFECTS or x.op.calls]
        if any(has_effect(x, found) for x in doubtful):
            found.add(computation)
    return found


def has_effect(x: Instruction, computations: set[Computation]) -> bool:
    """Whether the instruction has an effect, given the computations that have one.

    >>> from hlotool.text.parse.parser import parse
    >>> [has_effect(x, set()) for x in parse("ENTRY e { t = token[] after-all() ROOT i = (f32[], token[]) infeed(t) }").entry.instructions]
    [False, True]
    """
    opcode = x.op.name
    if opcode in _EFFECTS:
        return True
    if opcode == "custom-call" and x.attributes.get("custom_call_has_side_effect", False):
        return True
    if opcode in _COLLECTIVES and x.attributes.get("constrain_layout", False):
        return True
    return any(called in computations for called in x.called)
