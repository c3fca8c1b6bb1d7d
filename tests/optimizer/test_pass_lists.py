"""Lists of passes, the rounds of a pipeline, and the record of a run."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys

import pytest
from texts import SEVERAL_ROUNDS

import hlotool
from hlotool.optimizer import pass_table
from hlotool.optimizer.context import Context
from hlotool.optimizer.opt_options import OptimizeOptions
from hlotool.optimizer.optimizer import OptimizeError, run_specs
from hlotool.optimizer.pass_list import PassError, parse_passes
from hlotool.optimizer.pass_table import pass_summaries
from hlotool.optimizer.passes.fold import fold_constants
from hlotool.optimizer.pipeline import PASSES, PIPELINES, pass_names, pass_of, pass_summary
from hlotool.optimizer.registry import RuleError, all_rules, rule


@pytest.fixture
def module():
    return hlotool.parse(SEVERAL_ROUNDS)


@pytest.mark.parametrize(
    ("text", "specs"),
    [
        ("dce", ["dce"]),
        (" fold , algsimp { max = 3 } ,dce", ["fold", "algsimp{max=3}", "dce"]),
        ("fold{}", ["fold"]),
        ("fold{max=1 max=2}", ["fold{max=2}"]),
        ("fold{max=1,max=2},dce", ["fold{max=2}", "dce"]),
        ("", []),
    ],
)
def test_lists(text, specs):
    assert [spec.text for spec in parse_passes(text)] == specs


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fold,,dce", "expected the name of a pass at ',dce'"),
        ("fold,", "after the last comma"),
        ("{max=1}", "expected the name of a pass"),
        ("fold{max=1", "expected the name of a pass at 'fold{max=1'"),
        ("fold{max}", "an option such as max=3"),
        ("fold{mox=1}", "did you mean 'max'?"),
        ("fold{max=-1}", "found '-1'"),
        ("fold{max=" + "9" * 5000 + "}", "expected a number of rounds"),
        ("fold dce", "expected the name of a pass"),
    ],
)
def test_lists_that_cannot_be_read(text, message):
    with pytest.raises(PassError) as caught:
        parse_passes(text)
    assert message in str(caught.value)


def test_passes_as_text_and_as_lists(module):
    expected = hlotool.to_text(hlotool.optimize(module, "cse,dce"))
    assert hlotool.to_text(hlotool.optimize(module, ["cse", "dce"])) == expected
    assert hlotool.to_text(run_specs(module, parse_passes("cse,dce"))) == expected
    with pytest.raises(PassError, match="expected the names of passes, found int"):
        hlotool.optimize(module, ["cse", 3])
    assert hlotool.to_text(hlotool.optimize(module)) == hlotool.to_text(hlotool.optimize(module, PIPELINES[2]))
    assert hlotool.to_text(hlotool.optimize(module, [])) == hlotool.to_text(module)


def test_the_number_of_rounds(module):
    runs = []
    hlotool.optimize(module, "cse{max=1},fold{max=0},identities,dce", observer=lambda run, context: runs.append((run.name, run.round)))
    assert runs[:3] == [("cse", 1), ("identities", 1), ("dce", 1)]
    # Nothing has changed since the last run of the other passes, or they have no rounds left.
    assert runs[3:] == [("identities", 2)]


def test_an_observer_sees_the_changes_of_each_pass(module):
    sizes = []

    def observer(run, context):
        sizes.append((run.rewrites, sum(len(c.instructions) for c in context.module.computations)))

    result = hlotool.optimize(module, observer=observer)
    report = result.report
    assert sum(rewrites for rewrites, _ in sizes) == report.count
    assert sizes[-1][1] == report.instructions_after == sum(1 for _ in result.all_instructions())
    assert report.instructions_before == sum(1 for _ in module.all_instructions()) > report.instructions_after
    assert sum(row.hits for row in report.passes.values()) == report.count == sum(row.hits for row in report.statistics.values())
    assert all(row.seconds > 0 for row in report.passes.values())


def test_fast_math_by_name(module):
    with pytest.raises(RuleError, match="did you mean 'nnan'"):
        hlotool.optimize(module, fast_math=["nan"])
    assert hlotool.to_text(hlotool.optimize(module, fast_math=[])) == hlotool.to_text(hlotool.optimize(module))


def test_selected_computations(module):
    result = hlotool.optimize(module, "algsimp,dce", options=OptimizeOptions(only=frozenset({"double"})))
    assert [x.name for x in result.entry.instructions if x.opcode == "negate"] == ["n", "m"]
    assert len(result.computations[0].instructions) == 2
    with pytest.raises(OptimizeError, match="no computation 'duble'; did you mean 'double'"):
        hlotool.optimize(module, options=OptimizeOptions(only=frozenset({"duble"})))


def test_a_loop_in_one_of_the_selected_computations():
    """Checks that the loop's body, which is not selected, keeps the unused element."""
    state = "s = (s32[], s32[]) parameter(0) i = s32[] get-tuple-element(s), index=0"
    body = f"b {{ {state} d = s32[] constant(1) j = s32[] add(i, d) u = s32[] get-tuple-element(s), index=1 ROOT t = (s32[], s32[]) tuple(j, u) }}"
    condition = f"c {{ {state} n = s32[] constant(9) ROOT l = pred[] compare(i, n), direction=LT }}"
    loop = "u = (s32[], s32[]) tuple(p, p) w = (s32[], s32[]) while(u), condition=c, body=b ROOT r = s32[] get-tuple-element(w), index=0"
    module = hlotool.parse(f"{body} {condition} ENTRY e {{ p = s32[] parameter(0) {loop} }}")
    assert hlotool.optimize(module, "loops", options=OptimizeOptions(only=frozenset({"c", "e"}))).report.count == 0
    assert hlotool.optimize(module, "loops", options=OptimizeOptions(only=frozenset({"b", "c", "e"}))).report.count == 1


