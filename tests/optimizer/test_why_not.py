"""Reasons why rules and passes do not change an instruction."""

from __future__ import annotations

import pytest

import hlotool
from hlotool.optimizer.opt_options import OptimizeOptions
from hlotool.optimizer.registry import all_rules, forget_rules, rule
from hlotool.optimizer.why_not import UnknownInstructionError


@pytest.fixture
def two_rules():
    """Registers a rule that requires flags, and a rule whose result is never accepted."""

    @rule("tanh", needs=("nnan", "afn"), name="test-needs-flags")
    def _needs_flags(x, rewriter):
        """tanh(a) -> a"""
        return x.operands[0]

    @rule("cosine", name="test-of-other-shape")
    def _other_shape(x, rewriter):
        """cosine(a) -> sine(a)[1]"""
        return rewriter.add("reshape", [x.operands[0]], hlotool.parse("ENTRY e { ROOT p = f32[1,4] parameter(0) }").entry.root.shape)

    yield
    forget_rules(["test-needs-flags", "test-of-other-shape"])


BODY = """HloModule m{header}

ENTRY e {{
  p = f32[4] parameter(0)
  q = f32[4] parameter(1)
{lines}
}}
"""


def reasons(lines, name, passes=None, header="", **options):
    module = hlotool.parse(BODY.format(header=header, lines=lines))
    text = hlotool.to_text(module)
    result = hlotool.optimize(module, passes, options=OptimizeOptions(explain_why_not=name, **options))
    without = hlotool.optimize(module, passes, options=OptimizeOptions(**options))
    # The explanation changes neither the result nor the input.
    assert hlotool.to_text(result) == hlotool.to_text(without)
    assert hlotool.to_text(module) == text
    return {reason.name: (reason.is_match, reason.reason) for reason in result.report.reasons}


def test_rules_that_do_not_match():
    answers = reasons("  ROOT a = f32[4] add(p, q)", "a")
    assert answers["neutral-operand"] == (False, all_rules()["neutral-operand"].summary)
    entry = all_rules()["elementwise-of-transposes"]
    assert answers[entry.name] == (False, f"{entry.summary}. {' '.join(entry.details.split())}")
    assert answers["dce"] == (None, "the instruction is the root of its computation")
    assert answers["cse"][1].startswith("no other instruction")
    assert answers["fold"] == (None, "'p', 'q' are not constant")
    assert reasons("  ROOT r = f32[4] add(p, p)", "r")["fold"] == (None, "'p' is not constant")


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        ((), "the rule needs --fast-math=afn,nnan"),
        (("nnan",), "the rule needs --fast-math=afn"),
    ],
)
def test_flags_that_are_missing(two_rules, flags, reason):
    answers = reasons("  ROOT t = f32[4] tanh(p)", "t", fast_math=frozenset(flags))
    assert answers["test-needs-flags"] == (True, reason)


def test_passes_that_do_not_apply_a_rule():
    answers = reasons("  n = f32[4] negate(p)\n  ROOT m = f32[4] negate(n)", "m", "cse")
    assert answers["two-inversions"] == (True, "no pass in the pipeline applies this rule")


def test_the_limit_of_rewrites():
    lines = "  c = f32[4] negate(p)\n  n = f32[4] negate(p)\n  m = f32[4] negate(n)\n  ROOT t = (f32[4], f32[4]) tuple(m, c)"
    assert reasons(lines, "m", "cse,algsimp", bisect_limit=1)["two-inversions"] == (True, "the limit on rewrites was reached")


def test_control_dependencies():
    lines = "  n = f32[4] negate(p)\n  m = f32[4] negate(n), control-predecessors={n}\n  ROOT t = (f32[4], f32[4]) tuple(m, q)"
    assert reasons(lines, "m")["two-inversions"] == (True, "the instruction has control dependencies with 'n'")


