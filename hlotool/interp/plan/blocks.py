"""Statements for clusters: loops over blocks of rows, which stay in the processor's cache.

Each operation is one call to a NumPy function per block. Blocks of the operands are views. Blocks
of results are views of the results' arrays; all other values are computed into a few buffers of the
size of a block, which are reused. Within a block, narrow floats are represented as f32 and rounded
after each operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from hlotool.interp.arrays.arithmetic import select_by_mask
from hlotool.interp.arrays.dtypes import NUMBERS, NUMPY_TYPES, NumberType
from hlotool.interp.plan.block_buffers import BlockBuffers
from hlotool.interp.plan.forms import Form, Reduction
from hlotool.interp.plan.fusing import Cluster, Keys
from hlotool.interp.plan.operations import Axes, Operation, Variable, counted_dimension, long_dimensions, view_index
from hlotool.interp.plan.overwriting import overwritten_operand
from hlotool.interp.plan.writer import Lines, Writer

__all__ = ["BLOCK_ELEMENTS", "ELEMENT_TYPES", "ClusterWriter"]

BLOCK_ELEMENTS = 1 << 15
"""Elements per block: 256 KiB of f32, so that the buffers of a few operations fit into the caches.

With smaller blocks, the overhead of calls becomes noticeable, especially with threads, which wait
for each other between NumPy's functions.
"""
_MIN_REPEATED_LENGTH = 64
"""Minimum length of vectors that are repeated for all rows of a block before the loop.

NumPy takes three times as long to broadcast them along rows.
"""
_MIN_THREADED_ELEMENTS = 1 << 22
"""Minimum number of computed elements for which the overhead of threads is not noticeable.

