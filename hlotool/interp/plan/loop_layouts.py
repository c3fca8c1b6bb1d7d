"""Memory orders for loops: copies an array once before a loop instead of a view in each iteration.

Kernels that take operands in the memory order of their layouts receive copies of transposed views.
If a loop reads an array only through such views, and at most updates it in place, the array itself
is stored in the order of the views. This does not change any result.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from hlotool.interp.arrays.memory_order import Order, memory_order
from hlotool.interp.plan.operations import Axes, Leaves, Loop, Operation, Region, Variable, long_dimensions

__all__ = ["required_orders"]

_SMALLEST = 1 << 12
"""Minimum number of elements; copying a smaller array is faster than this analysis."""

_View = tuple[Variable, Axes]
"""An array from outside of the loop or from its state, and its long dimensions in view order."""


def required_orders(loop: Loop) -> dict[Variable, Order]:
    """Returns the arrays that should have another memory order in a loop, each with that order.

    The loop reads such an array only through views in one order, which is not row-major.
    """
    orders = _Orders(loop)
    found: dict[Variable, Order] = {}
    for variable, order in orders.needed.items():
        if order is not None and order != tuple(sorted(order)) and variable not in orders.others:
            long = long_dimensions(variable.shape)
            whole = [*(k for k in range(variable.shape.rank) if k not in long), *(long[k] for k in order)]
            found[variable] = (tuple(whole), tuple([whole.index(k) for k in range(len(whole))]))
    return found


class _Orders:
    """The memory orders in which the operations of a loop read its arrays.

    `needed` maps each array that kernels take in the memory order of its layout to this order, as a
    permutation of its long dimensions, or to None if there are several orders. `others` contains
    the arrays that are also read by other operations.
    """

    def __init__(self, loop: Loop) -> None:
        self.needed: dict[Variable, Axes | None] = {}
        self.others: set[Variable] = set()
        self._views: dict[Variable, _View] = {}
        operations = list(_operations(loop))
        computed = {result for operation in operations for result in operation.results}
        for variable in (*loop.state, *(read for operation in operations for read in operation.reads)):
            if variable not in computed and variable.constant is None and _is_large(variable):
                self._views[variable] = variable, tuple(range(len(long_dimensions(variable.shape))))
        for operation in operations:
            self._add(operation)
        for state, result in zip(loop.state, loop.body.results, strict=True):
            if self._views.get(result) != self._views.get(state):
                # The next iteration would read an array in another order.
                self._mark_other_reads((state, result))
        for operation in operations:
            for region in operation.regions:
                self._mark_other_reads(region.results)

    def _add(self, operation: Operation) -> None:
        if not any(variable in self._views for variable in operation.reads):
            return
        view = self._view(operation)
        if view is not None:
            self._views[operation.results[0]] = view
            self._mark_other_reads(operation.reads[1:])
            return
        x = operation.instruction
        if operation.regions or x.op.kernel is None or not x.op.kernel.takes_in_layout(x):
            self._mark_other_reads(operation.reads)
            return
        for operand, leaves in zip(x.operands, operation.operands, strict=True):
            if not operand.shape.is_array:
                self._mark_other_reads(leaves)
            elif leaves[0] in self._views:
                variable, axes = self._views[leaves[0]]
                long = long_dimensions(operand.shape)
                order = tuple([axes[long.index(k)] for k in memory_order(operand.shape) if k in long])
                self.needed[variable] = order if self.needed.get(variable, order) == order else None

    def _view(self, operation: Operation) -> _View | None:
        """Returns the view that an operation creates, or the array that it updates in place.

        Returns None for all other operations.
        """
        if len(operation.results) != 1 or operation.reads[0] not in self._views:
            return None
        (result,), first = operation.results, operation.reads[0]
        variable, axes = self._views[first]
        opcode = operation.instruction.opcode
        if opcode == "dynamic-update-slice":
            return variable, axes
        if opcode == "transpose":
            long = long_dimensions(first.shape)
            return variable, tuple([axes[long.index(k)] for k in operation.instruction.attributes["dimensions"] if k in long])
        # The only remaining case is a reshape that adds or removes dimensions of size 1.
        source, positions = result.view_source
        is_whole = source is not result and len(positions) == len(long_dimensions(result.shape))
        return self._views.get(source) if is_whole else None

    def _mark_other_reads(self, variables: Leaves) -> None:
        self.others.update(self._views[variable][0] for variable in variables if variable in self._views)


def _operations(loop: Loop) -> Iterator[Operation]:
    """Yields the operations in a loop and its nested regions, in a valid order of execution."""
    stack: list[Iterator[Operation]] = [_operations_of(region) for region in reversed(loop.regions)]
    while stack:
        operation = next(stack[-1], None)
        if operation is None:
            stack.pop()
            continue
        yield operation
        stack += [_operations_of(region) for region in reversed(operation.regions)]


def _operations_of(region: Region) -> Iterator[Operation]:
    return iter(region.operations)


def _is_large(variable: Variable) -> bool:
    shape = variable.shape
    return shape.is_array and not any(shape.dynamic or ()) and prod(shape.dimensions) >= _SMALLEST
