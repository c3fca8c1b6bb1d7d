"""Tests of the package as users install it.

A wheel is built, installed into a new environment, and run from another folder.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import hlotool

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "samples" / "softmax.hlo"


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    result = subprocess.run([str(c) for c in command], cwd=cwd, capture_output=True, text=True, check=False, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr
    return result


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a copy of the checkout without build artifacts."""
    copy = tmp_path_factory.mktemp("source") / "hlotool"
    names = ["pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", ".gitignore", "grammar", "hlotool", "samples"]
    copy.mkdir()
    for name in names:
        path = ROOT / name
        if path.is_dir():
            shutil.copytree(path, copy / name, ignore=shutil.ignore_patterns("__pycache__", "hlo.tables"))
        else:
            shutil.copy(path, copy / name)
    return copy


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    # Build isolation is off: hatchling and Lark are installed, and tests must not need a network.
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--quiet", "-w", folder, source, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder with the executables of a virtual environment that contains the wheel.

    The dependencies come from the environment of the tests.
    """
    folder = tmp_path_factory.mktemp("environment") / "venv"
    venv.create(folder, with_pip=False, symlinks=sys.platform != "win32")
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", "--quiet", wheel, cwd=folder)
    (site,) = folder.rglob("site-packages")
    (site / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n{sysconfig.get_path('platlib')}\n")
    return python.parent


def test_wheel_contains_grammar_and_tables(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        assert len(names) == len(set(names))
        assert archive.read("hlotool/grammar/hlo.lark") == (ROOT / "grammar" / "hlo.lark").read_bytes()
        assert archive.read("hlotool/text/parse/hlo.tables")[64:69] == b" lark"
        metadata = archive.read(f"hlotool-{hlotool.__version__}.dist-info/METADATA").decode()
    tops = {name.partition("/")[0] for name in names}
    assert tops == {"hlotool", f"hlotool-{hlotool.__version__}.dist-info"}
    assert "hlotool/py.typed" in names
    assert "License-Expression: Apache-2.0" in metadata


def test_pygments_finds_the_lexer(environment: Path, tmp_path: Path) -> None:
    code = "from pygments import lexers as x; print(x.get_lexer_by_name('hlo').name, x.get_lexer_for_filename('cpu_after_optimizations.txt').name)"
    assert run(environment / "python", "-c", code, cwd=tmp_path).stdout == "HLO HLO\n"


def test_installed_command(environment: Path, tmp_path: Path) -> None:
    command = environment / "hlotool"
    assert run(command, "--version", cwd=tmp_path).stdout == f"hlotool {hlotool.__version__}\n"
    printed = run(command, "print", SAMPLE, cwd=tmp_path).stdout
    assert printed == hlotool.to_text(hlotool.parse_file(SAMPLE), hlotool.PrintOptions.xla_default())
    assert run(command, "verify", SAMPLE, cwd=tmp_path).stdout == "1 file checked, no findings\n"


def test_installed_package_loads_its_tables(environment: Path, tmp_path: Path) -> None:
    script = (
        "import hlotool, hlotool.text.parse.grammar as grammar\n"
        "def rebuild(text): raise SystemExit('the tables were rebuilt')\n"
        "grammar._build = rebuild\n"
        f"hlotool.parse_file({str(SAMPLE)!r})\n"
        "print(hlotool.__file__)"
    )
    found = Path(run(environment / "python", "-c", script, cwd=tmp_path).stdout.strip())
    assert environment.parent in found.parents


def test_parsing_imports_little(environment: Path, tmp_path: Path) -> None:
    script = f"import hlotool; hlotool.to_text(hlotool.parse_file({str(SAMPLE)!r}))"
    output = run(environment / "python", "-X", "importtime", "-c", script, cwd=tmp_path).stderr
    modules = {line.rpartition("|")[2].strip() for line in output.splitlines()}
    assert "lark" in modules
    assert not modules & {"numpy", "ml_dtypes", "rich", "click"}


def test_importing_the_package_imports_nothing_else(environment: Path, tmp_path: Path) -> None:
    script = "import sys; before = set(sys.modules); import hlotool; print(*(set(sys.modules) - before))"
    imported = {name.partition(".")[0] for name in run(environment / "python", "-c", script, cwd=tmp_path).stdout.split()}
    assert imported - sys.stdlib_module_names == {"hlotool"}


def test_editable_installation(source: Path, tmp_path: Path) -> None:
    """Checks that the tables are built in the source tree and that nothing is copied."""
    tables = source / "hlotool" / "text" / "parse" / "hlo.tables"
    tables.unlink(missing_ok=True)
    target = tmp_path / "site"
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-build-isolation", "--quiet", "--target", target, "-e", source]
    run(*command, cwd=tmp_path)
    assert tables.exists()
    assert not (target / "hlotool").exists()


def test_source_distribution_is_complete(source: Path, tmp_path: Path) -> None:
    """Checks that a wheel can be built from the source distribution."""
    script = f"import os; os.chdir({str(source)!r}); from hatchling.build import build_sdist; print(build_sdist({str(tmp_path)!r}))"
    archive = tmp_path / run(sys.executable, "-c", script, cwd=tmp_path).stdout.strip()
    wheels = tmp_path / "wheels"
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--quiet", "-w", wheels, archive, cwd=tmp_path)
    (built,) = wheels.glob("*.whl")
    with zipfile.ZipFile(built) as wheel:
        assert {"hlotool/grammar/hlo.lark", "hlotool/text/parse/hlo.tables"} <= set(wheel.namelist())


def test_declared_dependencies_match_the_imports() -> None:
    """Checks that the run-time dependencies are exactly the packages that hlotool requires.

    The `test` extra must include the requirements of the `zstd` and `lsp` extras.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {requirement.partition(">")[0] for requirement in project["dependencies"]}
    assert names == {"click", "lark", "ml_dtypes", "numpy", "rich"}
    extras = project["optional-dependencies"]
    assert {*extras["zstd"], *extras["lsp"]} <= set(extras["test"])
