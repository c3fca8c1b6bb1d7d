"""Opcodes that access elements at computed indices, or reorder elements by value.

They are gather, scatter, dynamic slices, sort and topk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hlotool.errors import Violation
from hlotool.opdefs.base import op, require
from hlotool.opdefs.constraints import require_same_element_type, same_order
from hlotool.opdefs.inference import (
    Bound,
    ReducerRules,
    array_operand,
    bare,
    bounds,
    dimensions_agree,
    has_dimensions,
    is_scalar,
    kind_of,
    new_array,
    new_tuple,
    require_array,
    require_arrays,
    require_ascending_dimensions,
    require_dimension,
    require_distinct_dimensions,
    require_kind,
    require_reducer,
    require_written_shape,
    same_type_up_to_precision,
    sizes_agree,
)
from hlotool.opdefs.inference import count as counted
from hlotool.opdefs.kinds import (
    Always,
    Bool,
    Computation,
    Dims,
    Int,
    SingleDim,
    SliceSizes,
)
from hlotool.opdefs.layouts import check_sliced_memory, check_updated_memory
from hlotool.opdefs.modes import VerifyModes
from hlotool.opdefs.traits import EXPENSIVE, HOLDS_BUFFERS, MIXED_PRECISION, MOVES, ORDER_KEPT, OVERWRITES, PRECISION_KEPT, REARRANGES, STRIDED
from hlotool.opdefs.work import Work, elements
from hlotool.shapes.shape import UNBOUNDED, ProgramShape, Shape, array_shape, compatible, size_text, sizes_text, tuple_shape

__all__: list[str] = []

_INTEGRAL = ("signed", "unsigned")


# Gather and scatter


def _index_bounds(opcode: str, at: str, indices: Shape, index_vector_dim: int) -> list[Bound]:
    """Returns the dimensions of the indices.

    If index_vector_dim is the rank of the indices, a dimension of size 1 is appended.
    """
    code = "T064" if opcode == "gather" else "T067"
    require_kind(indices, at, opcode, _INTEGRAL, code)
    rank = indices.rank
    known = 0 <= index_vector_dim <= rank
    require(known, code, "index_vector_dim", f"index_vector_dim of '{opcode}' must be in 0..{rank}, got {index_vector_dim}")
    expanded = bounds(indices)
    return [*expanded, (1, False)] if index_vector_dim == rank else expanded


def _check_index_map(opcode: str, name: str, index_map: Dims, rank: int, vector: Bound) -> None:
    code = "T064" if opcode == "gather" else "T067"
    # Gather rejects index vectors of unbounded length; scatter accepts them.
    fits = vector[0] == len(index_map) or (vector[0] == UNBOUNDED and opcode == "scatter")
    length = "an unbounded length" if vector[0] == UNBOUNDED else f"length {vector[0]}"
    require(fits, code, name, f"{name} of '{opcode}' has length {len(index_map)}, but an index vector has {length}")
    require_distinct_dimensions(index_map, rank, code, name, opcode)


def _check_batching(opcode: str, names: tuple[str, str], dims: tuple[Dims, Dims], operand: Shape, indices: Sequence[Bound]) -> None:
    """Checks that batching dimensions are paired.

    XLA's inference compares only the number of batching dimensions. It does not compare their
    sizes, and does not check whether they are also in other dimension lists.
    """
    code = "T062" if opcode == "gather" else "T065"
    of_operand, of_indices = dims
    require_ascending_dimensions(of_operand, operand.rank, code, names[0], opcode)
    require_distinct_dimensions(of_indices, len(indices), code, names[1], opcode)
    counts = len(of_operand), len(of_indices)
    require(counts[0] == counts[1], code, names[1], f"{names[0]} of '{opcode}' has length {counts[0]}, but {names[1]} has length {counts[1]}")


def _check_slice_sizes(operand: Shape, slice_sizes: Dims, dropped: Sequence[int]) -> None:
    for k, (size, bound) in enumerate(zip(slice_sizes, operand.dimensions, strict=True)):
        fits = bound == UNBOUNDED or 0 <= size <= bound
        require(fits, "T063", "slice_sizes value", f"slice size {size} does not fit dimension {k} of {operand.text_without_layout}")
    small = all(slice_sizes[dimension] <= 1 for dimension in dropped)
    require(small, "T063", "slice_sizes value", "collapsed and batching dimensions of 'gather' must have slice sizes of at most 1")


@op(traits=(REARRANGES, EXPENSIVE))
def gather(
    operand: Shape,
    start_indices: Shape,
    *,
    offset_dims: Dims,
    collapsed_slice_dims: Dims,
    start_index_map: Dims,
    operand_batching_dims: Dims = (),
    start_indices_batching_dims: Dims = (),
    index_vector_dim: Int,
    slice_sizes: SliceSizes,
    indices_are_sorted: Bool = False,
) -> Shape:
    """Gathers slices of the same size from the operand.

    Index vectors contain the starts of the slices. Starts are clamped so that the slices are in
    bounds.

        r = f32[2,3] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}
    """
    require_arrays((operand, start_indices), "gather")
    indices = _index_bounds("gather", "operand 1", start_indices, index_vector_dim)
    rank = len(offset_dims) + len(indices) - 1
    require_ascending_dimensions(offset_dims, rank, "T062", "offset_dims", "gather")
    _check_index_map("gather", "start_index_map", start_index_map, operand.rank, indices[index_vector_dim])
    require_ascending_dimensions(collapsed_slice_dims, operand.rank, "T062", "collapsed_slice_dims", "gather")
    names = ("operand_batching_dims", "start_indices_batching_dims")
    _check_batching("gather", names, (operand_batching_dims, start_indices_batching_dims), operand, indices)
    dropped = {*collapsed_slice_dims, *operand_batching_dims}
    covered = len(offset_dims) + len(collapsed_slice_dims) + len(operand_batching_dims)
    fits = len(slice_sizes) == operand.rank == covered
    sizes_shown = counted(len(slice_sizes), "slice size")
    message = (
        f"'gather' from an operand of rank {operand.rank} has {sizes_shown}, and its offset, collapsed and batching dimensions add up to {covered}"
    )
    require(fits, "T063", "slice_sizes", message, "both numbers must equal the rank")
    _check_slice_sizes(operand, slice_sizes, sorted(dropped))
    sizes = zip(slice_sizes, bounds(operand), strict=True)
    # A dynamic dimension remains dynamic if the slice covers it completely.
    window = [(size, dynamic and size == bound) for k, (size, (bound, dynamic)) in enumerate(sizes) if k not in dropped]
    batch = [bound for k, bound in enumerate(indices) if k != index_vector_dim]
    return new_array(operand.element_type, _interleave(rank, offset_dims, window, batch), "gather")


def _interleave(rank: int, window_dims: Dims, window: Sequence[Bound], batch: Sequence[Bound]) -> list[Bound]:
    """Returns the dimensions of the result.

    The window dimensions are at the positions in `window_dims`. The batch dimensions fill all other
    positions, in order.
    """
    windows, batches, positions = iter(window), iter(batch), set(window_dims)
    return [next(windows) if k in positions else next(batches) for k in range(rank)]


def _check_scatter(result: Shape | None, operands: tuple[Shape, ...], attributes: dict[str, Any]) -> None:
    odd = len(operands) % 2 == 1
    require(odd, "S013", "operands", f"'scatter' takes an odd number of operands (n arrays, the indices and n updates), got {len(operands)}")


def _check_updates(at: str, update: Shape, limits: Sequence[int], indices: Sequence[Bound], window_dims: Dims, index_vector_dim: int) -> None:
    """Checks that window dimensions fit the operand, and that the others match the indices."""
    # There are more limits than window dimensions if a dimension is both inserted and batching.
    for dimension, limit in zip(window_dims, limits, strict=False):
        # XLA represents an unbounded size as the smallest integer. So an unbounded update fits
        # every limit, and only an unbounded update fits an unbounded limit.
        size = update.dimensions[dimension]
        fits = size == UNBOUNDED or (limit != UNBOUNDED and size <= limit)
        require(fits, "T066", at, f"updates of 'scatter' have size {size} in window dimension {dimension}, but the operand has {size_text(limit)}")
    batch = [bound for k, bound in enumerate(indices) if k != index_vector_dim]
    positions = sorted(set(range(update.rank)).difference(window_dims))
    for dimension, (size, _) in zip(positions, batch, strict=True):
        agree = sizes_agree(update.dimensions[dimension], size)
        require(
            agree,
            "T066",
            at,
            f"updates of 'scatter' have size {update.dimensions[dimension]} in dimension {dimension}, where the indices have {size}",
        )


_SCATTER_RULES = ReducerRules("C023", "C023", "C023", "C023")


def _scatter_work(result: Shape, operands: tuple[Shape, ...], attributes: Mapping[str, Any]) -> Work:
    # The operands are n arrays, the indices, and n updates.
    return Work(runs={"to_apply": elements(operands[len(operands) // 2 + 1])})


@op(check_parsed=_check_scatter, traits=(MIXED_PRECISION, OVERWRITES, EXPENSIVE, ORDER_KEPT), work=_scatter_work)
def scatter(
    *operands: Shape,
    update_window_dims: Dims,
    inserted_window_dims: Dims,
    scatter_dims_to_operand_dims: Dims,
    input_batching_dims: Dims = (),
    scatter_indices_batching_dims: Dims = (),
    index_vector_dim: Int,
    indices_are_sorted: Bool = False,
    unique_indices: Bool = False,
    to_apply: Computation,
) -> Shape:
    """Combines the operands with updates using to_apply, at positions given by index vectors.

    Updates that are out of bounds are skipped.

        r = f32[5,4] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0},
            index_vector_dim=1, to_apply=add
    """
    _check_scatter(None, operands, {})
    count = len(operands) // 2
    inputs, scatter_indices, updates = operands[:count], operands[count], operands[count + 1 :]
    require_arrays(operands, "scatter")
    indices = _index_bounds("scatter", f"operand {count}", scatter_indices, index_vector_dim)
    names = ("input_batching_dims", "scatter_indices_batching_dims")
    for k, (operand, update) in enumerate(zip(inputs, updates, strict=True)):
        at = f"definition of operand {count + 1 + k}"
        rank = len(indices) - 1 + len(update_window_dims)
        require(update.rank == rank, "T066", at, f"updates of 'scatter' must have rank {rank}, got {update.text_without_layout}")
        require_ascending_dimensions(update_window_dims, rank, "T065", "update_window_dims", "scatter")
        require_ascending_dimensions(inserted_window_dims, operand.rank, "T065", "inserted_window_dims", "scatter")
        _check_batching("scatter", names, (input_batching_dims, scatter_indices_batching_dims), operand, indices)
        dropped = {*inserted_window_dims, *input_batching_dims}
        covered, needed = len(update_window_dims) + len(inserted_window_dims) + len(input_batching_dims), counted(operand.rank, "entry", "entries")
        message = f"update_window_dims, inserted_window_dims and input_batching_dims need {needed} in total, got {covered}"
        require(covered == operand.rank, "T065", "update_window_dims", message)
        _check_index_map("scatter", "scatter_dims_to_operand_dims", scatter_dims_to_operand_dims, operand.rank, indices[index_vector_dim])
        limits = [size for k, size in enumerate(operand.dimensions) if k not in dropped]
        _check_updates(at, update, limits, indices, update_window_dims, index_vector_dim)
    inits = [array_shape(x.element_type) for x in inputs]
    require_reducer(to_apply, "to_apply", "scatter", inits, [x.element_type for x in updates], _SCATTER_RULES)
    return inputs[0] if count == 1 else new_tuple(inputs, "operands", "scatter")


# Slices at computed positions


def _check_start_indices(opcode: str, operands: tuple[Shape, ...], fixed: int) -> None:
    """Checks the start indices, which are the operands after the first `fixed` operands.

    The start indices must be one scalar per dimension of operand 0, or a single vector, whose
    length is not checked here.
    """
    indices = len(operands) - fixed
    require(indices >= 0, "T028", "operands", f"'{opcode}' takes at least {counted(fixed, 'operand')}, got {len(operands)}")
    if indices == 1:
        require(has_dimensions(operands[fixed]), "T028", f"operand {fixed}", f"start indices of '{opcode}' must be arrays")
        if bare(operands[fixed]).rank == 1:
            return
    rank = array_operand(operands[0], "operand 0", opcode).rank
    message = f"'{opcode}' must have {rank} start {'index' if rank == 1 else 'indices'} (one per dimension), got {indices}"
    require(indices == rank, "T028", "operands", message)


def _check_dynamic_slice(result: Shape | None, operands: tuple[Shape, ...], attributes: dict[str, Any]) -> None:
    _check_start_indices("dynamic-slice", operands, 1)


def _check_index_types(opcode: str, operands: tuple[Shape, ...], fixed: int) -> None:
    """Checks that the start indices are integers of the same type.

    They must be scalars, or a single vector with one element per dimension.
    """
    starts = operands[fixed:]
    for k, start in enumerate(starts, fixed):
        at = f"operand {k}"
        require_array(start, at, opcode)
        require(kind_of(start.element_type) in _INTEGRAL, "T029", at, f"a start index must be an integer, got {start.text_without_layout}")
        same = start.element_type == starts[0].element_type
        require(same, "T029", at, f"start indices must have the same type, got {starts[0].element_type} and {start.element_type}")
    if len(starts) == 1 and starts[0].rank == 1:
        size, rank = starts[0].dimensions[0], operands[0].rank
        message = f"the index vector has {counted(size, 'element')}, but operand 0 has rank {rank}"
        require(sizes_agree(size, rank), "T028", f"operand {fixed}", message)
        return
    for k, start in enumerate(starts, fixed):
        require(not start.rank, "T029", f"operand {k}", f"a start index must be a scalar, got {start.text_without_layout}")


def _verify_dynamic_slice(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> Shape:
    operand, sizes = operands[0], attributes["dynamic_slice_sizes"]
    require_array(operand, "operand 0", "dynamic-slice")
    _check_index_types("dynamic-slice", operands, 1)
    if result.is_array:
        require_same_element_type(result, operand, "dynamic-slice", modes)
    at = "dynamic_slice_sizes value"
    require(
        len(sizes) == operand.rank, "T030", at, f"dynamic_slice_sizes must have {counted(operand.rank, 'size')} (one per dimension), got {len(sizes)}"
    )
    dimensions: list[Bound] = []
    for k, (size, (bound, dynamic)) in enumerate(zip(sizes, bounds(operand), strict=True)):
        require(size >= 0, "T030", at, f"slice size {size} of dimension {k} is negative")
        require(size <= bound or bound == UNBOUNDED, "T030", at, f"slice size {size} exceeds dimension {k} of size {bound}")
        dimensions.append((size, dynamic and size == bound))
    check_sliced_memory(result, operand, modes)
    return new_array(operand.element_type, dimensions, "dynamic-slice")


@op(infers=False, check_parsed=_check_dynamic_slice, verify=_verify_dynamic_slice, traits=(STRIDED, ORDER_KEPT))
def dynamic_slice(*operands: Shape, dynamic_slice_sizes: Dims) -> Shape:
    """Returns a slice of the first operand.

    The other operands are the start indices, which are clamped so that the slice is in bounds.

        r = f32[2] dynamic-slice(x, i), dynamic_slice_sizes={2}
    """
    require_written_shape("dynamic-slice")


def _check_dynamic_update_slice(result: Shape | None, operands: tuple[Shape, ...], attributes: dict[str, Any]) -> None:
    _check_start_indices("dynamic-update-slice", operands, 2)


def _verify_update_slice(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> Shape:
    operand, update = array_operand(operands[0], "operand 0", "dynamic-update-slice"), array_operand(operands[1], "operand 1", "dynamic-update-slice")
    _check_index_types("dynamic-update-slice", operands, 2)
    fits = operand.rank == update.rank
    require(fits, "T031", "operand 1", f"the update has rank {update.rank}, but the operand has rank {operand.rank}")
    same = same_type_up_to_precision(operand.element_type, update.element_type)
    require(same, "T032", "operand 1", f"the update has type {update.element_type}, but the operand has type {operand.element_type}")
    for k, (size, bound) in enumerate(zip(update.dimensions, operand.dimensions, strict=True)):
        fits = UNBOUNDED in (size, bound) or size <= bound
        require(fits, "T031", "operand 1", f"update size {size} exceeds dimension {k} of size {bound}")
    check_updated_memory(result, operands[0], modes)
    # Other layout changes are reported as L008.
    if not modes.layouts_kept and compatible(result, operands[0]) and not same_order(result, operands[0], modes):
        message = f"the result of 'dynamic-update-slice' must have the layout of {operands[0].text}, but {result.text} is written"
        raise Violation("L024", "shape[layout]", message)
    return operands[0]


@op(
    infers=False,
    check_parsed=_check_dynamic_update_slice,
    verify=_verify_update_slice,
    traits=(PRECISION_KEPT, OVERWRITES, ORDER_KEPT, HOLDS_BUFFERS),
)
def dynamic_update_slice(*operands: Shape) -> Shape:
    """Overwrites a slice of the first operand with the second operand.

    The other operands are the start indices, which are clamped so that the slice is in bounds.

        r = f32[4] dynamic-update-slice(x, u, i)
    """
    require_written_shape("dynamic-update-slice")


# Order


def _verify_sort(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> None:
    require(operands, "S013", "operands", "'sort' takes at least one operand")
    to_apply: ProgramShape = attributes["to_apply"]
    verdict = to_apply.result
    require(compatible(verdict, array_shape("pred")), "C026", "to_apply", f"the comparator must return pred[], got {verdict.text_without_layout}")
    parameters, expected = len(to_apply.parameters), 2 * len(operands)
    require(
        parameters == expected,
        "C025",
        "to_apply",
        f"the comparator of 'sort' must have {expected} parameters for {counted(len(operands), 'operand')}, got {parameters}",
    )
    for k, parameter in enumerate(to_apply.parameters):
        element_type = array_operand(operands[k // 2], f"operand {k // 2}", "sort").element_type
        fits = is_scalar(parameter) and same_type_up_to_precision(parameter.element_type, element_type)
        message = f"parameter {k} of the comparator is {parameter.text_without_layout}, but the elements of operand {k // 2} are {element_type}"
        require(fits, "C027", "to_apply", message)
    require_dimension(attributes["dimensions"][0], bare(operands[0]).rank, "T076", "dimensions", "sort")


def _sort_work(result: Shape, operands: tuple[Shape, ...], attributes: Mapping[str, Any]) -> Work:
    """Counts n log n comparisons, each as one operation."""
    count = elements(operands[0])
    return Work(count * max(0, count - 1).bit_length())


@op(verify=_verify_sort, traits=(MIXED_PRECISION, MOVES, EXPENSIVE, ORDER_KEPT), work=_sort_work)
def sort(*operands: Shape, dimensions: SingleDim, is_stable: Bool = False, to_apply: Computation) -> Shape:
    """Sorts the operands along one dimension with the comparator to_apply.

    All operands are permuted in the same way.

        r = f32[4] sort(x), dimensions={0}, to_apply=less
    """
    if len(operands) == 1:
        return operands[0]
    for k, operand in enumerate(operands):
        sizes, first = array_operand(operand, f"operand {k}", "sort").dimensions, bare(operands[0]).dimensions
        require(
            dimensions_agree(first, sizes),
            "T076",
            f"operand {k}",
            f"operands of 'sort' must have the same dimensions, got {sizes_text(first)} and {sizes_text(sizes)}",
        )
    return new_tuple(operands, "operands", "sort")


@op(traits=(MIXED_PRECISION, ORDER_KEPT))
def topk(operand: Shape, *, k: Int, largest: Always[Bool] = True, is_stable: Bool = True) -> Shape:
    """Returns the k largest (or smallest) elements along the last dimension, and their indices.

    The elements are sorted.

    r = (f32[2], s32[2]) topk(x), k=2, largest=true
    """
    require_array(operand, "operand 0", "topk")
    sizes = bounds(operand)
    last = sizes[-1][0] if sizes else 0
    require(k <= last, "T075", "k", f"k of 'topk' is {k}, which is larger than the last dimension of {operand.text_without_layout}")
    if sizes:
        require(k >= 0, "T075", "k", f"k of 'topk' cannot be negative, got {k}")
        sizes[-1] = (k, False)
    return tuple_shape((new_array(operand.element_type, sizes, "topk"), new_array("s32", sizes, "topk")))
