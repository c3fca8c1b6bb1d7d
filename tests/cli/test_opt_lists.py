"""`hlotool opt`: lists of passes and rules, explanations, completion, and option groups."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from hlotool.cli.cmd_opt import OptCommand, command
from hlotool.cli.command import GROUPS
from hlotool.optimizer.pipeline import PASSES, PIPELINES
from hlotool.optimizer.registry import all_rules

ROOT = Path(__file__).resolve().parents[2]


def test_lists(cli):
    text = cli("opt", "--list-passes").stdout
    assert all(f"\n  {name} " in text for name in PASSES)
    assert "  -O2  dce,inline" in text
    assert "(default)" in text
    passes = json.loads(cli("opt", "--list-passes", "--json").stdout)
    assert passes["pipelines"]["-O1"] == list(PIPELINES[1])
    rows = json.loads(cli("opt", "--list-rules", "--json").stdout)
    assert {row["name"] for row in rows} == set(all_rules())
    assert {row["is_exact"] for row in rows} <= {True, False}
    lines = cli("opt", "--list-rules").stdout
    for name, entry in all_rules().items():
        assert re.search(rf"^{name} +{entry.topic} +{','.join(sorted(entry.flags)) or 'exact'} +{re.escape(entry.summary)}$", lines, re.MULTILINE), (
            name
        )


def test_rewrites_are_explained(cli):
    text = cli("explain", "two-inversions").stdout
    assert text.startswith("two-inversions\nrewrite rule of hlotool opt; group identities\n\n  negate(negate(a)) -> a\n")
    assert "Exact: results are equal bit for bit" in text
    assert json.loads(cli("explain", "--json", "two-inversions").stdout)["topic"] == "identities"
    assert cli("explain", "--format", "markdown", "two-inversions").stdout.startswith("## two-inversions\n\n`negate(negate(a)) -> a`\n")
    assert cli("explain", "dce").stdout.startswith("dce\npass of hlotool opt\n")
    assert "Rules: copy-of-equal-layout," in cli("explain", "identities").stdout
    assert json.loads(cli("explain", "--json", "dce").stdout)["levels"] == ["-O1", "-O2"]
    assert cli("explain", "--format", "markdown", "cse").stdout.startswith("## cse\n")
    assert (
        cli("explain", "two-inversion").stderr
        == "hlotool: there is no rule, opcode, pass or rewrite 'two-inversion'; did you mean 'two-inversions'?\n"
    )
    result = cli("explain", *all_rules())
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 100


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("hlotool opt --passes fold,al", "fold,algsimp"),
        ("hlotool opt --passes ident", "identities"),
        ("hlotool opt --print-after c", "cse"),
        ("hlotool opt --fast-math nnan,ns", "nnan,nsz"),
        ("hlotool opt --fast-math al", "all"),
        ("hlotool opt samples/while_loop.hlo --only improve", "improve"),
        ("hlotool opt samples/while_loop.hlo --explain-why-not quo", "quotient"),
        ("hlotool explain two-inv", "two-inversions"),
        ("hlotool explain dc", "dce"),
    ],
)
def test_completion(process, words, offered):
    count = len(words.split(" ")) - 1
    result = process(env={"_HLOTOOL_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(count)}, cwd=ROOT)
    assert offered in [line.partition(",")[2] for line in result.stdout.splitlines()]


def test_groups_of_the_help_name_options() -> None:
    shared = {name for group in ("Limits", "Files") for name in GROUPS[group]}
    grouped = {name for names in OptCommand.groups.values() for name in names}
    assert grouped - shared <= {param.name for param in command.params}
