"""W008 to W011, W020, W043 and W054: redundant pairs of instructions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from hlotool.analysis.simplify import holds_all
from hlotool.ir.model import Computation, Instruction
from hlotool.opdefs.inference import count
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []


@module_rule("W008", stage="lint")
def redundant_copies(facts: Facts) -> Iterator[Finding]:
    """A copy is not copied again.

    Checks: no copy is the only user of another copy if the layouts of both copies and of the
    original are equal and neither copy has a sharding (before partitioning, a copy with a sharding
    moves data between devices). There is one finding for each computation, with the number of
    copies.
    """
    by_computation: dict[Computation, list[Instruction]] = {}
    for computation, x in facts.instructions_of("copy"):
        before = x.operands[0]
        if before.op.name != "copy" or "sharding" in x.attributes or "sharding" in before.attributes:
            continue
        if x.shape == before.shape == before.operands[0].shape:
            by_computation.setdefault(computation, []).append(x)
    for computation, candidates in by_computation.items():
        uses = Counter(y for x in computation.instructions for y in x.operands if y.op.name == "copy")
        copies = [x for x in candidates if uses[x.operands[0]] == 1]
        if not copies:
            continue
        x, before = copies[0], copies[0].operands[0]
        more = f"; {count(len(copies) - 1, 'other')} in '{computation.name}'" if len(copies) > 1 else ""
        message = f"copy of a copy: '{before.name}' copies '{before.operands[0].name}'{more}"
        yield Finding("W008", computation, x, "opcode", message, others=tuple(copies[1:]))


@module_rule("W009", stage="lint")
def convert_chains(facts: Facts) -> Iterator[Finding]:
    """A value is converted only once.

    Checks: no convert follows a convert that loses nothing, and no float is converted to a type
    with fewer mantissa bits and back.
    """
    for computation, x in facts.instructions_of("convert"):
        before = x.operands[0]
        if before.op.name == "convert" and before.operands[0].shape.is_array:
            fault = _conversion_fault(*[y.shape.element_type for y in (before.operands[0], before, x)])
            if fault is not None:
                yield Finding("W009", computation, x, "name", *fault)


def _conversion_fault(first: str, middle: str, last: str) -> tuple[str, str | None] | None:
    a, b = ELEMENT_TYPES[first], ELEMENT_TYPES[middle]
    path = f"{first} -> {middle} -> {last}"
    # An integer that is converted to a float in between may saturate instead of wrapping around.
    if a.is_integral == b.is_integral and a.kind != "pred" and holds_all(b, a) and a.name != b.name:
        return f"{path}: " + ("nothing changes" if first == last else f"one convert from {first} does the same"), None
    if first != last or a.float_format is None or b.float_format is None:
        return None
    lost = a.float_format.mantissa_bits - b.float_format.mantissa_bits
    if lost > 0:
        return f"{path} loses {count(lost, 'mantissa bit')}", "use reduce-precision if the rounding is intended"
    return None


@module_rule("W010", "W011", stage="lint")
def reordering_chains(facts: Facts) -> Iterator[Finding]:
    """Elements are rearranged only once.

    Checks: no transpose takes the result of a transpose (W010); no reshape takes the result of a
    reshape, and no bitcast takes the result of a bitcast (W011).
    """
    for computation, x in facts.instructions_of("transpose"):
        before = x.operands[0]
        if before.op.name == "transpose":
            inner = before.attributes["dimensions"]
            both = ",".join(str(inner[k]) for k in x.attributes["dimensions"])
            yield Finding(
                "W010", computation, x, "opcode", f"together with '{before.name}', this is one transpose {{{both}}} of '{before.operands[0].name}'"
            )
    for computation, x in facts.instructions_of("reshape", "bitcast"):
        before = x.operands[0]
        if before.op.name == x.op.name:
            yield Finding("W011", computation, x, "opcode", f"{x.op.name} of a {x.op.name}: start from '{before.operands[0].name}'")


@module_rule("W020", stage="lint")
def elements_of_tuples(facts: Facts) -> Iterator[Finding]:
    """An element that was just put into a tuple is not taken out again.

    Checks: the operand of get-tuple-element is not a tuple instruction.
    """
    for computation, x in facts.instructions_of("get-tuple-element"):
        before = x.operands[0]
        if before.op.name == "tuple":
            name = before.operands[x.attributes["index"]].name
            yield Finding("W020", computation, x, "opcode", f"get-tuple-element of a tuple: the result is '{name}'", hint=f"use '{name}' directly")


@module_rule("W043", stage="lint")
def layout_round_trips(facts: Facts) -> Iterator[Finding]:
    """A layout is changed only once.

    Checks: no copy changes the layout directly after a transpose, or after another copy that
    changed the layout.
    """
    for computation, x in facts.instructions_of("copy"):
        before = x.operands[0]
        if before.op.name not in ("copy", "transpose") or _order(x) in (None, _order(before)):
            continue
        if before.op.name == "transpose":
            message = f"layout change {_order(before)} -> {_order(x)} directly after transpose '{before.name}'"
        elif _order(before) != _order(before.operands[0]):
            message = f"layout change {_order(before.operands[0])} -> {_order(before)} -> {_order(x)}"
        else:
            continue
        yield Finding("W043", computation, x, "opcode", message)


def _order(x: Instruction) -> str | None:
    layout = x.shape.layout
    return None if layout is None else "{" + ",".join(map(str, layout.minor_to_major)) + "}"


@module_rule("W054", stage="lint")
def undone_pads(facts: Facts) -> Iterator[Finding]:
    """Padding is not sliced off again.

    Checks: a slice of a pad keeps some of the padding.
    """
    for computation, x in facts.instructions_of("slice"):
        before = x.operands[0]
        if before.op.name != "pad" or len(before.attributes["padding"]) != len(x.attributes["slice"]):
            continue
        sizes = before.operands[0].shape.dimensions
        parts = zip(x.attributes["slice"], before.attributes["padding"], sizes, strict=True)
        if all(part.stride == 1 and not pad.interior and part.start >= pad.low and part.limit <= pad.low + size for part, pad, size in parts):
            undoes = "slice undoes pad" if x.shape.dimensions == sizes else "slice keeps no padding"
            yield Finding("W054", computation, x, "opcode", f"{undoes}: start from '{before.operands[0].name}'")
