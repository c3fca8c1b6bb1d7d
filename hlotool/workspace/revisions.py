"""Finds the files of a git repository that have changed since a commit.

The repository may come from an untrusted source, and its configuration can specify programs for git
to run when it fetches, examines, filters or shows files. So git is used only to look up a commit
and trees, which requires none of these programs, and everything that could start one is turned off.
This module compares the files itself.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from hashlib import new
from importlib import import_module
from pathlib import Path

from hlotool.errors import HlotoolError
from hlotool.workspace.programs import find_program
from hlotool.workspace.reading import file_status, input_size, read_bounded, real_path

__all__ = ["GitError", "changed_since"]

# The time limit for a git command, in seconds.
_TIMEOUT = 60
# In bytes: the memory that git may allocate. Packs are mapped, and do not count.
_MAX_MEMORY = 2 << 30
_SHA1_LENGTH = 40
# These settings take precedence over the configuration of the repository.
_SETTINGS = {
    "core.alternateRefsCommand": "", "core.askPass": "", "core.editor": "false", "core.fsmonitor": "false", "core.gitProxy": "",
    "core.hooksPath": os.devnull, "core.pager": "cat", "core.sshCommand": "false", "credential.helper": "", "diff.external": "",
    "gpg.program": "false", "gpg.ssh.program": "false", "gpg.x509.program": "false", "log.showSignature": "false",
    "protocol.allow": "never", "sequence.editor": "false", "submodule.recurse": "false",
}  # fmt: skip
# The user's own configuration still applies: it is trusted, and determines whose repositories
# git may read.
_ENVIRONMENT = {
    # No protocol has this name, so nothing is fetched, not even by versions of git that do not know
    # the next variable.
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
}


class GitError(HlotoolError):
    """Raised if git cannot answer a query."""

    exit_code = 2


def changed_since(reference: str, names: Sequence[str]) -> list[str]:
    """Returns the files that differ from a commit of their repository, or that git does not track.

    As in git, a link has changed if it leads to a different name. Line ends do not count, since git
    may convert them. Filters are not run, so files that git stores in another form, as Git LFS
    does, count as changed. Raises GitError if git cannot be run, if a file is not in a repository,
    or if the repository has no such commit.
    """
    changed = []
    trees: dict[Path, dict[str, str]] = {}
    for name in names:
        path = Path(real_path(name))
        if path.parent not in trees:
            trees[path.parent] = _hashes(path.parent, reference)
        expected = trees[path.parent].get(path.name)
        if expected is None or expected not in _own_hashes(path, expected):
            changed.append(name)
    return changed


def _hashes(folder: Path, reference: str) -> dict[str, str]:
    """Returns the hashes of the files in a folder at a commit, by name."""
    code, commit = _git(folder, ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{reference}^{{commit}}"])
    if code or not commit:
        raise GitError(f"git found no commit '{reference}' for the files in '{folder}'; are they in a repository?")
    code, lines = _git(folder, ["ls-tree", "-z", commit[0].strip()])
    if code:
        raise GitError(f"git cannot read the files of commit '{reference}' in '{folder}'; if the repository is a partial clone, fetch them first")
    entries = [line.partition("\t") for line in lines]
    return {name: head.split(" ")[2] for head, _, name in entries}


def _git(folder: Path, arguments: Sequence[str]) -> tuple[int, list[str]]:
    """Returns the exit code of a git command, and the names that it prints.

    Raises GitError if git cannot be run.
    """
    subprocess = import_module("subprocess")
    program = find_program("git")
    if program is None:
        raise GitError(f"cannot run git in '{folder}': 'git': No such file or directory")
    command = [program, "--no-pager", *(word for pair in _SETTINGS.items() for word in ("-c", "=".join(pair))), *arguments]
    environment = {**os.environ, **_ENVIRONMENT}
    options = {"stdin": subprocess.DEVNULL, "capture_output": True, "check": False, "timeout": _TIMEOUT, "preexec_fn": _memory_limiter()}
    try:
        answer = subprocess.run(command, cwd=folder, env=environment, **options)
    except OSError as error:
        # Either git or the folder does not exist.
        raise GitError(f"cannot run git in '{folder}': '{error.filename or program}': {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise GitError(f"cannot run git in '{folder}': it took longer than {_TIMEOUT} seconds") from error
    listed: list[str] = answer.stdout.decode("utf-8", "surrogateescape").split("\0")
    return answer.returncode, [name for name in listed if name]


def _memory_limiter() -> Callable[[], None] | None:
    """Returns a function that limits the memory of a new process, to be called at its start.

    Returns None on systems without such limits.
    """
    try:
        resource = import_module("resource")
    except ImportError:
        return None

    def limit() -> None:
        most = resource.getrlimit(resource.RLIMIT_DATA)[1]
        resource.setrlimit(resource.RLIMIT_DATA, (_MAX_MEMORY if most == resource.RLIM_INFINITY else min(_MAX_MEMORY, most), most))

    return limit


def _own_hashes(path: Path, expected: str) -> Iterator[str]:
    """Yields the hashes that git may have for a file: with its line ends unchanged, or converted.

    Yields nothing for a file that cannot be read.
    """
    try:
        if path.is_symlink():
            yield _hash(os.fsencode(path.readlink()), expected)
            return
        status = file_status(str(path))
        # Reading a pipe would consume the content that is to be formatted.
        if status is None or not stat.S_ISREG(status.st_mode):
            return
        data = read_bounded(path, input_size(), needs_file=True)
    except OSError:
        return
    yield _hash(data, expected)
    if b"\r\n" in data:
        yield _hash(data.replace(b"\r\n", b"\n"), expected)


def _hash(data: bytes, expected: str) -> str:
    algorithm = "sha1" if len(expected) == _SHA1_LENGTH else "sha256"
    return new(algorithm, b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
