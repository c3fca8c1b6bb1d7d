"""Slices, gathers and scatters at computed positions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from hlotool.interp.arrays.dtypes import Array
from hlotool.interp.arrays.monoids import monoid_of
from hlotool.interp.kernels.indexing import index_vectors
from hlotool.interp.plan.dynamic_slices import fits
from hlotool.interp.plan.native.native_statements import CannotCompile, NativeStatements, read, size_of
from hlotool.interp.plan.native.reduction_loops import combination
from hlotool.interp.plan.operations import Operation, Variable

__all__ = ["write_dynamic_slice", "write_dynamic_update_slice", "write_gather", "write_scatter"]


def write_dynamic_slice(self: NativeStatements, operation: Operation) -> None:
    """Writes a dynamic-slice. Raises CannotCompile if it is unsupported."""
    (operand, *indices), (result,) = operation.reads, operation.results
    lengths = tuple(operation.instruction.attributes.get("dynamic_slice_sizes") or ())
    if not fits(operand, lengths, indices, [operand, result]):
        raise CannotCompile
    position = _position(self, operand, lengths, indices)
    target = self.array(result)
    self.writer.line(f"for i in range({size_of(result)}): {target}[i] = {self.element(operand, position)}")


def write_dynamic_update_slice(self: NativeStatements, operation: Operation) -> None:
    """Writes a dynamic-update-slice. Raises CannotCompile if it is unsupported."""
    (operand, update, *indices), (result,) = operation.reads, operation.results
    lengths = update.shape.dimensions
    if not fits(operand, lengths, indices, [operand, update, result]):
        raise CannotCompile
    target = self.copy_or_update(operand, result)
    position = _position(self, operand, lengths, indices)
    self.writer.line(f"for i in range({size_of(update)}): {target}[{position}] = {self.element(update, 'i')}")


def _position(self: NativeStatements, operand: Variable, lengths: Sequence[int], indices: Sequence[Variable]) -> str:
    """Returns the flat index of element `i` of a slice, with clamped start indices."""
    sizes = operand.shape.dimensions
    start = self.writer.local("s")
    self.writer.line(f"{start} = 0")
    for k, (size, length, variable) in enumerate(zip(sizes, lengths, indices, strict=True)):
        if size > length:
            self.writer.line(f"{start} += {prod(sizes[k + 1 :])} * min(max({self.name(variable)}, 0), {size - length})")
    return f"{start} + {_look_up(self, _positions(sizes, lengths), 'i')}"


def _positions(sizes: Sequence[int], lengths: Sequence[int]) -> Array:
    """Returns the flat indices of the elements of a slice that begins at the first element."""
    return np.arange(prod(sizes)).reshape(sizes)[tuple(map(slice, lengths))].reshape(-1)


def _look_up(self: NativeStatements, table: Array, index: str) -> str:
    """Returns the expression for an element of a table of integers.

    If the integers are evenly spaced, the expression needs no table.
    """
    first, step = int(table[0]), int(table[1] - table[0]) if len(table) > 1 else 1
    if (table == first + step * np.arange(len(table))).all():
        return f"{first} + {step} * ({index})"
    return f"{self.writer.bind(table)}[{index}]"


# ---- gather and scatter ------------------------------------------------------------------------


def write_gather(self: NativeStatements, operation: Operation) -> None:
    """Writes a gather without batching dimensions. Raises CannotCompile if it is unsupported."""
    (operand, indices), (result,) = operation.reads, operation.results
    attributes = operation.instruction.attributes
    lengths, sizes = attributes["slice_sizes"], operand.shape.dimensions
    if attributes.get("operand_batching_dims") or result.is_scalar:
        raise CannotCompile
    vectors = _vectors(indices, attributes["index_vector_dim"])
    offset_dims = attributes.get("offset_dims", ())
    batch = [k for k in range(result.shape.rank) if k not in offset_dims]
    targets = np.arange(size_of(result)).reshape(result.shape.dimensions).transpose([*batch, *offset_dims]).reshape(len(vectors), -1)
    positions = _positions(sizes, lengths)
    if targets.shape[1] != len(positions):
        raise CannotCompile
    target = self.array(result)
    with self.writer.block(f"for j in range({len(vectors)}):"):
        self.writer.line("s = 0")
        for k, dimension in enumerate(attributes["start_index_map"]):
            index = self.element(indices, _look_up(self, vectors[:, k], "j"))
            limit = sizes[dimension] - lengths[dimension]
            self.writer.line(f"s += {prod(sizes[dimension + 1 :])} * min(max({index}, 0), {limit})")
        with self.writer.block(f"for i in range({len(positions)}):"):
            position = _look_up(self, targets.reshape(-1), f"j * {len(positions)} + i")
            source = f"s + {_look_up(self, positions, 'i')}"
            self.writer.line(f"{target}[{position}] = {self.element(operand, source)}")


def _vectors(indices: Variable, index_vector_dim: int) -> Array:
    """Returns the flat indices of the components of index vectors, with one row for each vector."""
    numbers = np.arange(size_of(indices)).reshape(indices.shape.dimensions)
    vectors = index_vectors(numbers, index_vector_dim)
    return vectors.reshape(-1, vectors.shape[-1])


def write_scatter(self: NativeStatements, operation: Operation) -> None:
    """Writes a scatter of one array without batching dimensions.

    Raises CannotCompile if it is unsupported.
    """
    if len(operation.reads) != 3:
        raise CannotCompile
    (operand, indices, updates), (result,) = operation.reads, operation.results
    attributes, sizes = operation.instruction.attributes, operand.shape.dimensions
    if attributes.get("input_batching_dims") or len({variable.shape for variable in (operand, result)}) != 1 or result.is_scalar:
        raise CannotCompile
    # If the reducer computes in a wider type, the result would have to be rounded.
    if {updates.shape.element_type, attributes["to_apply"].root.shape.element_type} != {operand.shape.element_type}:
        raise CannotCompile
    window, inserted = attributes.get("update_window_dims", ()), attributes.get("inserted_window_dims", ())
    batch = [k for k in range(updates.shape.rank) if k not in window]
    window_sizes = iter([updates.shape.dimensions[k] for k in window])
    lengths = [1 if k in inserted else next(window_sizes) for k in range(len(sizes))]
    vectors = _vectors(indices, attributes["index_vector_dim"])
    sources = np.arange(size_of(updates)).reshape(updates.shape.dimensions).transpose([*batch, *window]).reshape(len(vectors), -1)
    if any(length > size for length, size in zip(lengths, sizes, strict=True)) or sources.shape[1] != prod(lengths):
        raise CannotCompile
    target = self.copy_or_update(operand, result)
    with self.writer.block(f"for j in range({len(vectors)}):"):
        _write_start(self, indices, vectors, attributes["scatter_dims_to_operand_dims"], sizes, lengths)
        with self.writer.block(f"for i in range({prod(lengths)}):"):
            self.writer.line(f"p = s + {_look_up(self, _positions(sizes, lengths), 'i')}")
            update = self.element(updates, _look_up(self, sources.reshape(-1), f"j * {prod(lengths)} + i"))
            _write_combination(self, operation, operand, f"{target}[p]", update)


def _write_start(
    self: NativeStatements, indices: Variable, vectors: Array, index_map: Sequence[int], sizes: Sequence[int], lengths: Sequence[int]
) -> None:
    """Writes the start of a slice to `s`; slices that are not entirely in bounds are skipped."""
    self.writer.line("s = 0")
    for k, dimension in enumerate(index_map):
        start = self.writer.local("s")
        self.writer.line(f"{start} = {self.element(indices, _look_up(self, vectors[:, k], 'j'))}")
        self.writer.line(f"if not 0 <= {start} <= {sizes[dimension] - lengths[dimension]}: continue")
        self.writer.line(f"s += {prod(sizes[dimension + 1 :])} * {start}")


def _write_combination(self: NativeStatements, operation: Operation, operand: Variable, target: str, update: str) -> None:
    reducer = operation.instruction.attributes["to_apply"]
    if reducer.root.parameter_number == 1:
        self.writer.line(f"{target} = {update}")
        return
    monoid = monoid_of(reducer)
    if monoid is None:
        raise CannotCompile
    self.write_value(target, combination(self, monoid, operand), [read(operand, target), update])