@pytest.mark.parametrize("name", pass_names())
def test_each_pass_on_its_own(module, name):
    result = hlotool.optimize(module, f"{name}{{max=1}}")
    before = hlotool.to_text(module)
    with Context(module) as context:
        changed = pass_of(name)(context)
    assert changed == (context.report.count > 0) == (hlotool.to_text(module) != before)
    assert hlotool.to_text(module) == hlotool.to_text(result)
    assert context.report.count == result.report.count


def test_the_report_is_stored_in_the_module(module):
    result = hlotool.optimize(module, "fold,dce", options=OptimizeOptions(explain=True, explain_why_not="r"))
    report = result.report
    assert isinstance(result, hlotool.ir.model.Module)
    for same in (copy.copy(result), copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
        assert hlotool.to_text(same) == hlotool.to_text(result)
        assert json.dumps(same.report.as_json()) == json.dumps(report.as_json())
    again = hlotool.optimize(result, "dce")
    assert (again.report.count, result.report) == (0, report)
    record = json.loads(json.dumps(report.as_json()))
    assert record["rewrites"] == len(record["explanations"]) == sum(row["rewrites"] for row in record["passes"]) > 0
    assert {reason["instruction"] for reason in record["reasons"]} == {"r"}
    assert hlotool.optimize(module, []).report.as_json()["explanations"] == []


@pytest.mark.parametrize("measures_time", [False, True])
def test_the_time_of_rules_is_measured_on_request(module, measures_time):
    report = hlotool.optimize(module, "algsimp", options=OptimizeOptions(measures_time=measures_time)).report
    seconds = [row.seconds for row in report.statistics.values() if row.tries]
    assert seconds
    assert all((0 < time < 30) == measures_time for time in seconds)


@pytest.mark.parametrize("explain", [False, True])
def test_rewrites_are_described_on_request(module, explain):
    with hlotool.Rewriter(module) as rewriter:
        rewriter.clone_computation(module.computations[0])
    report = hlotool.optimize(module, "dce,fold", options=OptimizeOptions(explain=explain)).report
    assert report.count == 3
    assert len(report.rewrites) == (3 if explain else 0)


@pytest.mark.parametrize(
    ("lines", "before", "after"),
    [
        # A new instruction with the same opcode keeps the old name. An existing instruction may
        # replace the old one.
        ("n = f32[] negate(p) ROOT r = f32[] abs(n)", "r = f32[] abs(n)", ("r = f32[] abs(p)",)),
        ("n = f32[] abs(p) ROOT r = f32[] abs(n)", "r = f32[] abs(n)", ("n = f32[] abs(p)",)),
        ("n = f32[] negate(p) ROOT r = f32[] multiply(n, n)", "r = f32[] multiply(n, n)", ("r = f32[] multiply(p, p)",)),
        (
            "i = s32[4] iota(), iota_dimension=0 ROOT r = s32[4] subtract(i, i)",
            "r = s32[4] subtract(i, i)",
            ("constant = s32[] constant(0)", "broadcast = s32[4] broadcast(constant), dimensions={}"),
        ),
    ],
)
def test_descriptions_of_rewrites(lines, before, after):
    module = hlotool.parse(f"ENTRY e {{ p = f32[] parameter(0) {lines} }}")
    (rewrite,) = hlotool.optimize(module, "algsimp", options=OptimizeOptions(explain=True)).report.rewrites
    assert (rewrite.before, rewrite.after) == (before, after)


def test_a_single_pass(module):
    with Context(module) as context:
        assert fold_constants(context)
        assert not fold_constants(context)
    assert context.report.statistics_of("fold").hits == 1
    assert [x.opcode for x in module.entry.instructions if x.opcode in ("constant", "add")] == ["constant"]


def test_names_are_known_without_importing_passes():
    assert list(pass_summaries()) == pass_names()
    assert pass_summaries() == {name: pass_summary(name) for name in pass_names()}
    code = "import sys, hlotool.cli.cmd_opt as c; from hlotool.cli.completions import complete_passes as p; assert p(None, None, 'al')[0].value == "
    code += "'algsimp'; sys.exit(bool({'lark', 'numpy', 'hlotool.opdefs.table'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("tuple-simplifier", "identities"),
        ("while-loop-simplifier", "loops"),
        ("constant_folding", "fold"),
        ("hlo-dce", "dce"),
        ("HloCSE", "cse"),
        ("zero_sized_hlo_elimination", "zero-sized"),
        ("zero_sized", "zero-sized"),
        ("dynamic-slice", "dynamic_slice"),
        ("canonicalize", "algsimp"),
        ("algsmp", "algsimp"),
    ],
)
def test_names_of_other_compilers(word, meant):
    with pytest.raises(PassError, match=f"no pass is called '{word}'; did you mean '{meant}'"):
        pass_of(word)


