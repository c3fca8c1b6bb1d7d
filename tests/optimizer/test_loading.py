"""Rules and passes from users' files.

Each test loads its own files and then unregisters what they register.
"""

from __future__ import annotations

import sys

import pytest

import hlotool
from hlotool.errors import HlotoolError, InternalError
from hlotool.optimizer import loading
from hlotool.optimizer.pipeline import PASSES, pass_names, pass_of, pass_summary
from hlotool.optimizer.registry import RuleError, all_rules, forget_rules, rule

HEAD = '"""Rules of a test."""\nfrom hlotool.optimizer.pipeline import named_pass\nfrom hlotool.optimizer.registry import rule\n'
THREE = "(context.instructions(context.module.entry) * 2)[:3]"
PASS = HEAD + '@named_pass("test-pass")\ndef test_pass(context):\n    """Changes something."""\n    p, n, r = ' + THREE + "\n    {body}\n"
RULE = HEAD + '@rule("abs")\ndef test_abs_of_negate(x, rewriter):\n    """abs(negate(a)) -> abs(a)"""\n    {body}\n'
GOOD = "return rewriter.with_operands(x, x.operands[0].operands) if x.operands[0].opcode == 'negate' else None"
TEXT = "ENTRY e { p = f32[] parameter(0) n = f32[] negate(p) ROOT r = f32[] abs(n) }"


@pytest.fixture
def load(tmp_path):
    before, passes = set(all_rules()), set(PASSES)

    def write(text, name="my rules.py"):
        path = tmp_path / name
        path.write_text(text)
        return loading.load_rules(str(path))

    yield write
    forget_rules(set(all_rules()) - before)
    for name in set(PASSES) - passes:
        del PASSES[name]
    loading._loaded.clear()


def test_a_rule(load, tmp_path):
    assert load(RULE.format(body=GOOD)) == ("test-abs-of-negate",)
    module = hlotool.parse(TEXT)
    assert [x.name for x in hlotool.optimize(module, "my_rules").entry.instructions] == ["p", "r"]
    assert len(hlotool.optimize(module).entry.instructions) == 2
    assert pass_summary("my_rules") == "Rules of a test."
    assert not all_rules()["test-abs-of-negate"].is_built_in
    # A file runs once, even if it is loaded under different names.
    assert loading.load_rules(str(tmp_path / "." / "my rules.py")) == ("test-abs-of-negate",)


def test_a_pass(load):
    text = HEAD + '@named_pass("test-nothing")\ndef nothing(context):\n    """Changes nothing."""\n    return False\n'
    assert load(text) == ("test-nothing",)
    assert pass_summary("test-nothing") == "Changes nothing."
    assert len(hlotool.optimize(hlotool.parse(TEXT), "test-nothing").entry.instructions) == 3
    with pytest.raises(HlotoolError, match="there is already a pass 'test-nothing'"):
        load(text, "other.py")
    assert pass_of("test-nothing")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\nraise KeyError('k')\n", ", line 2: KeyError: 'k'"),
        ("def f(:\n", ", line 1: SyntaxError"),
        ("import sys\nsys.exit(0)\n", ", line 2: SystemExit"),
        (PASS.replace('"test-pass"', '"test pass"'), "expects a name that a list of passes can contain"),
        (PASS.replace('("test-pass")', ""), "expects a name that a list of passes can contain"),
        (PASS.replace('"test-pass"', '"algsimp"'), "there is already a pass 'algsimp'"),
        ("x = 1\n", "registers no rules or passes"),
        ("x = '\x00'\n", "cannot load"),
        (RULE.format(body="return None") + "1 / 0\n", "line 8: ZeroDivisionError"),
        (RULE.format(body="return None").replace('"abs"', '"obs"'), "there is no opcode 'obs'; did you mean 'abs'?"),
        (RULE.format(body="return None").replace('"abs"', '"abs", of=(3,)'), "@rule expects the opcodes of the instructions that the rule replaces"),
        (RULE.format(body="return None").replace('"abs"', '"abs", of=("negat",)'), "there is no opcode 'negat'; did you mean 'negate'?"),
    ],
)
def test_files_that_fail(load, text, message):
    before, names = set(all_rules()), pass_names()
    with pytest.raises(RuleError) as caught:
        load(text, "failing.py")
    assert message in str(caught.value)
    # Nothing from the file remains registered.
    assert (set(all_rules()), pass_names()) == (before, names)
    assert not [name for name in sys.modules if name.endswith(".failing")]


