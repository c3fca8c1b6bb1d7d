"""Unreadable files and folders: a one-line message for each, and exit code 2.

The command still processes all other files.
"""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import Result
from texts import MESSY, NEAT

Cli = Callable[..., Result]

NOBODY = 65534
"""A user without special privileges."""
WRONG = "ENTRY e { x = f32[2] parameter(0) ROOT r = f32[3] negate(x) }\n"
NEGATE = "ENTRY e { x = f32[2] parameter(0) ROOT r = f32[2] negate(x) }\n"


def dangling(folder: Path) -> Path:
    (folder / "dangling.hlo").symlink_to(folder / "nowhere.hlo")
    return folder / "dangling.hlo"


def loop(folder: Path) -> Path:
    (folder / "loop.hlo").symlink_to(folder / "loop.hlo")
    return folder / "loop.hlo"


def binary(folder: Path) -> Path:
    (folder / "binary.hlo").write_bytes(b"HloModule m\0\n")
    return folder / "binary.hlo"


def cut_off(folder: Path) -> Path:
    (folder / "cut.hlo.gz").write_bytes(gzip.compress(NEGATE.encode())[:-9])
    return folder / "cut.hlo.gz"


def forbidden(folder: Path) -> Path:
    (folder / "forbidden.hlo").write_text(MESSY)
    (folder / "forbidden.hlo").chmod(0)
    return folder / "forbidden.hlo"


def below_a_file(folder: Path) -> Path:
    (folder / "plain").write_text(MESSY)
    return folder / "plain" / "m.hlo"


UNREADABLE: dict[str, tuple[Callable[[Path], Path], str]] = {
    "missing": (lambda folder: folder / "missing.hlo", "No such file"),
    "long name": (lambda folder: folder / ("x" * 300 + ".hlo"), "File name too long"),
    "dangling link": (dangling, "No such file"),
    "link to itself": (loop, "Too many levels of symbolic links"),
    "below a file": (below_a_file, "Not a directory"),
    "binary": (binary, "NUL bytes"),
    "cut off": (cut_off, "damaged"),
    "forbidden": (forbidden, "Permission denied"),
}
"""Functions that create an unreadable path, each with words from the message about the path."""


@contextmanager
def drop_privileges() -> Iterator[None]:
    """Drops root privileges, if the tests have them, since root can read any file."""
    if os.geteuid():
        yield
        return
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Creates a folder that any user may read and write, unlike the folders of pytest."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)


@pytest.fixture
def as_user(cli: Cli, folder: Path) -> Cli:
    """Returns a function that runs a command without privileges, after importing its modules."""

    def run(*arguments: str | Path) -> Result:
        cli(*arguments[:1], folder / "no such file")
        with drop_privileges():
            return cli(*arguments)

    return run


def readable(folder: Path, text: str) -> Path:
    """Creates a file owned by the user who runs the commands; `fmt` never changes owners."""
    path = folder / "readable.hlo"
    path.write_text(text)
    if not os.geteuid():
        os.chown(path, NOBODY, NOBODY)
    return path


def assert_one_message(result: Result, path: Path, words: str) -> None:
    assert result.exit_code == 2
    (line,) = [line for line in result.stderr.splitlines() if str(path) in line]
    assert line.startswith("hlotool: ")
    assert words in line
    assert "internal error" not in result.stderr


@pytest.mark.parametrize("reverse", [False, True], ids=["readable first", "readable last"])
@pytest.mark.parametrize("kind", UNREADABLE)
def test_fmt(as_user: Cli, folder: Path, kind: str, reverse: bool) -> None:
    make, words = UNREADABLE[kind]
    paths = [readable(folder, MESSY), make(folder)]
    result = as_user("fmt", *(paths[::-1] if reverse else paths))
    assert_one_message(result, paths[1], words)
    assert paths[0].read_text() == NEAT


@pytest.mark.parametrize("mode", ["--check", "--diff", "--list-different"])
def test_fmt_without_writing(as_user: Cli, folder: Path, mode: str) -> None:
    path, missing = readable(folder, MESSY), folder / "missing.hlo"
    result = as_user("fmt", mode, missing, path)
    assert_one_message(result, missing, "No such file")
    assert path.name in result.output
    assert path.read_text() == MESSY


@pytest.mark.parametrize("command", ["fmt", "verify"])
def test_several_jobs(cli: Cli, folder: Path, command: str) -> None:
    path, missing = readable(folder, MESSY), folder / "missing.hlo"
    assert_one_message(cli(command, "--jobs", "2", missing, path), missing, "No such file")
    assert path.read_text() == (NEAT if command == "fmt" else MESSY)


