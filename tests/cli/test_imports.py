"""Checks that Python modules in the working directory, which is untrusted, are never imported.

The checks cover commands and their child processes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from lsp_client import Client
from texts import MESSY, ROW_SUMS

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = (
    "click", "coverage", "hlotool", "igraph", "lark", "llvmlite", "lsprotocol", "ml_dtypes", "numba", "numpy", "pygls", "pygments", "resvg_py",
    "rich", "scipy", "sitecustomize", "usercustomize", "yaml", "zstandard",
)  # fmt: skip
TRAP = "import os\nwith open(os.environ['MARK'], 'a') as file:\n    file.write(__name__ + ' ')\n"
# A script that is not in the working directory, like an installed `hlotool`.
SCRIPT = """
import multiprocessing, sys
if __name__ == "__main__":
    method = sys.argv.pop(1)
    if method != "default":
        multiprocessing.set_start_method(method)
    from hlotool.cli.main import main
    main()
"""


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Creates a folder with an HLO module and with Python modules that must not be imported.

    The Python modules have the names of modules that hlotool imports, and importing one of them
    leaves a mark.
    """
    monkeypatch.setenv("MARK", str(tmp_path / "mark"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    (tmp_path / "start.py").write_text(SCRIPT)
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in {*sys.stdlib_module_names, *LIBRARIES} - {"__main__"}:
        (folder / f"{name}.py").write_text(TRAP)
        if name in ("hlotool", "numpy", "multiprocessing"):
            (folder / name).mkdir()
            for part in ("__init__", "__main__"):
                (folder / name / f"{part}.py").write_text(TRAP)
    for name in ("a", "b"):
        (folder / f"{name}.hlo").write_text(ROW_SUMS)
    (folder / "messy.hlo").write_text(MESSY)
    for name in ("module_0000.m.before_optimizations.txt", "module_0000.m.after_optimizations.txt"):
        (folder / name).write_text(ROW_SUMS)
    yield folder
    assert not (tmp_path / "mark").exists(), (tmp_path / "mark").read_text()


def run(folder: Path, method: str, *arguments: str) -> int:
    command = [sys.executable, str(folder.parent / "start.py"), method, *arguments]
    done = subprocess.run(command, cwd=folder, input=ROW_SUMS, capture_output=True, text=True, timeout=120, check=False)
    assert "Traceback" not in done.stderr
    assert "process ended" not in done.stderr
    return done.returncode


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
@pytest.mark.parametrize("line", ["verify -j 2 .", "fmt --check -j 2 .", "opt --check 1 -j 2 a.hlo b.hlo", "diff -j 2 --no-pager . ."])
def test_workers(hostile: Path, method: str, line: str) -> None:
    assert run(hostile, method, *line.split()) in (0, 1)


@pytest.mark.parametrize(
    "line",
    [
        "--version", "apply --help", "canon a.hlo", "completion bash", "diff a.hlo messy.hlo", "explain W001", "fmt -", "graph --format html a.hlo",
        "graph --format svg a.hlo", "hash a.hlo", "opt a.hlo", "print a.hlo", "python a.hlo", "run a.hlo", "run --executor plan a.hlo",
        "run --threads 2 a.hlo", "verify --extend-select ALL .", "verify --fix --diff a.hlo",
    ],
)  # fmt: skip
def test_commands(hostile: Path, line: str) -> None:
    assert run(hostile, "default", *line.split()) in (0, 1, 2)


def test_the_language_server(hostile: Path) -> None:
    with Client(folder=hostile, program=(str(hostile.parent / "start.py"), "default")) as client:
        uri = (hostile / "module_0000.m.after_optimizations.txt").as_uri()
        client.open(uri, ROW_SUMS.replace("negate", "cosine"))
        lenses = [lens if "command" in lens else client.request("codeLens/resolve", lens) for lens in client.about("codeLens", uri)]
        commands = {lens["command"]["command"]: lens["command"]["arguments"] for lens in lenses if lens["command"]["command"]}
        assert set(commands) == {"hlotool.run", "hlotool.diff", "hlotool.showGraph"}
        commands["hlotool.graph"] = [uri]
        for name, arguments in commands.items():
            assert client.request("workspace/executeCommand", {"command": name, "arguments": arguments})


def test_processes_that_ignore_the_environment(hostile: Path) -> None:
    # Child processes would also ignore the environment and have the working directory on their
    # path, so none is started.
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); sys.argv[:] = ['', 'spawn', 'verify', '-q', '-j', '2', '.']; exec({SCRIPT!r})"
    path = hostile.parent / "ignoring.py"
    path.write_text(f"if __name__ == '__main__':\n    {code}\n")
    command = [sys.executable, "-E", str(path)]
    done = subprocess.run(command, cwd=hostile, capture_output=True, text=True, timeout=60, check=False, env={**os.environ, "PYTHONPATH": ""})
    assert (done.returncode, done.stderr) in ((0, ""), (1, ""))
