"""Imports point downward only, and each library is used only by its own layers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import hlotool

PACKAGE = Path(hlotool.__file__).parent
# Layer by package or module; packages in the same layer do not import each other.
LAYERS = {
    "collection": 0, "memo": 0, "option_fields": 0, "record": 1, "codes": 1, "errors": 1, "shapes": 2, "literals": 3, "opdefs": 4, "ir": 5, "text": 6,
    "analysis": 7, "frameworks": 7, "syntax": 7, "verifier": 8, "builder": 9, "interp": 10, "optimizer": 11, "differ": 12, "graph": 13, "testing": 13,
    "workspace": 13, "lsp": 14, "server": 14, "cli": 15, "dev": 16, "__main__": 16,
}  # fmt: skip
# The layers inside packages, from the bottom up; parts of the same layer do not import each other.
# Files outside of these parts are in the layers named by their own names.
PARTS = {
    "text": {"source": 0, "legacy": 1, "extract": 1, "parse": 2, "print": 3, "locate": 3, "formatting": 4},
    "interp": {
        "queues": 0, "failures": 0, "run_options": 1, "arrays": 2, "devices": 3, "kernels": 4, "engine": 5, "plan": 6, "arguments": 6, "reports": 7,
        "evaluator": 8, "compiled": 9,
    },
}  # fmt: skip
# The table of lazily resolved names is outside the layers.
EXEMPT = {PACKAGE / "__init__.py"}
# str(module) returns the module's text, but the printer is in a higher layer than modules.
UPWARD = {
    (PACKAGE / "ir" / "make.py", "hlotool"),
    (PACKAGE / "ir" / "model.py", "hlotool"),
    (PACKAGE / "ir" / "model.py", "hlotool.syntax.html"),
}
# The only packages that may import each library.
ARRAYS = {"interp", "optimizer", "differ", "testing"}
LIBRARIES: dict[str, set[str]] = {
    "lark": {"text"},
    "click": {"cli"},
    "rich": {"cli"},
    "pygments": {"syntax"},
    "numpy": ARRAYS,
    "ml_dtypes": ARRAYS,
    "scipy": {"interp"},
    "pygls": {"server"},
    "lsprotocol": {"server"},
}
FILES = sorted(path for path in PACKAGE.rglob("*.py") if path not in EXEMPT)


def package_of(path: Path) -> str:
    """Returns the package or module directly below hlotool that a file belongs to."""
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(tree: ast.AST) -> Iterator[tuple[str, ast.stmt]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or ""), node


def late_imports(tree: ast.AST) -> Iterator[str]:
    """Yields the modules that calls such as `import_module("...")` import at run time."""
    for node in ast.walk(tree):
        is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "import_module" and bool(node.args)
        if is_call and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):  # type: ignore[attr-defined]
            yield node.args[0].value  # type: ignore[attr-defined]


def typing_imports(tree: ast.AST) -> set[ast.stmt]:
    """Returns the imports under `if TYPE_CHECKING:`, which are never executed."""
    blocks = (node for node in ast.walk(tree) if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING")
    return {statement for block in blocks for statement in ast.walk(block) if isinstance(statement, ast.Import | ast.ImportFrom)}


def test_every_package_has_a_layer() -> None:
    unknown = sorted({package_of(path) for path in FILES} - LAYERS.keys())
    assert not unknown, f"add {unknown} to the table of layers, or move them into a package that the table contains"


def names(paths: list[Path]) -> list[str]:
    return [path.relative_to(PACKAGE).as_posix() for path in paths]


@pytest.mark.parametrize("path", FILES, ids=names(FILES))
def test_imports_point_downward(path: Path) -> None:
    tree = tree_of(path)
    layer = LAYERS.get(package_of(path), 0)
    wrong = []
    for name in [*(name for name, _ in imports(tree)), *late_imports(tree)]:
        assert not name.startswith("."), f"relative import: {name}"
        top, _, rest = name.partition(".")
        if top != "hlotool" or (path, name) in UPWARD:
            continue
        # The public names give access to every layer below the command line.
        other = rest.split(".")[0] or "lsp"
        if other != package_of(path) and LAYERS.get(other, 99) >= layer:
            wrong.append(name)
    assert not wrong, f"in layer {layer}, but imports {wrong}"


IN_PARTS = [path for path in FILES if package_of(path) in PARTS and path.name != "__init__.py"]


def part_of(path: Path) -> str:
    """Returns the part of its package that a file belongs to."""
    return path.relative_to(PACKAGE).parts[1].removesuffix(".py")


@pytest.mark.parametrize("path", IN_PARTS, ids=names(IN_PARTS))
def test_imports_inside_packages_point_downward(path: Path) -> None:
    package, part = package_of(path), part_of(path)
    layers = PARTS[package]
    prefix = f"hlotool.{package}."
    used = {name.removeprefix(prefix).split(".")[0] for name, _ in imports(tree_of(path)) if name.startswith(prefix)}
    wrong = sorted(other for other in used - {part} if layers[other] >= layers[part])
    assert not wrong, f"{part} imports from {wrong}"


@pytest.mark.parametrize("path", FILES, ids=names(FILES))
def test_libraries_are_used_by_their_layers_only(path: Path) -> None:
    found = {name.partition(".")[0] for name, _ in imports(tree_of(path))}
    wrong = {library for library in found & LIBRARIES.keys() if package_of(path) not in LIBRARIES[library]}
    assert not wrong, f"must not import {wrong}"


# Equal literals may be stored differently, so only these modules may access the storage. All other
# modules compare literals with `==`.
STORAGE_MODULES = {"literals", "differ/matching/constant_keys.py", "text/formatting/lines.py", "text/parse/line_parts.py", "text/print/printer.py"}


def storage_accesses(text: str) -> list[int]:
    return [node.lineno for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute) and node.attr in ("spelling", "packed")]


@pytest.mark.parametrize("path", FILES, ids=names(FILES))
def test_few_files_access_the_storage_of_literals(path: Path) -> None:
    lines = storage_accesses(path.read_text(encoding="utf-8"))
    name = path.relative_to(PACKAGE).as_posix()
    may_see = not STORAGE_MODULES.isdisjoint((name, package_of(path)))
    assert may_see or not lines, f"lines {lines} access the storage of a literal; compare literals, or call decode, splat_bytes or literal_text"


def test_accesses_to_the_storage_are_found() -> None:
    assert storage_accesses("x = first.spelling\ny = first == z\nif a.b.packed is None: pass") == [1, 3]
    # Each of these files must actually access the storage.
    for holder in STORAGE_MODULES - {"literals"}:
        assert storage_accesses((PACKAGE / holder).read_text(encoding="utf-8"))


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_there_are_no_import_cycles() -> None:
    known = {module_name(path) for path in FILES}
    graph: dict[str, set[str]] = {}
    for path in FILES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        used = graph.setdefault(module_name(path), set())
        if package_of(path) == "differ":
            # The rooms of differ/ do not import each other in a cycle, even on use.
            used |= set(late_imports(tree)) & known
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                # `from package import module` imports the module; any other name comes from the
                # package itself.
                module_names = {f"{node.module}.{alias.name}" for alias in node.names} & known
                used |= module_names or {node.module} & known
    # Raises CycleError with the cycle if there is one.
    TopologicalSorter(graph).prepare()


BELOW_CLI = [path for path in FILES if LAYERS.get(package_of(path), 0) < LAYERS["cli"]]


@pytest.mark.parametrize("path", BELOW_CLI, ids=names(BELOW_CLI))
def test_imports_are_at_the_top(path: Path) -> None:
    tree = tree_of(path)
    allowed = {statement for statement in tree.body if isinstance(statement, ast.Import | ast.ImportFrom)} | typing_imports(tree)
    late = [node.lineno for _, node in imports(tree) if node not in allowed]
    assert not late, f"imports inside functions, lines {late}"


MODULES = [path for path in FILES if path.name != "__init__.py"]


@pytest.mark.parametrize("path", MODULES, ids=names(MODULES))
def test_annotations_are_not_evaluated(path: Path) -> None:
    tree = tree_of(path)
    statements = [statement for statement in tree.body if not isinstance(statement, ast.Expr)]
    if statements:
        first = statements[0]
        assert isinstance(first, ast.ImportFrom), "the first statement is not an import"
        assert first.module == "__future__", "from __future__ import annotations is missing"


@pytest.mark.parametrize("path", FILES, ids=names(FILES))
def test_modules_have_docstrings(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not text.strip() or ast.get_docstring(ast.parse(text)), "no docstring"
