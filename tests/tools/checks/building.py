"""Checks cases of modules that are converted to builder code.

The code must do nothing but build a module, which must print the same text as the original. Cases
in the folder `code` have an output: the code, without its first lines if these are the usual ones.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from case_files import Case

import hlotool
from checks.common import Mismatch, parsed, same
from hlotool.ir.model import Module

__all__ = ["check_rebuilt", "code_text", "only_builds", "rebuilt", "run_code", "written"]

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


_USUAL_START = 'import hlotool\n\nb = hlotool.Builder("m", entry="e", source_lines=False)\n\n'
_USUAL_END = "\nmodule = b.build(r)\n"


def code_text(path: Path, case: Case) -> str:
    """Returns the code for a module, without the lines that most modules have."""
    try:
        code = hlotool.to_python(parsed(case.text, str(path)))
    except hlotool.HlotoolError as error:
        return f"error: {error}\n"
    return code.removeprefix(_USUAL_START).removesuffix(_USUAL_END) if code.endswith(_USUAL_END) else code.removeprefix(_USUAL_START)


def written(path: Path, case: Case) -> None:
    same(case.output or "", code_text(path, case), "the code differs")
    if not (case.output or "").startswith("error"):
        check_rebuilt(parsed(case.text, str(path)))
