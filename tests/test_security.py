"""SECURITY.md lists every module that can start a process, run code, open a path or read settings: what is added there must be reviewed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import hlotool

PACKAGE = Path(hlotool.__file__).parent
PAGE = PACKAGE.parent / "SECURITY.md"
PROCESSES = {
    "subprocess", "multiprocessing", "webbrowser", "create_subprocess_exec", "create_subprocess_shell", "system", "popen", "fork", "startfile",
    "posix_spawn", "execv", "execve", "execvp", "spawnv", "Popen", "ProcessPoolExecutor",
}  # fmt: skip
CODE = {"exec", "eval", "pickle", "marshal", "shelve", "dill", "runpy", "ctypes", "spec_from_file_location", "__import__", "cffi", "entry_points"}
PATHS = {
    "open", "read_text", "read_bytes", "write_text", "write_bytes", "load", "scandir", "iterdir", "listdir", "glob", "rglob", "os.walk",
    "create_server", "create_connection", "mkdtemp", "TemporaryDirectory", "NamedTemporaryFile", "tempfile", "urlopen", "readlink",
    "unlink", "mkdir", "replace_file", "read_bounded", "read_beginning", "is_file",
}  # fmt: skip
SETTINGS = {"environ", "environb", "getenv", "tomllib", "configparser", "load_dotenv"}
HEADINGS = {"Processes": PROCESSES, "Code": CODE, "Paths": PATHS, "Settings": SETTINGS}
# Methods of our own that are called `open` or `load`, and have nothing to do with files.
OWN = {
    ("text/formatting/lines.py", "open"), ("text/formatting/callbacks.py", "open"), ("literals/parse.py", "open"), ("cli/opt_session.py", "load"),
    ("cli/cmd_opt.py", "load"), ("cli/diff_folders.py", "write_text"), ("cli/diff_many.py", "write_text"), ("cli/diff_passes.py", "write_text"),
}  # fmt: skip


def words(tree: ast.AST) -> Iterator[str]:
    """The names of what a module imports, also on use, and of what it calls or looks up."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (part for alias in node.names for part in alias.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            yield from (node.module or "").split(".")
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Call):
            function = node.func
            name = function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""
            yield name
            if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
                yield f"{function.value.id}.{name}"
            if name == "import_module" and isinstance(node.args[0], ast.Constant):
                yield from str(node.args[0].value).split(".")
            elif name == "import_module":
                # The name is computed.
                yield "__import__"
        elif isinstance(node, ast.Attribute) and node.attr in SETTINGS:
            yield node.attr


def modules_with(sensitive: set[str]) -> dict[str, set[str]]:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name.startswith("dev/"):
            continue
        hits = {word for word in words(ast.parse(path.read_text(encoding="utf-8"))) if word in sensitive and (name, word) not in OWN}
        if hits:
            found[name] = hits
    return found


@pytest.mark.parametrize("heading", HEADINGS)
def test_the_page_lists_every_module(heading: str) -> None:
    section = re.split(r"^#+ ", PAGE.read_text(encoding="utf-8").split(f"### {heading}\n")[1], maxsplit=1, flags=re.MULTILINE)[0]
    listed = set(re.findall(r"`([\w/]+\.py)`", section))
    found = modules_with(HEADINGS[heading])
    assert found.keys() - listed == set(), {name: found[name] for name in found.keys() - listed}
    assert listed - found.keys() == set()
