"""`hlotool explain` and `hlotool verify --explain`."""

from __future__ import annotations

import json

import pytest

from hlotool.codes import CODE_NAMES, FAMILIES, summary_of
from hlotool.opdefs.codecs.base import CODECS
from hlotool.opdefs.table import OPS
from hlotool.verifier.explanations import explain_op, explain_rule
from hlotool.verifier.fixing import fix_rules


def test_rules(cli):
    result = cli("explain", "t003")
    assert result.exit_code == 0
    assert result.stdout.startswith("T003 result-shape\nerror, reported by default\ncategory: types and shapes\n\n")
    assert cli("explain", "result-shape").stdout == result.stdout == cli("verify", "--explain", "T003").stdout
    assert cli("explain", "--format", "markdown", "T003").stdout.startswith("## T003 result-shape\n")
    assert json.loads(cli("explain", "--json", "T003").stdout)["name"] == "result-shape"
    assert json.loads(cli("verify", "--explain", "T003", "--output-format", "json").stdout)["code"] == "T003"


def test_opcodes(cli):
    text = cli("explain", "transpose").stdout
    assert text.startswith("transpose\n\n")
    assert "    r = f32[3,2] transpose(x), dimensions={1,0}\n" in text
    assert "  dimensions  required; list of integers: {0,1}\n" in text
    assert "FFT, IFFT, RFFT or IRFFT" in cli("explain", "fft").stdout
    assert json.loads(cli("explain", "--json", "transpose").stdout)["operands"] == ["operand"]
    assert cli("explain", "tuple", "T003").stdout.count("\n\n") > 2


def test_unknown_subjects(cli):
    result = cli("explain", "transpse", "T003")
    assert result.exit_code == 2
    assert result.stderr == "hlotool: there is no rule, opcode, pass or rewrite 'transpse'; did you mean 'transpose'?\n"
    assert "T003" in result.stdout
    assert cli("verify", "--explain", "T9999").exit_code == 2
    assert cli("explain").exit_code == 2


@pytest.mark.parametrize("code", CODE_NAMES)
def test_every_rule_can_be_explained(cli, code):
    assert explain_rule(code).summary
    # Example modules, which are indented, are shown unchanged.
    assert all(len(line) <= 100 for line in cli("explain", code).stdout.splitlines() if not line.startswith("    "))


def test_every_opcode_can_be_explained(cli):
    result = cli("explain", *OPS)
    assert result.exit_code == 0
    explanations = [explain_op(op) for op in OPS.values()]
    assert all(explanation.summary and explanation.example for explanation in explanations)
    # The internal names of attribute kinds mean nothing to readers of HLO.
    shown = {values for explanation in explanations for _, values, _ in explanation.attributes}
    assert not shown & CODECS.keys()
    assert max(map(len, (line for line in result.stdout.splitlines() if not line.startswith("    ")))) <= 80


@pytest.mark.parametrize("opcode", OPS)
def test_examples_of_opcodes(opcode):
    example = explain_op(OPS[opcode]).example
    assert " = " in example
    assert f" {opcode}(" in example.replace("\n", " ")


def test_tables_have_the_same_codes():
    assert all(summary_of(code) and code[0] in FAMILIES for code in CODE_NAMES)
    assert fix_rules().keys() <= CODE_NAMES.keys()
    assert all(rule.title for rule in fix_rules().values())
