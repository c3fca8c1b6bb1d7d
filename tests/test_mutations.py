"""The mutation tool lists the mutations that no test detects, and no others."""

import subprocess
import sys
from pathlib import Path

MUTATE = Path(__file__).parent / "tools" / "mutate.py"


def mutate(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(MUTATE), *arguments, "--jobs", "1"], capture_output=True, text=True, check=False)


def test_undetected_mutations_are_listed():
    result = mutate("ir.names.is_legal_name", "ir.names.free_name", "--tests", "hlotool/ir/names.py")
    assert result.returncode == 1
    assert "no test reaches:\n  ir.names:" in result.stdout
    assert "free_name: deleted `counters[name] = k`" in result.stdout


def test_nothing_is_listed_if_all_mutations_are_detected():
    # The last function creates a closure when its module is imported. A mutation that deletes the
    # call leaves the closure with one name fewer.
    functions = ("ir.names.is_legal_name", "ir.names.free_name", "opdefs.collectives._like_operands")
    result = mutate(*functions, "--tests", "tests/ir/test_names.py", "tests/verify/collective-operands.hlo")
    assert result.returncode == 0, result.stdout
    assert " 0 reached by no test, 0 unnoticed" in result.stdout


def test_constants_are_tried_like_statements():
    """Checks that running a module or registering its rules again does not count as a failure."""
    files = ("tests/optimizer/arguments.hlo", "tests/optimizer/logic.hlo")
    result = mutate("optimizer.tuple_edits._BY_ELEMENT", "optimizer.rules.logic._INVERSE", "--tests", *files)
    assert result.returncode == 1
    assert "_BY_ELEMENT: `{'parameter_replication', 'frontend_attributes', 'statistics'}` without `'statistics'`" in result.stdout
    assert "_INVERSE" not in result.stdout
