"""Decides which modules run as plans, and keeps the plans.

Compiling a plan takes about as long as running a small module a few times. The `auto` executor
therefore compiles modules with loops or large arrays immediately, and all others when they are
evaluated a second time.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from math import prod
from typing import TYPE_CHECKING

from hlotool.interp.engine.preparation import Prepared
from hlotool.interp.plan.errors import CannotPlan
from hlotool.ir.model import Module

if TYPE_CHECKING:
    from hlotool.interp.plan.executor import Plan

__all__ = ["plan_for", "warn_of_fault"]

_LARGE = 1 << 18
"""The number of computed elements above which a plan pays off in the first run."""


def plan_for(prepared: Prepared, module: Module, executor: str, *, is_watched: bool = False) -> Plan | None:
    """Returns the plan for running a prepared module, compiling it if necessary.

    Returns None if the reference executor should run the module.
    """
    is_new = not prepared.runs
    prepared.runs += 1
    if executor == "reference" or (executor == "auto" and is_new and not _is_large(module)):
        return None
    if is_watched not in prepared.plans:
        try:
            prepared.plans[is_watched] = _compile(module, prepared, is_watched=is_watched)
        except CannotPlan as reason:
            prepared.plans[is_watched] = None
            prepared.reason = str(reason)
    plan: Plan | None = prepared.plans[is_watched]
    return plan


def _compile(module: Module, prepared: Prepared, *, is_watched: bool) -> Plan:
    # Import the compiler on first use, since a small module that runs once does not need it.
    compiler = import_module("hlotool.interp.plan.executor")
    try:
        plan: Plan = compiler.Plan(prepared.entry, prepared.programs, is_watched=is_watched)
    except CannotPlan:
        raise
    except MemoryError:
        raise CannotPlan("there is not enough memory to compile the module") from None
    except Exception as error:
        warn_of_fault(module, repr(error))
        raise CannotPlan(f"the compiler failed: {error!r}") from error
    return plan


def warn_of_fault(module: Module, reason: str) -> None:
    """Warns that the plan compiler failed, and that the reference executor takes over."""
    message = f"hlotool cannot compile module '{module.name}' and runs it instruction by instruction; please report this: {reason}"
    warnings.warn(message, RuntimeWarning, stacklevel=2)


def _is_large(module: Module) -> bool:
    total = 0
    for x in module.all_instructions():
        if x.opcode == "while":
            return True
        total += sum(prod(leaf.dimensions) for leaf in x.shape.leaves() if leaf.is_array)
        if total > _LARGE:
            return True
    return False