The elements of the domain are counted once for each operation.
"""


class ClusterWriter:
    """A writer for one cluster.

    The block of a variable extends along the variable's `cluster.axes`. `names` maps the cluster's
    variables to the expressions for their blocks. `inputs` maps variables from outside, with the
    axes that they span, to the expressions for their blocks. `iotas` maps iotas from outside, which
    blocks compute themselves, to the axis along which they count. `repeated` contains the inputs
    that are whole blocks although they do not span all axes.
    """

    blocks_at_once = 1

    def __init__(self, writer: Writer, cluster: Cluster, needed: set[Variable], dying: Sequence[Variable], threads: int) -> None:
        self.writer = writer
        self.cluster = cluster
        self.outputs = [result for result in cluster.results if result in needed]
        self.dying = list(dying)
        self.domain = cluster.dimensions
        self.axis = cluster.chunked_axis(BLOCK_ELEMENTS)
        rest = prod(self.domain[self.axis + 1 :])
        self.threads = threads if prod(self.domain) * len(cluster.operations) >= _MIN_THREADED_ELEMENTS else 1
        blocks = -(-self.domain[self.axis] * rest // (BLOCK_ELEMENTS * self.blocks_at_once))
        self.chunk = max(1, -(-self.domain[self.axis] // blocks)) if blocks else 1
        self.names: dict[Variable, str] = {}
        self.inputs: dict[tuple[Variable, Axes], str] = {}
        self.iotas: dict[tuple[Variable, Axes], int] = {}
        self.repeated: set[tuple[Variable, Axes]] = set()
        self.buffers = BlockBuffers(writer, cluster)

    # ---- before the loop ------------------------------------------------------------------------

    def write(self) -> None:
        writer = self.writer
        stores = {variable: self._allocate(variable) for variable in self.outputs}
        sources = [(name, key) for key, name in self._align_inputs()]
        for name, key in sources:
            self.repeat(name, *key)
        views = [name for name, _ in sources] + list(stores.values())
        blocks = []
        # The body is generated first, since it determines which buffers are needed, and is written
        # after the buffers.
        with writer.divert() as body:
            for name, (variable, axes) in sources:
                if (variable, axes) in self.inputs:
                    continue
                block = writer.local("b")
                writer.line(f"{block} = {name}{self._index(axes)}")
                blocks.append(block)
                self.inputs[variable, axes] = self.block_of(block, variable, axes)
            for (variable, axes), axis in self.iotas.items():
                self.inputs[variable, axes] = _iota(self, variable, axis)
            targets = {}
            for variable, store in stores.items():
                targets[variable] = writer.local("o")
                writer.line(f"{targets[variable]} = {store}{self._index(self.cluster.axes[variable])}")
                blocks.append(targets[variable])
            self.write_body(targets)
        views = sorted(set(views) - {writer.name(variable) for variable in (*self.outputs, *self.cluster.reads)})
        if self.threads > 1:
            with writer.block("def rows(first, last):"):
                self._write_loops(body, "first, last")
            writer.line(f"run_in_parallel(rows, {self.domain[0]}, {1 if self.axis else self.chunk}, {self.threads})")
            views.append("rows")
        else:
            self._write_loops(body, f"0, {self.domain[0]}")
            views += blocks
        # These names would keep the arrays alive, which would prevent later operations from
        # overwriting them.
        writer.line(f"del {', '.join(views)}")

    def _allocate(self, variable: Variable) -> str:
        """Writes the allocation of a result's array; returns the name of its view with all axes."""
        writer, axes = self.writer, self.cluster.axes[variable]
        name = writer.name(variable)
        dtype = NUMPY_TYPES[variable.shape.element_type]
        new = f"empty({writer.bind(variable.shape.dimensions)}, {writer.bind(dtype, dtype.name)})"
        operand = self.overwritten(variable)
        if operand is None:
            writer.line(f"{name} = {new}")
        else:
            self.dying.remove(operand)
            old = writer.name(operand)
            writer.line(f"o = [{old}]; del {old}; can = can_alias(o); {old} = o.pop()")
            writer.line(f"{name} = {old} if can and {old}.flags.c_contiguous else {new}")
        return self._align(name, variable, axes)

    def overwritten(self, variable: Variable) -> Variable | None:
        """Returns the array from outside that a result may overwrite, or None if there is none."""
        return overwritten_operand(self.cluster, variable, self.dying, self.axis)

    def _align(self, name: str, variable: Variable, axes: Axes) -> str:
        """Returns the name of a view of the array `name` that has all axes of the domain."""
        index = view_index(variable.shape, axes, len(self.domain))
        if not index:
            return name
        view = self.writer.local("a")
        self.writer.line(f"{view} = {name}{index}")
        return view

    def _align_inputs(self) -> list[tuple[tuple[Variable, Axes], str]]:
        """Returns the arrays from outside, each with the name of its view with all axes.

        Also prepares scalars and iotas for blocks.
        """
        aligned: dict[tuple[Variable, Axes], str] = {}
        for operation in self.cluster.operations:
            for operand, key in zip(operation.reads, self.cluster.keys(operation), strict=True):
                variable, axes = key
                if variable in self.buffers or any(key in known for known in (aligned, self.inputs, self.iotas)):
                    continue
                if _is_initial(self.cluster, operation, operand):
                    continue
                dimension = None if isinstance(self.cluster.forms[operation], Reduction) else counted_dimension(variable)
                if dimension is not None:
                    self.iotas[key] = axes[long_dimensions(variable.shape).index(dimension)]
                elif variable.is_scalar:
                    self.inputs[key] = self.block_of(self.writer.name(variable), variable, ())
                else:
                    aligned[key] = self._align(self.writer.name(variable), variable, axes)
        return list(aligned.items())

    def repeat(self, name: str, variable: Variable, axes: Axes) -> None:
        """Repeats a vector for all rows of a block if it is the same for all blocks."""
        rows = self.domain[self.axis]
        number = NUMBERS[variable.shape.element_type]
        if not axes or min(axes) <= self.axis or rows % self.chunk or prod(self.domain[self.axis + 1 :]) < _MIN_REPEATED_LENGTH:
            return
        block = self.writer.local("b")
        sizes = (self.chunk, *self.domain[self.axis + 1 :])
        self.writer.line(f"{block} = empty({self.writer.bind(sizes)}, {self.writer.bind(number.computed, number.computed.name)})")
        self.writer.line(f"{block}[...] = {name}[{'0, ' * self.axis}...]")
        self.inputs[variable, axes] = block
        self.repeated.add((variable, axes))

    # ---- the loop -------------------------------------------------------------------------------

    def _index(self, axes: Axes) -> str:
        """Returns the index of the current block in a view with all axes."""
        parts = [f"i{k}" if k in axes else "0" for k in range(self.axis)]
        return f"[{', '.join([*parts, 'i:j' if self.axis in axes else ':'])}]"

    def _write_loops(self, body: Lines, bounds: str) -> None:
        """Writes the buffers, and the loops over blocks within these bounds of the first axis."""
        writer, chunk = self.writer, self.chunk
        size = self.domain[self.axis]
        partial = [name for name, (_, axes) in self.buffers.kinds.items() if size % chunk and self.axis in axes]
        for name, (dtype, axes) in self.buffers.kinds.items():
            sizes = [self.domain[k] if k in axes else 1 for k in range(self.axis + 1, len(self.domain))]
            shape = writer.bind((chunk if self.axis in axes else 1, *sizes))
            writer.line(f"{name}{'w' if name in partial else ''} = aligned({shape}, {writer.bind(NUMPY_TYPES[dtype], NUMPY_TYPES[dtype].name)})")
        for name, (dtype, count) in self.buffers.scratch.items():
            writer.line(f"{name} = aligned(({count},), {writer.bind(np.dtype(dtype), dtype)})")
        ranges = [bounds, *(f"0, {count}" for count in self.domain[1 : self.axis + 1])]
        with writer.blocks([*(f"for i{k} in range({ranges[k]}):" for k in range(self.axis)), f"for i in range({ranges[self.axis]}, {chunk}):"]):
            writer.line(f"j = i + {chunk}")
            for name in partial:
                writer.line(f"{name} = {name}w[:{size} - i]")
            writer.extend(body)

    # ---- operations in a block ------------------------------------------------------------------

    def write_body(self, targets: dict[Variable, str]) -> None:
        """Writes the operations; `targets` maps results to their blocks."""
        for operation in self.cluster.operations:
            self.write_operation(operation, targets)

    def block_of(self, block: str, variable: Variable, axes: Axes) -> str:
        """Returns the name of the block in its computation type."""
        number = NUMBERS[variable.shape.element_type]
        if number.held == number.computed:
            return block
        wide = self.writer.local("b")
        dtype = self.writer.bind(number.computed, number.computed.name)
        if variable.is_scalar:
            self.writer.line(f"{wide} = {block}.astype({dtype})")
            return wide
        buffer = self.buffers.take("f32", axes)
        self.writer.line(f"{buffer}[...] = {block}")
        return buffer

    def write_operation(self, operation: Operation, targets: dict[Variable, str]) -> None:
        self.writer.comment(operation.instruction)
        (result,) = operation.results
        form, target = self.cluster.forms[operation], targets.get(result)
        keys = self.cluster.keys(operation)
        operands = [self.names[key[0]] if key[0] in self.names else self.inputs.get(key, "") for key in keys]
        if isinstance(form, Form) and form.copies:
            self._write_copy(result, keys[0], operands[0], form, target)
            return
        if isinstance(form, Reduction):
            self._write_reduction(operation, form, operands[0], target)
        elif form.works_in_place:
            # The result may take over the buffer of an operand.
            self.buffers.release(keys)
            self._write_elementwise(result, form, operands, keys, target)
            keys = []
        else:
            self._write_elementwise(result, form, operands, keys, target)
        self.buffers.release(keys)
        self.buffers.release_if_unread(result)

    def _write_copy(self, result: Variable, key: tuple[Variable, Axes], operand: str, form: Form, target: str | None) -> None:
        """Writes a copy: the operand itself, or the operand rounded to a narrower type."""
        writer, axes = self.writer, self.cluster.axes[result]
        if target is not None:
            writer.line(f"{target}[...] = {operand}")
        if not form.rounds:
            self._write_exact_copy(result, key, operand, target)
            return
        self.buffers.release([key])
        if self.buffers.is_read(result):
            value = self.names[result] = self.buffers.hold(result, "f32", axes)
            if value != operand:
                writer.line(f"{value}[...] = {target or operand}")
            if target is None or value == operand:
                self.buffers.round(value, result.shape.element_type, axes)

    def _write_exact_copy(self, result: Variable, key: tuple[Variable, Axes], operand: str, target: str | None) -> None:
        """Writes a copy that needs no rounding.

        The copy is the operand's block if that spans the same axes. Otherwise, it is in the target
        or in a buffer.
        """
        axes, number = self.cluster.axes[result], NUMBERS[result.shape.element_type]
        if self.span(key) == axes:
            self.names[result] = operand
            self.buffers.share(result, key[0])
        elif target is not None and number.held == number.computed:
            self.names[result] = target
        else:
            self.names[result] = self.buffers.hold(result, ELEMENT_TYPES[number.computed.name], axes)
            self.writer.line(f"{self.names[result]}[...] = {operand}")
        self.buffers.release([key])

    def span(self, key: tuple[Variable, Axes]) -> Axes:
        """Returns the axes along which a block is longer than 1; for an iota, the counted axis."""
        return (self.iotas[key],) if key in self.iotas else key[1]

    def _write_reduction(self, operation: Operation, form: Reduction, operand: str, target: str | None) -> None:
        writer = self.writer
        (result,) = operation.results
        source = operation.operands[0][0].view_source[0]
        spanned = self.cluster.axes.get(source, tuple(range(len(self.domain))))
        kept = set(self.cluster.axes[result])
        reduced = [k for k in spanned if k not in kept]
        # The operand has one element along the axes that it does not span, and this element is
        # kept.
        value = f"{writer.bind(form.function)}({operand}, axes={writer.bind(tuple([k - self.axis for k in reduced]))})"
        value += f"[{', '.join('None' if k in reduced else ':' for k in range(self.axis, len(self.domain)))}]"
        number = NUMBERS[result.shape.element_type]
        if target is not None and number.held == number.computed:
            self.names[result] = target
            writer.line(f"{target}[...] = {value}")
            return
        self.names[result] = writer.local("r")
        writer.line(f"{self.names[result]} = {value}")
        if target is not None:
            writer.line(f"{target}[...] = {self.names[result]}")

    def _write_elementwise(self, result: Variable, form: Form, operands: list[str], keys: Keys, target: str | None) -> None:
        writer, axes = self.writer, self.cluster.axes[result]
        number = NUMBERS[result.shape.element_type]
        is_narrow = number.held != number.computed
        fills = form.fills
        if form.selects and keys[0][1]:
            fills = True
            operands = [self._mask(keys[0], operands[0], number), *operands[1:]]
            form = Form(select_by_mask)

        def write(into: str) -> None:
            writer.line(form.call(writer, operands, into) if fills else f"{into}[...] = {form.call(writer, operands)}")

        if target is not None and not is_narrow:
            self.names[result] = target
            write(target)
            return
        if fills or all(self.span(key) != axes for key in keys):
            value = self.buffers.hold(result, ELEMENT_TYPES[number.computed.name], axes)
            write(value)
        else:
            value = writer.local("r")
            writer.line(f"{value} = {form.call(writer, operands)}")
        self.names[result] = value
        if target is not None:
            writer.line(f"{target}[...] = {value}")
            if form.rounds and self.buffers.is_read(result):
                writer.line(f"{value}[...] = {target}")
        elif form.rounds:
            self.buffers.round(value, result.shape.element_type, axes)

    def _mask(self, key: tuple[Variable, Axes], pred: str, number: NumberType) -> str:
        """Returns the name of a block of integers as wide as `number`: -1 for true, 0 for false."""
        variable, axes = key
        if key in self.repeated:
            axes = tuple(range(self.axis, len(self.domain)))
        element_type = ELEMENT_TYPES[f"int{8 * number.computed.itemsize}"]
        mask, is_known = self.buffers.mask(variable, element_type, axes)
        if not is_known:
            self.writer.line(f"{self.writer.bind(np.negative, 'negative')}({pred}.view({self.writer.bind(_INT8, 'int8')}), {mask})")
        return mask


