"""The list of instructions changed by an edit, which passes visit again."""

from __future__ import annotations

import pytest

import hlotool
from hlotool import Rewriter

CHANGES = """
f { a = f32[] parameter(0) b = f32[] negate(a) m = f32[] exponential(b) ROOT c = f32[] abs(m) }
ENTRY e {
  p = f32[] parameter(0)
  q = f32[] sine(p)
  r = f32[] cosine(p), control-predecessors={q}
  s = f32[] call(q), to_apply=f
  ROOT t = f32[] add(q, s)
}
"""


def inline(rewriter, entry):
    call = entry["s"]
    (body,) = call.called
    root = body.root
    rewriter.move_body(body, call.operands, call)
    rewriter.replace(call, root)
    rewriter.erase_computation(body)


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        # The old root may be dead; passes find dead code in the list of changes.
        (lambda rewriter, e: rewriter.set_root(e["r"]), "r t"),
        # The erased instruction no longer uses p, and no longer waits for q.
        (lambda rewriter, e: rewriter.erase(e["r"]), "p q"),
        (inline, "b c m q t"),
    ],
)
def test_the_changed_instructions(edit, expected):
    module = hlotool.parse(CHANGES)
    with Rewriter(module) as rewriter:
        start = rewriter.change_count
        edit(rewriter, module.entry)
        assert " ".join(sorted(x.name for x in rewriter.changed_since(start))) == expected


def test_control_dependencies_of_a_module():
    module = hlotool.parse(CHANGES)
    with Rewriter(module) as rewriter:
        assert rewriter.has_control_dependencies is True
        rewriter.erase(module.entry["r"])
        assert rewriter.has_control_dependencies is False
