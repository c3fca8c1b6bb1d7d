"""Choosing files: arguments of the command line, with folders replaced by the HLO files in them, and the settings for each file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from hlotool.errors import HlotoolError
from hlotool.text.source.trivia import TRIVIA
from hlotool.workspace.reading import STDIN
from hlotool.workspace.settings import Settings, settings_for

__all__ = ["ChosenFiles", "FileChoice", "Remark"]

# What the configuration of a repository could make git run; the repository may come from anywhere.
_RUN_NOTHING = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
_COMPRESSED = (".gz", ".xz", ".zst")
# The number of bytes in which a dump is recognized.
_SNIFFED = 1 << 16
_HLO = re.compile(rf"(?:\xef\xbb\xbf)?{TRIVIA}(?:[IWEF]\d{{4}} [^\]\n]*+\] ?)?+HloModule[\s,]".encode("latin-1"))


class Remark(NamedTuple):
    """A message about the choice of files. Failures are files and folders that cannot be read."""

    message: str
    is_failure: bool


class ChosenFiles(NamedTuple):
    """The files to work on, and messages about the choice."""

    names: list[str]
    remarks: list[Remark]


class FileChoice(NamedTuple):
    """The options that choose files. Options that are not set are taken from the settings of each file or folder.

    Patterns are shell patterns, and match names, or paths relative to the folder in the arguments.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    respect_gitignore: bool | None = None
    config: str | None = None
    isolated: bool = False
    stdin_filename: str = STDIN

    def settings_of(self, name: str) -> Settings:
        """The settings for a file, or for the files in a folder; raises SettingsError if they are not valid."""
        path = Path(self.stdin_filename if name == STDIN else name)
        return settings_for(path if name != STDIN and _is_folder(name) else path.parent, config=self.config, isolated=self.isolated)

    def files(self, names: Sequence[str]) -> ChosenFiles:
        """The names, with folders replaced by the HLO files in them.

        HLO files are `*.hlo`, and `*.txt` that begin with a module, both also compressed. Hidden folders and files that git ignores are
        skipped.
        """
        chosen = ChosenFiles([], [])
        for name in names:
            if name == STDIN:
                chosen.names.append(name)
            elif _is_folder(name):
                chosen.names.extend(self._of_folder(name, chosen.remarks))
            elif not (self.force_exclude and _matches(".", os.path.normpath(name), self._excluded(name))):
                chosen.names.append(name)
        return chosen

    def _excluded(self, name: str) -> tuple[str, ...]:
        return (*self.exclude, *(self.settings_of(name).get("", "exclude") or ()))

    def _of_folder(self, folder: str, remarks: list[Remark]) -> list[str]:
        settings = self.settings_of(folder)
        include = self.include or tuple(settings.get("", "include") or ())
        respects = self.respect_gitignore if self.respect_gitignore is not None else settings.get("", "respect-gitignore")
        paths = list(_files_below(folder, remarks, include, self._excluded(folder)))
        ignored = set() if respects is False else _ignored_by_git(folder, paths)
        files = [path for path in paths if path not in ignored and (include or _is_hlo(path, remarks))]
        if not files:
            hint = f"; git ignores {len(ignored)} files in it (--no-respect-gitignore)" if ignored else ""
            remarks.append(Remark(f"no HLO files in '{folder}'{hint}", is_failure=False))
        return files


def _is_folder(name: str) -> bool:
    return os.path.isdir(name)  # noqa: PTH112  # Path.is_dir raises on some names


def _files_below(folder: str, remarks: list[Remark], include: Sequence[str], exclude: Sequence[str]) -> Iterator[str]:
    """Files in sorted order, except those in hidden folders."""

    def failed(error: OSError) -> None:
        remarks.append(Remark(f"cannot read folder '{error.filename}': {error.strerror}", is_failure=True))

    for at, folders, files in os.walk(folder, onerror=failed):
        below = os.path.relpath(at, folder)
        folders[:] = sorted(f for f in folders if not f.startswith(".") and not _matches(below, f, exclude))
        for file in sorted(files):
            if not _matches(below, file, exclude) and (not include or _matches(below, file, include)):
                yield str(Path(at, file))


def _matches(below: str, name: str, patterns: Sequence[str]) -> bool:
    path = name if below == "." else f"{below}/{name}"
    base = name.rpartition("/")[2]
    return any(fnmatchcase(base, pattern) or fnmatchcase(path, pattern.rstrip("/")) for pattern in patterns)


def _ignored_by_git(folder: str, paths: Sequence[str]) -> set[str]:
    """The paths that git ignores; none if there is no repository, if git is not installed, or if the folder itself is ignored."""
    at = Path(folder).absolute()
    if not paths or not any((parent / ".git").exists() for parent in (at, *at.parents)):
        return set()
    # Relative to the folder, since git reads paths relative to its working directory.
    names = {os.path.relpath(path, folder): path for path in paths}
    if _ask_git(at.parent, [at.name]):
        return set()
    return {names[name] for name in _ask_git(at, list(names)) if name in names}


def _ask_git(folder: Path, names: Sequence[str]) -> list[str]:
    """The names that git ignores."""
    subprocess = import_module("subprocess")
    command = ["git", *_RUN_NOTHING, "check-ignore", "-z", "--stdin"]
    question = "\0".join(names).encode("utf-8", "surrogateescape")
    try:
        answer = subprocess.run(command, cwd=folder, input=question, capture_output=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return []
    listed: list[str] = answer.stdout.decode("utf-8", "surrogateescape").split("\0")
    return [name for name in listed if name]


def _is_hlo(path: str, remarks: list[Remark]) -> bool:
    plain = path
    for suffix in _COMPRESSED:
        plain = plain.removesuffix(suffix)
    if plain.endswith(".hlo"):
        return True
    if not plain.endswith(".txt"):
        return False
    try:
        # Imported on use, as in `workspace.reading`.
        beginning: bytes = import_module("hlotool.text.source.files").read_beginning(path, _SNIFFED)
        return _HLO.match(beginning) is not None
    except HlotoolError as error:
        remarks.append(Remark(str(error), is_failure=True))
        return False
