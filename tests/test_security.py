"""SECURITY.md lists every module that can start a process, run code, open a path or read settings.

Additions must be reviewed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import hlotool

PACKAGE = Path(hlotool.__file__).parent
PAGE = PACKAGE.parent / "SECURITY.md"
PROCESSES = {
    "subprocess", "multiprocessing", "webbrowser", "pty", "create_subprocess_exec", "create_subprocess_shell", "subprocess_exec",
    "subprocess_shell", "system", "popen", "fork", "forkpty", "startfile", "posix_spawn", "posix_spawnp", "execl", "execle", "execlp",
    "execlpe", "execv", "execve", "execvp", "execvpe", "spawnl", "spawnle", "spawnlp", "spawnlpe", "spawnv", "spawnve", "spawnvp",
    "spawnvpe", "Popen", "ProcessPoolExecutor", "click.edit", "click.launch", "echo_via_pager",
}  # fmt: skip
CODE = {
    "exec", "eval", "pickle", "marshal", "shelve", "dill", "joblib", "yaml", "runpy", "ctypes", "ctypeslib", "spec_from_file_location",
    "__import__", "cffi", "entry_points", "zipimport", "addsitedir", "exec_module", "load_module", "pdb", "breakpoint", "set_trace",
    "sys.path", "meta_path", "path_hooks",
}  # fmt: skip
PATHS = {
    "open", "fdopen", "open_code", "read_text", "read_bytes", "write_text", "write_bytes", "load", "scandir", "iterdir", "listdir", "glob",
    "rglob", "os.walk", "fwalk", "create_server", "create_connection", "open_connection", "start_server", "mkdtemp", "TemporaryDirectory",
    "NamedTemporaryFile", "tempfile", "copyfile", "copytree", "rmtree", "shutil.copy", "shutil.copy2", "shutil.move", "urlopen",
    "urlretrieve", "http", "ssl", "readlink", "unlink", "mkdir", "makedirs", "rmdir", "os.remove", "os.rename", "os.replace", "symlink",
    "symlink_to", "hardlink_to", "os.link", "touch", "chmod", "chown", "mmap", "memmap", "tofile", "savez", "replace_file", "read_bounded",
    "read_beginning", "is_file", "is_dir", "exists", "zipfile", "tarfile", "fileinput", "linecache", "sqlite3", "expanduser", "chdir",
    "loadtxt", "genfromtxt", "fromfile",
}  # fmt: skip
SETTINGS = {
    "environ", "environb", "getenv", "expandvars", "putenv", "tomllib", "configparser", "load_dotenv", "auto_envvar_prefix", "envvar",
}  # fmt: skip
# The reviewed uses of words from the first two lists, by module, so that tests notice new uses.
PINNED = {
    "Processes": {
        "cli/diff/pager.py": {"subprocess", "Popen"}, "server/commands.py": {"subprocess", "create_subprocess_exec"},
        "workspace/revisions.py": {"subprocess"}, "workspace/workers.py": {"multiprocessing"},
    },
    "Code": {
        "__init__.py": {"__import__"}, "cli/main.py": {"__import__"}, "cli/rendering/render.py": {"__import__"},
        "interp/kernels/libraries/handlers.py": {"__import__"}, "optimizer/pipeline.py": {"__import__"}, "optimizer/registry.py": {"__import__"},
        "verifier/fixing.py": {"__import__"}, "verifier/registry.py": {"__import__"}, "interp/plan/native/compiler.py": {"ctypes"},
        "interp/plan/number_loops.py": {"exec"}, "interp/plan/executor.py": {"exec"}, "interp/engine/allocation.py": {"ctypes"},
        "interp/plan/native/ufunc_loops.py": {"ctypes"}, "interp/plan/native/translator.py": {"ctypes"},
        "opdefs/table.py": {"pickle"}, "text/parse/grammar.py": {"pickle"},
        "cli/run/run_session.py": {"sys.path"}, "optimizer/loading.py": {"exec", "spec_from_file_location"},
    },
}  # fmt: skip
HEADINGS = {"Processes": PROCESSES, "Code": CODE, "Paths": PATHS, "Settings": SETTINGS}
# Functions and methods of hlotool itself that only share a name with a sensitive function.
UNRELATED = {
    ("text/formatting/lines.py", "open"), ("text/formatting/callbacks.py", "open"), ("literals/parse.py", "open"), ("cli/opt/opt_session.py", "load"),
    ("cli/cmd_opt.py", "load"), ("syntax/regexes.py", "open"), ("cli/diff/diff_folders.py", "write_text"),
    ("cli/diff/diff_many.py", "write_text"), ("cli/diff/diff_passes.py", "write_text"),
}  # fmt: skip


BUILTINS = {"exec", "eval", "open", "__import__", "breakpoint"}


def words(tree: ast.AST) -> Iterator[str]:
    """Yields the names that a module imports, calls, or looks up in other modules.

    Imports inside functions and imports under another name count, too.
    """
    modules = {alias.asname or alias.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (part for alias in node.names for part in alias.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            yield from (node.module or "").split(".")
            yield from (alias.name for alias in node.names)
            # An alias of `import_module` would hide the modules that it imports.
            yield from ("__import__" for alias in node.names if alias.name == "import_module" and alias.asname)
        elif isinstance(node, ast.Call):
            yield from _words_of_call(node)
        elif isinstance(node, ast.Name) and node.id in BUILTINS:
            yield node.id
        elif isinstance(node, ast.Attribute):
            if node.attr in SETTINGS:
                yield node.attr
            if isinstance(node.value, ast.Name):
                yield f"{node.value.id}.{node.attr}"
                if node.value.id in modules:
                    yield node.attr


def _words_of_call(node: ast.Call) -> Iterator[str]:
    function = node.func
    name = function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""
    yield name
    if name in ("import_module", "getattr"):
        # If the name is computed, it may be the name of any module.
        word = node.args[name == "getattr"]
        if isinstance(word, ast.Constant):
            yield from str(word.value).split(".")
        elif name == "import_module":
            yield "__import__"
    # Keyword arguments of click can also name environment variables.
    yield from (keyword.arg for keyword in node.keywords if keyword.arg in SETTINGS)


@cache
def words_of_modules() -> dict[str, frozenset[str]]:
    paths = {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}
    return {name: frozenset(words(ast.parse(path.read_text(encoding="utf-8")))) for name, path in paths.items() if not name.startswith("dev/")}


def modules_with(sensitive: set[str]) -> dict[str, set[str]]:
    found = {name: {word for word in known & sensitive if (name, word) not in UNRELATED} for name, known in words_of_modules().items()}
    return {name: hits for name, hits in found.items() if hits}


@pytest.mark.parametrize("heading", HEADINGS)
def test_the_page_lists_every_module(heading: str) -> None:
    section = re.split(r"^#+ ", PAGE.read_text(encoding="utf-8").split(f"### {heading}\n")[1], maxsplit=1, flags=re.MULTILINE)[0]
    listed = set(re.findall(r"`([\w/]+\.py)`", section))
    found = modules_with(HEADINGS[heading])
    assert found.keys() - listed == set(), {name: found[name] for name in found.keys() - listed}
    assert listed - found.keys() == set()


@pytest.mark.parametrize("heading", PINNED)
def test_listed_modules_do_only_what_was_reviewed(heading: str) -> None:
    assert modules_with(HEADINGS[heading]) == PINNED[heading]


@pytest.mark.parametrize(
    ("heading", "code"),
    [
        ("Processes", "import os\nf = os.system"), ("Processes", "from os import system as f"), ("Processes", "import os as o\no.popen('a')"),
        ("Processes", "import_module('subprocess')"), ("Processes", "getattr(os, 'execvp')"), ("Processes", "loop.subprocess_exec(a)"),
        ("Processes", "import concurrent.futures as c\nc.ProcessPoolExecutor()"), ("Processes", "import click\nclick.launch(a)"),
        ("Code", "f = eval"), ("Code", "from importlib import import_module as f"), ("Code", "import_module(name)"),
        ("Code", "import sys\nsys.path.append(a)"),
        ("Code", "from numpy import ctypeslib"), ("Code", "import importlib.metadata as m\nm.entry_points()"),
        ("Paths", "f = open"), ("Paths", "path.open()"), ("Paths", "import os\nos.rename(a, b)"), ("Paths", "from urllib.request import urlopen"),
        ("Paths", "import numpy as np\nnp.memmap(a)"), ("Paths", "import http.client"),
        ("Settings", "import os\nos.environ['A']"), ("Settings", "from os import getenv"), ("Settings", "click.option(envvar='A')"),
    ],
)  # fmt: skip
def test_additions_are_detected(heading: str, code: str) -> None:
    assert set(words(ast.parse(code))) & HEADINGS[heading]
