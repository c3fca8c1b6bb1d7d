"""Rules that run alone: they are correct even in cases that earlier rules usually handle.

The results of the earlier rules may be rejected, or those rules may not be selected.
"""

from __future__ import annotations

import pytest
from proofs.expressions import apply_rule

import hlotool
from hlotool.optimizer.checking import difference
from hlotool.optimizer.registry import all_rules

ADD = "f { a = s32[] parameter(0) b = s32[] parameter(1) ROOT c = s32[] add(a, b) }"
MAX = "f { a = s32[] parameter(0) b = s32[] parameter(1) ROOT c = s32[] maximum(a, b) }"
# The second reduction combines one element or three elements.
TWICE = "z = s32[] constant(0) a = s32[%d,2] reduce(p, z), dimensions={1}, to_apply=f ROOT b = s32[2] reduce(a, %s), dimensions={0}, to_apply=f"
REPEATED = (
    "least = s32[] constant(-2147483648) b = s32[2,%d] broadcast(p), dimensions={0} ROOT r = s32[2] reduce(b, least), dimensions={1}, to_apply=f"
)
CASES = {
    "single elements": ("reduce-of-reduce", f"{ADD} ENTRY e {{ p = s32[1,3,2] parameter(0) v = s32[] parameter(1) {TWICE % (1, 'v')} }}", 0),
    "single elements and zero": ("reduce-of-reduce", f"{ADD} ENTRY e {{ p = s32[1,3,2] parameter(0) {TWICE % (1, 'z')} }}", 1),
    "several elements": ("reduce-of-reduce", f"{ADD} ENTRY e {{ p = s32[3,3,2] parameter(0) v = s32[] parameter(1) {TWICE % (3, 'v')} }}", 1),
    "no elements": ("reduce-of-broadcast", f"{MAX} ENTRY e {{ p = s32[2] parameter(0) {REPEATED % 0} }}", 0),
    "repeated elements": ("reduce-of-broadcast", f"{MAX} ENTRY e {{ p = s32[2] parameter(0) {REPEATED % 3} }}", 1),
}


@pytest.mark.parametrize(("name", "text", "count"), CASES.values(), ids=CASES)
def test_a_rule_alone(name: str, text: str, count: int) -> None:
    before, after = hlotool.parse(text), hlotool.parse(text)
    assert apply_rule(after, all_rules()[name]) == count
    assert difference(before, after, 6) is None
