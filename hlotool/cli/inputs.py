"""Arguments to texts: files, folders and standard input, and what a run over many of them comes to.

It does not look into the texts, but to tell HLO dumps from other files in a folder.
"""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import click
from click.exceptions import Exit

from hlotool.cli.config import Settings
from hlotool.cli.output import OutputError, complain, flush_out, report_bug
from hlotool.errors import HlotoolError

__all__ = ["STDIN", "Outcome", "Selection", "files_or_stdin", "no_settings", "one_by_one", "read_input", "walk"]

STDIN = "-"
_COMPRESSED = (".gz", ".xz", ".zst")
# Dumps are recognised in this much of a file.
_SNIFFED = 1 << 16
_HLO = re.compile(rb"(?:\xef\xbb\xbf)?(?:\s++|//[^\r\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/)*+(?:[IWEF]\d{4} [^\]\n]*+\] ?)?+HloModule[\s,]")


class Outcome:
    """The exit code of a run over many files: the worst of theirs, since no file stops the others."""

    def __init__(self, *, silent: bool = False) -> None:
        self.exit_code = 0
        self.unreadable = 0
        self.silent = silent

    def at_least(self, exit_code: int) -> None:
        self.exit_code = max(self.exit_code, exit_code)

    def failed(self, message: str, exit_code: int = 2) -> None:
        """A file of which there is no more to say than one line."""
        self.unreadable += 1
        self.at_least(exit_code)
        if not self.silent:
            complain(message)

    @contextmanager
    def file(self, name: str) -> Iterator[None]:
        """Around the work on one file: whatever goes wrong there is told, and the run goes on with the next."""
        try:
            yield
        except HlotoolError as error:
            self.failed(str(error), max(error.exit_code, 2))
        except MemoryError:
            self.failed(f"not enough memory for '{name}'")
        except (OutputError, click.ClickException, click.Abort, Exit):
            raise
        except Exception as error:
            self.unreadable += 1
            self.at_least(3)
            report_bug(error, name)

    def finish(self) -> None:
        """Ends the command with the exit code, once everything is written."""
        flush_out()
        raise Exit(self.exit_code)


def files_or_stdin(files: Sequence[str]) -> Sequence[str]:
    """The arguments; standard input when there are none and something is piped in."""
    if files:
        return files
    if sys.stdin is None or sys.stdin.isatty():
        raise click.UsageError("no FILE given, and nothing is piped in")
    return (STDIN,)


def read_input(name: str, stdin_name: str = "<stdin>") -> tuple[str, str]:
    """Name for messages and text of an argument; raises HlotoolError."""
    # --help imports the commands, and shall not wait for the parser, which comes with this.
    from hlotool.text.files import InputError, read_stream, read_text  # noqa: PLC0415

    if name != STDIN:
        return name, read_text(name)
    if sys.stdin is None:
        raise InputError("standard input is closed")
    return stdin_name, read_stream(sys.stdin.buffer, stdin_name)


def one_by_one(names: Iterable[str]) -> Iterator[str]:
    """The names, with the garbage of one file's work collected before the next, where the collector is off."""
    for k, name in enumerate(names):
        if k and not gc.isenabled():
            gc.collect()
        yield name


class Selection(NamedTuple):
    """Which files of a folder are meant: patterns of names or of paths below the folder; None leaves a choice to the settings."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    respect_gitignore: bool | None = None

    def with_settings(self, settings: Settings) -> Selection:
        """Completed by a file's settings; what the command line says wins."""
        ignore = self.respect_gitignore
        if ignore is None:
            ignore = settings.get("", "respect-gitignore")
        include = self.include or tuple(settings.get("", "include") or ())
        return Selection(include, (*self.exclude, *(settings.get("", "exclude") or ())), ignore)


def no_settings(name: str) -> Settings:
    """For commands without settings."""
    return Settings({}, None)


_EVERYTHING = Selection()


def walk(
    names: Sequence[str], outcome: Outcome, selection: Selection = _EVERYTHING, settings_of: Callable[[str], Settings] = no_settings
) -> Iterator[str]:
    """The names, with folders replaced by the HLO files in them.

    These are `*.hlo`, and `*.txt` that begin with a module; also compressed. Hidden folders and what git ignores are left out.
    """
    for name in names:
        if name == STDIN or not os.path.isdir(name):  # noqa: PTH112  # raises nothing on impossible names
            yield name
            continue
        chosen = selection.with_settings(settings_of(name))
        paths = list(_files_below(name, outcome, chosen))
        ignored = set() if chosen.respect_gitignore is False else _ignored_by_git(name, paths)
        found = [path for path in paths if path not in ignored and (chosen.include or _is_hlo(path, outcome))]
        yield from found
        if not found and not outcome.silent:
            complain(f"no HLO files in '{name}'")


def _files_below(folder: str, outcome: Outcome, selection: Selection) -> Iterator[str]:
    """Files in sorted order; hidden folders are left out."""

    def failed(error: OSError) -> None:
        outcome.failed(f"cannot read folder '{error.filename}': {error.strerror}")

    for at, folders, files in os.walk(folder, onerror=failed):
        below = os.path.relpath(at, folder)
        folders[:] = sorted(f for f in folders if not f.startswith(".") and not _matches(below, f, selection.exclude))
        for file in sorted(files):
            if _matches(below, file, selection.exclude) or (selection.include and not _matches(below, file, selection.include)):
                continue
            yield str(Path(at, file))


def _matches(below: str, name: str, patterns: Sequence[str]) -> bool:
    """Whether a file or folder matches by its name, or by its path from the folder that was given."""
    path = name if below == "." else f"{below}/{name}"
    return any(fnmatchcase(name, pattern) or fnmatchcase(path, pattern.rstrip("/")) for pattern in patterns)


def _ignored_by_git(folder: str, paths: Sequence[str]) -> set[str]:
    """What git ignores, as git itself says; nothing where there is no repository, or no git."""
    if not paths or not any((at / ".git").exists() for at in (Path(folder).absolute(), *Path(folder).absolute().parents)):
        return set()
    subprocess = import_module("subprocess")
    # Relative to the folder, because git knows no other.
    names = {os.path.relpath(path, folder): path for path in paths}
    question = "\0".join(names).encode("utf-8", "surrogateescape")
    try:
        answer = subprocess.run(["git", "check-ignore", "-z", "--stdin"], cwd=folder, input=question, capture_output=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return set()
    return {names[name] for name in answer.stdout.decode("utf-8", "surrogateescape").split("\0") if name in names}


def _is_hlo(path: str, outcome: Outcome) -> bool:
    plain = path
    for suffix in _COMPRESSED:
        plain = plain.removesuffix(suffix)
    if plain.endswith(".hlo"):
        return True
    if not plain.endswith(".txt"):
        return False
    from hlotool.text.files import read_beginning  # noqa: PLC0415  # as above

    try:
        return _HLO.match(read_beginning(path, _SNIFFED)) is not None
    except HlotoolError as error:
        outcome.failed(str(error))
        return False
