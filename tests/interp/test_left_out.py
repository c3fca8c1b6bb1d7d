"""Dead custom calls with unknown targets: neither they nor their dead users are computed."""

from __future__ import annotations

from typing import Literal

import pytest

import hlotool
from hlotool.interp.engine.order import runnable_instructions, skipped_instructions
from hlotool.interp.run_options import RunOptions
from hlotool.ir.model import Module

ROWS = {
    "unused": ("", ["u"]),
    "with a side effect": ('k = f32[] custom-call(x), custom_call_target="f", custom_call_has_side_effect=true', ["u"]),
    "used": ("ROOT r = f32[] negate(u)", []),
    "used by a dead instruction": ("n = f32[] negate(u) m = f32[] add(n, x)", ["m", "n", "u"]),
    "next to another dead instruction": ("n = f32[] negate(x)", ["u"]),
    "used by an outfeed": ("t = token[] after-all() o = token[] outfeed(u, t), outfeed_shape=f32[]", []),
    "used by a random number generator": ("n = f32[] rng(u, x), distribution=rng_uniform", []),
    "used by a copy": ("s = (f32[], f32[], u32[]) copy-start(u) d = f32[] copy-done(s)", []),
    "used by a call": ("c = f32[] call(u), to_apply=f", ["c", "u"]),
    "used by a needed call": ("ROOT c = f32[] call(u), to_apply=f", []),
    "used by a call with an effect": ("c = token[] call(u), to_apply=sends", []),
    "in a call": ("c = f32[] call(x), to_apply=calls n = f32[] negate(c)", ["c", "n", "u"]),
    "in a call in a call": ("c = f32[] call(x), to_apply=nested", ["c", "u"]),
    "in a call with an effect": ("c = token[] call(x), to_apply=calls_and_sends", ["u"]),
}


CALLED = """
f { ROOT p = f32[] parameter(0) }
calls { p = f32[] parameter(0) ROOT k = f32[] custom-call(p), custom_call_target="f" }
nested { p = f32[] parameter(0) ROOT k = f32[] call(p), to_apply=calls }
sends { p = f32[] parameter(0) t = token[] after-all() ROOT o = token[] outfeed(p, t), outfeed_shape=f32[] }
calls_and_sends {
  p = f32[] parameter(0)
  k = f32[] custom-call(p), custom_call_target="f"
  t = token[] after-all()
  ROOT o = token[] outfeed(k, t), outfeed_shape=f32[]
}
"""


def module_with(body: str) -> Module:
    root = "" if "ROOT" in body else "ROOT r = f32[] sine(x)"
    unknown = 'u = f32[] custom-call(x), custom_call_target="f"'
    return hlotool.parse(f"{CALLED} ENTRY e {{ x = f32[] parameter(0) {unknown} {body} {root} }}")


@pytest.mark.parametrize("name", ROWS)
def test_skipped_instructions(name: str) -> None:
    body, expected = ROWS[name]
    module = module_with(body)
    assert sorted(x.name for x in skipped_instructions(module.entry, RunOptions())) == expected
    computed = [x.name for x in runnable_instructions(RunOptions(), module.entry) if x in module.entry.instructions]
    assert sorted([*computed, *expected]) == sorted(x.name for x in module.entry)


@pytest.mark.parametrize("executor", ["reference", "plan"])
def test_other_instructions_are_computed(executor: Literal["reference", "plan"]) -> None:
    for name in ("used by a dead instruction", "used by a call", "in a call", "in a call in a call"):
        assert float(hlotool.evaluate(module_with(ROWS[name][0]), [0.0], executor=executor)) == 0.0
    for name in ("used", "used by a needed call", "in a call with an effect"):
        with pytest.raises(hlotool.EvaluationError, match="does not know what"):
            hlotool.evaluate(module_with(ROWS[name][0]), [0.0], executor=executor)


def test_a_call_is_the_only_instruction_that_needs_an_unknown_one() -> None:
    module = hlotool.parse(f"{CALLED} ENTRY e {{ x = f32[] parameter(0) c = f32[] call(x), to_apply=nested ROOT r = f32[] sine(x) }}")
    assert [x.name for x in skipped_instructions(module.entry, RunOptions())] == ["c"]
    assert [x.name for x in runnable_instructions(RunOptions(), module.entry)] == ["x", "r"]
