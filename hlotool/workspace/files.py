"""Choosing files: arguments of the command line, with folders replaced by the HLO files in them, and the settings for each file."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from hlotool.errors import HlotoolError
from hlotool.text.source.trivia import TRIVIA
from hlotool.workspace.reading import STDIN, file_status, real_path
from hlotool.workspace.settings import Settings, settings_for

__all__ = ["ChosenFiles", "FileChoice", "Remark", "changed_since", "is_folder", "names_from"]

# What the configuration of a repository could make git run; the repository may come from anywhere.
_RUN_NOTHING = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
# In seconds.
_PATIENCE = 60
_SHA1_LENGTH = 40
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
    excludes_stdin: bool = False


class FileChoice(NamedTuple):
    """The options that choose files. Options that are not set are taken from the settings of each file or folder.

    Patterns are shell patterns, and match names or paths. Paths are relative to the folder of the settings file that has the pattern; those of
    `include` and `exclude` here to the folder in the arguments, or to the working directory.
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
        return settings_for(path if name != STDIN and is_folder(name) else path.parent, config=self.config, isolated=self.isolated)

    def files(self, names: Sequence[str]) -> ChosenFiles:
        """The names, with folders replaced by the HLO files in them.

        HLO files are `*.hlo`, and `*.txt` that begin with a module, both also compressed. With `include`, they are all files that match, except
        reports and code that XLA writes next to its dumps. Hidden folders and files that git ignores are skipped, and so are devices, pipes, and
        links that lead out of the folder.
        """
        chosen = ChosenFiles([], [])
        excludes_stdin = False
        for name in names:
            if name != STDIN and is_folder(name):
                chosen.names.extend(self._of_folder(name, chosen.remarks))
            elif self.force_exclude and self._excludes(name):
                excludes_stdin = excludes_stdin or name == STDIN
            else:
                chosen.names.append(name)
        return chosen._replace(excludes_stdin=excludes_stdin)

    def _excludes(self, name: str) -> bool:
        path = self.stdin_filename if name == STDIN else name
        return any(group.match_or_contain(real_path(path)) for group in self._patterns("exclude", name, "."))

    def _patterns(self, key: str, name: str, folder: str) -> list[_Patterns]:
        """The patterns for a file or folder: those of the command line, which are relative to `folder`, and those of the settings."""
        settings = self.settings_of(name)
        groups = [_Patterns(real_path(folder), tuple(getattr(self, key)))]
        if settings.origin is not None:
            groups.append(_Patterns(os.path.dirname(real_path(str(settings.origin))), tuple(settings.get("", key) or ())))  # noqa: PTH120
        return [group for group in groups if group.patterns]

    def _of_folder(self, folder: str, remarks: list[Remark]) -> list[str]:
        settings = self.settings_of(folder)
        # Those of the command line replace those of the settings.
        include = self._patterns("include", folder, folder)[:1]
        respects = self.respect_gitignore if self.respect_gitignore is not None else settings.get("", "respect-gitignore")
        paths = list(_files_below(folder, remarks, include, self._patterns("exclude", folder, folder)))
        ignored = set() if respects is False else _ignored_by_git(folder, paths)
        files = [path for path in paths if path not in ignored and (_may_be_hlo(path) if include else _is_hlo(path, remarks))]
        if not files:
            hint = f"; git ignores {len(ignored)} files in it (--no-respect-gitignore)" if ignored else ""
            remarks.append(Remark(f"no HLO files in '{folder}'{hint}", is_failure=False))
        return files


def is_folder(name: str) -> bool:
    """Whether there is a folder of this name."""
    status = file_status(name)
    return status is not None and stat.S_ISDIR(status.st_mode)


class _Patterns(NamedTuple):
    """Shell patterns; those of paths are relative to the folder `base`."""

    base: str
    patterns: tuple[str, ...]

    def match(self, path: str) -> bool:
        """Whether a pattern matches a file or folder, by its name or by its path."""
        relative, name = os.path.relpath(path, self.base).replace(os.sep, "/"), os.path.basename(path)  # noqa: PTH119
        return any(fnmatchcase(name, pattern) or fnmatchcase(relative, pattern.removeprefix("./").rstrip("/")) for pattern in self.patterns)

    def match_or_contain(self, path: str) -> bool:
        """Whether a pattern matches a file or one of the folders that it is in, up to the base."""
        while True:
            if self.match(path):
                return True
            folder = os.path.dirname(path)  # noqa: PTH120
            if not folder.startswith(os.path.join(self.base, "")) or folder == path:  # noqa: PTH118
                return False
            path = folder


def _files_below(folder: str, remarks: list[Remark], include: Sequence[_Patterns], exclude: Sequence[_Patterns]) -> Iterator[str]:
    """Regular files in sorted order, except those in hidden folders and outside of the folder."""
    root = os.path.realpath(folder)

    def failed(error: OSError) -> None:
        remarks.append(Remark(f"cannot read folder '{error.filename}': {error.strerror}", is_failure=True))

    for at, folders, files in os.walk(folder, onerror=failed):
        real = os.path.normpath(os.path.join(root, os.path.relpath(at, folder)))  # noqa: PTH118
        folders[:] = sorted(f for f in folders if not f.startswith(".") and not _any_match(exclude, real, f))
        for file in sorted(files):
            if _any_match(exclude, real, file) or (include and not _any_match(include, real, file)):
                continue
            path = str(Path(at, file))
            outside = _link_target_outside(path, root)
            if outside is not None:
                remarks.append(Remark(f"skipped '{path}': it is a link to '{outside}', outside of '{folder}'", is_failure=False))
            elif _is_regular(path):
                yield path


