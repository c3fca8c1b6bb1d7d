"""Recorded programs for guards: each guard of a rule or pass has a program that requires it.

All of these programs are rewritten correctly.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from proofs.guards import equivalents, guards_of
from proofs.replay import read_programs, replay, subjects_of

BREAK_GUARDS = Path(__file__).parents[1] / "tools" / "break_guards.py"
MODULES = [pytest.param(module, id=module.rpartition(".")[2]) for module in subjects_of()]


@pytest.mark.parametrize("module", MODULES)
def test_programs_at_the_guards(module: str) -> None:
    for program in read_programs(module):
        message = replay(program)
        assert message is None, f"{message}, in\n{program}"


@pytest.mark.parametrize("module", MODULES)
def test_each_guard_has_a_program(module: str) -> None:
    """Checks that each guard has a recorded program.

    If a guard changes, `python tests/tools/prove_guards.py MODULE` searches for programs.
    """
    programs = read_programs(module)
    assert {program.subject for program in programs} == set(subjects_of()[module])
    recorded = {key for program in programs for key in program.guards}
    assert guards_of(module).keys() == recorded | equivalents(module)
    assert not recorded & equivalents(module)


def test_broken_guards_are_detected() -> None:
    result = subprocess.run([sys.executable, str(BREAK_GUARDS), "--count", "6", "--seed", "2"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "6 of 6 broken guards were noticed" in result.stdout


def test_equivalent_changes_are_not_detected() -> None:
    """Checks that no test fails if a guard is replaced with an equivalent guard."""
    command = [sys.executable, str(BREAK_GUARDS), "--equivalent", "--count", "4", "--seed", "1"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 1, result.stdout + result.stderr
    assert "0 of 4 broken guards were noticed" in result.stdout
