"""P008, P010 and P011: sizes that follow from the number of devices in a group."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hlotool.analysis.collectives import group_size
from hlotool.ir.model import Instruction
from hlotool.opdefs.inference import count
from hlotool.shapes.shape import UNBOUNDED, Shape
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

Fault = tuple[str, str, str]
"""The code, position and message of a finding."""


@module_rule("P008", "P010", "P011", stage="module")
def collective_sizes(facts: Facts) -> Iterator[Finding]:
    """The operands and results of collectives fit the size of their groups.

    Checks: all-gather multiplies the size of its dimension by the size of the group (P008);
    reduce-scatter divides it by that size (P010); and all-to-all has one operand per group member,
    or splits a dimension evenly among the members (P011). All-gather and reduce-scatter are not
    checked if neither the groups nor the header specify the number of devices.
    """
    for opcode, check in _CHECKS.items():
        for computation, x in facts.instructions_of(opcode):
            size = group_size(x, facts.module)
            # For all-to-all, a group with one member is checked as well: XLA assumes one device if
            # the number of devices is not given.
            fault = check(x, size) if x.operands and (size > 1 or opcode == "all-to-all") else None
            if fault is not None:
                yield Finding(fault[0], computation, x, fault[1], fault[2])


def _parts(x: Instruction) -> Iterator[tuple[int, int]]:
    """Yields the size of each operand and of its part of the result, along the op's dimension."""
    dimension = x.attributes["dimensions"][0]
    result = x.shape.elements[1] if x.op.operands_index is not None and len(x.shape.elements) > 1 else x.shape
    results = (result,) if len(x.operands) == 1 else result.elements
    for operand, result in zip(x.operands, results, strict=False):
        if _has(operand.shape, dimension) and _has(result, dimension):
            yield operand.shape.dimensions[dimension], result.dimensions[dimension]


def _has(shape: Shape, dimension: int) -> bool:
    return 0 <= dimension < shape.rank and shape.dimensions[dimension] != UNBOUNDED


# The following checks ignore results that no group size could produce, since the constraints of the
# ops reject them.


def _check_all_gather(x: Instruction, group: int) -> Fault | None:
    sizes = [(size, grown) for size, grown in _parts(x) if size]
    factors = {grown / size for size, grown in sizes}
    if len(factors) == 1 and factors != {group} and factors.pop().is_integer():
        size, grown = sizes[0]
        return "P008", "shape", f"a group of {group} requires a result of size {size * group}, got {grown}"
    return None


def _check_reduce_scatter(x: Instruction, group: int) -> Fault | None:
    for size, part in _parts(x):
        if part and size % part == 0 and part * group != size:
            return (
                "P010",
                "definition of operand 0",
                f"a group of {group} requires an operand of size {part * group} for parts of size {part}, got {size}",
            )
    return None


def _check_all_to_all(x: Instruction, group: int) -> Fault | None:
    dimensions = x.attributes.get("dimensions")
    if dimensions is None:
        if x.operands and len(x.operands) != group:
            return "P011", "operands", f"'all-to-all' requires {count(group, 'operand')} (one per group member), got {len(x.operands)}"
    elif _has(x.operands[0].shape, dimensions[0]) and x.operands[0].shape.dimensions[dimensions[0]] % group:
        return (
            "P011",
            "dimensions",
            f"dimension {dimensions[0]} of size {x.operands[0].shape.dimensions[dimensions[0]]} cannot be split into {group} equal parts",
        )
    return None


_CHECKS: dict[str, Callable[[Instruction, int], Fault | None]] = {
    "all-gather": _check_all_gather,
    "all-gather-start": _check_all_gather,
    "reduce-scatter": _check_reduce_scatter,
    "all-to-all": _check_all_to_all,
}
