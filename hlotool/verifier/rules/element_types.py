"""W012, W013, W031, W039 and P040: slow or imprecise element types, and arrays without elements."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from hlotool.analysis.collectives import reduces
from hlotool.analysis.simplify import binary_root
from hlotool.ir.model import Instruction
from hlotool.opdefs.inference import count
from hlotool.opdefs.traits import RANDOM_STATE
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.shapes.shape import Shape
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

_DOUBLES = frozenset({"f64", "c128"})
_WIDE_INTEGERS = frozenset({"s64", "u64"})
_MAX_TERMS = 1024
_LOW_BITS = 16


@module_rule("W012", "W013", "W039", stage="lint")
def element_types(facts: Facts) -> Iterator[Finding]:
    """Arrays have element types that accelerators support, and are not empty.

    Checks: no value has the type f64 or c128 (W012); no array has 64-bit integers, except for the
    state of random number generators (W013); no array has a dimension of size 0 (W039). Each code
    is reported once for each computation, at the first instruction with such a result.
    """
    state = {y for _, x in facts.instructions_with(RANDOM_STATE) for y in (x, *x.operands)}
    marks: dict[int, frozenset[str]] = {}
    for computation in facts.module.computations:
        first: dict[str, Instruction] = {}
        numbers: dict[str, int] = {}
        for x in computation.instructions:
            # Keys are identities, since the instructions of a module share their shapes.
            codes = marks.get(id(x.shape))
            if codes is None:
                codes = marks[id(x.shape)] = frozenset(_kinds(x.shape))
            for code in codes:
                if not ((x in state and code == "W013") or any(code in marks.get(id(y.shape), ()) for y in x.operands)):
                    first.setdefault(code, x)
                    numbers[code] = numbers.get(code, 0) + 1
        for code, x in first.items():
            message, hint = _MESSAGES[code]
            more = f"; also in {count(numbers[code] - 1, 'other instruction')} of '{computation.name}'" if numbers[code] > 1 else ""
            yield Finding(code, computation, x, "shape", message + more, hint)


_MESSAGES: dict[str, tuple[str, str | None]] = {
    "W012": ("64-bit floats are slow on most accelerators", "look for a stray Python float with x64 enabled"),
    "W013": ("some accelerators emulate 64-bit integers", None),
    "W039": ("this array has no elements", None),
}


def _kinds(shape: Shape) -> Iterator[str]:
    for leaf in shape.leaves():
        if leaf.element_type in _DOUBLES:
            yield "W012"
        elif leaf.element_type in _WIDE_INTEGERS and leaf.dimensions:
            yield "W013"
        if 0 in leaf.dimensions:
            yield "W039"


@module_rule("W031", stage="lint")
def low_precision_sums(facts: Facts) -> Iterator[Finding]:
    """Long sums are accumulated in f32.

    Checks: no sum of more than 1,024 elements is accumulated in floats of 16 bits or fewer.
    """
    for computation, x in facts.instructions_of("reduce"):
        row = ELEMENT_TYPES.get(x.shape.element_type)
        if row is None or row.kind != "float" or row.bits > _LOW_BITS:
            continue
        root = binary_root(x.attributes["to_apply"])
        terms = prod(x.operands[0].shape.dimensions[k] for k in x.attributes["dimensions"])
        if root is not None and root.op.name == "add" and root.shape.element_type == row.name and terms > _MAX_TERMS:
            yield Finding("W031", computation, x, "opcode", f"{terms} elements are summed in {row.name}", "accumulate in f32")


@module_rule("P040", stage="lint")
def collective_types(facts: Facts) -> Iterator[Finding]:
    """Collectives reduce element types that runtimes support.

    Checks: no collective reduces pred, complex numbers, types of fewer than eight bits or 8-bit
    floats.
    """
    for computation, x in facts.instructions_where(reduces):
        odd = next((leaf.element_type for leaf in _leaves(x) if _is_odd(leaf.element_type)), None)
        if odd is not None:
            yield Finding("P040", computation, x, "shape", f"most runtimes promote {odd} to another type, or reject it")


def _leaves(x: Instruction) -> list[Shape]:
    return [leaf for operand in x.operands for leaf in operand.shape.leaves() if leaf.is_array]


def _is_odd(element_type: str) -> bool:
    row = ELEMENT_TYPES[element_type]
    return row.kind in ("pred", "complex") or row.bits < 8 or (row.kind == "float" and row.bits == 8)
