"""W034 to W036 and W053: indices that are constant, out of bounds or too narrow."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from hlotool.analysis.simplify import constant_value
from hlotool.ir.model import Instruction
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

# The number of the first operand that is an index.
_FIRST_INDEX = {"dynamic-slice": 1, "dynamic-update-slice": 2}


@module_rule("W034", "W036", stage="lint")
def constant_indices(facts: Facts) -> Iterator[Finding]:
    """Constant indices are in bounds, and are used by slice rather than by dynamic-slice.

    Checks: no constant start of a dynamic-slice or dynamic-update-slice is clamped, and no constant
    index of a gather or scatter is clamped or dropped (W034); at least one start index of each
    dynamic-slice is not a constant (W036).
    """
    for computation, x in facts.instructions_of(*_FIRST_INDEX):
        first = _FIRST_INDEX[x.op.name]
        sizes = x.shape.dimensions if first == 1 else x.operands[1].shape.dimensions
        values = [constant_value(operand) for operand in x.operands[first:]]
        if len(values) != len(sizes):
            # The old form of these ops has a single array of indices.
            continue
        for k, (value, total, size) in enumerate(zip(values, x.operands[0].shape.dimensions, sizes, strict=True)):
            if value is not None and not 0 <= value <= total - size:
                message = f"start {value} of dimension {k} is clamped to {min(max(value, 0), total - size)}"
                yield Finding("W034", computation, x, f"operand {first + k}", message)
        if first == 1 and values and None not in values:
            yield Finding("W036", computation, x, "opcode", "all start indices are constants", "use slice")
    for computation, x in facts.instructions_of("gather", "scatter"):
        value = constant_value(x.operands[len(x.operands) // 2])
        bound = _index_bound(x)
        if value is not None and bound is not None and not 0 <= value <= bound:
            effect = "drops the update" if x.op.name == "scatter" else f"clamps it to {min(max(value, 0), bound)}"
            yield Finding("W034", computation, x, f"operand {len(x.operands) // 2}", f"index {value} is out of bounds: XLA {effect}")


def _index_bound(x: Instruction) -> int | None:
    """Returns the largest index that is in bounds in all indexed dimensions, or None."""
    sizes = x.operands[0].shape.dimensions
    if x.op.name == "gather":
        slice_sizes = x.attributes["slice_sizes"]
        return min((sizes[k] - slice_sizes[k] for k in x.attributes["start_index_map"]), default=None)
    inserted = x.attributes["inserted_window_dims"]
    mapped = x.attributes["scatter_dims_to_operand_dims"]
    return min((sizes[k] - 1 for k in mapped), default=None) if all(k in inserted for k in mapped) else None


@module_rule("W035", stage="lint")
def index_overflows(facts: Facts) -> Iterator[Finding]:
    """Index types are wide enough for the dimensions.

    Checks: the element type of each iota, and the index types of dynamic slices and updates, can
    count to the end of the dimension.
    """
    for computation, x in facts.instructions_of("iota"):
        last, greatest = x.shape.dimensions[x.attributes["iota_dimension"]] - 1, _greatest(x)
        if greatest is not None and last > greatest:
            yield Finding("W035", computation, x, "shape", f"iota counts to {last}, but {x.shape.element_type} only to {greatest}")
    for computation, x in facts.instructions_of(*_FIRST_INDEX):
        for k, index in enumerate(x.operands[_FIRST_INDEX[x.op.name] :]):
            greatest = _greatest(index)
            size = x.operands[0].shape.dimensions[k]
            if greatest is not None and not index.shape.dimensions and size - 1 > greatest:
                message = f"an index of type {index.shape.element_type} cannot reach the end of dimension {k} of size {size}"
                yield Finding("W035", computation, x, f"operand {_FIRST_INDEX[x.op.name] + k}", message)
                break


def _greatest(x: Instruction) -> int | None:
    """Returns the integer up to which an element type counts without gaps, or None."""
    row = ELEMENT_TYPES[x.shape.element_type]
    if row.is_integral:
        return row.maximum
    return 1 << (row.float_format.mantissa_bits + 1) if row.float_format is not None else None


@module_rule("W053", stage="lint")
def gathers_of_one(facts: Facts) -> Iterator[Finding]:
    """A gather takes several slices.

    Checks: each gather has several indices, and they are not all the same constant.
    """
    for computation, x in facts.instructions_of("gather"):
        indices = x.operands[1]
        vector = x.attributes["index_vector_dim"]
        count = prod(size for k, size in enumerate(indices.shape.dimensions) if k != vector)
        if constant_value(indices) is not None:
            yield Finding("W053", computation, x, "opcode", "all indices are the same constant", "use slice")
        elif count == 1:
            yield Finding("W053", computation, x, "opcode", "this gathers a single slice", "use dynamic-slice")
