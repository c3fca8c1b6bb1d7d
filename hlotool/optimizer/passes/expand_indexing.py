"""Expands gathers and scatters into loops over index vectors.

Each iteration reads or updates one slice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from math import prod
from typing import Any

from hlotool.ir.model import Computation, Instruction
from hlotool.literals.literal import Literal
from hlotool.opdefs.algebra import Number
from hlotool.optimizer.constants import number_literal
from hlotool.optimizer.context import Context
from hlotool.optimizer.dimensions import is_empty, is_plain
from hlotool.optimizer.passes.expand import expand
from hlotool.optimizer.pattern_rewriter import PatternRewriter
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.shapes.shape import Shape, array_shape, tuple_shape
from hlotool.shapes.values import SliceRange

__all__ = ["expand_gathers", "expand_scatters"]

_COUNTER = array_shape("s32")
# Narrower indices are converted, since they may be too narrow for row numbers.
_INDEX_BITS = 32


def expand_gathers(context: Context) -> bool:
    """gather(a, i) -> while(...), where each iteration copies one slice of `a`"""
    return _expand(context, "expand-gather", "gather", _gather)


def expand_scatters(context: Context) -> bool:
    """scatter(a, i, u) -> while(...), where each iteration combines a slice of `a` with one of `u`

    Slices that are out of bounds are skipped.
    """
    return _expand(context, "expand-scatter", "scatter", _scatter)


Expansion = Callable[[list[Computation], Instruction, PatternRewriter], Instruction | None]


def _expand(context: Context, name: str, opcode: str, expansion: Expansion) -> bool:
    created: list[Computation] = []
    changed = expand(context, name, {opcode: partial(expansion, created)})
    # Rejected expansions leave computations behind. These computations are erased in reverse order,
    # since callers are created after their callees.
    for computation in reversed(created):
        if not context.rewriter.caller_count(computation):
            context.rewriter.erase_computation(computation)
    return changed


class _Indices:
    """The index vectors of a gather or a scatter, as the rows of a matrix.

    Each operand dimension uses one column of the matrix, or no column.
    """

    def __init__(
        self, rewriter: PatternRewriter, indices: Instruction, vector: int, mapped: Sequence[int], batching: Sequence[int], batches: Sequence[int]
    ) -> None:
        sizes = indices.shape.dimensions
        if vector == len(sizes):
            sizes = (*sizes, 1)
            indices = rewriter.reshape(indices, sizes)
        others = [k for k in range(len(sizes)) if k != vector]
        self.batch = tuple(sizes[k] for k in others)
        self.count = prod(self.batch)
        if vector != len(others):
            shape = array_shape(indices.shape.element_type, (*self.batch, sizes[vector]))
            indices = rewriter.add("transpose", [indices], shape, dimensions=(*others, vector))
        rows = rewriter.reshape(indices, (self.count, sizes[vector]))
        if ELEMENT_TYPES[rows.shape.element_type].bits < _INDEX_BITS:
            rows = rewriter.add("convert", [rows], array_shape("s32", rows.shape.dimensions))
        self.element_type = rows.shape.element_type
        for k in batches:
            counted = rewriter.add("iota", [], array_shape(self.element_type, self.batch), iota_dimension=others.index(k))
            column = rewriter.reshape(counted, (self.count, 1))
            rows = rewriter.add("concatenate", [rows, column], _widen(rows.shape, 1), dimensions=(1,))
        self.rows = rows
        self.columns = {dimension: k for k, dimension in enumerate((*mapped, *batching))}


def _widen(shape: Shape, columns: int) -> Shape:
    return array_shape(shape.element_type, (shape.dimensions[0], shape.dimensions[1] + columns))


class _Loop:
    """A loop under construction. Its state consists of a counter and some arrays.

    `state` lists the values of the arrays in the body.
    """

    def __init__(self, created: list[Computation], rewriter: PatternRewriter, name: str, operands: Sequence[Instruction], trips: int) -> None:
        self.rewriter = rewriter
        self.module_rewriter = rewriter.module_rewriter
        # Raises CannotBuildError if there are too many rows for the counter.
        limit = number_literal("s32", trips)
        self.operands = [rewriter.number(_COUNTER, 0), *operands]
        self.shape = tuple_shape([x.shape for x in self.operands])
        self.condition = self.module_rewriter.add_computation(f"{name}_condition")
        self.body = self.module_rewriter.add_computation(f"{name}_body")
        created += [self.condition, self.body]
        self.into = self.condition
        counter = self.element(self.parameter(), 0)
        self.module_rewriter.set_root(self.add("compare", [counter, self.constant(limit)], array_shape("pred"), direction="LT"))
        self.into = self.body
        state = self.parameter()
        self.counter, *self.state = [self.element(state, k) for k in range(len(self.operands))]
        self.zero = self.number(_COUNTER, 0)

    def add(self, opcode: str, operands: Sequence[Instruction], shape: Shape, **attributes: Any) -> Instruction:
        """Adds an instruction to the computation that is being built."""
        return self.module_rewriter.insert(opcode, operands, into=self.into, shape=shape, attributes=attributes)

    def parameter(self) -> Instruction:
        return self.module_rewriter.insert("parameter", into=self.into, name="state", shape=self.shape, immediate=0)

    def element(self, state: Instruction, k: int) -> Instruction:
        return self.add("get-tuple-element", [state], self.operands[k].shape, index=k)

    def number(self, shape: Shape, number: Number) -> Instruction:
        return self.constant(number_literal(shape.element_type, number))

    def constant(self, literal: Literal) -> Instruction:
        return self.module_rewriter.insert("constant", into=self.into, shape=literal.shape, immediate=literal)

    def row(self, matrix: Instruction) -> Instruction:
        """Returns this iteration's slice of an array, along its first dimension."""
        sizes = (1, *matrix.shape.dimensions[1:])
        starts = [self.counter, *[self.zero] * (len(sizes) - 1)]
        return self.add("dynamic-slice", [matrix, *starts], array_shape(matrix.shape.element_type, sizes), dynamic_slice_sizes=sizes)

    def starts(self, indices: _Indices, matrix: Instruction, rank: int) -> list[Instruction]:
        """Returns the start of this iteration's slice in each dimension of the operand."""
        row, scalar = self.row(matrix), array_shape(indices.element_type)
        columns = [self.column(row, k, scalar) for k in range(len(indices.columns))]
        return [columns[indices.columns[d]] if d in indices.columns else self.number(scalar, 0) for d in range(rank)]

    def column(self, row: Instruction, k: int, scalar: Shape) -> Instruction:
        part = self.add("slice", [row], array_shape(scalar.element_type, (1, 1)), slice=(SliceRange(0, 1), SliceRange(k, k + 1)))
        return self.add("reshape", [part], scalar)

    def run(self, changed: Sequence[Instruction]) -> Instruction:
        """Inserts the loop; `changed` contains the values of the arrays in the next state."""
        following = self.add("add", [self.counter, self.number(_COUNTER, 1)], _COUNTER)
        self.module_rewriter.set_root(self.add("tuple", [following, *changed], self.shape))
        self.module_rewriter.flush()
        start = self.rewriter.add("tuple", self.operands, self.shape)
        return self.rewriter.add("while", [start], self.shape, condition=self.condition, body=self.body)