def test_computations_that_are_not_selected():
    module = hlotool.parse("f { a = f32[] parameter(0) b = f32[] negate(a) ROOT c = f32[] negate(b) } ENTRY e { p = f32[] parameter(0) "
                           "ROOT r = f32[] call(p), to_apply=f }")  # fmt: skip
    report = hlotool.optimize(module, "algsimp", options=OptimizeOptions(explain_why_not="%c", only=frozenset({"e"}))).report
    assert {r.name: r.reason for r in report.reasons}["two-inversions"] == "computation 'f' is not among those to optimize"


def test_results_that_are_rejected(two_rules):
    assert reasons("  ROOT c = f32[4] cosine(p)", "c")["test-of-other-shape"] == (True, "the shape of the result would be f32[1,4]")
    answers = reasons("  a = f32[4] add(p, q)\n  ROOT c = f32[4] copy(a), sharding={replicated}", "c")
    assert answers["copy-of-equal-layout"] == (True, "'a' has a different sharding")
    lines = "  m = f32[2,2]{0,1} bitcast(p)\n  n = f32[2,2]{1,0} copy(m)\n  ROOT r = f32[2,2]{1,0} negate(n)"
    assert reasons(lines, "n", header=", is_scheduled=true")["copy-of-equal-layout"][0] is False


def test_instructions_that_have_been_removed():
    lines = "  n = f32[4] negate(p)\n  m = f32[4] negate(n)\n  ROOT r = f32[4] add(m, q)"
    assert reasons(lines, "m") == {"two-inversions": (None, "replaced m = f32[4] negate(n) -> p = f32[4] parameter(0)")}
    assert reasons(lines, "n") == {"": (None, "was removed along with an instruction that used it")}
    assert reasons("  n = f32[4] negate(p)\n  ROOT r = f32[4] add(p, q)", "n") == {"dce": (None, "replaced n = f32[4] negate(p) -> nothing")}


def test_effects_and_uses():
    lines = "  u = f32[4] rng(p, q), distribution=rng_uniform\n  ROOT r = f32[4] add(u, u)"
    lines = lines.replace("rng(p, q)", "rng(z, o)").replace("  u =", "  z = f32[] constant(0)\n  o = f32[] constant(1)\n  u =")
    answers = reasons(lines, "u")
    assert answers["dce"] == (None, "the instruction is used by 'r'")
    assert answers["cse"][1] in ("two runs may produce different results", "the instruction has an effect")
    assert reasons("  ROOT r = f32[4] add(p, q)", "p")["dce"][1].startswith("parameters")


def test_rules_for_operands_of_other_opcodes(two_rules):
    @rule("floor", of=("negate",), name="test-of-negate")
    def floor_of_negate(x, rewriter):
        """floor(negate(a)) -> a"""
        assert x.operands[0].opcode == "negate"
        return x.operands[0]

    try:
        assert reasons("  ROOT r = f32[4] floor(p)", "r")["test-of-negate"] == (False, "floor(negate(a)) -> a")
        matching = reasons("  n = f32[4] negate(p)\n  ROOT r = f32[4] floor(n)", "r", "dce")
        assert matching["test-of-negate"] == (True, "no pass in the pipeline applies this rule")
    finally:
        forget_rules(["test-of-negate"])


def test_unknown_instructions():
    with pytest.raises(UnknownInstructionError, match="no instruction 'summ'; did you mean 'sum'"):
        reasons("  ROOT sum = f32[4] add(p, q)", "summ")


def test_rules_are_not_tried_on_invalid_instructions() -> None:
    """Checks invalid instructions; rules may rely, for example, on the length of a tuple."""
    module = hlotool.parse(
        """
        f { a = f32[4] parameter(0) ROOT t = (f32[4]) tuple(a) }
        ENTRY e { p = f32[4] parameter(0) c = (f32[4]) call(p), to_apply=f ROOT x = f32[4] get-tuple-element(c), index=5 }
        """
    )
    report = hlotool.optimize(module, "algsimp", options=OptimizeOptions(explain_why_not="x")).report
    reasons = {reason.name: reason.reason for reason in report.reasons}
    assert reasons["element-that-a-call-passes-on"].startswith(
        "the instruction, one of its operands, an operand of those, or a called computation is invalid"
    )
