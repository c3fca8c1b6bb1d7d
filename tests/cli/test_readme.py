"""Tests of the README and the guides: their commands, Python examples, links and file names."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONSOLE = re.findall(r"^```console\n\$ (.*)\n((?s:.*?))^```$", README, re.MULTILINE)
GUIDES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "grammar/README.md")] + sorted((ROOT / "docs").glob("*.md"))


@pytest.mark.parametrize(("command", "output"), CONSOLE, ids=[command for command, _ in CONSOLE])
def test_console(command, output, tmp_path):
    script = tmp_path / "hlotool"
    script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m hlotool "$@"\n')
    script.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    result = subprocess.run(command, shell=True, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert result.stdout == output


def test_python(monkeypatch):
    monkeypatch.chdir(ROOT)
    (code,) = re.findall(r"^```python\n((?s:.*?))^```$", README, re.MULTILINE)
    test = doctest.DocTestParser().get_doctest(code, {}, "README", "README.md", 0)
    assert doctest.DocTestRunner().run(test).failed == 0


def test_ci_runs_the_test_command():
    (command,) = re.findall(r"^```sh\n(python3 .* pytest .*)\n```$", README, re.MULTILINE)
    assert command in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


@pytest.mark.parametrize("guide", GUIDES, ids=[guide.name for guide in GUIDES])
def test_links_have_a_target(guide):
    for target in re.findall(r"\]\(([^)#]+)", guide.read_text(encoding="utf-8")):
        assert target.startswith("https://") or (guide.parent / target).exists(), target


def test_guides_name_existing_files():
    text = (ROOT / "docs" / "parsing.md").read_text(encoding="utf-8") + (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    existing = [f"/{path.relative_to(ROOT).as_posix()}" for folder in ("hlotool", "grammar", "tests") for path in ROOT.joinpath(folder).rglob("*.*")]
    for name in re.findall(r"[a-z_/]+\.(?:py|lark)\b", text):
        assert any(path.endswith(f"/{name}") for path in existing), name


GUIDE_SCRIPT = """
from __future__ import annotations
import sys
from pathlib import Path
from hlotool.opdefs.base import op, require
from hlotool.opdefs.inference import array_operand
from hlotool.opdefs.kinds import Bool, Int
from hlotool.shapes.shape import Shape, array_shape
from hlotool.interp.arrays.dtypes import Array
from hlotool.interp.kernels.base import kernel
from hlotool.interp.arrays.memory_order import forward
DEFINITIONS
sys.path += [str(Path("tests")), str(Path("tests", "tools"))]
from case_files import read_cases
from checks.evaluation import evaluated
from checks.verification import verified
for check, path in zip((evaluated, verified), map(Path, sys.argv[1:])):
    for case in read_cases(path):
        check(path, case)
        print("passed")
"""


def test_the_guides_op_passes_the_guides_cases(tmp_path):
    """Defines the op in a new process, since the op table is global.

    The op gets another name, so that the test also passes after a reader has followed the guide.
    """
    text = (ROOT / "docs" / "adding-an-op.md").read_text(encoding="utf-8").replace("every_nth", "guide_nth").replace("every-nth", "guide-nth")
    definition, kernel = re.findall(r"^```python\n((?s:.*?))^```$", text, re.MULTILINE)[:2]
    paths = []
    for number, cases in enumerate(re.findall(r"^```\n(ENTRY (?s:.*?))^```$", text, re.MULTILINE)[:2]):
        paths.append(tmp_path / str(number) / "guide-nth.hlo")
        paths[-1].parent.mkdir()
        paths[-1].write_text(cases, encoding="utf-8")
    command = [sys.executable, "-c", GUIDE_SCRIPT.replace("DEFINITIONS", definition + kernel), *map(str, paths)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (result.stdout, result.stderr) == ("passed\n" * 4, "")
