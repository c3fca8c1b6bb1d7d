"""Dead custom calls with unknown targets: neither they nor their dead users are computed."""

from __future__ import annotations

import pytest

import hlotool
from hlotool.interp.options import RunOptions
from hlotool.interp.program import runnable_instructions, skipped_instructions
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
    "used by a call": ("c = f32[] call(u), to_apply=f", []),
}


def module_with(body: str) -> Module:
    root = "" if "ROOT" in body else "ROOT r = f32[] sine(x)"
    unknown = 'u = f32[] custom-call(x), custom_call_target="f"'
    return hlotool.parse(f"f {{ ROOT p = f32[] parameter(0) }}\nENTRY e {{ x = f32[] parameter(0) {unknown} {body} {root} }}")


@pytest.mark.parametrize("name", ROWS)
def test_skipped_instructions(name: str) -> None:
    body, expected = ROWS[name]
    module = module_with(body)
    assert sorted(x.name for x in skipped_instructions(module.entry, RunOptions())) == expected
    computed = [x.name for x in runnable_instructions(RunOptions(), module.entry)]
    assert sorted([*computed, *expected]) == sorted(x.name for x in module.all_instructions() if x.name != "p" or "call" in name)


def test_other_instructions_are_computed() -> None:
    assert float(hlotool.evaluate(module_with(ROWS["used by a dead instruction"][0]), [0.0])) == 0.0
    with pytest.raises(hlotool.EvaluationError):
        hlotool.evaluate(module_with(ROWS["used"][0]), [0.0])
