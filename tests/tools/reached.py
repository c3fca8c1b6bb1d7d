"""Records the lines that tests reach, by compiling hlotool with a note at each statement.

`sys.settrace` would make everything ten times slower, and Python 3.11 does not have
`sys.monitoring`.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, TypeVar

from code_mutations import is_check

__all__ = ["LINES", "REACHED", "Finder", "tree_of"]

REACHED: set[int] = set()
"""The numbers of the lines that have been reached since the set was last cleared."""

LINES: dict[tuple[str, int], int] = {}
"""The number of each noted line, by module and line."""


def tree_of(module: str) -> ast.Module:
    """Returns the syntax tree of an imported module."""
    path = sys.modules[module].__file__
    assert path is not None
    return ast.parse(Path(path).read_text(encoding="utf-8"))


class _Noting(ast.NodeTransformer):
    """Inserts notes into a syntax tree.

    The notes come before each statement of a function ("lines"), at positions where a check reports
    something ("checks"), or at the beginning of a function ("entry").
    """

    def __init__(self, module: str, detail: str) -> None:
        self.module = module
        self.detail = detail
        self.inside = False

    def _note(self, statement: ast.stmt) -> ast.stmt:
        number = LINES.setdefault((self.module, statement.lineno), len(LINES))
        return _located(ast.Expr(ast.Call(ast.Name("_reached", ast.Load()), [ast.Constant(number)], [])), statement)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        outer, self.inside = self.inside, True
        self.generic_visit(node)
        self.inside = outer
        has_docstring = ast.get_docstring(node, clean=False) is not None
        opening, body = (node.body[:1], node.body[1:]) if has_docstring else ([], node.body)
        node.body = [*opening, self._note(node), *body]
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if self.detail == "checks":
            super().generic_visit(node)
        else:
            # Expressions, which are most of the tree, get no notes.
            for block in ("body", "orelse", "finalbody", "handlers", "cases"):
                for statement in getattr(node, block, ()):
                    self.visit(statement)
        if self.inside and self.detail != "entry" and not isinstance(node, ast.ClassDef):
            for name in ("body", "orelse", "finalbody"):
                body = getattr(node, name, None)
                if isinstance(body, list):
                    setattr(node, name, [part for statement in body for part in self._noted(statement)])
        return node

    def _noted(self, statement: ast.stmt) -> list[ast.stmt]:
        if self.detail == "checks" and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) and is_check(statement):
            handler = ast.ExceptHandler(ast.Name("_Violation", ast.Load()), None, [self._note(statement), ast.Raise(None, None)])
            return [_located(ast.Try([statement], [handler], [], []), statement)]
        is_docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        is_noted = is_check(statement) if self.detail == "checks" else not is_docstring
        return [self._note(statement), statement] if is_noted else [statement]

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if self.detail != "checks" or not (isinstance(node.func, ast.Name) and node.func.id == "array_operand"):
            return node
        number = LINES.setdefault((self.module, node.lineno), len(LINES))
        return _located(ast.Call(ast.Name("_checked", ast.Load()), [ast.Constant(number), node.func, *node.args], []), node)


_Node = TypeVar("_Node", bound=ast.AST)


def _located(new: _Node, old: ast.AST) -> _Node:
    """Returns a new node at the location of an old one, which the new node may contain.

    Fixing whole trees instead would take as long as compiling them.
    """
    return ast.fix_missing_locations(ast.copy_location(new, old))


def _checked(number: int, function: Callable[..., Any], *args: Any) -> Any:
    """Calls a function that checks its first argument, and notes the line if that is rejected."""
    from hlotool.errors import Violation

    try:
        return function(*args)
    except Violation:
        REACHED.add(number)
        raise


class _NotingLoader(SourceFileLoader):
    """Compiles a module with notes."""

    def __init__(self, fullname: str, path: str, detail: str) -> None:
        super().__init__(fullname, path)
        self.detail = detail

    def get_code(self, fullname: str) -> CodeType:
        tree = _Noting(fullname, self.detail).visit(ast.parse(Path(self.path).read_text(encoding="utf-8")))
        return compile(tree, self.path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        vars(module)["_reached"] = REACHED.add
        if self.detail == "checks":
            from hlotool.errors import Violation

            vars(module).update(_Violation=Violation, _checked=_checked)
        super().exec_module(module)


class Finder(MetaPathFinder):
    """Finds the modules of hlotool; `detail` returns the level of detail for each module."""

    def __init__(self, detail: Callable[[str], str]) -> None:
        self.detail = detail

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if not fullname.startswith("hlotool."):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            loader: Loader = _NotingLoader(fullname, spec.loader.path, self.detail(fullname))
            spec.loader = loader
        return spec
