"""P013 to P015: source-target pairs of collective-permutes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from hlotool.analysis.collectives import group_mode, ids_of_mode, permutes
from hlotool.ir.model import Instruction
from hlotool.opdefs.inference import count
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

_AT = "source_target_pairs value"


@module_rule("P013", "P014", "P015", stage="module")
def permute_pairs(facts: Facts) -> Iterator[Finding]:
    """Each device sends at most once and receives at most once.

    Checks: each id is the source (P013) and the target (P014) of at most one pair or, in the form
    with slices, of at most as many pairs as there are slices; no id is negative or out of range for
    the count in the header (P015; the range is not checked if the count is 1).
    """
    for computation, x in facts.instructions_where(permutes):
        mode = group_mode(x)
        fault = _first_fault(x, ids_of_mode(mode, facts.module), mode)
        if fault is not None:
            yield Finding(fault[0], computation, x, _AT, fault[1])


def _first_fault(x: Instruction, limit: int, mode: str) -> tuple[str, str] | None:
    pairs, most = x.attributes["source_target_pairs"], _max_uses(x)
    for pair in pairs:
        for role, device in zip(("source", "target"), pair, strict=True):
            if device < 0 or (limit > 1 and device >= limit):
                return "P015", f"{role} {device} is out of range; the module has {count(limit, mode.removesuffix('s'))}"
    for k, (code, role) in enumerate((("P013", "source"), ("P014", "target"))):
        device, times = Counter(pair[k] for pair in pairs).most_common(1)[0] if pairs else (0, 0)
        if times > most:
            return code, f"{role} {device} occurs in {times} pairs, but " + (f"there are only {most} slices" if most > 1 else "may occur in only 1")
    return None


def _max_uses(x: Instruction) -> int:
    """Returns how many times a device may send or receive: 1, or the number of slices."""
    if not x.attributes.get("slice_sizes"):
        return 1
    offsets = x.operands[2].shape
    inner = offsets.elements if x.operands[0].shape.is_tuple else (offsets,)
    return max((len(slices.elements) for slices in inner if slices.elements and slices.elements[0].is_tuple), default=1)