@pytest.mark.parametrize("name", ["dce.py", "arithmetic.py", "test_pass.py"])
def test_file_names_that_are_names_of_passes(load, name):
    """Checks that such a file is rejected, since no list of passes could refer to its rules."""
    topic = name.removesuffix(".py")
    text = RULE.format(body=GOOD)
    if topic not in pass_names():
        text = text.replace("@rule", f'@named_pass("{topic}")\ndef same_name(context):\n    return False\n\n\n@rule')
    with pytest.raises(RuleError, match=f"its rules would have the topic '{topic}', which is the name of a pass; rename the file"):
        load(text, name)
    assert "test-abs-of-negate" not in all_rules()
    assert load(PASS.format(body="return False"), name) == ("test-pass",)


def test_files_with_the_same_name(load, tmp_path):
    (tmp_path / "other").mkdir()
    load(RULE.format(body=GOOD), "same.py")
    with pytest.raises(RuleError, match="ZeroDivisionError"):
        load("1 / 0\n", "other/same.py")
    # The rule in the first file is still registered, and the file's docstring is kept.
    assert pass_summary("same") == "Rules of a test."
    load(RULE.format(body=GOOD).replace("test_abs", "test_second_abs").replace("Rules of", "More rules of"), "other/same.py")
    assert [entry.topic for entry in all_rules().values() if not entry.is_built_in] == ["same", "same"]
    assert pass_summary("same") == "Rules of a test."


def test_files_that_cannot_be_read(load, tmp_path):
    with pytest.raises(RuleError, match="the name of the file to load is empty"):
        loading.load_rules("")
    for name, message in (("missing.py", "No such file"), (".", "Is a directory"), ("a\0b.py", "null")):
        with pytest.raises(RuleError, match=message):
            loading.load_rules(str(tmp_path / name))
    with pytest.raises(RuleError, match=r"does not end with \.py"):
        load("x = 1\n", "rules.txt")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return 1 / 0", "failed in my rules.py, line 7: ZeroDivisionError: division by zero; at 'r' (abs)"),
        ("import sys; sys.exit(0)", "failed in my rules.py, line 7: SystemExit: 0; at 'r' (abs)"),
        ("raise GeneratorExit", "failed in my rules.py, line 7: GeneratorExit"),
        ("test_abs_of_negate(x, rewriter)", "failed in my rules.py, line 7: RecursionError"),
        ("return 7", "returned 7, which is not an instruction"),
        ("rewriter.add('negate', x.operands)", "inserted instructions, but returned None"),
        ("return rewriter.add('nogate', x.operands)", "failed in my rules.py, line 7: EditError"),
        ("import hlotool; return hlotool.parse('ENTRY e { ROOT f = f32[] parameter(0) }').entry.root", "returned 'f', which is not in the same"),
        ("return rewriter.module_rewriter.computations()[0].root", "returned 'o', which is not in the same"),
        ("rewriter.module_rewriter.replace_all_uses(x, x.operands[0]); rewriter.module_rewriter.erase(x); return x", "removed the instruction"),
        ("return rewriter.users(x)[0]", "returned 'c', which depends on the instruction that it would replace"),
        ("return rewriter.add('negate', [rewriter.add('floor', rewriter.users(x))])", "returned 'negate', which depends on the instruction"),
    ],
)
def test_rules_that_fail(load, body, message):
    load(RULE.format(body=body))
    module = hlotool.parse("g { ROOT o = f32[] parameter(0) } " + TEXT.replace("ROOT r = f32[] abs(n)", "r = f32[] abs(n) ROOT c = f32[] ceil(r)"))
    with pytest.raises(RuleError) as caught:
        hlotool.optimize(module, "my_rules")
    assert str(caught.value).startswith(f"rule 'test-abs-of-negate' {message}")
    assert caught.value.exit_code == 2
    with pytest.raises(RuleError) as caught:
        hlotool.optimize(module, "cse", options=hlotool.OptimizeOptions(explain_why_not="r"))
    assert str(caught.value).startswith(f"rule 'test-abs-of-negate' {message}")


def test_a_rule_that_runs_out_of_memory(load):
    """Checks that MemoryError is raised unchanged, since handling it may require memory."""
    load(RULE.format(body="raise MemoryError"))
    with pytest.raises(MemoryError):
        hlotool.optimize(hlotool.parse(TEXT), "my_rules")


def test_a_rule_of_hlotool_that_fails():
    """Checks that the failure is an internal error, because it is not the user's fault."""

    def rewrite(x, rewriter):
        raise ValueError("x")

    rewrite.__module__ = "hlotool.optimizer.rules.logic"
    rule("abs", name="test-of-hlotool")(rewrite)
    with pytest.raises(InternalError, match=r"^rule 'test-of-hlotool' failed: ValueError: x; at 'r' \(abs\)$"):
        hlotool.optimize(hlotool.parse(TEXT), "logic")
    forget_rules(["test-of-hlotool"])


