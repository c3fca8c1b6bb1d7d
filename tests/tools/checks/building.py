"""Checks cases of modules that are converted to builder code.

The code must do nothing but build a module, which must print the same text as the original.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from case_files import Case

import hlotool
from checks.common import Mismatch, parsed, same
from hlotool.ir.model import Module

__all__ = ["check_rebuilt", "only_builds", "rebuilt", "run_code"]

# Options that print the entire module, in its own order or in XLA's order.
_PRINTS = (
    hlotool.PrintOptions(),
    hlotool.PrintOptions(print_operand_shape=True, print_name_after_closing_brace=True, syntax_sugar_async_ops=False),
    hlotool.PrintOptions(lossless=False),
)
_NODES = (
    ast.Module, ast.Import, ast.ImportFrom, ast.alias, ast.Assign, ast.Expr, ast.With, ast.withitem, ast.NamedExpr, ast.Call, ast.keyword,
    ast.Attribute, ast.Name, ast.Load, ast.Store, ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.UnaryOp, ast.USub,
)  # fmt: skip
_FUNCTIONS = {"float", "complex"}


def run_code(code: str) -> Module:
    """Runs builder code, and returns the module that it builds."""
    namespace: dict[str, Any] = {}
    exec(compile(code, "<code>", "exec"), namespace)
    made: Module = namespace["module"]
    return made


def only_builds(code: str) -> str | None:
    """Returns the first part of the code that is not a call to a builder's method, or None."""
    tree = ast.parse(code)
    known = set(_FUNCTIONS)
    for node in ast.walk(tree):
        if isinstance(node, ast.alias):
            known.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            known.add(node.id)
    for node in ast.walk(tree):
        if not isinstance(node, _NODES):
            return f"line {getattr(node, 'lineno', 0)}: {type(node).__name__}"
        name = getattr(node, "id", getattr(node, "attr", "a"))
        if name.startswith("_") or (isinstance(node, ast.Name) and name not in known):
            return f"line {getattr(node, 'lineno', 0)}: the name {name}"
        if isinstance(node, ast.ImportFrom) and node.module != "base64" and not str(node.module).startswith("hlotool."):
            return f"imports {node.module}"
        if isinstance(node, ast.Import) and [alias.name for alias in node.names] != ["hlotool"]:
            return "an import"
    return None


def check_rebuilt(module: Module) -> None:
    """Checks that a module's code builds the same module and leaves the original unchanged."""
    before = [hlotool.to_text(module, options) for options in _PRINTS]
    code = hlotool.to_python(module)
    other = only_builds(code)
    if other is not None:
        raise Mismatch(f"the code does more than build a module: {other}")
    made = run_code(code)
    for options, text in zip(_PRINTS, before, strict=True):
        for what, other_module in (("the module that the code builds", made), ("the original after its conversion to code", module)):
            found = hlotool.to_text(other_module, options)
            same(text, found, what)
            if text != found:
                raise Mismatch(f"{what} has different whitespace at the end")


def rebuilt(path: Path, case: Case) -> None:
    check_rebuilt(parsed(case.text, str(path)))
