"""Prepares modules for runs, once for all runs with the same options."""

from __future__ import annotations

from operator import attrgetter
from typing import Any
from weakref import WeakKeyDictionary

from hlotool.errors import Diagnostic, EvaluationError
from hlotool.interp.engine.memory_estimate import Estimate, estimate, memory_diagnostics
from hlotool.interp.engine.obstacles import obstacles
from hlotool.interp.engine.order import runnable_instructions
from hlotool.interp.engine.program import Programs
from hlotool.interp.failures import failure
from hlotool.interp.run_options import RunOptions
from hlotool.ir.model import Module
from hlotool.ir.notes import Assignments
from hlotool.memo import cached_property

__all__ = ["Prepared", "prepare"]


class Prepared:
    """A module in its current state, prepared for runs with the same options.

    `obstacles` lists everything that prevents a run. `programs` contains the order of instructions,
    their kernels, and the programs of computations, which executors read. `plans` contains the
    plans that `plan.choice` has compiled, by whether they report the instructions that they reach;
    None means that there is no plan, for `reason`. `runs` is the number of runs so far.
    """

    def __init__(self, module: Module, options: RunOptions) -> None:
        self._state = _State(module, options)
        # The module itself would stay alive as long as this object, which belongs to it.
        self.entry = module.entry
        self.options = options
        self.programs = Programs(options)
        self.plans: dict[bool, Any] = {}
        self.reason = ""
        self.runs = 0
        # After a tolerant parse of a source with errors, the module may not be the intended one.
        self.obstacles: list[Diagnostic] = [d for d in module.diagnostics if d.severity == "error"]
        self.obstacles = self.obstacles or obstacles(module, runnable_instructions(options, module.entry), options)

    @cached_property
    def estimate(self) -> Estimate:
        """The memory that a run needs on each device."""
        return estimate(self.entry)

    def check(self, module: Module, devices: int) -> None:
        """Raises EvaluationError if something prevents a run on this number of devices."""
        if self.obstacles:
            raise EvaluationError(self.obstacles)
        limit = self.options.max_memory
        if limit is not None and (diagnostics := memory_diagnostics(module, self.estimate, limit, devices)):
            raise EvaluationError(diagnostics)

    def is_current(self, module: Module, options: RunOptions) -> bool:
        """Returns whether this object applies to the module in its current state."""
        return self.options == options and self._state.is_current(module, options)


class _State:
    """The state of a module, to detect changes."""

    __slots__ = ("_assignment", "_edit_count", "_fields", "_structure")

    def __init__(self, module: Module, options: RunOptions) -> None:
        self._structure = [item.copy() if isinstance(item, list) else item for item in _structure(module, options)]
        self._fields = _fields(module)
        self._edit_count = module.notes.edit_count
        self._assignment = Assignments.last

    def is_current(self, module: Module, options: RunOptions) -> bool:
        # Comparing lists is fast, since `==` does not look into identical elements.
        if self._edit_count != module.notes.edit_count or self._structure != _structure(module, options):
            return False
        if self._assignment is Assignments.last:
            return True
        self._assignment = Assignments.last
        return self._fields == _fields(module)


_FIELDS = attrgetter("op", "shape", "operands", "attributes", "immediate")


def _fields(module: Module) -> list[object]:
    """Returns the contents of the instructions.

    Instructions are immutable, except for these fields.
    """
    return [_FIELDS(x) for computation in module.computations for x in computation.instructions]


def _structure(module: Module, options: RunOptions) -> list[object]:
    """Returns the parts of a module, and the custom-call handlers that it may call."""
    structure: list[object] = [module.entry, module.attributes, *module.diagnostics, dict(options.custom_calls or {})]
    for computation in module.computations:
        structure += (computation.root, computation.instructions)
    return structure


_PREPARED: WeakKeyDictionary[Module, Prepared] = WeakKeyDictionary()


def prepare(module: Module, options: RunOptions) -> Prepared:
    """Prepares a module for runs; returns the same object until the module or the options change.

    Raises EvaluationError for options that are never valid.

    >>> import hlotool
    >>> module = hlotool.parse("ENTRY e { x = f32[1000] parameter(0) ROOT r = f32[1000] negate(x) }")
    >>> prepared = prepare(module, RunOptions())
    >>> prepared.obstacles, prepared.estimate.bytes
    ([], 8000)
    >>> prepare(module, RunOptions()) is prepared
    True
    """
    known = _PREPARED.get(module)
    if known is None or not known.is_current(module, options):
        if type(options.threads) is not int or options.threads < 1:
            raise failure(module, None, "R002", f"the number of threads must be a positive integer, not {options.threads!r}")
        known = _PREPARED[module] = Prepared(module, options)
    return known
