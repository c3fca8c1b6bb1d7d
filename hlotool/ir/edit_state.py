"""The state of a Rewriter: uses, the order of instructions, names and changed computations.

`EditState` answers queries about this state. Insertions and moves are recorded in linked lists;
`flush` writes them to the computations, and `finish` makes the module consistent.
"""

from __future__ import annotations

from collections.abc import Sequence

from hlotool.errors import EditError, InternalError
from hlotool.ir.header import fit_header
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.ir.names import NameTable
from hlotool.ir.order import LinkedOrder, sorted_by_dependencies
from hlotool.ir.tuple_editor import TupleEditor
from hlotool.ir.uses import Uses
from hlotool.ir.walk import is_fusion_computation
from hlotool.memo import cached_property

__all__ = ["EditState"]


class EditState:
    """The module being edited, with tables about its instructions."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.remarks: list[str] = []
        self._uses = Uses.of_module(module)
        self._operand_editor: TupleEditor[Instruction] = TupleEditor()
        self._orders: dict[Computation, LinkedOrder[Instruction]] = {}
        # The computations whose order has not been written to them since its last change.
        self._unwritten: dict[Computation, None] = {}
        self._changed: dict[Computation, None] = {}
        # Erased computations that are still in the module's list; `flush` removes them all at once.
        self._erased: set[Computation] = set()
        self._calls_changed = False

    # ---- queries --------------------------------------------------------------------------------

    def users(self, x: Instruction) -> tuple[Instruction, ...]:
        """Returns the instructions that have `x` as an operand, each once."""
        return tuple(self._uses.users.get(x, ()))

    def user_count(self, x: Instruction) -> int:
        """Returns the number of `users` without listing them."""
        return len(self._uses.users.get(x, ()))

    def use_count(self, x: Instruction) -> int:
        """Returns how many operands are `x`; a user with `x` as two operands counts twice."""
        return sum(self._uses.users.get(x, {}).values())

    def control_successors(self, x: Instruction) -> tuple[Instruction, ...]:
        """Returns the instructions that have `x` as a control predecessor."""
        successors = self._uses.successors
        return tuple(successors[x]) if x in successors else ()

    def has_control_edges(self, x: Instruction) -> bool:
        """Returns whether `x` has control predecessors or successors."""
        return "control-predecessors" in x.attributes or x in self._uses.successors

    @property
    def has_control_dependencies(self) -> bool:
        """True if any instruction of the module has control predecessors."""
        return bool(self._uses.successors)

    def callers(self, computation: Computation) -> tuple[Instruction, ...]:
        """Returns the instructions that call a computation, each once."""
        return tuple(self._uses.callers.get(computation, ()))

    def caller_count(self, computation: Computation) -> int:
        """Returns the number of `callers` without listing them."""
        return len(self._uses.callers.get(computation, ()))

    def is_only_caller(self, x: Instruction, computation: Computation) -> bool:
        """Returns whether `x` is the only caller of a computation."""
        callers = self._uses.callers.get(computation, {})
        return len(callers) == 1 and x in callers

    def computations(self) -> list[Computation]:
        """Returns the computations of the module in order, without erased ones."""
        return [computation for computation in self.module.computations if computation not in self._erased]

    def __contains__(self, x: object) -> bool:
        """Returns whether an instruction is in the module and has not been erased."""
        return x in self._uses.owners

    def owner(self, x: Instruction) -> Computation:
        """Returns the computation of an instruction.

        Raises EditError if the instruction is not in the module.
        """
        owner = self._uses.owners.get(x)
        if owner is None:
            raise EditError(f"'{x.name}' is not in the module")
        return owner

    def is_root(self, x: Instruction) -> bool:
        """Returns whether `x` is the root of its computation."""
        return self.owner(x).root is x

    def is_used(self, x: Instruction) -> bool:
        """Returns whether `x` has users or control successors, or is the root."""
        uses = self._uses
        return x in uses.users or x in uses.successors or self.owner(x).root is x

    def instructions(self, computation: Computation) -> list[Instruction]:
        """Returns the instructions of a computation in order, including changes not yet flushed."""
        order = self._orders.get(computation)
        return list(computation.instructions) if order is None else order.items()

    @property
    def change_count(self) -> int:
        """The number of changes so far, to pass to `changed_since`."""
        return len(self._uses.changes)

    def changed_since(self, count: int) -> dict[Instruction, int]:
        """Returns the instructions that are new or have changed since change number `count`.

        Only instructions that are still in the module are included. Changes to fields, users and
        control edges count. Each instruction is mapped to the number of its last change, which is
        at least `count`.
        """
        owners, changes = self._uses.owners, self._uses.changes
        # Most instructions change several times, so checking each of them only once saves time.
        last = dict(zip(changes[count:], range(count, len(changes)), strict=True))
        return {x: number for x, number in last.items() if x in owners}

    def changed_computations_since(self, count: int) -> dict[Computation, int]:
        """Returns the computations of the instructions that `changed_since` returns.

        Each computation is mapped to the number of its last change.
        """
        changes = self._uses.changes
        owners = dict(zip(map(self._uses.owners.get, changes[count:]), range(count, len(changes)), strict=True))
        return {owner: number for owner, number in owners.items() if owner is not None}

    # ---- flush and finish -----------------------------------------------------------------------

    def flush(self) -> None:
        """Writes insertions, moves and removals to the module and its computations."""
        if self._erased:
            self.module.computations[:] = self.computations()
            self._erased.clear()
        for computation in self._unwritten:
            computation.instructions = self._orders[computation].items()
            if computation.root is None and computation.instructions:
                computation.root = computation.instructions[-1]
        self._unwritten.clear()

    def finish(self) -> None:
        """Makes the module consistent.

        Afterwards, definitions come before uses and callees before callers, and the header fits the
        entry. The order of a scheduled module is not changed. Raises EditError if an instruction of
        a scheduled module comes before one that it depends on, if instructions or computations form
        a cycle, or if a computation is empty.
        """
        self.flush()
        self._orders.clear()
        for computation in self._changed:
            if not computation.instructions:
                raise EditError(f"computation '{computation.name}' has no instructions")
            self._sort_instructions(computation)
        if self._calls_changed:
            self._remove_uncalled_wrappers()
            self._sort_computations()
        if self.module.entry in self._changed:
            self.module.attributes, remarks = fit_header(self.module.attributes, self.module.entry.program_shape)
            self.remarks += remarks
        self._changed.clear()
        self._calls_changed = False

    def check(self) -> None:
        """Compares the use tables with newly computed ones.

        Raises InternalError if they differ; a difference is a bug in hlotool.
        """
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

    # ---- bookkeeping ----------------------------------------------------------------------------

    def _mark_changed(self, computation: Computation) -> None:
        self.module.notes.edit_count += 1
        if computation not in self._changed:
            self._changed[computation] = None
            self.module.notes.spans.pop(computation, None)

    def _order(self, computation: Computation) -> LinkedOrder[Instruction]:
        self._mark_changed(computation)
        self._unwritten[computation] = None
        order = self._orders.get(computation)
        if order is None:
            order = self._orders[computation] = LinkedOrder(computation.instructions)
        return order

    def _set_order(self, computation: Computation, instructions: Sequence[Instruction]) -> None:
        """Replaces the instructions of a computation without updating uses and names."""
        self._orders[computation] = LinkedOrder(instructions)
        self._unwritten[computation] = None

    @cached_property
    def _instruction_names(self) -> NameTable:
        return NameTable(x.name for x in self.module.all_instructions())

    @cached_property
    def _computation_names(self) -> NameTable:
        return NameTable(computation.name for computation in self.module.computations)

    def _remove_uncalled_wrappers(self) -> None:
        """Removes hidden computations, which are not printed, if their async-start has been erased."""
        for computation in [c for c in self.module.computations if c in self.module.hidden and c not in self._uses.callers]:
            self._remove_computation(computation)
        self.flush()

    def _remove_computation(self, computation: Computation) -> None:
        for x in self.instructions(computation):
            self._uses.remove(x)
            self._instruction_names.release(x.name)
        self._computation_names.release(computation.name)
        self._changed.pop(computation, None)
        self._orders.pop(computation, None)
        self._unwritten.pop(computation, None)
        self.module.notes.spans.pop(computation, None)
        self._erased.add(computation)
        self.module.hidden.discard(computation)
