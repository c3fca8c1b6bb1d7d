"""Clusters in which machine code computes several elementwise operations in one pass over a block.

The loop over blocks is the same as without machine code. Operations without an expression, such as
`tanh`, and reductions are still computed by NumPy's functions, so that results have the same bits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from hlotool.interp.arrays.dtypes import NUMBERS
from hlotool.interp.plan.blocks import ELEMENT_TYPES, ClusterWriter
from hlotool.interp.plan.forms import Form
from hlotool.interp.plan.fusing import Cluster, Keys
from hlotool.interp.plan.native.compiler import NativeSource, compile_blocks, is_installed, seconds_to_load
from hlotool.interp.plan.native.machine_numbers import ArrayOf
from hlotool.interp.plan.numbers import NumberTemplates, native_wrap_statement
from hlotool.interp.plan.operations import Axes, Operation, Variable
from hlotool.interp.plan.writer import Writer

__all__ = ["write_cluster"]

_SECONDS, _SECONDS_PER_OPERATION = 0.015, 0.0001
"""Terms of the measured time for compiling a cluster, per group and per operation."""
_MIN_OPERATIONS, _MAX_OPERATIONS = 2, 200
"""The number of operations of a group that is worth compiling, and the maximum number."""

Key = tuple[Variable, Axes]


class _Group:
    """Operations whose results span the same axes, and that depend on each other or on nothing."""

    def __init__(self, axes: Axes) -> None:
        self.axes = axes
        self.operations: list[Operation] = []

    @property
    def results(self) -> set[Variable]:
        return {operation.results[0] for operation in self.operations}


class _NativeCluster:
    """The machine code of a cluster's groups.

    The code is compiled once the cluster has run without it for as long as compiling takes, so that
    it never takes more than twice as long as with the better of the two choices.
    """

    def __init__(self, seconds_to_compile: float) -> None:
        self.functions: list[Callable[..., None]] = []
        self.sources: list[tuple[NativeSource, list[Any]]] = []
        self.seconds_to_compile = seconds_to_compile
        self._seconds = 0.0
        self._started = 0.0
        self._is_possible = True

    def is_ready(self) -> bool:
        """Returns whether the functions are compiled; called when the cluster starts to run."""
        if self.functions or not self._is_possible:
            return self._is_possible
        if self._seconds < self.seconds_to_compile + seconds_to_load():
            self._started = time.monotonic()
            return False
        functions = [compile_blocks(source, arguments) for source, arguments in self.sources]
        self.functions = [function for function in functions if function is not None]
        self._is_possible = len(self.functions) == len(functions)
        return self._is_possible

    def stop(self) -> None:
        """Records the end of a run without machine code."""
        self._seconds += time.monotonic() - self._started


def write_cluster(writer: Writer, cluster: Cluster, needed: set[Variable], dying: Sequence[Variable], threads: int) -> None:
    """Writes the loop over a cluster's blocks, to be run by this number of threads.

    `needed` contains the variables that are read elsewhere, and `dying` those that nothing reads
    later. If the cluster can be compiled, there is a second loop that calls machine code.
    """
    stages = _stages(cluster) if is_installed() else []
    groups = [stage for stage in stages if isinstance(stage, _Group)]
    if not any(len(group.operations) >= _MIN_OPERATIONS for group in groups):
        ClusterWriter(writer, cluster, needed, dying, threads).write()
        return
    native = _NativeCluster(sum(_SECONDS + _SECONDS_PER_OPERATION * len(group.operations) for group in groups))
    with writer.block(f"if {writer.bind(native)}.is_ready():"):
        _NativeWriter(writer, cluster, needed, dying, threads, native, stages).write()
    with writer.block("else:"):
        ClusterWriter(writer, cluster, needed, dying, threads).write()
        writer.line(f"{writer.bind(native)}.stop()")


def _stages(cluster: Cluster) -> list[_Group | Operation]:
    """Returns the operations in a valid order, with groups in place of those with expressions."""
    stages: list[_Group | Operation] = []
    made: dict[Variable, int] = {}
    templates = NumberTemplates(Writer(), is_native=True)
    for operation in cluster.operations:
        (result,) = operation.results
        axes = cluster.axes[result]
        first = 0
        for source, _ in cluster.keys(operation):
            if source in made:
                stage = stages[made[source]]
                first = max(first, made[source] + (not isinstance(stage, _Group) or stage.axes != axes))
        made[result] = len(stages)
        if not isinstance(cluster.forms[operation], Form) or templates.template(operation) is None:
            stages.append(operation)
            continue
        for number in range(first, len(stages)):
            stage = stages[number]
            if isinstance(stage, _Group) and stage.axes == axes and len(stage.operations) < _MAX_OPERATIONS:
                made[result] = number
                break
        else:
            stage = _Group(axes)
            stages.append(stage)
        stage.operations.append(operation)
    return stages


class _NativeWriter(ClusterWriter):
    """A writer for the loop that calls machine code.

    `raw` contains the narrow inputs that only groups read, so that nothing else needs them as f32.
    """

    def __init__(
        self,
        writer: Writer,
        cluster: Cluster,
        needed: set[Variable],
        dying: Sequence[Variable],
        threads: int,
        native: _NativeCluster,
        stages: list[_Group | Operation],
    ) -> None:
        super().__init__(writer, cluster, needed, dying, threads)
        self.native = native
        self.stages = stages
        self.readers: dict[Variable, set[int]] = {}
        self.made: dict[Variable, int] = {}
        for number, stage in enumerate(stages):
            for operation in stage.operations if isinstance(stage, _Group) else [stage]:
                self.made[operation.results[0]] = number
                for source, _ in cluster.keys(operation):
                    self.readers.setdefault(source, set()).add(number)
        self.raw: set[Key] = set()

    def overwritten(self, variable: Variable) -> Variable | None:
        operand = super().overwritten(variable)
        return None if operand is None or max(self.readers[operand]) > self.made[variable] else operand

    def block_of(self, block: str, variable: Variable, axes: Axes) -> str:
        if variable.is_scalar:
            return super().block_of(block, variable, axes)
        if any(isinstance(self.stages[number], _Group) for number in self.readers[variable]):
            self.writer.line(f"if not {block}.flags.c_contiguous: {block} = {block}.copy()")
        if all(isinstance(self.stages[number], _Group) for number in self.readers[variable]):
            self.raw.add((variable, axes))
            return block
        return super().block_of(block, variable, axes)

    def write_body(self, targets: dict[Variable, str]) -> None:
        size = self.domain[self.axis]
        rows = str(self.chunk) if size % self.chunk == 0 else f"min({self.chunk}, {size} - i)"
        for stage in self.stages:
            if isinstance(stage, _Group):
                self._write_group(stage, rows, targets)
                continue
            self.write_operation(stage, targets)
            name = self.names[stage.results[0]]
            if any(isinstance(self.stages[number], _Group) for number in self.readers.get(stage.results[0], ())):
                # The name may be that of a constant, which must not be assigned.
                dense = self.names[stage.results[0]] = self.writer.local("r")
                self.writer.line(f"{dense} = {name} if {name}.flags.c_contiguous else {name}.copy()")

    def _write_group(self, group: _Group, rows: str, targets: dict[Variable, str]) -> None:
        """Writes the call of a group's function, and generates the function."""
        own, number = group.results, self.made[group.operations[0].results[0]]
        keys = [key for operation in group.operations for key in self.cluster.keys(operation)]
        inputs = [key for key in dict.fromkeys(keys) if key[0] not in own and _uniform_number(key[0]) is None]
        names = [self.names.get(source) or self.inputs[source, axes] for source, axes in inputs]
        self.buffers.release(keys)
        outputs: list[tuple[Variable, str, str]] = []
        for operation in group.operations:
            (result,) = operation.results
            self.writer.comment(operation.instruction)
            kind = NUMBERS[result.shape.element_type]
            if result in targets:
                outputs.append((result, targets[result], kind.held.name))
                self.names[result] = targets[result]
            if self.readers.get(result, {number}) != {number} and (result not in targets or kind.held != kind.computed):
                self.names[result] = self.buffers.hold(result, ELEMENT_TYPES[kind.computed.name], group.axes)
                outputs.append((result, self.names[result], kind.computed.name))
            self.buffers.release_if_unread(result)
        source, arguments, parameters = self._source(group, inputs, names, outputs)
        function = len(self.native.sources)
        self.native.sources.append((source, arguments))
        self.writer.line(f"{self.writer.bind(self.native)}.functions[{function}]({', '.join(['0', rows, *parameters])})")

    def _source(
        self, group: _Group, inputs: Keys, names: Sequence[str], outputs: Sequence[tuple[Variable, str, str]]
    ) -> tuple[NativeSource, list[Any], list[str]]:
        """Returns a group's function, arguments of the right types, and the actual arguments."""
        writer = Writer()
        templates = NumberTemplates(writer, is_native=True)
        spans = [tuple([k for k in self._spanned(key) if k >= self.axis]) for key in inputs]
        heads, index = self._loops(tuple([k for k in group.axes if k >= self.axis]), spans)
        types: list[Any] = [1]
        arguments, parameters, loads, stores = [], ["n"], [], []
        texts: dict[Key, str] = {}
        for key, name, span in zip(inputs, names, spans, strict=True):
            parameter, texts[key] = writer.local("p"), writer.local("x")
            parameters.append(parameter)
            number = NUMBERS[key[0].shape.element_type]
            if key[0].is_scalar or (key in self.iotas and self.iotas[key] < self.axis):
                types.append(number.computed.type(1) if number.kind == "float" else number.computed.type(1).item())
                arguments.append(f"{name}.item()")
                loads.append(f"{texts[key]} = {parameter}")
                continue
            types.append(ArrayOf((number.held if key in self.raw else number.computed).name))
            arguments.append(f"id({name})")
            loads.append(f"{texts[key]} = {parameter}[{index(span)}]")
        for result, name, dtype in outputs:
            parameter = writer.local("o")
            parameters.append(parameter)
            types.append(ArrayOf(dtype))
            arguments.append(f"id({name})")
            stores.append(f"{parameter}[{index(tuple([k for k in group.axes if k >= self.axis]))}] = {writer.name(result)}")
        with writer.blocks([f"def loop({', '.join(parameters)}):", *heads]):
            for line in loads:
                writer.line(line)
            for operation in group.operations:
                (result,) = operation.results
                template = templates.template(operation)
                assert template is not None
                operands = []
                for key in self.cluster.keys(operation):
                    uniform = _uniform_number(key[0])
                    operands.append(texts.get(key) or templates.name(key[0] if uniform is None else uniform))
                writer.line(f"{writer.name(result)} = {template.text.format(*(f'({text})' for text in operands))}")
                if template.wraps is not None:
                    writer.line(native_wrap_statement(writer.name(result), template.wraps))
            for line in stores:
                writer.line(line)
        return NativeSource(writer.text, writer.namespace), types, arguments

    def _spanned(self, key: Key) -> Axes:
        """Returns the axes along which the block of an input is longer than 1."""
        return tuple(range(self.axis, len(self.domain))) if key in self.repeated else self.span(key)

    def _loops(self, axes: Axes, spans: Sequence[Axes]) -> tuple[list[str], Callable[[Axes], str]]:
        """Returns the heads of the loops over a group's elements, and a function for flat indices.

        Axes that all blocks span in the same way share a loop. The function takes the axes that a
        block spans.
        """
        levels: list[list[int]] = []
        for k in axes:
            if levels and all((k in span) == (levels[-1][-1] in span) for span in spans):
                levels[-1].append(k)
            else:
                levels.append([k])
        levels = levels or [[]]
        heads = []
        for number, level in enumerate(levels):
            size = prod(self.domain[k] for k in level if k != self.axis)
            heads.append(f"for i{number} in range({f'n * {size}' if self.axis in level else size}):")

        def index(span: Axes) -> str:
            parts = ["0"]
            for number, level in enumerate(levels):
                if level and level[-1] in span:
                    parts.append(f"i{number} * {prod(self.domain[k] for k in span if k > level[-1])}")
            return " + ".join(parts)

        return heads, index


def _uniform_number(variable: Variable) -> Variable | None:
    """Returns a constant number that all elements of a constant equal; None for other variables."""
    return variable if variable.is_scalar and variable.constant is not None else variable.uniform_constant