def _any_match(groups: Sequence[_Patterns], folder: str, name: str) -> bool:
    return bool(groups) and any(group.match(os.path.join(folder, name)) for group in groups)  # noqa: PTH118


def _link_target_outside(path: str, root: str) -> str | None:
    """The target of a link that leads out of the folder `root`."""
    if not os.path.islink(path):  # noqa: PTH114
        return None
    target = os.path.realpath(path)
    return None if target.startswith(os.path.join(root, "")) else target  # noqa: PTH118


def _is_regular(path: str) -> bool:
    """Whether the path is a file, not a device or a pipe. Files that cannot be examined are reported when they are read."""
    status = file_status(path)
    return status is None or stat.S_ISREG(status.st_mode)


def _ignored_by_git(folder: str, paths: Sequence[str]) -> set[str]:
    """The paths that git ignores; none if there is no repository, if git is not installed, or if the folder itself is ignored."""
    at = Path(folder).absolute()
    # Path.exists raises for folders that may not be searched.
    if not paths or not any(os.path.exists(parent / ".git") for parent in (at, *at.parents)):  # noqa: PTH110
        return set()
    # Relative to the folder, since git reads paths relative to its working directory.
    names = {os.path.relpath(path, folder): path for path in paths}
    if _ask_git(at.parent, [at.name]):
        return set()
    return {names[name] for name in _ask_git(at, list(names)) if name in names}


def _ask_git(folder: Path, names: Sequence[str]) -> list[str]:
    """The names that git ignores; none if git cannot be run."""
    try:
        return _git(folder, ["check-ignore", "-z", "--stdin"], names)[1]
    except GitError:
        return []


def _git(folder: Path, arguments: Sequence[str], names: Sequence[str] = ()) -> tuple[int, list[str]]:
    """The exit code of a git command, and the names that it prints; raises GitError if it cannot be run."""
    subprocess = import_module("subprocess")
    command = ["git", *_RUN_NOTHING, *arguments]
    question = "\0".join(names).encode("utf-8", "surrogateescape")
    try:
        answer = subprocess.run(command, cwd=folder, input=question, capture_output=True, check=False, timeout=_PATIENCE)
    except OSError as error:
        # Either git or the folder does not exist.
        raise GitError(f"cannot run git in '{folder}': '{error.filename or command[0]}': {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise GitError(f"cannot run git in '{folder}': it took longer than {_PATIENCE} seconds") from error
    listed: list[str] = answer.stdout.decode("utf-8", "surrogateescape").split("\0")
    return answer.returncode, [name for name in listed if name]


def changed_since(reference: str, names: Sequence[str]) -> list[str]:
    """Those of the files that differ from a commit of their git repository, or that git does not track.

    As in git, a link has changed if it leads to another name. Raises GitError if git cannot be run, if a file is in no repository, or if the
    repository has no such commit.
    """
    changed = []
    trees: dict[Path, dict[str, str]] = {}
    for name in names:
        path = Path(real_path(name))
        if path.parent not in trees:
            trees[path.parent] = _hashes(path.parent, reference)
        expected = trees[path.parent].get(path.name)
        if expected is None or _hash(path, expected) != expected:
            changed.append(name)
    return changed


def _hashes(folder: Path, reference: str) -> dict[str, str]:
    """The hashes of the files in a folder at a commit, by name."""
    code, commit = _git(folder, ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{reference}^{{commit}}"])
    if code or not commit:
        raise GitError(f"git finds no commit '{reference}' for the files in '{folder}'; are they in a repository?")
    entries = [entry.partition("\t") for entry in _git(folder, ["ls-tree", "-z", commit[0].strip()])[1]]
    return {name: head.split(" ")[2] for head, _, name in entries}


def _hash(path: Path, expected: str) -> str:
    """The hash that git gives to a file. Not computed by git, which would run filters that its configuration names."""
    try:
        data = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
    except OSError:
        return ""
    algorithm = "sha1" if len(expected) == _SHA1_LENGTH else "sha256"
    digest: str = import_module("hashlib").new(algorithm, b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
    return digest


def names_from(path: str) -> list[str]:
    """The file names in a list, one on each line or with NUL after each; `-` is standard input. Raises HlotoolError if it cannot be read."""
    try:
        data = sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
    except (OSError, ValueError, AttributeError) as error:
        raise UnreadableList(f"cannot read '{path}': {getattr(error, 'strerror', None) or error}") from error
    names = data.decode("utf-8", "surrogateescape")
    return [name.removesuffix("\r") for name in names.split("\0" if "\0" in names else "\n") if name.strip()]


class GitError(HlotoolError):
    """A question that git cannot answer."""

    exit_code = 2


class UnreadableList(HlotoolError):
    """A list of files that cannot be read."""

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
        beginning: bytes = import_module("hlotool.text.source.files").read_beginning(path, _SNIFFED)
        return _HLO.match(beginning) is not None
    except HlotoolError as error:
        remarks.append(Remark(str(error), is_failure=True))
        return False


# The names of files in a dump of XLA.
_DUMPED = re.compile(r"module_\d+\.")


def _may_be_hlo(path: str) -> bool:
    """Whether a file that an option asks for is not one that XLA writes next to its dumps. Files that cannot be read are reported later."""
    try:
        beginning: bytes = import_module("hlotool.text.source.files").read_beginning(path, _SNIFFED)
    except HlotoolError:
        return True
    if _HLO.match(beginning) is not None:
        return True
    # Imported on use, since few calls choose files so.
    other_formats = import_module("hlotool.text.parse.other_formats")
    name = os.path.basename(path)  # noqa: PTH119
    return not (_DUMPED.match(name) or other_formats.is_dumped_beside(beginning.decode("utf-8", "surrogateescape")))