def test_a_rule_without_a_docstring(load):
    load(RULE.format(body=GOOD).replace('    """abs(negate(a)) -> abs(a)"""\n', ""))
    entry = all_rules()["test-abs-of-negate"]
    assert (entry.summary, entry.details) == ("", "")


def test_a_rule_that_returns_the_instruction(load):
    load(RULE.format(body="return x"))
    assert hlotool.optimize(hlotool.parse(TEXT), "my_rules").report.count == 0


def test_a_result_that_depends_on_distant_instructions(load):
    """Checks that the search visits each distant operand of a result only once."""
    chain = "".join(f"n{k + 1} = f32[] negate(n{k}) " for k in range(10))
    sums = "m0 = f32[] sine(n0) " + "".join(f"m{k + 1} = f32[] add(m{k}, m{k}) " for k in range(100))
    text = f"ENTRY e {{ n0 = f32[] parameter(0) {sums}q = f32[] sine(m100) {chain}ROOT r = f32[] abs(n10) }}"
    load(
        RULE.format(body="m = rewriter.module_rewriter; return rewriter.add('tanh', [next(y for y in m.instructions(m.owner(x)) if y.name == 'q')])")
    )
    assert [x.name for x in hlotool.optimize(hlotool.parse(text), "my_rules").entry.instructions][-2:] == ["q", "tanh"]


@pytest.mark.parametrize("header", ["", "HloModule m, is_scheduled=true "])
@pytest.mark.parametrize(
    ("result", "reason"),
    [
        ("rewriter.add('iota', [], x.shape, iota_dimension=7)", "iota"),
        ("rewriter.with_operands(x, [rewriter.add('broadcast', x.operands, x.shape, dimensions=(5,))])", "broadcast"),
    ],
)
def test_invalid_results(load, header, result, reason):
    """Checks that an invalid result does not replace the instruction in any module."""
    load(RULE.format(body=f"return {result}"))
    module = hlotool.parse(header + TEXT.replace("f32[]", "f32[4]{0}"))
    result = hlotool.optimize(module, "my_rules", options=hlotool.OptimizeOptions(explain_why_not="r"))
    assert hlotool.to_text(result) == hlotool.to_text(module)
    (answer,) = [why.reason for why in result.report.reasons if why.name == "test-abs-of-negate"]
    assert f"the new '{reason}' would not be valid: " in answer


def test_results_rejected_one_after_the_other(load):
    """Checks that the next rule runs after the instructions of a rejected result are removed."""
    second = RULE.partition("\n@rule")[1:]
    wrong = RULE.format(body="return rewriter.add('iota', [], x.shape, iota_dimension=7)")
    load(wrong + "".join(second).format(body="return rewriter.add('iota', [], x.shape, iota_dimension=8)").replace("test_abs", "second_abs"))
    module = hlotool.parse(TEXT.replace("f32[]", "f32[4]"))
    assert hlotool.to_text(hlotool.optimize(module, "my_rules")) == hlotool.to_text(module)


@pytest.mark.parametrize(
    ("result", "is_possible"),
    [
        ("rewriter.add('negate', [d])", True),
        ("rewriter.add('negate', [d], x.shape)", True),
        ("rewriter.add('negate', [d], 'f32[<=4]')", True),
        ("rewriter.with_operands(d, [p, n], 'f32[<=4]')", True),
        ("rewriter.with_operands(d, [p, n])", True),
        ("rewriter.add('dynamic-reshape', [p, n], x.shape)", True),
        ("rewriter.add('negate', [p], x.shape)", False),
        ("rewriter.with_operands(x, [p])", False),
        ("rewriter.add('reshape', [p], x.shape)", False),
        ("rewriter.add('iota', [], x.shape, iota_dimension=0)", False),
        ("rewriter.add('reshape', [rewriter.add('abs', [p])], x.shape)", False),
    ],
)
def test_results_of_dynamic_size(load, result, is_possible):
    """Checks that a new result is accepted only if an operand or the rule sets its dynamic size.

    Without a dynamic size, the result could have more elements than before.
    """
    load(RULE.format(body=f"d = x.operands[0]; p, n = d.operands; return {result}"))
    text = "ENTRY e { p = f32[4] parameter(0) n = s32[] parameter(1) d = f32[<=4] set-dimension-size(p, n), dimensions={0} ROOT r = f32[<=4] abs(d) }"
    result = hlotool.optimize(hlotool.parse(text), "my_rules")
    assert result.report.count == is_possible
    # The inserted instructions are removed again.
    assert is_possible or len(result.entry.instructions) == 4


