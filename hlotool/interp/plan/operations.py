"""The intermediate representation of plans: regions of operations on variables.

A variable is one array or token; tuples exist only as arguments and results of kernels. Calls and
fusions are inlined: their operations are part of the caller's region.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from hlotool.analysis.callgraph import reachable
from hlotool.interp.arrays.memory_order import is_row_major
from hlotool.interp.arrays.values import Value
from hlotool.interp.failures import is_as_inferred, may_fail
from hlotool.ir.model import Computation, Instruction
from hlotool.opdefs.traits import CONTROL_FLOW
from hlotool.shapes.shape import Shape, array_shape

__all__ = [
    "UNKNOWN",
    "Axes",
    "Branches",
    "Call",
    "Leaves",
    "Loop",
    "Operation",
    "Region",
    "Variable",
    "counted_dimension",
    "long_dimensions",
    "view_index",
]


class Variable:
    """A value that a run computes once in each execution of its region.

    `constant` is the value if it is known at compile time. `source` is the operation that computes
    the value, or None for parameters, literals and the state of loops.
    """

    __slots__ = ("_view", "constant", "is_scalar", "shape", "source")

    def __init__(self, shape: Shape, constant: Value = None) -> None:
        self.shape = shape
        self.constant = constant
        self.source: Operation | None = None
        self.is_scalar = shape.is_array and not shape.dimensions
        """True for a number; in generated code, it is a NumPy scalar instead of an array."""
        self._view: tuple[Variable, Axes] | None = None

    @property
    def view_source(self) -> tuple[Variable, Axes]:
        """The variable that this one is a view of, and the positions of its dimensions in the view.

        Broadcasts and reshapes create views. Dimensions of size 1 are not counted: reshapes may
        only add and remove such dimensions. A variable that is not a view is its own source.
        """
        if self._view is None:
            self._view = _view_source(self)
        return self._view

    @property
    def uniform_constant(self) -> Variable | None:
        """A constant number that all elements of this constant equal, or None.

        The result is None for constants that were not broadcast from a number in memory.
        """
        array = self.constant
        if self.is_scalar or not isinstance(array, np.ndarray) or not array.size or any(array.strides):
            return None
        return Variable(array_shape(self.shape.element_type), np.asarray(array.flat[0]))


Axes = tuple[int, ...]
Leaves = tuple[Variable, ...]
"""The variables of the leaves of a value, in order."""


def long_dimensions(shape: Shape) -> Axes:
    """Returns the dimensions whose size is not 1."""
    return tuple([k for k, size in enumerate(shape.dimensions) if size != 1])


def _view_source(variable: Variable) -> tuple[Variable, Axes]:
    positions = tuple(range(len(long_dimensions(variable.shape))))
    while (operation := variable.source) is not None:
        find = _AXES.get(operation.instruction.opcode)
        if find is None or len(operation.reads) != 1 or not _are_interchangeable(operation.reads[0].shape, variable.shape):
            break
        source_axes = find(operation, operation.reads[0].shape, variable.shape)
        if source_axes is None:
            break
        positions = tuple([positions[k] for k in source_axes])
        (variable,) = operation.reads
    return variable, positions


_COUNTED_TYPES = {"s32", "u32", "s64", "u64"}


def counted_dimension(variable: Variable) -> int | None:
    """Returns the dimension along which an iota counts.

    Returns None for constants, for variables that are not iotas, and for types in which counting
    may not be exact. Computing a part of an iota takes no more time than reading it.
    """
    operation = variable.source
    if (
        operation is None
        or variable.constant is not None
        or operation.instruction.opcode != "iota"
        or variable.shape.element_type not in _COUNTED_TYPES
    ):
        return None
    dimension: int = operation.instruction.attributes["iota_dimension"]
    return dimension if 0 <= dimension < variable.shape.rank and variable.shape.dimensions[dimension] > 1 else None


def _are_interchangeable(one: Shape, other: Shape) -> bool:
    return one.is_array and one.element_type == other.element_type and not any((*one.dynamic, *other.dynamic))


def _broadcast_axes(operation: Operation, operand: Shape, result: Shape) -> Axes | None:
    """Returns the position of each long dimension of the operand among those of the result.

    Returns None if the broadcast changes their order.
    """
    dimensions = operation.instruction.attributes.get("dimensions", ())
    if len(dimensions) != operand.rank or any(not 0 <= d < result.rank for d in dimensions):
        return None
    if any(result.dimensions[d] != size for d, size in zip(dimensions, operand.dimensions, strict=True)):
        return None
    result_dimensions = long_dimensions(result)
    source_axes = [result_dimensions.index(dimensions[k]) for k in long_dimensions(operand)]
    return tuple(source_axes) if source_axes == sorted(source_axes) else None


def _reshape_axes(operation: Operation, operand: Shape, result: Shape) -> Axes | None:
    """Like `_broadcast_axes`, for reshapes that only add and remove dimensions of size 1.

    Bitcasts between arrays in row-major order are treated in the same way.
    """
    sizes, expected = ([shape.dimensions[k] for k in long_dimensions(shape)] for shape in (operand, result))
    is_ordered = operation.instruction.opcode == "reshape" or (is_row_major(operand) and is_row_major(result))
    return tuple(range(len(sizes))) if sizes == expected and is_ordered else None


_AXES: dict[str, Callable[[Operation, Shape, Shape], Axes | None]] = {
    "bitcast": _reshape_axes,
    "broadcast": _broadcast_axes,
    "reshape": _reshape_axes,
}


def view_index(shape: Shape, axes: Axes, rank: int) -> str:
    """Returns the index that turns an array into a view whose long dimensions are at these axes.

    The view has `rank` dimensions. The index is "" if the view is the array itself.

    >>> from hlotool.shapes.shape import array_shape
    >>> view_index(array_shape("f32", (5, 1, 7)), (0, 2), 3), view_index(array_shape("f32", (5, 7)), (0, 1), 2)
    ('[:, 0, None, :]', '')
    """
    parts: list[str] = []
    source_axes = iter(axes)
    done = 0
    for size in shape.dimensions:
        if size == 1:
            parts.append("0")
            continue
        axis = next(source_axes)
        parts += [*["None"] * (axis - done), ":"]
        done = axis + 1
    parts += ["None"] * (rank - done)
    return "" if all(part == ":" for part in parts) else f"[{', '.join(parts)}]"


UNKNOWN = object()
"""A marker for operations whose forms have not been computed yet; a form itself may be None."""


class Operation:
    """The application of an instruction's kernel to variables.

    `operands` contains the leaves of each operand, and `results` the leaves of the result.
    """

    __slots__ = ("form", "instruction", "operands", "reads", "results")

    def __init__(self, instruction: Instruction, operands: Sequence[Leaves], results: Leaves) -> None:
        self.instruction = instruction
        self.operands = tuple(operands)
        self.reads: Leaves = tuple([leaf for leaves in operands for leaf in leaves])
        """The variables that the operation and its regions read from outside."""
        self.results = results
        self.form: Any = UNKNOWN
        """The result of `forms.form_of`, or UNKNOWN."""
        for result in results:
            result.source = self

    @property
    def is_pure(self) -> bool:
        """True if the operation has no effects, so that it may be reordered."""
        return not self.regions and all(x.op.is_pure for x in self._instructions)

    @property
    def is_removable(self) -> bool:
        """True if the operation may be left out when nothing reads its results.

        Such an operation has no effects, terminates and cannot fail.
        """
        return self.is_pure and not any(CONTROL_FLOW in x.op.traits or may_fail(x) or not is_as_inferred(x) for x in self._instructions)

    @property
    def _instructions(self) -> list[Instruction]:
        """The operation's instruction, and those of all computations reachable from it."""
        return [self.instruction, *(x for computation in reachable(self.instruction.called) for x in computation.instructions)]

    @property
    def regions(self) -> tuple[Region, ...]:
        """The regions that the operation runs, in the order in which they are generated."""
        return ()


