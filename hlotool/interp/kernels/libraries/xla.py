"""Custom-call targets of XLA and JAX, except for linear algebra.

The targets are annotations, buffers, dynamic shapes, sorts, random bits and others.
"""

from __future__ import annotations

import numpy as np

from hlotool.errors import Violation
from hlotool.interp.arrays.bits import total_order_keys
from hlotool.interp.arrays.dtypes import NUMPY_TYPES, Array
from hlotool.interp.arrays.values import Value, zeros
from hlotool.interp.kernels.libraries.base import CustomCall, Handler, flag_of, require, result_with_workspace, results_of, settings_of
from hlotool.interp.kernels.random_numbers import threefry
from hlotool.shapes.shape import compatible

__all__ = ["PARTITIONER_TARGETS", "TARGETS"]


def _unchanged(*operands: Value, call: CustomCall) -> Value:
    """Returns the operand of an annotation, whose shape must be compatible with the result's."""
    if len(operands) != 1 or not compatible(call.operand_shapes[0], call.result):
        operands_text = ", ".join(shape.text_without_layout for shape in call.operand_shapes) or "no operands"
        message = f"'{call.target}' changes shapes from {operands_text} to {call.result.text_without_layout}, which requires several devices"
        raise Violation("R004", "custom_call_target", message, "run the partitioned module instead")
    return operands[0]


def _top_k(operand: Value, *, call: CustomCall) -> Value:
    """Returns the largest values of each row and their indices, from largest to smallest.

    Values are compared in total order. Equal values keep their order.
    """
    k = call.result.elements[0].dimensions[-1]
    keys = total_order_keys(operand)
    descending = np.negative(keys) if keys.dtype.kind == "f" else np.invert(keys)
    order = np.argsort(descending, axis=-1, kind="stable")[..., :k]
    return np.take_along_axis(operand, order, axis=-1), order.astype(np.int32)


def _sparse_product(values: Array, row_starts: Array, columns: Array, dense: Array, *, call: CustomCall) -> Value:
    """Multiplies a matrix in compressed-row format by a dense vector or matrix.

    Values after the last row are padding.
    """
    counts = np.diff(row_starts)
    stored = slice(int(row_starts[0]), int(row_starts[-1]))
    factors = values[stored].reshape(-1, *[1] * (dense.ndim - 1))
    product = np.zeros(call.result.dimensions, values.dtype)
    np.add.at(product, np.repeat(np.arange(len(counts)), counts), factors * dense[columns[stored]])
    return product


def _sort_by_keys(keys: Array, *values: Array, call: CustomCall) -> Value:
    """Sorts each row of keys, as a radix sort does, and moves the values along with their keys.

    The sort is stable, -0 equals 0, and NaN comes after infinity.
    """
    order_keys = total_order_keys(keys)
    if keys.dtype.kind not in "biu":
        order_keys = np.where(keys == 0, order_keys.dtype.type(0), order_keys)
    if flag_of(settings_of(call, "sort"), "descending", call):
        order_keys = np.invert(order_keys)
    order = np.argsort(order_keys, axis=-1, kind="stable")
    return result_with_workspace(call, *(np.take_along_axis(x, order, axis=-1) for x in (keys, *values)))


def _pad_to_static(operand: Array, *, call: CustomCall) -> Value:
    """Pads an array of dynamic size to its maximum size, and also returns its actual sizes.

    The padding has no meaning.
    """
    padded, *sizes = results_of(call)
    whole = np.zeros(padded.dimensions, operand.dtype)
    whole[tuple(map(slice, operand.shape))] = operand
    return whole, *(np.asarray(size, NUMPY_TYPES[shape.element_type]) for size, shape in zip(operand.shape, sizes, strict=False))


def _slice_to_dynamic(operand: Array, *sizes: Array, call: CustomCall) -> Value:
    """Returns the array reduced to the first elements of each dynamic dimension.

    The number of elements is the given size, limited to the bound of the dimension.
    """
    dynamic = call.result.dynamic or (False,) * operand.ndim
    limits = zip(call.result.dimensions, dynamic, sizes, strict=False)
    return operand[tuple(slice(min(max(0, int(size)), bound) if is_dynamic else bound) for bound, is_dynamic, size in limits)]


def _buffer(*, call: CustomCall) -> Value:
    """Returns memory that other instructions will write to."""
    return zeros(call.result)


