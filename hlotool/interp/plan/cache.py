"""Decides which modules run as plans, and caches the plans.

Compiling a plan takes about as long as running a small module a few times. The `auto` executor
therefore compiles modules with loops or large arrays immediately, and all others when they are
evaluated a second time.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from math import prod
from operator import attrgetter
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from hlotool.interp.failures import failure
from hlotool.interp.plan.errors import CannotPlan
from hlotool.interp.run_options import RunOptions
from hlotool.ir.model import Module
from hlotool.ir.notes import Assignments

if TYPE_CHECKING:
    from hlotool.interp.plan.executor import Plan

__all__ = ["KnownModule", "known_module", "warn_of_fault"]

_LARGE = 1 << 18
"""The number of computed elements above which a plan pays off in the first run."""


class KnownModule:
    """Cached facts about a module in its current state, for runs with the same options.

    `is_checked` is set once it is known that nothing prevents a run on one device.
    """

    __slots__ = ("_assignment", "_fields", "_is_new", "_plans", "_structure", "is_checked", "options", "reason")

    def __init__(self, module: Module, options: RunOptions) -> None:
        self._structure = [item.copy() if isinstance(item, list) else item for item in _structure(module, options)]
        self._fields = _fields(module)
        self._assignment = Assignments.last
        self.options = options
        self.is_checked = False
        self._is_new = True
        self._plans: dict[bool, Plan | None] = {}
        self.reason = ""
        """The reason why there is no plan, or "" if there is no known reason."""

    def applies_to(self, module: Module, options: RunOptions) -> bool:
        """Returns whether these facts apply to the module in its current state."""
        # Comparing lists is fast, since `==` does not look into identical elements.
        if self._structure != _structure(module, options) or self.options != options:
            return False
        if self._assignment is Assignments.last:
            return True
        self._assignment = Assignments.last
        return self._fields == _fields(module)

    def plan(self, module: Module, executor: str, *, is_watched: bool = False) -> Plan | None:
        """Returns the plan for running the module, compiling it if necessary.

        Returns None if the reference executor should run the module.
        """
        is_new, self._is_new = self._is_new, False
        if executor == "reference" or (executor == "auto" and is_new and not _is_large(module)):
            return None
        if is_watched not in self._plans:
            try:
                self._plans[is_watched] = _compile(module, self.options, is_watched=is_watched)
            except CannotPlan as reason:
                self._plans[is_watched] = None
                self.reason = str(reason)
        return self._plans[is_watched]


_KNOWN: WeakKeyDictionary[Module, KnownModule] = WeakKeyDictionary()
_FIELDS = attrgetter("op", "shape", "operands", "attributes", "immediate")


def known_module(module: Module, options: RunOptions) -> KnownModule:
    """Returns the cached facts about a module.

    Starts with no facts if the module has been edited since its last run, or was last run with
    other options. Raises EvaluationError for options that are never valid.
    """
    known = _KNOWN.get(module)
    if known is None or not known.applies_to(module, options):
        if type(options.threads) is not int or options.threads < 1:
            raise failure(module, None, "R002", f"the number of threads must be a positive integer, not {options.threads!r}")
        known = _KNOWN[module] = KnownModule(module, options)
    return known


def _structure(module: Module, options: RunOptions) -> list[object]:
    """Returns the parts of a module, and the custom-call handlers that it may call."""
    structure: list[object] = [module.entry, module.attributes, *module.diagnostics, dict(options.custom_calls or {})]
    for computation in module.computations:
        structure += (computation.root, computation.instructions)
    return structure


def _fields(module: Module) -> list[object]:
    """Returns the contents of the instructions.

    Instructions are immutable, except for these fields, which the Rewriter replaces.
    """
    return [_FIELDS(x) for computation in module.computations for x in computation.instructions]


def _compile(module: Module, options: RunOptions, *, is_watched: bool) -> Plan:
    # Import the compiler on first use, since a small module that runs once does not need it.
    compiler = import_module("hlotool.interp.plan.executor")
    try:
        plan: Plan = compiler.Plan(module, options, is_watched=is_watched)
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
