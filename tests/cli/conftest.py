"""Fixtures for tests of the command line: module files, and two ways to run a command."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from texts import MESSY, NEAT

from hlotool.cli.main import COMMANDS

ROOT = Path(__file__).resolve().parents[2]

GOOD = "HloModule good\n\nENTRY e {\n  ROOT p = f32[2] parameter(0)\n}\n"
BAD = "HloModule bad\n\nENTRY e {\n  p = f32[2] parameter(0)\n  ROOT r = f32[2] negate(q)\n}\n"


@pytest.fixture
def file_of(tmp_path: Path) -> Callable[[str, str], Path]:
    """Returns a function that writes `text` to a new file called `name` and returns its path."""

    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


@pytest.fixture
def good(file_of: Callable[[str, str], Path]) -> Path:
    return file_of("good.hlo", GOOD)


@pytest.fixture
def bad(file_of: Callable[[str, str], Path]) -> Path:
    return file_of("bad.hlo", BAD)


@pytest.fixture
def messy(file_of: Callable[[str, str], Path]) -> Path:
    return file_of("messy.hlo", MESSY)


@pytest.fixture
def neat(file_of: Callable[[str, str], Path]) -> Path:
    return file_of("neat.hlo", NEAT)


@pytest.fixture
def cli() -> Callable[..., Result]:
    """Returns a function that runs a command in this process."""

    def run(*arguments: str | Path, stdin: str | bytes | None = None) -> Result:
        return CliRunner().invoke(COMMANDS, [str(a) for a in arguments], input=stdin, prog_name="hlotool")

    return run


@pytest.fixture
def process() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Returns a function that runs a command in its own process, as users do."""

    def run(*arguments: str | Path, env: dict[str, str] | None = None, **options: Any) -> subprocess.CompletedProcess[str]:
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        if "input" not in options:
            options.setdefault("stdin", subprocess.DEVNULL)
        environment = {**os.environ, "PYTHONPATH": str(ROOT), **(env or {})}
        command = [sys.executable, "-m", "hlotool", *map(str, arguments)]
        return subprocess.run(command, text=True, env=environment, timeout=60, check=False, **options)

    return run