@pytest.mark.parametrize(
    ("result", "is_possible"),
    [
        # XLA accepts this in a module, so the verifier only reports a warning.
        ("rewriter.add('reverse', [p], x.shape, dimensions=(0,))", True),
        ("rewriter.add('reverse', [p], dimensions=(0,))", False),
        ("p", False),
    ],
)
def test_results_of_static_size(load, result, is_possible):
    load(RULE.format(body=f"p = rewriter.module_rewriter.module.entry.parameters[0]; return {result}"))
    text = "ENTRY e { p = f32[<=4] parameter(0) q = f32[4] parameter(1) r = f32[4] abs(q) ROOT t = (f32[<=4], f32[4]) tuple(p, r) }"
    assert hlotool.optimize(hlotool.parse(text), "my_rules").report.count == is_possible


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("raise ValueError('x')", "pass 'test-pass' failed in my rules.py, line 8: ValueError: x"),
        ("import sys; sys.exit(0)", "pass 'test-pass' failed in my rules.py, line 8: SystemExit: 0"),
        ("context.rewriter.erase(r)", "pass 'test-pass' failed in my rules.py, line 8: EditError: 'r' cannot be erased"),
        ("context.rewriter.update(n, operands=[r])", "pass 'test-pass' failed: EditError: "),
    ],
)
def test_passes_that_fail(load, body, message):
    load(PASS.format(body=body))
    with pytest.raises(RuleError) as caught:
        hlotool.optimize(hlotool.parse(TEXT), "test-pass")
    assert message in str(caught.value)


def test_a_pass_that_does_not_count_its_rewrites(load):
    load(PASS.format(body="context.rewriter.replace_all_uses(n, p) if r is not p else None"))
    result = hlotool.optimize(hlotool.parse(TEXT), "test-pass,dce")
    assert [x.name for x in result.entry.instructions] == ["p", "r"]
    assert result.report.remarks == ["pass 'test-pass' changed the module without `context.allows`, so its rewrites are not counted"]


@pytest.mark.parametrize(("opcode", "changed"), [("iota", "x"), ("abs", "x.operands[0]"), ("ceil", "x.operands[0].operands[0]")])
def test_rules_see_the_changes_of_other_passes(load, opcode, changed):
    """Checks that rules revisit a changed instruction, its users, and the users of its users."""
    body = f"return rewriter.module_rewriter.module.entry.parameters[0] if {changed}.attributes['iota_dimension'] == 1 else None"
    change = PASS.partition("    p, n, r")[0] + "    for x in context.instructions(context.module.entry):\n"
    change += "        if x.attributes.get('iota_dimension') == 0 and context.allows('test-pass', x):\n"
    change += "            context.rewriter.update(x, attributes={'iota_dimension': 1})\n"
    load(RULE.format(body=body).replace("abs", opcode) + change.removeprefix(HEAD))
    text = "ENTRY e { p = f32[2,2] parameter(0) n = f32[2,2] iota(), iota_dimension=0 r = f32[2,2] abs(n) ROOT c = f32[2,2] ceil(r) }"
    assert hlotool.optimize(hlotool.parse(text), "my_rules").report.count == 0
    assert hlotool.optimize(hlotool.parse(text), "my_rules,test-pass,my_rules").report.count == 2


@pytest.mark.parametrize(("header", "count"), [("", 1), ("HloModule m, is_scheduled=true ", 0)])
def test_layouts_of_results(load, header, count):
    """Checks that a new instruction has the layout of the instruction that it replaces.

    Layouts matter only in modules that have layouts.
    """
    load(RULE.format(body="return rewriter.add('reshape', x.operands, x.shape.with_layout(x.operands[0].shape.layout))").replace('"abs"', '"copy"'))
    text = "ENTRY e { p = f32[2,3]{1,0} parameter(0) ROOT r = f32[2,3]{0,1} copy(p) }"
    result = hlotool.optimize(hlotool.parse(header + text), "my_rules")
    assert result.report.count == count
    assert result.entry.root.shape.layout.minor_to_major == (0, 1)


def test_a_rule_that_does_not_terminate(load):
    load(RULE.format(body="return rewriter.with_operands(x, x.operands)"))
    report = hlotool.optimize(hlotool.parse(TEXT), "my_rules").report
    assert report.remarks == ["rule 'test-abs-of-negate' does not stop firing in computation 'e'; the passes were stopped"]
    # The message does not blame rules that fired more often in other computations.
    chain = "".join(f"n{k + 1} = f32[] negate(n{k}) " for k in range(1000))
    module = hlotool.parse(f"f {{ n0 = f32[] parameter(0) {chain}ROOT r = f32[] sine(n1000) }} {TEXT.replace('negate(p)', 'call(p), to_apply=f')}")
    result = hlotool.optimize(module, "algsimp")
    assert result.report.remarks == report.remarks
    assert len(result.computations[0].instructions) == 2
