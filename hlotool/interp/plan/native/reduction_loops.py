"""Reductions with one operation, in the same order as in NumPy if the order affects the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from hlotool.interp.arrays.array_reductions import MAX_SUM_LENGTH, SHORT_ROW
from hlotool.interp.arrays.dtypes import NUMBERS, Array
from hlotool.interp.arrays.monoids import Monoid, monoid_of
from hlotool.interp.plan.forms import Reduction, reduction_of
from hlotool.interp.plan.native.native_statements import CannotCompile, NativeStatements, dtype_of, read, size_of
from hlotool.interp.plan.numbers import NumberTemplate
from hlotool.interp.plan.operations import Operation, Variable, long_dimensions

__all__ = ["can_reduce_rows", "combination", "write_reduce", "write_rows"]

_LANES, _FEW_LANES = 64, 8
"""The numbers of lanes of a row whose maxima are computed at the same time, and one by one.

Both are powers of two.
"""


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


# ---- rows of clusters --------------------------------------------------------------------------


def can_reduce_rows(form: Reduction, result: Variable, length: int) -> bool:
    """Returns whether `write_rows` can write a reduction of contiguous rows."""
    number = NUMBERS[result.shape.element_type]
    if number.kind != "float" or number.held != number.computed or form.monoid.compares:
        return number.kind == "float" and number.held == number.computed
    is_sum = form.monoid.is_sum and form.has_long_rows and (length <= MAX_SUM_LENGTH or length % MAX_SUM_LENGTH == 0)
    return is_sum and einsum_lanes(number.held.name) > 0


@cache
def einsum_lanes(dtype: str) -> int:
    """Returns the number of partial sums in which `einsum` adds a row; 0 if its order is unknown."""
    generator = np.random.default_rng(1)
    tests = [generator.standard_normal((3, length)).astype(dtype) for length in (29, 64, 121, MAX_SUM_LENGTH)]
    candidates = (lanes for lanes in (2, 4, 8, 16) if all(np.array_equal(np.einsum("...i->...", x), _sum_in_lanes(x, lanes)) for x in tests))
    return next(candidates, 0)


def _sum_in_lanes(rows: Array, lanes: int) -> Array:
    """Adds rows in the order of `_write_sum`."""
    total, length = np.zeros((len(rows), lanes), rows.dtype), rows.shape[1]
    whole = length - length % (4 * lanes)
    for k in range(0, whole, 4 * lanes):
        a, b, c, d = np.split(rows[:, k : k + 4 * lanes], 4, axis=1)
        total = ((a + b) + (c + d)) + total
    for k in range(whole, length, lanes):
        part = rows[:, k : k + lanes]
        total[:, : part.shape[1]] += part
    while total.shape[1] > 1:
        total = total[:, ::2] + total[:, 1::2]
    return total[:, 0]


def write_rows(
    self: NativeStatements, form: Reduction, result: Variable, source: Callable[[str], str], target: Callable[[str], str], count: str, length: int
) -> None:
    """Writes the reduction of rows, from the elements `source(index)` to `target(index)`."""
    template = combination(self, form.monoid, result)
    init, total = self.writer.bind(form.init[()]), self.writer.local("t")
    with self.writer.block(f"for k in range({count}):"):
        if form.monoid.is_sum:
            _write_sum(self, result, source, total, length)
        else:
            _write_comparisons(self, result, template, source, total, length)
        self.write_value(target("k"), template, [total, init])


def _write_comparisons(
    self: NativeStatements, result: Variable, template: NumberTemplate, source: Callable[[str], str], total: str, length: int
) -> None:
    """Writes the maximum or minimum of row k: of each lane, then of the lanes in pairs."""
    lanes, width = self.allocate(dtype_of(result), _LANES), min(_LANES, 1 << (length.bit_length() - 1))

    def combine(count: int, operand: str) -> None:
        with self.writer.block(f"for i in range({count}):"):
            self.write_value(f"{lanes}[i]", template, [f"{lanes}[i]", operand])

    self.writer.line(f"for i in range({width}): {lanes}[i] = {source(f'k * {length} + i')}")
    with self.writer.block(f"for j in range(1, {length // width}):"):
        combine(width, source(f"k * {length} + j * {width} + i"))
    if length % width:
        combine(length % width, source(f"k * {length} + {length // width * width} + i"))
    while width > _FEW_LANES:
        width //= 2
        combine(width, f"{lanes}[{width} + i]")
    self.writer.line(f"{total} = {lanes}[0]")
    with self.writer.block(f"for j in range(1, {width}):"):
        self.write_value(total, template, [total, f"{lanes}[j]"])


def _write_sum(self: NativeStatements, result: Variable, source: Callable[[str], str], total: str, length: int) -> None:
    """Writes the sum of row k in the order of `reduce_long_rows`."""
    dtype, line = dtype_of(result), self.writer.line
    part = min(length, MAX_SUM_LENGTH)
    if part == length:
        _write_sum_in_lanes(self, dtype, lambda index: source(f"k * {length} + {index}"), total, length)
        return
    sums, whole = self.allocate(dtype, length // part), self.allocate(dtype, 1)
    with self.writer.block(f"for h in range({length // part}):"):
        _write_sum_in_lanes(self, dtype, lambda index: source(f"k * {length} + h * {part} + {index}"), total, part)
        line(f"{sums}[h] = {total}")
    line(f"{whole}[0] = 0")
    address, size = (f"{whole}.ctypes.data", dtype), np.dtype(dtype).itemsize
    self.call_loop(np.add, [address, (f"{sums}.ctypes.data", dtype), address], [length // part], (0, size, 0))
    line(f"{total} = {whole}[0]")


def _write_sum_in_lanes(self: NativeStatements, dtype: str, source: Callable[[str], str], total: str, length: int) -> None:
    lanes, line = einsum_lanes(dtype), self.writer.line
    names = [self.writer.local("t") for _ in range(lanes)]
    zero = self.writer.bind(np.zeros((), dtype)[()])
    for name in names:
        line(f"{name} = {zero}")
    with self.writer.block(f"for j in range({length // (4 * lanes)}):"):
        for k, name in enumerate(names):
            a, b, c, d = (source(f"j * {4 * lanes} + {n * lanes + k}") for n in range(4))
            line(f"{name} = (({a} + {b}) + ({c} + {d})) + {name}")
    for k in range(length - length % (4 * lanes), length):
        line(f"{names[k % lanes]} = {source(str(k))} + {names[k % lanes]}")
    while len(names) > 1:
        names = [f"({a} + {b})" for a, b in zip(names[::2], names[1::2], strict=True)]
    line(f"{total} = {names[0]}")
