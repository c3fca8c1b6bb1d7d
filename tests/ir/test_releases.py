"""Cleanup by a Rewriter: names become available again, and empty `control-predecessors` attributes
are removed.
"""

from __future__ import annotations

import hlotool
from hlotool import Rewriter

WAITING = "ENTRY e { p = f32[] parameter(0) a = f32[] negate(p) b = f32[] abs(p), control-predecessors={a} ROOT c = f32[] add(b, p) }"
SAME_NAME = (
    "f { a = f32[] parameter(0) x = f32[] abs(a) ROOT y = f32[] sine(x) } "
    "ENTRY e { p = f32[] parameter(0) x = f32[] negate(p) ROOT c = f32[] call(x), to_apply=f }"
)


def test_both_ends_of_a_control_edge_are_recognized() -> None:
    module = hlotool.parse(WAITING)
    rewriter = Rewriter(module)
    assert [rewriter.has_control_edges(x) for x in module.entry] == [False, True, True, False]


def test_the_attribute_is_removed_with_the_last_control_predecessor() -> None:
    module = hlotool.parse(WAITING)
    b = module.entry["b"]
    with Rewriter(module) as rewriter:
        rewriter.erase(module.entry["a"])
        assert not rewriter.has_control_edges(b)
    assert "control-predecessors" not in b.attributes


def test_the_name_of_a_moved_and_renamed_instruction_is_available() -> None:
    module = hlotool.parse(SAME_NAME)
    f, entry = module.computations
    call, x, y = entry["c"], entry["x"], f.root
    with Rewriter(module) as rewriter:
        rewriter.move_body(f, call.operands, call)
        rewriter.replace_all_uses(call, y)
        rewriter.erase(call)
        rewriter.erase_computation(f)
        rewriter.replace_all_uses(x, entry["p"])
        rewriter.erase(x)
        assert not rewriter.is_name_used("x")
