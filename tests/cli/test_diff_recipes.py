"""Tests of the recipes in docs/comparing.md for git, pre-commit and pull requests.

These tests need git.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "comparing.md").read_text(encoding="utf-8")
LEFT = "HloModule m\n\nENTRY e {\n  p = f32[8] parameter(0)\n  t = f32[8] tanh(p)\n  ROOT r = f32[8] negate(t)\n}\n"
RIGHT = LEFT.replace("tanh", "sine")
RENAMED = LEFT.replace("t = ", "u = ").replace("(t)", "(u)")
CHANGE = "  - t = f32[8] tanh(p)\n  + t = f32[8] sine(p)\n"


def block(language: str, part: str) -> str:
    """Returns the only code block in `language` that contains `part`."""
    (text,) = [text for text in re.findall(rf"^```{language}\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL) if part in text]
    return text


Shell = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Returns a function that runs a command in a git repository with a file `golden/m.hlo`."""
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, text in (("hlotool", f'exec {shlex.quote(sys.executable)} -m hlotool "$@"'), ("gh", 'printf "%s\\n" "$@"')):
        (commands / name).write_text(f"#!/bin/sh\n{text}\n")
        (commands / name).chmod(0o755)
    folder = tmp_path / "repository"
    (folder / "golden").mkdir(parents=True)
    (folder / "golden" / "m.hlo").write_text(LEFT)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "XDG_"))}
    environment = {**kept, "PATH": f"{commands}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "HOME": str(tmp_path), "TERM": "dumb"}
    environment["GITHUB_STEP_SUMMARY"] = str(tmp_path / "summary.md")

    def run(command: str, exit_code: int = 0) -> subprocess.CompletedProcess[str]:
        result = subprocess.run(["sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=60)
        assert result.returncode == exit_code, result.stdout + result.stderr
        return result

    run("git init -q . && git config user.name a && git config user.email a@b && git add . && git commit -q -m one")
    return run


def write(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "repository" / name).write_text(text)


def test_diff_driver(shell, tmp_path):
    shell(block("sh", "diff.hlo.command"))
    write(tmp_path, "golden/m.hlo", RIGHT)
    write(tmp_path, "new.hlo", LEFT)
    shell("git add .")
    shown = shell("git diff --cached").stdout
    assert "hlotool diff golden/m.hlo\n1 instruction changed (tanh -> sine)\n" in shown
    assert CHANGE in shown
    assert "hlotool diff new.hlo\n1 module added\n\n+ new.hlo: 3 instructions\n" in shown
    assert shell("git commit -q -m two && git log -p --ext-diff -1").stdout.count("hlotool diff ") == 2
    # A file that does not parse does not make git fail.
    write(tmp_path, "golden/m.hlo", "HloModule")
    write(tmp_path, "new.hlo", RIGHT)
    broken = shell("git diff")
    assert "1 instruction changed (tanh -> sine)" in broken.stdout
    assert "golden/m.hlo:1:1" in broken.stderr


def test_text_conversion(shell, tmp_path):
    shell(block("sh", "textconv"))
    write(tmp_path, "golden/m.hlo", RENAMED)
    assert shell("git diff").stdout == ""
    write(tmp_path, "golden/m.hlo", RIGHT)
    assert "-  v1.0 = f32[8]{0} tanh(v0.0)\n+  v1.0 = f32[8]{0} sine(v0.0)\n" in shell("git diff").stdout


def test_difftool(shell, tmp_path):
    shell(block("sh", "difftool"))
    write(tmp_path, "golden/m.hlo", RIGHT)
    assert CHANGE in shell("git difftool -t hlotool").stdout
    shell("git mv golden/m.hlo other.hlo")
    (command,) = re.findall(r"`(git difftool [^`]*--dir-diff[^`]*) main`", GUIDE)
    shown = shell(f"{command} HEAD").stdout
    assert shown == "1 of 1 module differs\n\n~ golden/m.hlo -> other.hlo\n    1 instruction changed (tanh -> sine)\n"


def test_hook(shell, tmp_path):
    """Runs the hook's command as pre-commit does, with the names of the changed files."""
    text = block("yaml", "repo: local")
    entry = " ".join(text.partition("entry: >-\n")[2].split())
    assert re.search(r"files: (\S+)", text)[1] == r"^golden/.*\.hlo$"
    write(tmp_path, "golden/m.hlo", RENAMED)
    write(tmp_path, "golden/new.hlo", LEFT)
    assert shell(f"{entry} golden/m.hlo golden/new.hlo").stdout == "golden/m.hlo\n"
    write(tmp_path, "golden/m.hlo", RIGHT)
    changed = shell(f"{entry} golden/m.hlo golden/new.hlo", 1).stdout
    assert changed.startswith("golden/m.hlo\n1 instruction changed (tanh -> sine)")


def test_pull_request(shell, tmp_path):
    """Runs the commands of the workflow."""
    workflow = block("yaml", "on: pull_request")
    write(tmp_path, "golden/m.hlo", RIGHT)
    shell("git commit -q -a -m two")
    compare = dedent(workflow.partition("- run: |\n")[2].partition("      - run: gh")[0])
    shell(f"set -e\n{compare}")
    comment = (tmp_path / "repository" / "comment.md").read_text(encoding="utf-8")
    assert comment == (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert comment.startswith("### ../base/golden → golden\n\n1 of 1 module differs\n")
    assert "-   t = f32[8] tanh(p)\n+   t = f32[8] sine(p)\n" in comment
    (post,) = re.findall(r"- run: (gh .*)", workflow)
    assert shell(post.replace("${{ github.event.number }}", "7")).stdout.splitlines()[:3] == ["pr", "comment", "7"]