def _concatenate(*operands: Array, call: CustomCall) -> Value:
    """Joins pieces that are adjacent in memory, as after a split along one dimension."""
    sizes = call.result.dimensions
    axes = [k for k, size in enumerate(sizes) if any(x.ndim != len(sizes) or x.shape[k] != size for x in operands)]
    require(len(axes) < 2, call, f"joins {', '.join(s.text_without_layout for s in call.operand_shapes)} along more than one dimension")
    return np.concatenate(operands, axes[0] if axes else 0)


def _threefry_bits(*operands: Array, call: CustomCall) -> Value:
    """Computes random bits for each key and counter, each of which is passed as two halves."""
    key, counter = (_join_halves(*operands[k : k + 2]) for k in (0, 2))
    return threefry(key, counter)


def _pivots_to_permutation(pivots: Array, *, call: CustomCall) -> Value:
    """Returns the 0-based order of the rows after the row exchanges of an LU decomposition."""
    order = np.broadcast_to(np.arange(call.result.dimensions[-1], dtype=np.int32), call.result.dimensions).copy()
    rows = order.reshape(-1, order.shape[-1])
    for row, swaps in zip(rows, pivots.reshape(-1, pivots.shape[-1]), strict=True):
        for k, other in enumerate(swaps):
            row[[k, other]] = row[[other, k]]
    return rows.reshape(order.shape)


def _low_word(operand: Array, *, call: CustomCall) -> Value:
    """Returns the low half of a 64-bit integer, or a double's difference from the nearest f32."""
    if operand.dtype.kind == "f":
        high = operand.astype(np.float32)
        return np.where(np.isfinite(high), operand - high, 0).astype(np.float32)
    return operand.astype(np.uint64).astype(np.uint32).astype(NUMPY_TYPES[call.result.element_type])


def _high_word(operand: Array, *, call: CustomCall) -> Value:
    if operand.dtype.kind == "f":
        return operand.astype(np.float32)
    return (operand.astype(np.uint64) >> np.uint64(32)).astype(np.uint32).astype(NUMPY_TYPES[call.result.element_type])


def _combine_words(low: Array, high: Array, *, call: CustomCall) -> Value:
    wide = NUMPY_TYPES[call.result.element_type]
    if wide.kind == "f":
        return high.astype(np.float64) + low.astype(np.float64)
    return _join_halves(low, high).astype(wide)


def _join_halves(low: Array, high: Array) -> Array:
    return np.asarray(high.astype(np.uint32).astype(np.uint64) << np.uint64(32) | low.astype(np.uint32).astype(np.uint64))


PARTITIONER_TARGETS = frozenset(
    """Sharding SPMDFullToShardShape SPMDShardToFullShape xla.sdy.Sharding xla.sdy.FuncResultSharding xla.sdy.GlobalToLocalShape
    xla.sdy.LocalToGlobalShape xla.sdy.PropagationBarrier xla.sdy.ShardingGroup""".split()
)
"""Targets that a partitioner reads and removes."""

_ANNOTATIONS = """LayoutConstraint annotate_device_placement MoveToHost MoveToDevice PinToDevice PinToDeviceSram PinToHost
AssumeGatherIndicesInBound AwsNeuronTransferWithStaticRing""".split()

_SORTS = """__cub$DeviceRadixSort __cub$DeviceRadixSortUnassignedScratchSize xla.gpu.ext.cub_sort_keys xla.gpu.ext.cub_sort_pairs
xla.gpu.ext.cub_sort_unassigned_scratch_size""".split()

TARGETS: dict[str, Handler] = {
    **dict.fromkeys([*sorted(PARTITIONER_TARGETS), *_ANNOTATIONS], _unchanged),
    **dict.fromkeys(["TopK", "__gpu$TopK", "mhlo.topk"], _top_k),
    **dict.fromkeys(_SORTS, _sort_by_keys),
    **dict.fromkeys(["cuda_threefry2x32", "cu_threefry2x32", "cu_threefry2x32_ffi", "hip_threefry2x32", "hip_threefry2x32_ffi"], _threefry_bits),
    **dict.fromkeys([f"{library}_lu_pivots_to_permutation" for library in ("cuda", "cu", "hip")], _pivots_to_permutation),
    "PadToStatic": _pad_to_static,
    "SliceToDynamic": _slice_to_dynamic,
    **dict.fromkeys(["AllocateBuffer", "__custom_kernel_fusion$workspace"], _buffer),
    "ConcatBitcast": _concatenate,
    "X64SplitLow": _low_word,
    "X64SplitHigh": _high_word,
    "X64Combine": _combine_words,
    "cpu_csr_sparse_dense_ffi": _sparse_product,
}
