"""What a plan is made from: operations on variables, in regions.

A variable is one array, or token; tuples exist only where a kernel takes or returns them. Calls and fusions are gone: their operations stand in
the region of the caller.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hlotool.interp.values import Value
from hlotool.ir.model import Computation, Instruction
from hlotool.shapes.shape import Shape

__all__ = ["Axes", "Branches", "Call", "Leaves", "Loop", "Operation", "Region", "Variable"]


class Variable:
    """A value that a run computes once in each execution of its region.

    `constant` is the value if it is known when the plan is made. `source` is the operation that computes it, None for parameters,
    constants and the state of loops.
    """

    __slots__ = ("_broadcast", "constant", "is_scalar", "shape", "source")

    def __init__(self, shape: Shape, constant: Value = None) -> None:
        self.shape = shape
        self.constant = constant
        self.source: Operation | None = None
        self.is_scalar = shape.is_array and not shape.dimensions
        """Whether it is a number, which generated code holds as a NumPy scalar instead of an array."""
        self._broadcast: tuple[Variable, Axes] | None = None

    @property
    def broadcast_source(self) -> tuple[Variable, Axes]:
        """The variable that is broadcast to make this one, and the dimensions that it has in it; itself, with all, if it is no broadcast."""
        if self._broadcast is None:
            self._broadcast = _broadcast_source(self)
        return self._broadcast


Axes = tuple[int, ...]
Leaves = tuple[Variable, ...]
"""The variables of the leaves of a value, in order."""


def _broadcast_source(variable: Variable) -> tuple[Variable, Axes]:
    axes: Axes = tuple(range(variable.shape.rank))
    while (operation := variable.source) is not None and operation.instruction.opcode == "broadcast" and len(operation.operands[0]) == 1:
        dimensions = operation.instruction.attributes.get("dimensions", ())
        if list(dimensions) != sorted(dimensions) or any(variable.shape.dynamic or ()):
            break
        axes = tuple([axes[k] for k in dimensions])
        variable = operation.operands[0][0]
    return variable, axes


UNKNOWN = object()


class Operation:
    """The application of an instruction's kernel to variables. `operands` has the leaves of each operand, `results` those of the result."""

    __slots__ = ("form", "instruction", "operands", "reads", "results")

    def __init__(self, instruction: Instruction, operands: Sequence[Leaves], results: Leaves) -> None:
        self.instruction = instruction
        self.operands = tuple(operands)
        self.reads: Leaves = tuple([leaf for leaves in operands for leaf in leaves])
        """The variables that it needs, those that its regions take from outside included."""
        self.results = results
        self.form: Any = UNKNOWN
        """What `forms.form_of` has found out."""
        for result in results:
            result.source = self

    @property
    def is_pure(self) -> bool:
        """Whether it may be left out if nothing reads its results, and may run before or after others."""
        return self.instruction.op.is_pure and not self.regions

    @property
    def regions(self) -> tuple[Region, ...]:
        """What it runs, in the order in which it is generated."""
        return ()


class Call(Operation):
    """The call of a computation that is a function of its own."""

    __slots__ = ("computation",)

    def __init__(self, instruction: Instruction, computation: Computation, operands: Sequence[Leaves], results: Leaves) -> None:
        super().__init__(instruction, operands, results)
        self.computation = computation


class Region:
    """Operations in the order in which they run. `parameters` are set when the region is entered; `results` are read when it ends."""

    __slots__ = ("operations", "parameters", "results")

    def __init__(self) -> None:
        self.operations: list[Any] = []
        self.parameters: Leaves = ()
        self.results: Leaves = ()

    def free_variables(self) -> Iterator[Variable]:
        """The variables that operations or results read, also as the source of a broadcast; those of the region itself are among them."""
        for operation in self.operations:
            for variable in operation.reads:
                yield variable
                yield variable.broadcast_source[0]
        yield from self.results


class Loop(Operation):
    """A while: `results` are the state, which the region `condition` reads and `body` replaces.

    The first operand is the initial state. Elements of the state that the body does not change are no part of it; the regions read the
    variables outside.
    """

    __slots__ = ("body", "condition", "state")

    def __init__(self, instruction: Instruction, initial: Leaves, state: Leaves, condition: Region, body: Region) -> None:
        super().__init__(instruction, (initial,), state)
        self.state = state
        self.condition = condition
        self.body = body
        self.reads += tuple([variable for region in self.regions for variable in region.free_variables()])

    @property
    def regions(self) -> tuple[Region, ...]:
        return self.condition, self.body


class Branches(Operation):
    """A conditional: one of its regions computes the results. The first operand is the selector."""

    __slots__ = ("_regions",)

    def __init__(self, instruction: Instruction, selector: Variable, regions: Sequence[Region], results: Leaves) -> None:
        super().__init__(instruction, ((selector,),), results)
        self._regions = tuple(regions)
        self.reads += tuple([variable for region in regions for variable in region.free_variables()])

    @property
    def regions(self) -> tuple[Region, ...]:
        return self._regions
