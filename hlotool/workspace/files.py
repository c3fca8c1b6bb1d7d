"""Chooses files: replaces folders with the HLO files in them, and finds each file's settings."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hlotool.errors import HlotoolError
from hlotool.text.source.trivia import TRIVIA
from hlotool.workspace.reading import STDIN, file_status, is_link, read_bounded, real_path
from hlotool.workspace.settings import Settings, settings_for

if TYPE_CHECKING:
    from hlotool.workspace.ignoring import IgnoreRules

__all__ = ["ChosenFiles", "FileChoice", "Remark", "is_folder", "names_from"]

_COMPRESSED = (".gz", ".xz", ".zst")
# In bytes: the largest list of files.
_MAX_LIST_SIZE = 64 << 20
# The number of bytes at the beginning of a file that are read to recognize a dump.
_MAX_SNIFFED_SIZE = 1 << 16
_HLO = re.compile(rf"(?:\xef\xbb\xbf)?{TRIVIA}(?:[IWEF]\d{{4}} [^\]\n]*+\] ?)?+HloModule[\s,]".encode("latin-1"))


class Remark(NamedTuple):
    """A message about the choice of files; `is_failure` is True if something is unreadable."""

    message: str
    is_failure: bool


class ChosenFiles(NamedTuple):
    """The files to work on, and messages about the choice."""

    names: list[str]
    remarks: list[Remark]
    excludes_stdin: bool = False


class FileChoice(NamedTuple):
    """The options that choose files.

    Options that are not set are taken from the settings of each file or folder. Patterns are shell
    patterns, and match names or paths. Patterns for paths in a settings file are relative to the
    folder of that file. Patterns for paths in the fields `include` and `exclude` are relative to
    the folder in the arguments, or to the working directory.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    respect_gitignore: bool | None = None
    config: str | None = None
    isolated: bool = False
    stdin_filename: str = STDIN

    def settings_of(self, name: str) -> Settings:
        """Returns the settings for a file, or for the files in a folder.

        Raises SettingsError if they are not valid.
        """
        path = Path(self.stdin_filename if name == STDIN else name)
        return settings_for(path if name != STDIN and is_folder(name) else path.parent, config=self.config, isolated=self.isolated)

    def files(self, names: Sequence[str]) -> ChosenFiles:
        """Returns the names, with each folder replaced with the HLO files in it.

        HLO files are `*.hlo` files, and `*.txt` files that begin with a module; both may be
        compressed. With `include`, all matching files are chosen, except for the reports and code
        that XLA writes next to its dumps. Hidden folders, files that git ignores, devices, pipes,
        and links that lead out of the folder are skipped. Git is not run; see `workspace.ignoring`.
        """
        chosen = ChosenFiles([], [])
        excludes_stdin = False
        for name in names:
            if name != STDIN and is_folder(name):
                chosen.names.extend(self._files_in(name, chosen.remarks))
            elif self.force_exclude and self._excludes(name):
                excludes_stdin = excludes_stdin or name == STDIN
            else:
                chosen.names.append(name)
        return chosen._replace(excludes_stdin=excludes_stdin)

    def _excludes(self, name: str) -> bool:
        path = self.stdin_filename if name == STDIN else name
        return any(group.match_or_contain(real_path(path)) for group in self._patterns("exclude", name, "."))

    def _patterns(self, key: str, name: str, folder: str) -> list[_Patterns]:
        """Returns the patterns for a file or folder, from the command line and the settings.

        Patterns from the command line are relative to `folder`.
        """
        settings = self.settings_of(name)
        groups = [_Patterns(real_path(folder), tuple(getattr(self, key)))]
        if settings.origin is not None:
            groups.append(_Patterns(os.path.dirname(real_path(str(settings.origin))), tuple(settings.get("", key) or ())))  # noqa: PTH120
        return [group for group in groups if group.patterns]

    def _files_in(self, folder: str, remarks: list[Remark]) -> list[str]:
        settings = self.settings_of(folder)
        # Patterns from the command line replace those from the settings.
        include = self._patterns("include", folder, folder)[:1]
        respects = self.respect_gitignore if self.respect_gitignore is not None else settings.get("", "respect-gitignore")
        walk = _Walk(folder, remarks, include, self._patterns("exclude", folder, folder), respects_git=respects is not False)
        files = [path for path in walk.files() if (_may_be_hlo(path) if include else _is_hlo(path, remarks))]
        if not files:
            hint = f"; git ignores {walk.ignored} of its files and folders (--no-respect-gitignore)" if walk.ignored else ""
            remarks.append(Remark(f"no HLO files in '{folder}'{hint}", is_failure=False))
        return files


def is_folder(name: str) -> bool:
    """Returns whether a name is that of an existing folder."""
    status = file_status(name)
    return status is not None and stat.S_ISDIR(status.st_mode)


class _Patterns(NamedTuple):
    """Shell patterns; patterns of paths are relative to the folder `base`."""

    base: str
    patterns: tuple[str, ...]

    def match(self, path: str) -> bool:
        """Returns whether a pattern matches a file or folder, by its name or by its path."""
        relative, name = os.path.relpath(path, self.base).replace(os.sep, "/"), os.path.basename(path)  # noqa: PTH119
        return any(fnmatchcase(name, pattern) or fnmatchcase(relative, pattern.removeprefix("./").rstrip("/")) for pattern in self.patterns)

    def match_or_contain(self, path: str) -> bool:
        """Returns whether a pattern matches a file or a folder that contains it, up to the base."""
        while True:
            if self.match(path):
                return True
            folder = os.path.dirname(path)  # noqa: PTH120
            if not folder.startswith(os.path.join(self.base, "")) or folder == path:  # noqa: PTH118
                return False
            path = folder


