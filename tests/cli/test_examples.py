"""The examples in `hlotool explain`.

Each bad example has the explained finding on the marked line, and no good example has that finding.
"""

from __future__ import annotations

import shlex

import pytest

from hlotool.codes import CODE_NAMES
from hlotool.errors import Diagnostic, ParseError
from hlotool.opdefs.modes import VerifyModes
from hlotool.option_fields import options_of
from hlotool.text.parse.parser import parse
from hlotool.verifier.engine import verify
from hlotool.verifier.explanations import Example, example_of, explain_rule

# These rules have no examples: only modules built by programs can violate them.
CODES_WITHOUT_EXAMPLES = {"T077", "A029", "M025"}
TEXT_CODES = [code for code in CODE_NAMES if code[0] != "R" and code not in CODES_WITHOUT_EXAMPLES]
RUN_CODES = [code for code in CODE_NAMES if code[0] == "R"]


def modes_of(example: Example) -> VerifyModes:
    options = options_of(VerifyModes)
    kinds = {"count": int, "size": int, "choice": str}
    return VerifyModes(**{name: kinds[options[name].kind](value) if value else True for name, value in example.modes})


def findings(text: str, example: Example) -> list[Diagnostic]:
    try:
        module = parse(text, example.file, legacy=example.is_legacy)
    except ParseError as error:
        return error.diagnostics
    return verify(module, modes_of(example), select=["ALL"])


@pytest.mark.parametrize("code", TEXT_CODES)
def test_the_bad_example_is_reported_and_the_good_one_is_not(code):
    example = example_of(code)
    lines = [d.line for d in findings(example.bad, example) if d.code == code]
    assert lines
    marked = [number for number, line in enumerate(example.bad.splitlines(), 1) if line.endswith(f"// {code}")]
    assert set(marked) <= set(lines)
    assert [d for d in findings(example.good, example) if d.code == code or d.severity == "error"] == []


@pytest.mark.parametrize("code", RUN_CODES)
def test_running_the_examples(cli, tmp_path, code):
    example = example_of(code)
    for name, text in (("bad", example.bad), ("good", example.good)):
        path = tmp_path / f"{name}.hlo"
        path.write_text(text)
        result = cli("run", *shlex.split(example.run), path)
        assert (f"[{code}]" in result.stderr) is (name == "bad"), result.stderr
        assert bool(result.exit_code) is (name == "bad"), result.stderr


@pytest.mark.parametrize("code", CODE_NAMES)
def test_every_rule_is_explained(code):
    rule = explain_rule(code)
    assert rule.why.endswith(".")
    assert rule.configure
    assert (not rule.bad) is (code in CODES_WITHOUT_EXAMPLES)
    assert (not rule.good) is (code in CODES_WITHOUT_EXAMPLES)


def test_examples_mark_the_line():
    # The exceptions are about input that is not HLO, a header without a name, and comments.
    assert {code for code in TEXT_CODES if f"// {code}\n" not in example_of(code).bad} == {"S049", "M019", "W050"}


def test_options_refer_to_codes_that_exist():
    options = options_of(VerifyModes).values()
    assert {code for option in options for code in (*option.enables, *option.disables, *option.concerns)} <= CODE_NAMES.keys()


@pytest.mark.parametrize("name", [name for name, option in options_of(VerifyModes).items() if option.enables])
def test_findings_that_an_option_enables_need_it(name):
    for code in options_of(VerifyModes)[name].enables:
        example = example_of(code)
        if name == "check_replica_groups":
            assert not [d for d in verify(parse(example.bad), VerifyModes(check_replica_groups=False)) if d.code == code]
        else:
            assert name in dict(example.modes) or name == "layouts_kept"
            assert not [d for d in verify(parse(example.bad), select=["ALL"]) if d.code == code]


@pytest.mark.parametrize("name", [name for name, option in options_of(VerifyModes).items() if option.disables])
def test_an_option_suppresses_the_findings_that_it_disables(name):
    for code in options_of(VerifyModes)[name].disables:
        module = parse(example_of(code).bad)
        assert [d for d in verify(module, select=["ALL"]) if d.code == code]
        assert not [d for d in verify(module, VerifyModes(**{name: True}), select=["ALL"]) if d.code == code]
