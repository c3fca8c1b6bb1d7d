"""Reductions with one operation, in the same order as in NumPy if the order affects the result."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hlotool.interp.arrays.array_reductions import SHORT_ROW
from hlotool.interp.arrays.dtypes import NUMBERS, Array
from hlotool.interp.arrays.monoids import Monoid, monoid_of
from hlotool.interp.plan.forms import reduction_of
from hlotool.interp.plan.native.native_statements import CannotCompile, NativeStatements, dtype_of, read, size_of
from hlotool.interp.plan.numbers import NumberTemplate
from hlotool.interp.plan.operations import Operation, Variable, long_dimensions

__all__ = ["combination", "write_reduce"]


def write_reduce(self: NativeStatements, operation: Operation) -> None:
    """Writes a reduce. Raises CannotCompile if it is unsupported."""
    if reduction_of(operation) is None:
        raise CannotCompile
    (source, init), (result,) = operation.reads, operation.results
    monoid = monoid_of(operation.instruction.attributes["to_apply"])
    assert monoid is not None
    axes, rank = sorted(operation.instruction.attributes["dimensions"]), source.shape.rank
    kept = [k for k in range(rank) if k not in axes]
    positions = np.arange(size_of(source)).reshape(source.shape.dimensions).transpose([*kept, *axes]).reshape(size_of(result), -1)
    target = self.allocate(dtype_of(result), 1) if result.is_scalar else self.array(result)
    template = combination(self, monoid, source)
    is_exact = monoid.compares or NUMBERS[source.shape.element_type].kind != "float"
    if is_exact or _reduces_first(source, axes):
        _write_columns(self, monoid, source, target, positions)
    elif _reduces_last(source, axes) and (axes != [rank - 1] or positions.shape[1] <= SHORT_ROW):
        _write_rows(self, monoid, source, target, positions)
    else:
        raise CannotCompile
    with self.writer.block(f"for k in range({size_of(result)}):"):
        self.write_value(f"{target}[k]", template, [read(source, f"{target}[k]"), self.name(init)])
    if result.is_scalar:
        self.writer.line(f"{self.name(result)} = {read(source, f'{target}[0]')}")


def _reduces_first(source: Variable, axes: Sequence[int]) -> bool:
    """Returns whether the axes are the first dimensions, but not all dimensions.

    Dimensions of size 1 are ignored, since they make no difference to NumPy.
    """
    dimensions = long_dimensions(source.shape)
    kept = [k for k in dimensions if k not in axes]
    return bool(kept) and dimensions[-len(kept) :] == tuple(kept)


def _reduces_last(source: Variable, axes: Sequence[int]) -> bool:
    """Returns whether the axes are the last dimensions, or all dimensions.

    Dimensions of size 1 are ignored.
    """
    dimensions = long_dimensions(source.shape)
    kept = [k for k in dimensions if k not in axes]
    return dimensions[: len(kept)] == tuple(kept)


def combination(self: NativeStatements, monoid: Monoid, variable: Variable) -> NumberTemplate:
    """Returns the template for a monoid on numbers of a variable's type.

    Raises CannotCompile if there is none.
    """
    template = self.templates.combination(monoid, NUMBERS[variable.shape.element_type])
    if template is None:
        raise CannotCompile
    return template


def _write_columns(self: NativeStatements, monoid: Monoid, source: Variable, target: str, positions: Array) -> None:
    """Writes a reduction that combines one element after the other.

    NumPy combines the rows of matrices in this order. The function is also used if the order makes
    no difference.
    """
    count, length = positions.shape
    table = self.writer.bind(np.ascontiguousarray(positions.T).reshape(-1))
    template = combination(self, monoid, source)
    is_rounded = NUMBERS[source.shape.element_type].kind == "float" and not monoid.compares
    # NumPy starts with the identity, which makes a difference for sums of -0.
    first = str(monoid.numbers.identity) if is_rounded else self.element(source, f"{table}[k]")
    self.writer.line(f"for k in range({count}): {target}[k] = {first}")
    with self.writer.block(f"for j in range({0 if is_rounded else 1}, {length}):"), self.writer.block(f"for k in range({count}):"):
        self.write_value(f"{target}[k]", template, [read(source, f"{target}[k]"), self.element(source, f"{table}[j * {count} + k]")])


def _write_rows(self: NativeStatements, monoid: Monoid, source: Variable, target: str, positions: Array) -> None:
    """Writes a reduction with NumPy's loop, which starts from the identity in each row."""
    count, length = positions.shape
    dtype = dtype_of(source)
    size, name = np.dtype(dtype).itemsize, self.store(source, count * length)
    with self.writer.block(f"for k in range({count}):"):
        self.writer.line(f"{target}[k] = {monoid.numbers.identity}")
        total, row = f"{target}.ctypes.data + {size} * k", f"{name}.ctypes.data + {size} * {length} * k"
        self.call_loop(monoid.numbers, [(total, dtype), (row, dtype), (total, dtype)], [length], (0, size, 0))