@pytest.mark.parametrize("kind", UNREADABLE)
def test_verify(as_user: Cli, folder: Path, kind: str) -> None:
    make, words = UNREADABLE[kind]
    path = make(folder)
    result = as_user("verify", path, readable(folder, WRONG))
    assert_one_message(result, path, words)
    assert "T003" in result.stdout


@pytest.mark.parametrize("kind", UNREADABLE)
def test_print(as_user: Cli, folder: Path, kind: str) -> None:
    make, words = UNREADABLE[kind]
    path = make(folder)
    result = as_user("print", "--preset", "lossless", path, readable(folder, NEGATE))
    assert_one_message(result, path, words)
    assert "negate(" in result.stdout


@pytest.mark.parametrize("kind", UNREADABLE)
def test_run(as_user: Cli, folder: Path, kind: str) -> None:
    make, words = UNREADABLE[kind]
    path = make(folder)
    assert_one_message(as_user("run", path), path, words)
    assert_one_message(as_user("run", readable(folder, NEGATE), "--against", path), path, words)


@pytest.mark.parametrize("option", ["--inputs", "--compare"])
@pytest.mark.parametrize("kind", [kind for kind in UNREADABLE if kind not in ("binary", "cut off")])
def test_arrays_of_run(as_user: Cli, folder: Path, option: str, kind: str) -> None:
    make, words = UNREADABLE[kind]
    path = make(folder)
    assert_one_message(as_user("run", readable(folder, NEGATE), option, path), path, words)


# ---- folders ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["fmt", "verify"])
def test_a_folder_in_a_folder(as_user: Cli, folder: Path, command: str) -> None:
    path, closed = readable(folder, MESSY), folder / "closed"
    closed.mkdir()
    (closed / "m.hlo").write_text(MESSY)
    closed.chmod(0)
    assert_one_message(as_user(command, folder), closed, f"cannot read folder '{closed}': Permission denied")
    assert path.read_text() == (NEAT if command == "fmt" else MESSY)


@pytest.mark.parametrize("command", ["fmt", "verify"])
def test_a_folder(as_user: Cli, folder: Path, command: str) -> None:
    path, closed = readable(folder, MESSY), folder / "closed"
    closed.mkdir()
    closed.chmod(0)
    result = as_user(command, closed, path)
    assert result.exit_code == 2
    assert f"cannot read folder '{closed}': Permission denied" in result.stderr
    assert path.read_text() == (NEAT if command == "fmt" else MESSY)


@pytest.mark.parametrize("command", ["print", "run"])
def test_commands_that_take_no_folders(cli: Cli, folder: Path, command: str) -> None:
    assert_one_message(cli(command, folder), folder, "directory")


@pytest.mark.parametrize("command", ["fmt", "verify"])
def test_a_file_in_a_folder(as_user: Cli, folder: Path, command: str) -> None:
    path, locked = readable(folder, MESSY), forbidden(folder)
    assert_one_message(as_user(command, folder), locked, "Permission denied")
    assert path.read_text() == (NEAT if command == "fmt" else MESSY)


def test_a_folder_that_cannot_be_written_to(as_user: Cli, folder: Path) -> None:
    path, closed = readable(folder, MESSY), folder / "closed"
    closed.mkdir()
    readable(closed, MESSY)
    closed.chmod(0o555)
    result = as_user("fmt", closed, path)
    assert_one_message(result, closed / "readable.hlo", "Permission denied")
    assert (closed / "readable.hlo").read_text() == MESSY
    assert path.read_text() == NEAT


@pytest.mark.parametrize("command", [("fmt", "--stdout"), ("verify",)], ids=" ".join)
def test_in_a_closed_folder(as_user: Cli, folder: Path, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs commands in a working directory whose parent folder cannot be searched.

    hlotool looks for settings and for a git repository in the parent folder.
    """
    inner = folder / "closed" / "inner"
    inner.mkdir(parents=True)
    inner.chmod(0o777)
    path = readable(inner, MESSY)
    monkeypatch.chdir(inner)
    folder.joinpath("closed").chmod(0)
    for name in (path.name, "."):
        result = as_user(*command, name)
        assert (result.exit_code, result.stderr) == (0, "")
        assert result.stdout == (NEAT if command[0] == "fmt" else "1 file checked, no findings\n")