class _Walk:
    """A walk over the files in a folder; `ignored` counts files and folders that git ignores."""

    def __init__(self, folder: str, remarks: list[Remark], include: Sequence[_Patterns], exclude: Sequence[_Patterns], *, respects_git: bool) -> None:
        self.folder = folder
        self.root = os.path.realpath(folder)
        self.remarks = remarks
        self.include = include
        self.exclude = exclude
        self.ignored = 0
        # Imported on use, since a single file needs no ignore files. The rules are None for folders
        # outside of repositories.
        self.rules: IgnoreRules | None = import_module("hlotool.workspace.ignoring").rules_for(folder) if respects_git else None

    def files(self) -> Iterator[str]:
        """Yields regular files in sorted order.

        Ignored files, files in hidden folders, and files outside of the folder are left out.
        """
        # Does not use os.walk, which recurses.
        open_folders = [(self.folder, "", self.rules)]
        while open_folders:
            at, name, rules = open_folders.pop()
            if name and rules is not None:
                rules = rules.rules_in(name)
            real = os.path.normpath(os.path.join(self.root, os.path.relpath(at, self.folder)))  # noqa: PTH118
            folders, files = self._entries(at)
            inner = [f for f in sorted(folders, reverse=True) if not f.startswith(".") and self._accepts_folder(real, f, rules)]
            open_folders += [(os.path.join(at, f), f, rules) for f in inner]  # noqa: PTH118
            for file in sorted(files):
                if not self._accepts_file(real, file, rules):
                    continue
                path = str(Path(at, file))
                outside = _link_target_outside(path, self.root)
                if outside is not None:
                    self.remarks.append(Remark(f"skipped '{path}': it is a link to '{outside}', outside of '{self.folder}'", is_failure=False))
                elif _is_regular(path):
                    yield path

    def _entries(self, folder: str) -> tuple[list[str], list[str]]:
        """Returns the names of subfolders and of files; links to folders are left out."""
        folders: list[str] = []
        files: list[str] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if not entry.is_dir():
                        files.append(entry.name)
                    elif not entry.is_symlink():
                        folders.append(entry.name)
        except OSError as error:
            self.remarks.append(Remark(f"cannot read folder '{error.filename}': {error.strerror}", is_failure=True))
        return folders, files

    def _accepts_folder(self, real: str, name: str, rules: IgnoreRules | None) -> bool:
        return not _any_match(self.exclude, real, name) and not self._ignores(name, rules, is_folder=True)

    def _accepts_file(self, real: str, name: str, rules: IgnoreRules | None) -> bool:
        if _any_match(self.exclude, real, name) or (self.include and not _any_match(self.include, real, name)):
            return False
        return not self._ignores(name, rules, is_folder=False)

    def _ignores(self, name: str, rules: IgnoreRules | None, *, is_folder: bool) -> bool:
        ignores = rules is not None and rules.ignore(name, is_folder=is_folder)
        self.ignored += ignores
        return ignores


def _any_match(groups: Sequence[_Patterns], folder: str, name: str) -> bool:
    return bool(groups) and any(group.match(os.path.join(folder, name)) for group in groups)  # noqa: PTH118


def _link_target_outside(path: str, root: str) -> str | None:
    """Returns the target of a link that leads out of the folder `root`; None for other paths."""
    if not is_link(path):
        return None
    target = os.path.realpath(path)
    return None if target.startswith(os.path.join(root, "")) else target  # noqa: PTH118


def _is_regular(path: str) -> bool:
    """Returns whether the path is a file, not a device or a pipe.

    Also returns True for files that cannot be examined, which are reported when they are read.
    """
    status = file_status(path)
    return status is None or stat.S_ISREG(status.st_mode)


def names_from(path: str) -> list[str]:
    """Returns the file names in a list, in which line breaks or NUL characters separate names.

    The path `-` means standard input. Raises HlotoolError if the list cannot be read.
    """
    try:
        data = sys.stdin.buffer.read(_MAX_LIST_SIZE) if path == STDIN else read_bounded(path, _MAX_LIST_SIZE)
    except (OSError, ValueError, AttributeError) as error:
        raise UnreadableList(f"cannot read '{path}': {getattr(error, 'strerror', None) or error}") from error
    names = data.decode("utf-8", "surrogateescape")
    return [name.removesuffix("\r") for name in names.split("\0" if "\0" in names else "\n") if name.strip()]


class UnreadableList(HlotoolError):
    """Raised if a list of files cannot be read."""

    exit_code = 2


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
        beginning: bytes = import_module("hlotool.text.source.files").read_beginning(path, _MAX_SNIFFED_SIZE)
        return _HLO.match(beginning) is not None
    except HlotoolError as error:
        remarks.append(Remark(str(error), is_failure=True))
        return False


# The beginnings of file names in XLA dumps.
_DUMP_FILE_NAME = re.compile(r"module_\d+\.")


def _may_be_hlo(path: str) -> bool:
    """Returns whether a file that matches `include` may be HLO.

    Returns False for files in other formats that XLA writes next to its dumps. Files that cannot be
    read are reported later.
    """
    try:
        beginning: bytes = import_module("hlotool.text.source.files").read_beginning(path, _MAX_SNIFFED_SIZE)
    except HlotoolError:
        return True
    if _HLO.match(beginning) is not None:
        return True
    # Imported on use, since few calls choose files this way.
    other_formats = import_module("hlotool.text.parse.other_formats")
    name = os.path.basename(path)  # noqa: PTH119
    return not (_DUMP_FILE_NAME.match(name) or other_formats.accompanies_dump(beginning.decode("utf-8", "surrogateescape")))
