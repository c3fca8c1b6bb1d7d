"""The state of a Rewriter: uses, the order of instructions, names, changed computations; and the methods that query them.

Insertions and moves go to linked lists. `flush` writes them to the computations, `finish` makes the module consistent.
"""

from __future__ import annotations

from collections.abc import Iterable

from hlotool.errors import EditError, InternalError
from hlotool.ir.header import fitted_header
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.ir.names import NameTable
from hlotool.ir.order import LinkedOrder, sorted_by_dependencies
from hlotool.ir.places import Places
from hlotool.ir.uses import Uses
from hlotool.ir.walk import is_fusion_computation

__all__ = ["EditState"]


class EditState:
    """The module that is being edited, and tables about its instructions."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.remarks: list[str] = []
        self._uses = Uses.of_module(module)
        self._places: Places[Instruction] = Places()
        self._orders: dict[Computation, LinkedOrder[Instruction]] = {}
        self._changed: dict[Computation, None] = {}
        # Computations that are still in the module's list, from which `flush` removes all of them at once.
        self._erased: set[Computation] = set()
        self._calls_changed = False
        self._names: NameTable | None = None
        self._computation_names: NameTable | None = None

    # ---- queries ------------------------------------------------------------------------------------------------------

    def users(self, x: Instruction) -> tuple[Instruction, ...]:
        """The instructions that take `x` as an operand, each once."""
        return tuple(self._uses.users.get(x, ()))

    def user_count(self, x: Instruction) -> int:
        """The number of `users`, which are not listed for it."""
        return len(self._uses.users.get(x, ()))

    def use_count(self, x: Instruction) -> int:
        """The number of operands that are `x`; a user that takes it twice counts twice."""
        return sum(self._uses.users.get(x, {}).values())

    def control_successors(self, x: Instruction) -> tuple[Instruction, ...]:
        """The instructions that name `x` as a control predecessor."""
        return tuple(self._uses.successors.get(x, ()))

    def has_control_edges(self, x: Instruction) -> bool:
        """Whether `x` has control predecessors or successors."""
        return "control-predecessors" in x.attributes or x in self._uses.successors

    @property
    def has_control_dependencies(self) -> bool:
        """Whether any instruction of the module has control predecessors."""
        return bool(self._uses.successors)

    def callers(self, computation: Computation) -> tuple[Instruction, ...]:
        """The instructions that call a computation, each once."""
        return tuple(self._uses.callers.get(computation, ()))

    def caller_count(self, computation: Computation) -> int:
        """The number of `callers`, which are not listed for it."""
        return len(self._uses.callers.get(computation, ()))

    def is_only_caller(self, x: Instruction, computation: Computation) -> bool:
        """Whether nothing but `x` calls a computation."""
        callers = self._uses.callers.get(computation, {})
        return len(callers) == 1 and x in callers

    def computations(self) -> list[Computation]:
        """The computations of the module in order, without those that have been erased and not flushed."""
        return [computation for computation in self.module.computations if computation not in self._erased]

    def __contains__(self, x: object) -> bool:
        """Whether an instruction is in the module, and has not been erased."""
        return x in self._uses.owners

    def owner(self, x: Instruction) -> Computation:
        """The computation of an instruction. Raises EditError when it is not in the module."""
        owner = self._uses.owners.get(x)
        if owner is None:
            raise EditError(f"'{x.name}' is not in the module")
        return owner

    def is_root(self, x: Instruction) -> bool:
        """Whether `x` is the root of its computation."""
        return self.owner(x).root is x

    def is_used(self, x: Instruction) -> bool:
        """Whether `x` has users or control successors, or is the root."""
        uses = self._uses
        return x in uses.users or x in uses.successors or self.owner(x).root is x

    def instructions(self, computation: Computation) -> list[Instruction]:
        """The instructions of a computation in order, including changes that have not been flushed."""
        order = self._orders.get(computation)
        return list(computation.instructions if order is None else order)

    @property
    def change_count(self) -> int:
        """The number of changes so far, to pass to `changed_since`."""
        return len(self._uses.changes)

    def changed_since(self, count: int) -> dict[Instruction, int]:
        """The instructions in the module that have been inserted, or whose fields, users or control edges have changed, since `count` changes.

        With each comes the number of its last change, which is at least `count`.
        """
        owners, changes = self._uses.owners, self._uses.changes
        # Most instructions change several times, so that looking at each of them once takes less time.
        last = dict(zip(changes[count:], range(count, len(changes)), strict=True))
        return {x: number for x, number in last.items() if x in owners}

    # ---- flush and finish ---------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Writes insertions, moves and removals to the module and its computations."""
        if self._erased:
            self.module.computations[:] = self.computations()
            self._erased.clear()
        for computation, order in self._orders.items():
            computation.instructions = list(order)
            if computation.root is None and computation.instructions:
                computation.root = computation.instructions[-1]
        self._orders.clear()

    def finish(self) -> None:
        """Makes the module consistent: definitions come before uses, callees before callers, and the header fits the entry.

        The order of a scheduled module is not changed. Raises EditError when such a module has an instruction before one that it depends
        on, when instructions or computations form a cycle, and when a computation is empty.
        """
        self.flush()
        for computation in self._changed:
            if not computation.instructions:
                raise EditError(f"computation '{computation.name}' has no instructions")
            self._sort_instructions(computation)
        if self._calls_changed:
            self._remove_uncalled_wrappers()
            self._sort_computations()
        if self.module.entry in self._changed:
            self.module.attributes, remarks = fitted_header(self.module.attributes, self.module.entry.program_shape)
            self.remarks += remarks
        self._changed.clear()
        self._calls_changed = False

    def check(self) -> None:
        """Compares the use tables with newly computed ones. Raises InternalError when they differ, which is a bug in hlotool."""
        self.flush()
        difference = next(self._uses.differences(Uses.of_module(self.module)), None)
        if difference is not None:
            raise InternalError(f"the use tables of the Rewriter are wrong: {difference}")

    def _sort_instructions(self, computation: Computation) -> None:
        seen: set[Instruction] = set()
        for x in computation.instructions:
            if not (seen.issuperset(x.operands) and seen.issuperset(x.control_predecessors)):
                break
            seen.add(x)
        else:
            return
        if self.module.is_scheduled and not is_fusion_computation(self.callers(computation)):
            raise EditError(f"'{x.name}' is scheduled before an instruction that it depends on; move it")
        try:
            computation.instructions = sorted_by_dependencies(computation.instructions, lambda x: (*x.operands, *x.control_predecessors))
        except ValueError as error:
            raise EditError(str(error)) from None

    def _sort_computations(self) -> None:
        calls: dict[Computation, list[Computation]] = {}
        for called, callers in self._uses.callers.items():
            for caller in callers:
                calls.setdefault(self.owner(caller), []).append(called)
        try:
            self.module.computations[:] = sorted_by_dependencies(self.module.computations, lambda c: calls.get(c, ()))
        except ValueError as error:
            raise EditError(str(error)) from None

    # ---- bookkeeping --------------------------------------------------------------------------------------------------

    def _mark_changed(self, computation: Computation) -> None:
        if computation not in self._changed:
            self._changed[computation] = None
            self.module.notes.spans.pop(computation, None)

    def _order(self, computation: Computation) -> LinkedOrder[Instruction]:
        self._mark_changed(computation)
        order = self._orders.get(computation)
        if order is None:
            order = self._orders[computation] = LinkedOrder(computation.instructions)
        return order

    def _set_order(self, computation: Computation, instructions: Iterable[Instruction]) -> None:
        """Replaces the instructions of a computation, whose uses and names are not updated."""
        self._orders[computation] = LinkedOrder(instructions)

    @property
    def _instruction_names(self) -> NameTable:
        if self._names is None:
            self._names = NameTable(x.name for x in self.module.all_instructions())
        return self._names

    @property
    def _names_of_computations(self) -> NameTable:
        if self._computation_names is None:
            self._computation_names = NameTable(computation.name for computation in self.module.computations)
        return self._computation_names

    def _remove_uncalled_wrappers(self) -> None:
        """Removes hidden computations whose async start is gone, since they are not printed."""
        for computation in [c for c in self.module.computations if c in self.module.hidden and c not in self._uses.callers]:
            self._remove_computation(computation)
        self.flush()

    def _remove_computation(self, computation: Computation) -> None:
        for x in self.instructions(computation):
            self._uses.remove(x)
            self._instruction_names.release(x.name)
        self._names_of_computations.release(computation.name)
        self._changed.pop(computation, None)
        self._orders.pop(computation, None)
        self.module.notes.spans.pop(computation, None)
        self._erased.add(computation)
        self.module.hidden.discard(computation)
