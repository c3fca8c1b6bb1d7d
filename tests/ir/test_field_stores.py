"""Checks that only certain packages assign to fields of modules, computations or instructions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import hlotool

PACKAGE = Path(hlotool.__file__).parent
# The code that builds and edits modules. `differ/canonical.py` changes only copies and
# `testing/edits.py` only new random modules, so no other code sees these modules during changes.
ALLOWED = ("builder/", "ir/", "text/parse/", "differ/canonical.py", "testing/edits.py")
# Fields of instructions, computations and modules whose names are not used by other classes of the
# package.
FIELDS = {
    "attributes",
    "backend_config",
    "entry",
    "execution_thread",
    "hidden",
    "immediate",
    "instructions",
    "metadata_text",
    "op",
    "operands",
    "root",
}
# Methods that modify lists, dictionaries and sets.
MUTATORS = set("add append clear discard extend insert pop remove reverse setdefault sort update".split())
FILES = sorted(path for path in PACKAGE.rglob("*.py") if not path.relative_to(PACKAGE).as_posix().startswith(ALLOWED))


def stores(tree: ast.AST) -> Iterator[str]:
    """Yields a description of each statement that modifies a field of an object other than `self`.

    Such a statement assigns or deletes the field, or calls a method that modifies its value.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del) and node.attr in FIELDS and not is_self(node.value):
            yield f"line {node.lineno}: .{node.attr} ="
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del) and is_field(node.value):
            yield f"line {node.lineno}: {ast.unparse(node.value)}[...] ="
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MUTATORS and is_field(node.func.value):
            yield f"line {node.lineno}: {ast.unparse(node.func)}()"


def is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def is_field(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in FIELDS and not is_self(node.value)


@pytest.mark.parametrize("path", FILES, ids=[path.relative_to(PACKAGE).as_posix() for path in FILES])
def test_no_other_code_modifies_modules(path: Path) -> None:
    positions = list(stores(ast.parse(path.read_text(encoding="utf-8"))))
    assert not positions, f"use a Rewriter: {positions}"


def test_the_search_finds_stores() -> None:
    source = "x.operands = ()\nx.op, y = a, b\nself.root = x\nc.instructions.append(x)\ndel c.instructions[0]\nx.name = 'a'\n"
    assert len(list(stores(ast.parse(source)))) == 4
