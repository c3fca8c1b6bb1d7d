"""Rules and passes from files of users. Each test loads files of its own, and forgets them."""

from __future__ import annotations

import sys

import pytest

import hlotool
from hlotool.errors import HlotoolError
from hlotool.optimizer import loading
from hlotool.optimizer.optimizer import optimize_with_report
from hlotool.optimizer.pipeline import PASSES, pass_names, pass_of, pass_summary
from hlotool.optimizer.registry import RuleError, all_rules, forget_rules

HEAD = '"""Rules of a test."""\nfrom hlotool.optimizer.pipeline import named_pass\nfrom hlotool.optimizer.registry import rule\n'
RULE = HEAD + '@rule("abs")\ndef test_abs_of_negate(x, site):\n    """abs(negate(a)) -> abs(a)"""\n    {body}\n'
GOOD = "return site.with_operands(x, x.operands[0].operands) if x.operands[0].opcode == 'negate' else None"
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
    # A file is run once, under any of its names.
    assert loading.load_rules(str(tmp_path / "." / "my rules.py")) == ("test-abs-of-negate",)


def test_a_pass(load):
    text = HEAD + '@named_pass("test-nothing")\ndef nothing(context):\n    """Changes nothing."""\n    return False\n'
    assert load(text) == ("test-nothing",)
    assert pass_summary("test-nothing") == "Changes nothing."
    assert len(hlotool.optimize(hlotool.parse(TEXT), "test-nothing").entry.instructions) == 3
    with pytest.raises(HlotoolError, match="there is a pass 'test-nothing' already"):
        load(text, "other.py")
    assert pass_of("test-nothing")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\nraise KeyError('k')\n", ", line 2: KeyError: 'k'"),
        ("def f(:\n", ", line 1: SyntaxError"),
        ("import sys\nsys.exit(0)\n", ", line 2: SystemExit"),
        ("x = 1\n", "registers no rules and no passes"),
        ("x = '\x00'\n", "cannot load"),
        (RULE.format(body="return None") + "1 / 0\n", "line 8: ZeroDivisionError"),
        (RULE.format(body="return None").replace('"abs"', '"obs"'), "there is no opcode 'obs'; did you mean 'abs'?"),
    ],
)
def test_files_that_fail(load, text, message):
    before, names = set(all_rules()), pass_names()
    with pytest.raises(RuleError) as caught:
        load(text, "failing.py")
    assert message in str(caught.value)
    # Nothing of the file is left.
    assert (set(all_rules()), pass_names()) == (before, names)
    assert "hlotool_loaded.failing" not in sys.modules


def test_files_that_cannot_be_read(load, tmp_path):
    for name, message in (("missing.py", "No such file"), (".", "Is a directory"), ("a\0b.py", "null")):
        with pytest.raises(RuleError, match=message):
            loading.load_rules(str(tmp_path / name))
    with pytest.raises(RuleError, match=r"does not end with \.py"):
        load("x = 1\n", "rules.txt")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return 1 / 0", "failed: ZeroDivisionError: division by zero; at 'r' (abs)"),
        ("return 7", "returned 7, which is no instruction"),
        ("site.add('negate', x.operands)", "has inserted instructions and returned None"),
        ("return site.add('nogate', x.operands)", "failed: EditError"),
    ],
)
def test_rules_that_fail(load, body, message):
    load(RULE.format(body=body))
    with pytest.raises(RuleError) as caught:
        hlotool.optimize(hlotool.parse(TEXT), "my_rules")
    assert message in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_rule_that_does_not_stop(load):
    load(RULE.format(body="return site.with_operands(x, x.operands)"))
    _, report = optimize_with_report(hlotool.parse(TEXT), "my_rules")
    assert report.remarks == ["rule 'test-abs-of-negate' does not stop firing in computation 'e'; its rules have been stopped"]
