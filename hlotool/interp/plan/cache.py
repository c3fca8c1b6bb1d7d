"""Which modules are run by plans, and the plans of modules that are evaluated again.

Compiling a plan takes about as long as running a small module a few times, so `auto` compiles one only when it pays: for loops and large arrays at
once, for others when they are evaluated a second time.
"""

from __future__ import annotations

from itertools import chain
from math import prod
from operator import attrgetter, is_
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from hlotool.interp.options import RunOptions
from hlotool.interp.plan.errors import CannotPlan
from hlotool.ir.model import Module
from hlotool.opdefs.traits import COMMUNICATES

if TYPE_CHECKING:
    from hlotool.interp.plan.plan import Plan

__all__ = ["plan_for"]

_LARGE = 1 << 18
"""The number of elements that a module computes from which on a plan pays at once."""


class _Entry:
    """What is known about a module: how it was when it was last evaluated, and its plan, None if there is none yet or cannot be one."""

    __slots__ = ("options", "plan", "state")

    def __init__(self, state: list[object], options: RunOptions) -> None:
        self.state = state
        self.options = options
        self.plan: Plan | None = None


_ENTRIES: WeakKeyDictionary[Module, _Entry] = WeakKeyDictionary()


def plan_for(module: Module, options: RunOptions, executor: str) -> Plan | None:
    """The plan to run a module with; None if the reference executor shall do it."""
    if executor == "reference":
        return None
    state = _state(module)
    entry = _ENTRIES.get(module)
    if entry is not None and _is_same(entry.state, state) and entry.options == options:
        if entry.plan is not None:
            return entry.plan
        is_known = True
    else:
        entry = _ENTRIES[module] = _Entry(state, options)
        is_known = False
    if executor == "auto" and not is_known and not _is_large(module):
        return None
    if any(COMMUNICATES in x.op.traits for x in module.all_instructions()):
        return None
    # On use, since a small module that is run once needs no compiler.
    from hlotool.interp.plan.plan import Plan  # noqa: PLC0415

    try:
        entry.plan = Plan(module, options)
    except CannotPlan:
        return None
    return entry.plan


_FIELDS = attrgetter("op", "shape", "operands", "attributes", "immediate")


def _state(module: Module) -> list[object]:
    """The objects that a module consists of; those of instructions are immutable, and are replaced when the module is edited."""
    state: list[object] = [module.entry]
    for computation in module.computations:
        state.append(computation.root)
        state += computation.instructions
        state += chain.from_iterable(map(_FIELDS, computation.instructions))
    return state


def _is_same(one: list[object], other: list[object]) -> bool:
    return len(one) == len(other) and all(map(is_, one, other))


def _is_large(module: Module) -> bool:
    total = 0
    for x in module.all_instructions():
        if x.opcode == "while":
            return True
        total += sum(prod(leaf.dimensions) for leaf in x.shape.leaves() if leaf.is_array)
        if total > _LARGE:
            return True
    return False