class Call(Operation):
    """A call to a computation that has a separate function."""

    __slots__ = ("computation",)

    def __init__(self, instruction: Instruction, computation: Computation, operands: Sequence[Leaves], results: Leaves) -> None:
        super().__init__(instruction, operands, results)
        self.computation = computation


class Region:
    """Operations in the order in which they run.

    The `parameters` are set when the region is entered; the `results` are read when it ends.
    """

    __slots__ = ("operations", "parameters", "results")

    def __init__(self) -> None:
        self.operations: list[Any] = []
        self.parameters: Leaves = ()
        self.results: Leaves = ()

    def free_variables(self) -> Iterator[Variable]:
        """Yields the results and the variables that operations read, including the sources of views.

        Variables of the region itself are included.
        """
        for operation in self.operations:
            for variable in operation.reads:
                yield variable
                yield variable.view_source[0]
        yield from self.results


def _all_reads(operation: Operation) -> Leaves:
    """Returns the variables that an operation and its regions read, without duplicates.

    With duplicates, nested loops would list the same variables again and again.
    """
    return tuple(dict.fromkeys([*operation.reads, *(variable for region in operation.regions for variable in region.free_variables())]))


class Loop(Operation):
    """A while loop: `results` is the state, which the region `condition` reads and `body` replaces.

    The first operand is the initial state. The state does not include elements that the body leaves
    unchanged; the regions read the corresponding variables outside of the loop instead.
    """

    __slots__ = ("body", "condition", "state")

    def __init__(self, instruction: Instruction, initial: Leaves, state: Leaves, condition: Region, body: Region) -> None:
        super().__init__(instruction, (initial,), state)
        self.state = state
        self.condition = condition
        self.body = body
        self.reads = _all_reads(self)

    @property
    def regions(self) -> tuple[Region, ...]:
        return self.condition, self.body


class Branches(Operation):
    """A conditional: one of its regions computes the results. The first operand is the selector."""

    __slots__ = ("_regions",)

    def __init__(self, instruction: Instruction, selector: Variable, regions: Sequence[Region], results: Leaves) -> None:
        super().__init__(instruction, ((selector,),), results)
        self._regions = tuple(regions)
        self.reads = _all_reads(self)

    @property
    def regions(self) -> tuple[Region, ...]:
        return self._regions
