"""The limit on rewrites, and the search for the first wrong rewrite."""

from __future__ import annotations

import pytest
from texts import SEVERAL_ROUNDS

import hlotool
from hlotool.optimizer.bisection import first_wrong_rewrite
from hlotool.optimizer.opt_options import OptimizeOptions
from hlotool.optimizer.pass_list import parse_passes
from hlotool.optimizer.pipeline import PASSES

TWO = """HloModule two

f {
  x = f32[] parameter(0)
  y = f32[] negate(x)
  z = f32[] negate(y)
  ROOT w = f32[] abs(z)
}

g {
  x.1 = f32[] parameter(0)
  y.1 = f32[] negate(x.1)
  z.1 = f32[] negate(y.1)
  ROOT w.1 = f32[] sine(z.1)
}

h {
  ROOT unused = f32[] parameter(0)
}

i {
  ROOT unused.1 = f32[] parameter(0)
}

ENTRY e {
  p = f32[] parameter(0)
  q = f32[] call(p), to_apply=f
  r = f32[] call(p), to_apply=g
  s = f32[] call(p), to_apply=g
  c = f32[] constant(1)
  d = f32[] add(c, c)
  i = f32[] sine(d)
  j = f32[] multiply(q, i)
  k = f32[] multiply(j, r)
  ROOT t = f32[] multiply(k, s)
}
"""
LISTS = [*PASSES, "identities", ",".join(PASSES)]


def run_limited(module, passes, limit):
    result = hlotool.optimize(module, passes, options=OptimizeOptions(bisect_limit=limit, explain=True))
    return hlotool.to_text(result), result.report


@pytest.mark.parametrize("passes", LISTS)
@pytest.mark.parametrize("text", [SEVERAL_ROUNDS, TWO])
def test_each_limit_adds_one_rewrite(text, passes):
    module = hlotool.parse(text)
    _, everything = run_limited(module, passes, None)
    last = hlotool.to_text(module)
    for limit in range(everything.count + 1):
        after, report = run_limited(module, passes, limit)
        assert report.count == limit == len(report.rewrites)
        # All limits apply the same rewrites in the same order.
        assert [(x.rule, x.instruction) for x in report.rewrites] == [(x.rule, x.instruction) for x in everything.rewrites[:limit]]
        assert (after == last) == (limit == 0)
        last = after
        assert not [d for d in hlotool.verify(hlotool.parse(after)) if d.severity == "error"]


@pytest.mark.parametrize("number", range(1, 6))
def test_the_first_wrong_rewrite(number):
    module = hlotool.parse(TWO)
    passes = ",".join(PASSES)
    specs = parse_passes(passes)
    _, everything = run_limited(module, passes, None)
    texts = [run_limited(module, passes, limit)[0] for limit in range(everything.count + 1)]
    runs = []

    def is_wrong(result):
        runs.append(result)
        return texts.index(hlotool.to_text(result)) >= number

    culprit = first_wrong_rewrite(module, specs, OptimizeOptions(), is_wrong)
    assert culprit is not None
    assert (culprit.number, culprit.total) == (number, everything.count)
    expected = everything.rewrites[number - 1]
    assert (culprit.rewrite.rule, culprit.rewrite.instruction, culprit.rewrite.line) == (expected.rule, expected.instruction, expected.line)
    assert f"rewrite {number} of {everything.count}: '{expected.rule}' at " in culprit.text
    assert len(runs) <= 2 + everything.count.bit_length()


def test_no_rewrite_is_wrong():
    module = hlotool.parse(TWO)
    assert first_wrong_rewrite(module, parse_passes("dce"), OptimizeOptions(), lambda result: False) is None
    # Nothing is rewritten, so no rewrite is to blame.
    assert first_wrong_rewrite(module, (), OptimizeOptions(), lambda result: True) is None