def _is_initial(cluster: Cluster, operation: Operation, operand: Variable) -> bool:
    return isinstance(cluster.forms[operation], Reduction) and operand is operation.operands[1][0]


def _iota(self: ClusterWriter, variable: Variable, axis: int) -> str:
    """Returns the name of the block of an iota that counts along an axis of the domain."""
    writer, element_type = self.writer, variable.shape.element_type
    dtype = NUMPY_TYPES[element_type]
    if axis < self.axis:
        number = writer.local("b")
        writer.line(f"{number} = {writer.bind(dtype.type, dtype.name)}(i{axis})")
        return number
    size = self.domain[axis] if axis > self.axis else self.chunk
    first = writer.bind(np.arange(size, dtype=dtype).reshape([size if k == axis else 1 for k in range(self.axis, len(self.domain))]))
    if axis > self.axis:
        return first
    buffer = self.buffers.take(element_type, (axis,))
    part = f"{first}[:{self.domain[axis]} - i]" if self.domain[axis] % self.chunk else first
    writer.line(f"{writer.bind(np.add, 'add')}({part}, i, {buffer})")
    return buffer


_INT8 = np.dtype(np.int8)
ELEMENT_TYPES = {number.held.name: name for name, number in NUMBERS.items()}
"""Element types by the names of NumPy's types."""