def _gather(created: list[Computation], x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    operand, vectors = x.operands
    attributes = x.attributes
    batching = attributes.get("operand_batching_dims", ())
    if not _is_expandable(x):
        return None
    mapped, batches = attributes["start_index_map"], attributes.get("start_indices_batching_dims", ())
    indices = _Indices(rewriter, vectors, attributes["index_vector_dim"], mapped, batching, batches)
    sizes = attributes["slice_sizes"]
    dropped = {*attributes["collapsed_slice_dims"], *batching}
    window = tuple(size for k, size in enumerate(sizes) if k not in dropped)
    element_type = x.shape.element_type
    result = rewriter.number(array_shape(element_type, (indices.count, *window)), 0)
    loop = _Loop(created, rewriter, "gather", [operand, indices.rows, result], indices.count)
    source, matrix, copied = loop.state
    starts = loop.starts(indices, matrix, len(sizes))
    part = loop.add("dynamic-slice", [source, *starts], array_shape(element_type, sizes), dynamic_slice_sizes=sizes)
    line = loop.add("reshape", [part], array_shape(element_type, (1, *window)))
    positions = [loop.counter, *[loop.zero] * len(window)]
    total = loop.run([source, matrix, loop.add("dynamic-update-slice", [copied, line, *positions], copied.shape)])
    rows = rewriter.add("get-tuple-element", [total], result.shape, index=3)
    whole = rewriter.reshape(rows, (*indices.batch, *window))
    order = _positions(len(whole.shape.dimensions), attributes["offset_dims"], len(indices.batch))
    return whole if order == tuple(range(len(order))) else rewriter.add("transpose", [whole], x.shape, dimensions=order)


def _scatter(created: list[Computation], x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    if not _is_expandable(x):
        return None
    operand, vectors, updates = x.operands
    attributes, combiner = x.attributes, x.attributes["to_apply"]
    if not operand.shape.element_type == updates.shape.element_type == combiner.root.shape.element_type:
        return None
    batching, batches = attributes.get("input_batching_dims", ()), attributes.get("scatter_indices_batching_dims", ())
    mapped, windows = attributes["scatter_dims_to_operand_dims"], attributes["update_window_dims"]
    indices = _Indices(rewriter, vectors, attributes["index_vector_dim"], mapped, batching, batches)
    # The dimensions of the updates: first the dimensions of the indices, then those of the window.
    order = (*[k for k in range(len(updates.shape.dimensions)) if k not in windows], *windows)
    if order != tuple(range(len(order))):
        shape = array_shape(updates.shape.element_type, tuple(updates.shape.dimensions[k] for k in order))
        updates = rewriter.add("transpose", [updates], shape, dimensions=order)
    sizes = iter(updates.shape.dimensions[len(indices.batch) :])
    dropped = {*attributes["inserted_window_dims"], *batching}
    window = tuple(1 if k in dropped else next(sizes) for k in range(len(operand.shape.dimensions)))
    lines = rewriter.reshape(updates, (indices.count, *window))
    loop = _Loop(created, rewriter, "scatter", [operand, indices.rows, lines], indices.count)
    target, matrix, changes = loop.state
    starts = loop.starts(indices, matrix, len(window))
    block = array_shape(x.shape.element_type, window)
    before = loop.add("dynamic-slice", [target, *starts], block, dynamic_slice_sizes=window)
    change = loop.add("reshape", [loop.row(changes)], block)
    after = loop.add("map", [before, change], block, dimensions=tuple(range(len(window))), to_apply=combiner)
    kept = loop.add("select", [_fits(loop, starts, window, operand.shape, indices), after, before], block)
    total = loop.run([loop.add("dynamic-update-slice", [target, kept, *starts], target.shape), matrix, changes])
    return rewriter.add("get-tuple-element", [total], x.shape, index=1)


def _fits(loop: _Loop, starts: Sequence[Instruction], window: Sequence[int], shape: Shape, indices: _Indices) -> Instruction:
    """Returns a pred array of the window's sizes, all true if this iteration's window is in bounds.

    Windows that are out of bounds are skipped.
    """
    truth, scalar = array_shape("pred"), array_shape(indices.element_type)
    limits = [(d, *limit) for d in sorted(indices.columns) for limit in ((0, "GE"), (shape.dimensions[d] - window[d], "LE"))]
    parts = [loop.add("compare", [starts[d], loop.number(scalar, number)], truth, direction=direction) for d, number, direction in limits]
    fits = reduce(lambda a, b: loop.add("and", [a, b], truth), parts)
    return loop.add("broadcast", [fits], array_shape("pred", tuple(window)), dimensions=())


def _positions(rank: int, windows: Sequence[int], batch_rank: int) -> tuple[int, ...]:
    """Returns the permutation that restores the order of dimensions of a gather's result.

    The array to permute has the dimensions of the indices first, then those of the window.
    """
    batch, window = iter(range(batch_rank)), iter(range(batch_rank, rank))
    return tuple([next(window) if k in windows else next(batch) for k in range(rank)])


def _is_expandable(x: Instruction) -> bool:
    """Returns whether all shapes are static, and neither the operands nor the result are empty."""
    shapes = [x.shape, *(y.shape for y in x.operands)]
    return all(is_plain(shape) and not is_empty(shape) for shape in shapes)