def test_names_of_other_compilers_mean_passes():
    assert set(pass_table._CORRESPONDING.values()) <= set(pass_names())
    assert not set(pass_table._CORRESPONDING) & set(pass_names())


def test_every_pass_has_a_summary():
    assert pass_names()[: len(PASSES)] == list(PASSES)
    for name in pass_names():
        assert pass_of(name)
        assert pass_summary(name), name
    assert all(name in PASSES for names in PIPELINES.values() for name in names)


def test_every_rule_has_a_summary_and_a_unique_name():
    """Checks that the names differ from other names that `hlotool explain` looks up."""
    for entry in all_rules().values():
        assert " -> " in entry.summary, entry.name
        assert entry.name not in {*hlotool.codes.CODE_NAMES.values(), *pass_names()}


@pytest.mark.parametrize(
    ("opcodes", "needs", "message"),
    [
        ((), (), "expects the opcodes"),
        ((len,), (), "expects the opcodes"),
        (("multipl",), (), "there is no opcode 'multipl'; did you mean 'multiply'?"),
        (("add",), ("nanan",), "did you mean 'nnan'?"),
    ],
)
def test_rules_that_cannot_be_registered(opcodes, needs, message):
    before = dict(all_rules())
    with pytest.raises(RuleError) as caught:
        rule(*opcodes, needs=needs)(lambda x, rewriter: None)
    assert message in str(caught.value)
    assert all_rules() == before


def test_opcodes_of_operands():
    before = dict(all_rules())
    with pytest.raises(RuleError, match="there is no opcode 'negat'; did you mean 'negate'"):
        rule("add", of=("negat",))(lambda x, rewriter: None)
    assert all_rules() == before


def test_two_rules_with_the_same_name():
    with pytest.raises(RuleError, match="already a rule 'select-known'"):
        rule("add", name="select-known")(lambda x, rewriter: None)


EFFECT_IS_GONE = """HloModule effect_is_gone
plain { p = f32[] parameter(0) ROOT n = f32[] negate(p) }
prints { q = f32[] parameter(0) ROOT e = f32[] custom-call(q), custom_call_target="print", custom_call_has_side_effect=true }
more { s = (s32[]) parameter(0) i = s32[] get-tuple-element(s), index=0 two = s32[] constant(2) ROOT c = pred[] compare(i, two), direction=LT }
step { s = (s32[]) parameter(0) i = s32[] get-tuple-element(s), index=0 one = s32[] constant(1) next = s32[] add(i, one) yes = pred[] constant(true)
  x = f32[] constant(3) y = f32[] conditional(yes, x, x), true_computation=plain, false_computation=prints ROOT t = (s32[]) tuple(next) }
ENTRY e { p = f32[2] parameter(0) zero = s32[] constant(0) s = (s32[]) tuple(zero)
  w = (s32[]) while(s), condition=more, body=step ROOT r = f32[2] negate(p) }"""


def test_instructions_that_lose_their_effect_are_dead():
    """Removes the only effect, which is in a branch that is never taken."""
    module = hlotool.optimize(hlotool.parse(EFFECT_IS_GONE))
    assert [x.name for x in module.all_instructions()] == ["p", "r"]


def test_the_report_prints_itself(module):
    report = hlotool.optimize(module, "fold,dce").report
    report.remark("a remark")
    first, *rows, last = str(report).splitlines()
    assert first == f"{report.instructions_before} instructions before, {report.instructions_after} after, {report.count} rewrites"
    assert sorted(rows) == sorted(f"{name}: {row.hits} rewrite{'s' * (row.hits != 1)}" for name, row in report.statistics.items() if row.hits)
    assert last == "a remark"
    assert repr(report) == f"<report: {first}>"
