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
from hlotool.interp.plan import blocks
from hlotool.interp.plan.blocks import ELEMENT_TYPES, ClusterWriter
from hlotool.interp.plan.fusing import Cluster
from hlotool.interp.plan.native.cluster_functions import FunctionWriter, Key, Stage, stages_of, uniform_number
from hlotool.interp.plan.native.compiler import NativeSource, compile_blocks, is_installed, seconds_to_load
from hlotool.interp.plan.operations import Axes, Variable
from hlotool.interp.plan.writer import Writer

__all__ = ["write_cluster"]

_SECONDS, _SECONDS_PER_OPERATION = 0.006, 0.0001
"""Terms of the measured time for compiling a cluster, per stage and per operation."""
_MIN_OPERATIONS = 2
"""The number of operations of a function that is worth compiling."""
_TILE_PARTS = 16
"""The number of tiles of a block: the elements of a few arrays fit into the first-level cache."""
_BLOCKS_AT_ONCE = 8
"""The number of blocks that are one block if a single function computes the whole cluster."""

Part = list[Stage]
"""Successive stages that one function computes, or a single stage that machine code cannot compute."""


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
    parts: list[Part] = []
    for stage in stages_of(cluster) if is_installed() else []:
        if parts and stage.is_native and parts[-1][-1].is_native:
            parts[-1].append(stage)
        else:
            parts.append([stage])
    counts = [sum(len(stage.operations) for stage in part) for part in parts if part[0].is_native]
    if max(counts, default=0) < _MIN_OPERATIONS:
        ClusterWriter(writer, cluster, needed, dying, threads).write()
        return
    native = _NativeCluster(_SECONDS * sum(len(part) for part in parts) + _SECONDS_PER_OPERATION * sum(counts))
    with writer.block(f"if {writer.bind(native)}.is_ready():"):
        _NativeWriter(writer, cluster, needed, dying, threads, native, parts).write()
    with writer.block("else:"):
        ClusterWriter(writer, cluster, needed, dying, threads).write()
        writer.line(f"{writer.bind(native)}.stop()")


class _NativeWriter(ClusterWriter):
    """A writer for the loop that calls machine code.

    `raw` contains the narrow inputs that only loops over elements read, so that nothing else needs
    them as f32.
    """

    def __init__(
        self,
        writer: Writer,
        cluster: Cluster,
        needed: set[Variable],
        dying: Sequence[Variable],
        threads: int,
        native: _NativeCluster,
        parts: list[Part],
    ) -> None:
        self.parts = parts
        self.blocks_at_once = _BLOCKS_AT_ONCE if len(parts) == 1 else 1
        super().__init__(writer, cluster, needed, dying, threads)
        self.native = native
        self.readers: dict[Variable, list[Stage]] = {}
        self.made: dict[Variable, int] = {}
        self.part_of: dict[Stage, int] = {}
        for number, part in enumerate(parts):
            for stage in part:
                self.part_of[stage] = number
                for operation in stage.operations:
                    self.made[operation.results[0]] = number
                    for source, _ in cluster.keys(operation):
                        self.readers.setdefault(source, []).append(stage)
        self.raw: set[Key] = set()

    def _reading_parts(self, variable: Variable) -> set[int]:
        return {self.part_of[stage] for stage in self.readers.get(variable, ())}

    def overwritten(self, variable: Variable) -> Variable | None:
        operand = super().overwritten(variable)
        return None if operand is None or max(self._reading_parts(operand)) > self.made[variable] else operand

    def repeat(self, name: str, variable: Variable, axes: Axes) -> None:
        if not all(stage.is_native for stage in self.readers[variable]):
            super().repeat(name, variable, axes)

    def block_of(self, block: str, variable: Variable, axes: Axes) -> str:
        if variable.is_scalar:
            return super().block_of(block, variable, axes)
        if any(stage.is_native for stage in self.readers[variable]):
            self.writer.line(f"if not {block}.flags.c_contiguous: {block} = {block}.copy()")
        if all(stage.kind == "elements" for stage in self.readers[variable]):
            self.raw.add((variable, axes))
            return block
        return super().block_of(block, variable, axes)

    def write_body(self, targets: dict[Variable, str]) -> None:
        for part in self.parts:
            if part[0].is_native:
                self._write_part(part, targets)
                continue
            (operation,) = part[0].operations
            self.write_operation(operation, targets)
            (result,) = operation.results
            if any(stage.is_native for stage in self.readers.get(result, ())):
                # The name may be that of a constant, which must not be assigned.
                name, dense = self.names[result], self.writer.local("r")
                self.names[result] = dense
                self.writer.line(f"{dense} = {name} if {name}.flags.c_contiguous else {name}.copy()")

    def _write_part(self, part: Part, targets: dict[Variable, str]) -> None:
        """Writes the call of a function, and generates the function."""
        size, rest = self.domain[self.axis], prod(self.domain[self.axis + 1 :])
        tile = self.chunk if len(part) == 1 else min(self.chunk, max(1, blocks.BLOCK_ELEMENTS // _TILE_PARTS // rest))
        function = FunctionWriter(self.cluster, self.axis, part, tile)
        operations = [operation for stage in part for operation in stage.operations]
        own = dict.fromkeys(operation.results[0] for operation in operations)
        keys = [key for operation in operations for key in self.cluster.keys(operation)]
        for key in dict.fromkeys(keys):
            variable, _ = key
            if variable in own or uniform_number(variable) is not None:
                continue
            name, number = self.names.get(variable) or self.inputs[key], NUMBERS[variable.shape.element_type]
            if variable.is_scalar or (key in self.iotas and self.iotas[key] < self.axis):
                function.add_number(key, name)
            else:
                function.add_input(key, name, (number.held if key in self.raw else number.computed).name, self._spanned(key))
        for operation in operations:
            (result,) = operation.results
            self.writer.comment(operation.instruction)
            number = NUMBERS[result.shape.element_type]
            if result in targets:
                function.add_output(result, targets[result], number.held.name)
                self.names[result] = targets[result]
            if self._reading_parts(result) - {self.made[result]} and (result not in targets or number.held != number.computed):
                self.names[result] = self.buffers.hold(result, ELEMENT_TYPES[number.computed.name], self.cluster.axes[result])
                function.add_output(result, self.names[result], number.computed.name)
        # All tiles read their operands before the buffers can be reused.
        self.buffers.release(keys)
        for result in own:
            self.buffers.release_if_unread(result)
        source, scratch = function.source()
        arguments = ["0", str(self.chunk) if size % self.chunk == 0 else f"min({self.chunk}, {size} - i)", *function.arguments]
        arguments += [f"id({self.buffers.add_scratch(dtype, count)})" for dtype, count in scratch.items()]
        self.writer.line(f"{self.writer.bind(self.native)}.functions[{len(self.native.sources)}]({', '.join(arguments)})")
        self.native.sources.append((source, function.types))

    def _spanned(self, key: Key) -> Axes:
        """Returns the axes along which the block of an input is longer than 1."""
        axes = range(len(self.domain)) if key in self.repeated else self.span(key)
        return tuple([k for k in axes if k >= self.axis])
