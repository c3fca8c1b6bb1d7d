"""Untrusted files and folders: no command exhausts memory, hangs, or has an internal error."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from texts import NEAT

import hlotool
from hlotool.server.documents import Document
from hlotool.server.navigation import source_uri
from hlotool.workspace.programs import find_program

ROOT = Path(__file__).resolve().parents[2]
SUM = "ENTRY e {\n  p = f32[4] parameter(0)\n  ROOT r = f32[4] add(p, p)\n}\n"
LOOP = """
HloModule m

body {
  p = (s32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[] get-tuple-element(p), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  s = f32[] sine(x)
  y = f32[] add(x, s)
  ROOT r = (s32[], f32[]) tuple(j, y)
}

condition {
  p = (s32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(200000)
  ROOT r = pred[] compare(i, n), direction=LT
}

ENTRY e {
  zero = s32[] constant(0)
  x = f32[] constant(1)
  t = (s32[], f32[]) tuple(zero, x)
  ROOT w = (s32[], f32[]) while(t), condition=condition, body=body
}
"""


@pytest.fixture
def deep(tmp_path: Path) -> Iterator[Path]:
    """Creates 1,500 nested folders with a module in the innermost one."""
    folder, before = tmp_path / "deep", Path.cwd()
    folder.mkdir()
    os.chdir(folder)
    try:
        for _ in range(1500):
            Path("d").mkdir()
            os.chdir("d")
        Path("m.hlo").write_text(NEAT)
    finally:
        os.chdir(before)
    yield folder
    # The innermost folders are removed first, since removing a deep tree recurses too deeply in
    # some versions of Python.
    for depth in (1499, 1000, 500, 0):
        shutil.rmtree(folder / "/".join(["d"] * depth), ignore_errors=True)


@pytest.mark.parametrize("command", [("verify",), ("fmt", "--check"), ("opt", "-q")])
@pytest.mark.parametrize("is_repository", [False, True])
def test_deep_folders(cli: Callable[..., Result], deep: Path, command: tuple[str, ...], is_repository: bool) -> None:
    if is_repository:
        (deep / ".git").mkdir()
        (deep / ".gitignore").write_text("*.tmp\n")
    result = cli(*command, deep)
    assert result.exit_code == 0, result.output


def test_archives_of_zeros(cli: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "m.hlo").write_text(SUM)
    np.savez_compressed(tmp_path / "p.npz", p=np.zeros(1 << 24, np.float32))
    assert (tmp_path / "p.npz").stat().st_size < 1 << 17
    monkeypatch.setattr("hlotool.interp.arguments.argument_files.default_limit", lambda: 1 << 20)
    for option in ("--inputs", "--compare"):
        result = cli("run", option, tmp_path / "p.npz", tmp_path / "m.hlo")
        assert (result.exit_code, result.stderr.splitlines()[-1]) == (
            2,
            f"hlotool: cannot read '{tmp_path / 'p.npz'}': its arrays take 64 MiB, but only 1 MiB of memory is available",
        )


def test_the_size_of_rule_files_is_limited(cli: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "m.hlo").write_text(SUM)
    with (tmp_path / "rules.py").open("w") as file:
        file.truncate(1 << 40)
    result = cli("opt", "--load", tmp_path / "rules.py", tmp_path / "m.hlo")
    assert (result.exit_code, "rules.py': it has more than 16,777,216 bytes" in result.stderr) == (2, True)


def test_programs_are_only_found_in_absolute_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        program = tmp_path / folder / "program"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("PATH", os.pathsep.join(["", ".", "../here", str(tmp_path / "there")]))
    assert find_program("program") == str(tmp_path / "there" / "program")
    (tmp_path / "there" / "program").chmod(0o644)
    assert find_program("program") is None
    assert find_program("a\0b") is None


def test_links_to_other_computers_are_not_followed() -> None:
    # To check whether the file exists, Windows would log in to the other computer.
    document = Document("file:///m.hlo", SUM)
    assert source_uri(document, __file__, 3) == f"{Path(__file__).as_uri()}#L3"
    for start in ("/", "\\", "\\\\host\\share"):
        assert source_uri(document, f"{start}{__file__}", 3) is None


def test_generated_code_has_no_text_of_the_module(tmp_path: Path) -> None:
    """Checks that strings in a module are never executed as part of generated code."""
    mark = tmp_path / "mark"
    bad = r"'\"\"\"\n\nopen('MARK', 'w').close()\n#".replace("MARK", str(mark))
    notes = f'metadata={{op_name="{bad}" source_file="{bad}"}}, backend_config="{bad}", frontend_attributes={{k="{bad}"}}'
    text = SUM.replace("add(p, p)", f"add(p, p), {notes}")
    module = hlotool.parse(text)
    hlotool.compile(module)(np.ones(4, np.float32))
    namespace: dict[str, object] = {}
    exec(hlotool.to_python(module), namespace)
    assert not mark.exists()
