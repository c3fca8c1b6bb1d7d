"""Functions in machine code that compute successive operations of a cluster for one block.

A function divides the block into tiles of a few rows. It computes all operations for one tile
before it proceeds to the next, so that intermediate values stay in the fastest cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from hlotool.interp.arrays.dtypes import NUMBERS
from hlotool.interp.plan.forms import Form, Reduction
from hlotool.interp.plan.fusing import Cluster
from hlotool.interp.plan.native.compiler import NativeSource
from hlotool.interp.plan.native.machine_numbers import ArrayOf
from hlotool.interp.plan.native.native_statements import NativeStatements
from hlotool.interp.plan.native.reduction_loops import can_reduce_rows, write_rows
from hlotool.interp.plan.native.ufunc_loops import ufunc_loop
from hlotool.interp.plan.numbers import NumberTemplates, native_wrap_statement
from hlotool.interp.plan.operations import Axes, Operation, Variable, counted_dimension
from hlotool.interp.plan.writer import Writer

__all__ = ["FunctionWriter", "Key", "Memory", "Stage", "stages_of", "uniform_number"]

_MAX_OPERATIONS = 200
"""The maximum number of operations in a stage."""
_LINE = 16
"""The number of elements that arrays in scratch memory are aligned to."""

Key = tuple[Variable, Axes]


class Stage:
    """Operations whose results span the same axes, and that are computed in one step.

    If `kind` is "elements", the step is a loop over elements. Otherwise, the stage is one
    operation: a "call" of a loop of NumPy, a "reduction", or an "other" operation, which machine
    code cannot compute.
    """

    def __init__(self, kind: str, axes: Axes) -> None:
        self.kind = kind
        self.axes = axes
        self.operations: list[Operation] = []

    @property
    def is_native(self) -> bool:
        return self.kind != "other"


class Memory(NamedTuple):
    """The elements of a variable: the name of an array, its type, and the axes that it spans.

    `is_tile` is true if the array contains only one tile of the block.
    """

    name: str
    dtype: str
    axes: Axes
    is_tile: bool = False


def stages_of(cluster: Cluster) -> list[Stage]:
    """Returns the operations of a cluster as stages in a valid order."""
    stages: list[Stage] = []
    made: dict[Variable, int] = {}
    templates = NumberTemplates(Writer(), is_native=True)
    for operation in cluster.operations:
        (result,) = operation.results
        axes, kind = cluster.axes[result], _kind(cluster, operation, templates)
        first = 0
        for source, _ in cluster.keys(operation):
            if source in made:
                stage = stages[made[source]]
                first = max(first, made[source] + (kind != "elements" or stage.kind != kind or stage.axes != axes))
        made[result] = len(stages)
        if kind == "elements":
            for number in range(first, len(stages)):
                stage = stages[number]
                if stage.kind == kind and stage.axes == axes and len(stage.operations) < _MAX_OPERATIONS:
                    made[result] = number
                    break
        if made[result] == len(stages):
            stages.append(Stage(kind, axes))
        stages[made[result]].operations.append(operation)
    return stages


def _kind(cluster: Cluster, operation: Operation, templates: NumberTemplates) -> str:
    form, (result,) = cluster.forms[operation], operation.results
    keys = cluster.keys(operation)
    if isinstance(form, Reduction):
        (_, axes), kept = keys[0], cluster.axes[result]
        length = prod(cluster.dimensions[k] for k in axes[len(kept) :])
        return "reduction" if axes[: len(kept)] == kept and can_reduce_rows(form, result, length) else "other"
    if templates.template(operation) is not None:
        return "elements"
    # The loop takes operands that are arrays of the same size in the computation type.
    kept = cluster.axes[result]
    is_dense = all(axes == kept != () and counted_dimension(source) is None and uniform_number(source) is None for source, axes in keys)
    computed = [NUMBERS[variable.shape.element_type].computed for variable in (*operation.reads, result)]
    if not is_dense or not isinstance(form.function, np.ufunc) or any(dtype.kind != "f" for dtype in computed):
        return "other"
    letters = [dtype.char for dtype in computed]
    return "call" if ufunc_loop(form.function, f"{''.join(letters[:-1])}->{letters[-1]}") is not None else "other"


def uniform_number(variable: Variable) -> Variable | None:
    """Returns a constant number that all elements of a constant equal; None for other variables."""
    return variable if variable.is_scalar and variable.constant is not None else variable.uniform_constant


class FunctionWriter:
    """A writer for one function, `loop(n, ...)`, for blocks of `n` rows along the axis `axis`.

    `types` contains the types of the parameters, and `arguments` the expressions that the caller
    passes for all of them but the first. `memory` maps variables from outside, and results, to
    their arrays.
    """

    def __init__(self, cluster: Cluster, axis: int, stages: Sequence[Stage], tile_rows: int) -> None:
        self._cluster = cluster
        self._axis = axis
        self._stages = stages
        self._tile_rows = tile_rows
        self._writer = Writer()
        self._statements = NativeStatements(self._writer, {})
        self._parameters = ["n"]
        self._numbers: dict[Key, str] = {}
        self._inputs: dict[Key, Memory] = {}
        self._results: dict[Variable, list[Memory]] = {}
        self._free: dict[tuple[str, int], list[str]] = {}
        self._last_readers = {source: stage for stage in stages for operation in stage.operations for source, _ in cluster.keys(operation)}
        self.types: list[Any] = [1]
        self.arguments: list[str] = []

    def add_number(self, key: Key, name: str) -> None:
        """Adds a number as a parameter."""
        number = NUMBERS[key[0].shape.element_type]
        self._numbers[key] = self._parameter(f"{name}.item()", number.computed.type(1) if number.kind == "float" else number.computed.type(1).item())

    def add_input(self, key: Key, name: str, dtype: str, span: Axes) -> None:
        """Adds the block of a variable from outside as a parameter; it spans the axes `span`."""
        self._inputs[key] = Memory(self._parameter(f"id({name})", ArrayOf(dtype)), dtype, span)

    def add_output(self, variable: Variable, name: str, dtype: str) -> None:
        """Adds an array in which the function stores the block of a result."""
        memory = Memory(self._parameter(f"id({name})", ArrayOf(dtype)), dtype, self._inner(self._cluster.axes[variable]))
        self._results.setdefault(variable, []).append(memory)

    def _parameter(self, argument: str, kind: Any) -> str:
        self._parameters.append(self._writer.local("p"))
        self.arguments.append(argument)
        self.types.append(kind)
        return self._parameters[-1]

    def source(self) -> tuple[NativeSource, dict[str, int]]:
        """Returns the source, and the number of elements of scratch memory for each type.

        The scratch memory of each type is the last parameters, in this order.
        """
        writer, rows = self._writer, self._tile_rows
        with writer.divert() as lines:
            for stage in self._stages:
                self._write_stage(stage)
        memory = self._statements.memory
        with writer.block(f"def loop({', '.join([*self._parameters, *(f'memory_{dtype}' for dtype in memory)])}):"):
            for line in self._statements.prologue:
                writer.line(line)
            with writer.block(f"for tile in range((n + {rows - 1}) // {rows}):"):
                writer.line(f"rows = {'1' if rows == 1 else f'min({rows}, n - tile * {rows})'}")
                writer.extend(lines)
        self.types += [ArrayOf(dtype) for dtype in memory]
        return NativeSource(writer.text, writer.namespace), dict(memory)

    # ---- memory ---------------------------------------------------------------------------------

    def _inner(self, axes: Axes) -> Axes:
        return tuple([k for k in axes if k >= self._axis])

    def _row_size(self, axes: Axes) -> int:
        return prod(self._cluster.dimensions[k] for k in axes if k > self._axis)

    def _count(self, axes: Axes) -> str:
        """Returns the number of elements of a tile."""
        return f"rows * {self._row_size(axes)}" if self._axis in axes else str(self._row_size(axes))

    def _offset(self, memory: Memory) -> str:
        """Returns the index of the first element of the current tile."""
        return "0" if memory.is_tile or self._axis not in memory.axes else f"tile * {self._tile_rows * self._row_size(memory.axes)}"

    def _address(self, memory: Memory) -> tuple[str, str]:
        return f"{memory.name}.ctypes.data + {np.dtype(memory.dtype).itemsize} * ({self._offset(memory)})", memory.dtype

    def _memory(self, key: Key) -> Memory:
        """Returns the elements of an operand, in its computation type if other stages compute it."""
        computed = NUMBERS[key[0].shape.element_type].computed.name
        return next((memory for memory in self._results.get(key[0], ()) if memory.dtype == computed), None) or self._inputs[key]

    def _outputs(self, stage: Stage, variable: Variable) -> list[Memory]:
        """Returns the arrays in which to store a result; the first has the computation type.

        This is not the case for results of a loop over elements that no other stage reads.
        """
        outputs = self._results.setdefault(variable, [])
        computed = NUMBERS[variable.shape.element_type].computed.name
        outputs.sort(key=lambda memory: memory.dtype != computed)
        is_read = self._last_readers.get(variable, stage) is not stage or stage.kind != "elements"
        if is_read and (not outputs or outputs[0].dtype != computed):
            axes = self._inner(stage.axes)
            count = (self._tile_rows if self._axis in axes else 1) * self._row_size(axes)
            free = self._free.get((computed, count))
            name = free.pop() if free else self._statements.allocate(computed, -(-count // _LINE) * _LINE)
            outputs.insert(0, Memory(name, computed, axes, True))
        return outputs

    def _release(self, stage: Stage) -> None:
        """Frees the memory of the tiles that no later stage reads."""
        for variable, outputs in self._results.items():
            if outputs and outputs[0].is_tile and self._last_readers.get(variable) is stage:
                memory = outputs[0]
                count = (self._tile_rows if self._axis in memory.axes else 1) * self._row_size(memory.axes)
                self._free.setdefault((memory.dtype, count), []).append(memory.name)

    # ---- stages ---------------------------------------------------------------------------------

    def _write_stage(self, stage: Stage) -> None:
        if stage.kind == "elements":
            self._write_elements(stage)
        else:
            (operation,) = stage.operations
            form, (result,) = self._cluster.forms[operation], operation.results
            key, *_ = keys = self._cluster.keys(operation)
            first, *others = self._outputs(stage, result)
            if isinstance(form, Reduction):
                source = self._memory(key)
                length = self._row_size(source.axes) // self._row_size(first.axes)
                write_rows(self._statements, form, result, self._row(source), self._row(first), self._count(first.axes), length)
            else:
                arrays = [self._address(memory) for memory in (*map(self._memory, keys), first)]
                assert isinstance(form.function, np.ufunc)
                self._statements.call_loop(form.function, arrays, [self._count(first.axes)], [np.dtype(dtype).itemsize for _, dtype in arrays])
            rounds = f"round_{result.shape.element_type}" if isinstance(form, Form) and form.rounds else ""
            if rounds or others:
                with self._writer.block(f"for i in range({self._count(first.axes)}):"):
                    value = self._writer.local("x")
                    self._writer.line(f"{value} = {rounds}({self._row(first)('i')})")
                    for memory in self._results[result]:
                        self._writer.line(f"{self._row(memory)('i')} = {value}")
        self._release(stage)

    def _row(self, memory: Memory) -> Callable[[str], str]:
        return lambda index: f"{memory.name}[{self._offset(memory)} + {index}]"

    def _write_elements(self, stage: Stage) -> None:
        """Writes nested loops over the elements of a stage's results."""
        writer, templates = self._writer, self._statements.templates
        own = dict.fromkeys(operation.results[0] for operation in stage.operations)
        keys = dict.fromkeys(key for operation in stage.operations for key in self._cluster.keys(operation))
        loaded = {key: self._memory(key) for key in keys if key[0] not in own and key not in self._numbers and uniform_number(key[0]) is None}
        heads, index = self._loops(self._inner(stage.axes), [memory.axes for memory in loaded.values()])
        texts = dict(self._numbers)
        outputs = {variable: self._outputs(stage, variable) for variable in own}
        with writer.blocks(heads):
            for key, memory in loaded.items():
                texts[key] = writer.local("x")
                writer.line(f"{texts[key]} = {self._row(memory)(index(memory.axes))}")
            for operation in stage.operations:
                (result,) = operation.results
                template = templates.template(operation)
                assert template is not None
                operands = []
                for key in self._cluster.keys(operation):
                    uniform = uniform_number(key[0])
                    operands.append(texts.get(key) or templates.name(key[0] if uniform is None else uniform))
                writer.line(f"{writer.name(result)} = {template.text.format(*(f'({text})' for text in operands))}")
                if template.wraps is not None:
                    writer.line(native_wrap_statement(writer.name(result), template.wraps))
                for memory in outputs[result]:
                    writer.line(f"{self._row(memory)(index(memory.axes))} = {writer.name(result)}")

    def _loops(self, axes: Axes, spans: Sequence[Axes]) -> tuple[list[str], Callable[[Axes], str]]:
        """Returns the heads of the loops over a stage's elements, and a function for flat indices.

        Axes that all arrays span in the same way share a loop. The function takes the axes that an
        array spans.
        """
        domain, levels = self._cluster.dimensions, list[list[int]]()
        for k in axes:
            if levels and all((k in span) == (levels[-1][-1] in span) for span in spans):
                levels[-1].append(k)
            else:
                levels.append([k])
        levels = levels or [[]]
        heads = [f"for i{number} in range({self._count(tuple(level))}):" for number, level in enumerate(levels)]

        def index(span: Axes) -> str:
            parts = ["0"]
            for number, level in enumerate(levels):
                if level and level[-1] in span:
                    parts.append(f"i{number} * {prod(domain[k] for k in span if k > level[-1])}")
            return " + ".join(parts)

        return heads, index
