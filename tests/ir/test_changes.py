"""The lists of changes by an edit, which passes visit again, and the order afterwards."""

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


def test_a_shape_may_be_text():
    module = hlotool.parse("ENTRY e { p = f32[4] parameter(0) ROOT n = f32[4] negate(p) }")
    with Rewriter(module) as rewriter:
        rewriter.update(module.entry.root, shape="f32[4]{0:T(128)}")
    assert "n = f32[4]{0:T(128)} negate" in hlotool.to_text(module)


def test_the_order_after_finish_is_that_of_the_module():
    module = hlotool.parse("ENTRY e { p = f32[] parameter(0) a = f32[] abs(p) ROOT n = f32[] negate(p) }")
    rewriter = Rewriter(module)
    p, a, n = module.entry.instructions
    rewriter.set_operand(a, 0, n)
    rewriter.set_root(a)
    rewriter.insert("abs", [a], after=p)
    rewriter.finish()
    assert rewriter.instructions(module.entry) == module.entry.instructions
    assert module.entry.instructions.index(n) < module.entry.instructions.index(a)


def test_the_computations_that_changed():
    module = hlotool.parse(
        "f { a = f32[] parameter(0) ROOT b = f32[] abs(a) } g { c = f32[] parameter(0) ROOT d = f32[] negate(c) } "
        "ENTRY e { p = f32[] parameter(0) q = f32[] call(p), to_apply=f ROOT r = f32[] call(q), to_apply=g }"
    )
    f, g, entry = module.computations
    rewriter = Rewriter(module)
    count = rewriter.change_count
    rewriter.set_root(rewriter.insert("sine", [f.root], into=f))
    assert set(rewriter.changed_computations_since(count)) == {f}
    rewriter.erase(rewriter.insert("sine", [g.root], into=g))
    rewriter.update(entry.root, metadata_text='op_name="last"')
    changed = rewriter.changed_computations_since(count)
    assert {f, entry} <= set(changed) <= {f, g, entry}


def test_a_moved_body_keeps_its_parameters_only():
    module = hlotool.parse("f { a = f32[] parameter(0) ROOT b = f32[] abs(a) } ENTRY e { p = f32[] parameter(0) ROOT q = f32[] call(p), to_apply=f }")
    body, call = module.computations[0], module.entry.root
    rewriter = Rewriter(module)
    rewriter.move_body(body, [module.entry.parameters[0]], call)
    rewriter.flush()
    assert body.instructions == body.parameters
