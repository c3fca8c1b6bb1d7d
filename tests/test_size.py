"""Files, classes and functions stay small enough to be read in one go."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import hlotool

PACKAGE = Path(hlotool.__file__).parent
HERE = Path(__file__).parent
FILES = [*sorted(PACKAGE.rglob("*.py")), *sorted(HERE.rglob("*.py"))]
MAX_LINES = {"file": 600, "class": 300, "function": 60}
# Files that contain only tables.
TABLES = {"codes.py"}


def relative(path: Path) -> str:
    return path.relative_to(PACKAGE.parent if path.is_relative_to(PACKAGE) else HERE.parent).as_posix()


@pytest.mark.parametrize("path", FILES, ids=map(relative, FILES))
def test_sizes(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    too_long = []
    if path.name not in TABLES and text.count("\n") > MAX_LINES["file"]:
        too_long.append(f"the file has {text.count(chr(10))} lines")
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        kind = "class" if isinstance(node, ast.ClassDef) else "function"
        length = (node.end_lineno or node.lineno) - node.lineno + 1
        if length > MAX_LINES[kind]:
            too_long.append(f"{kind} {node.name} has {length} lines")
    assert not too_long, "; ".join(too_long)
