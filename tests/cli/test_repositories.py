"""Untrusted repositories: their programs are never run, and ignored files are found without git."""

from __future__ import annotations

import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import Result
from texts import MESSY, NEAT

from hlotool.workspace.ignoring import IgnoreRules, rules_for

pytestmark = pytest.mark.skipif(not Path("/usr/bin/git").exists(), reason="git is not installed")

# An environment without the user's own git configuration.
QUIET = {
    **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
    "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "b", "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "b", "GIT_TERMINAL_PROMPT": "0",
}  # fmt: skip


def git(folder: Path, *arguments: str, fails: bool = False) -> str:
    command = ["git", "-C", str(folder), *arguments]
    done = subprocess.run(command, env=QUIET, check=not fails, capture_output=True, text=True, timeout=30, input="host=h\nprotocol=p\n\n")
    return done.stdout.strip()


class Trap(NamedTuple):
    """A repository whose settings make git run a program.

    The fields are the settings with the program, a git command that runs the program, the
    attributes that the git command needs, and an object that is missing from the repository, so
    that git tries to fetch it.
    """

    settings: dict[str, str]
    provoked_by: str
    attributes: str = ""
    missing: str = ""


LAZY = {"core.repositoryformatversion": "1", "extensions.partialClone": "origin", "remote.origin.promisor": "true"}
SSH = {**LAZY, "remote.origin.url": "ssh://nowhere/x.git"}
TRAPS = {
    "fsmonitor": Trap({"core.fsmonitor": "{program}"}, "status"),
    "hooks": Trap({"core.hooksPath": "{hooks}"}, "update-ref refs/heads/other HEAD"),
    "include": Trap({"include.path": "{included}"}, "status"),
    "includeIf": Trap({"includeIf.gitdir:**.path": "{included}"}, "status"),
    "worktree": Trap({"core.repositoryformatversion": "1", "extensions.worktreeConfig": "true"}, "status"),
    "clean": Trap({"filter.f.clean": "{program}"}, "add m.hlo", "*.hlo filter=f"),
    "process": Trap({"filter.f.process": "{program}"}, "add m.hlo", "*.hlo filter=f"),
    "smudge": Trap({"filter.f.smudge": "{program}"}, "checkout -- m.hlo", "*.hlo filter=f"),
    "external": Trap({"diff.external": "{program}"}, "diff"),
    "driver": Trap({"diff.f.command": "{program}"}, "diff", "*.hlo diff=f"),
    "textconv": Trap({"diff.f.textconv": "{program}"}, "diff", "*.hlo diff=f"),
    "editor": Trap({"core.editor": "{program}"}, "commit --amend"),
    "sequence": Trap({"sequence.editor": "{program}"}, "rebase -i --root --autostash"),
    "gpg": Trap({"gpg.program": "{program}", "commit.gpgSign": "true"}, "commit --allow-empty -m x"),
    "credential": Trap({"credential.helper": "!{program}"}, "credential fill"),
    "ssh of a blob": Trap({**SSH, "core.sshCommand": "{program}"}, "cat-file -e HEAD:m.hlo", missing="HEAD:m.hlo"),
    "ssh of ignore rules": Trap({**SSH, "core.sshCommand": "{program}"}, "cat-file -e HEAD:.gitignore", missing="HEAD:.gitignore"),
    "ssh of a tree": Trap({**SSH, "core.sshCommand": "{program}"}, "ls-tree HEAD", missing="HEAD^{tree}"),
    "ssh of a commit": Trap({**SSH, "core.sshCommand": "{program}"}, "rev-parse HEAD^{tree}", missing="HEAD"),
    "uploadpack": Trap({**LAZY, "remote.origin.url": "{other}", "remote.origin.uploadpack": "{program}"}, "ls-tree HEAD", missing="HEAD^{tree}"),
    "proxy": Trap({**LAZY, "remote.origin.url": "git://nowhere/x", "core.gitProxy": "{program}"}, "ls-tree HEAD", missing="HEAD^{tree}"),
    "ext": Trap({**LAZY, "remote.origin.url": "ext::{program} x", "protocol.ext.allow": "always"}, "ls-tree HEAD", missing="HEAD^{tree}"),
    "vcs": Trap(
        {**LAZY, "remote.origin.vcs": "ext", "remote.origin.url": "{program} x", "protocol.ext.allow": "always"},
        "ls-tree HEAD",
        missing="HEAD^{tree}",
    ),
    "alias": Trap({"alias.rev-parse": "!{program}", "alias.ls-tree": "!{program}", "alias.x": "!{program}"}, "x"),
    "pager": Trap({"core.pager": "{program}", "pager.rev-parse": "true", "pager.ls-tree": "{program}", "pager.check-ignore": "true"}, ""),
    "askpass": Trap({**LAZY, "remote.origin.url": "https://localhost:1/x", "core.askPass": "{program}"}, "", missing="HEAD^{tree}"),
    "refs of alternates": Trap({**LAZY, "remote.origin.url": "{other}", "core.alternateRefsCommand": "{program}"}, "", missing="HEAD^{tree}"),
}


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """Returns the path of the file that a trap's program creates."""
    return tmp_path / "mark"


def repository(folder: Path, trap: Trap, mark: Path) -> Path:
    """Creates a repository with a trap and with a file that has changed since the only commit."""
    program, hooks, included, root = folder / "program", folder / "hooks", folder / "included", folder / "repository"
    hooks.mkdir()
    for path in (program, *(hooks / name for name in ("reference-transaction", "post-index-change", "pre-auto-gc", "fsmonitor-watchman"))):
        path.write_text(f"#!/bin/sh\ntouch '{mark}'\nexit 1\n")
        path.chmod(0o755)
    included.write_text(f'[core]\n\tfsmonitor = "{program}"\n')
    subprocess.run(["git", "init", "-q", "--bare", folder / "other"], env=QUIET, check=True)
    subprocess.run(["git", "init", "-q", root], env=QUIET, check=True)
    (root / "m.hlo").write_text(NEAT)
    (root / ".gitignore").write_text("*.tmp\n")
    (root / ".gitattributes").write_text(f"{trap.attributes}\n")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    (root / "m.hlo").write_text(MESSY)
    if "extensions.worktreeConfig" in trap.settings:
        (root / ".git/config.worktree").write_text(included.read_text())
    if trap.missing:
        name = git(root, "rev-parse", trap.missing)
        # Git reads a .gitignore file from the index if it is missing from the working tree.
        git(root, "update-index", "--skip-worktree", ".gitignore")
        (root / ".gitignore").unlink()
        (root / ".git/objects" / name[:2] / name[2:]).unlink()
    for key, value in trap.settings.items():
        git(root, "config", key, value.format(program=program, hooks=hooks, included=included, other=folder / "other"), fails=True)
    return root


@pytest.mark.parametrize("name", TRAPS)
def test_no_program_that_a_repository_names_is_run(
    tmp_path: Path, mark: Path, name: str, cli: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    root, missing = repository(tmp_path, TRAPS[name], mark), TRAPS[name].missing
    monkeypatch.chdir(root)
    for arguments in (("verify", "."), ("verify", root), ("fmt", "-l", root), ("hash", "m.hlo")):
        assert cli(*arguments).exit_code < 2, arguments
        assert not mark.exists(), arguments
    changed = cli("fmt", "-l", "--changed-since", "HEAD", ".")
    assert not mark.exists()
    if missing in ("HEAD", "HEAD^{tree}"):
        assert (changed.exit_code, changed.stdout) == (2, "")
        assert "git " in changed.stderr
    else:
        assert (changed.exit_code, changed.stdout) == (1, "m.hlo\n")


@pytest.mark.parametrize("name", [name for name, trap in TRAPS.items() if trap.provoked_by])
def test_git_itself_runs_the_program(tmp_path: Path, mark: Path, name: str) -> None:
    # If git did not run the program, the test above could never fail.
    root = repository(tmp_path, TRAPS[name], mark)
    git(root, *TRAPS[name].provoked_by.split(), fails=True)
    assert mark.exists()


def test_devices_and_pipes_in_a_repository(tmp_path: Path, mark: Path, cli: Callable[..., Result]) -> None:
    root = repository(tmp_path, TRAPS["fsmonitor"], mark)
    (root / ".gitignore").unlink()
    os.mkfifo(root / ".gitignore")
    (root / ".git/info/exclude").unlink(missing_ok=True)
    (root / ".git/info/exclude").symlink_to("/dev/zero")
    os.mkfifo(root / "pipe.hlo")
    (root / "again").symlink_to(root)
    assert cli("fmt", "-l", root).stdout == f"{root / 'm.hlo'}\n"
    assert cli("fmt", "-l", "--changed-since", "HEAD", root).stdout == f"{root / 'm.hlo'}\n"


def test_git_is_found_only_on_the_path(tmp_path: Path, mark: Path, cli: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    root = repository(tmp_path, TRAPS["fsmonitor"], mark)
    (tmp_path / "program").rename(root / "git")
    monkeypatch.chdir(root)
    monkeypatch.setenv("PATH", os.pathsep.join(["", ".", str(tmp_path), "/usr/bin"]))
    assert cli("fmt", "-l", "--changed-since", "HEAD", ".").stdout == "m.hlo\n"
    assert not mark.exists()


@pytest.mark.parametrize("settings", [["core.autocrlf=true"], ["core.autocrlf=false", "core.eol=lf"]])
@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_line_endings_and_hashes(tmp_path: Path, cli: Callable[..., Result], settings: list[str], form: str) -> None:
    subprocess.run(["git", "init", "-q", f"--object-format={form}", tmp_path], env=QUIET, check=True)
    options = [word for setting in settings for word in ("-c", setting)]
    (tmp_path / "same.hlo").write_text(MESSY)
    (tmp_path / "changed.hlo").write_text(MESSY)
    git(tmp_path, *options, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    if settings[0].endswith("true"):
        (tmp_path / "same.hlo").write_text(MESSY, newline="\r\n")
    (tmp_path / "changed.hlo").write_text(f"{MESSY}\n")
    assert cli("fmt", "-l", "--changed-since", "HEAD", tmp_path).stdout == f"{tmp_path / 'changed.hlo'}\n"


# ---- ignored files ----------------------------------------------------------------------------------------------------

# Two inconsistencies in git are left out: stars after the literal beginning of a pattern, as in
# `a**/b`, and escaped slashes after stars.
PARTS = [
    "a", "b", "ab", "*", "?", "[ab]", "[!a]", "[^b]", "[a-c]", "[[:alpha:]]", "[]a]", "[a", "\\a", "\\*", "\\[", "[\\]]", "a ", "\\ ", "-", "[a-]",
    "[--a]", "c.hlo", "*.hlo", "é", "[!/]", "[a/b]", "[[:foo:]]", "[[:a]", "\\!", "!", "#", "[!]a]", "[]-a]", "[b\\-c]",
]  # fmt: skip
NAMES = ["a", "b", "ab", "c.hlo", "a.hlo", "*", "[a", "a ", "é", "-", "]a", "ba", "a]", "!", "#a", "\\"]


def pattern(draw: random.Random) -> str:
    parts = ["**" if draw.random() < 0.15 else "".join(draw.choices(PARTS, k=draw.choice([1, 1, 1, 2, 3]))) for _ in range(draw.randint(1, 4))]
    text = "/" * (draw.random() < 0.2) + "/".join(parts) + "/" * (draw.random() < 0.25)
    end = draw.choice([" ", "  ", "\\ ", "\\  ", "\t", "\\"]) if draw.random() < 0.1 else ""
    return "!" * (draw.random() < 0.3) + text + end


def tree(draw: random.Random, folder: Path, depth: int = 0) -> Iterator[Path]:
    """Creates files, folders and ignore files; yields the paths of the files and folders."""
    if depth == 0 or draw.random() < 0.5:
        end = draw.choice(["\n", "\r\n"])
        (folder / ".gitignore").write_text(end.join(pattern(draw) for _ in range(draw.randint(1, 5))), newline="")
    for name in draw.sample(NAMES, draw.randint(1, 5)):
        path = folder / name
        yield path
        if depth < 3 and draw.random() < 0.55:
            path.mkdir()
            yield from tree(draw, path, depth + 1)
        else:
            path.touch()


def ignored_below(folder: Path, rules: IgnoreRules) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name in (".git", ".gitignore"):
            continue
        if rules.ignore(path.name, is_folder=path.is_dir()):
            yield from (path, *(inner for inner in path.rglob("*") if inner.name != ".gitignore"))
        elif path.is_dir():
            yield from ignored_below(path, rules.rules_in(path.name))


@pytest.mark.parametrize("seed", range(40))
def test_the_same_files_are_ignored_as_in_git(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    subprocess.run(["git", "init", "-q", tmp_path], env=QUIET, check=True)
    paths = list(tree(draw, tmp_path))
    (tmp_path / ".git/info/exclude").write_text("".join(f"{pattern(draw)}\n" for _ in range(2)))
    command = ["git", "-C", str(tmp_path), "check-ignore", "--no-index", "-z", "--stdin"]
    names = "\0".join(str(path.relative_to(tmp_path)) for path in paths)
    said = subprocess.run(command, env=QUIET, input=names, capture_output=True, text=True, check=False).stdout
    rules = rules_for(str(tmp_path))
    assert rules is not None
    assert set(ignored_below(tmp_path, rules)) == {tmp_path / name for name in said.split("\0") if name}


def test_patterns_take_linear_time(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("*a" * 60 + "*b\n" + "**/" * 60 + "*a" * 60 + "b\n")
    rules = rules_for(str(tmp_path))
    assert rules is not None
    assert not rules.ignore("a" * 250, is_folder=False)
    assert rules.ignore("a" * 249 + "b", is_folder=False)


def test_many_patterns_in_many_folders(tmp_path: Path, cli: Callable[..., Result]) -> None:
    (tmp_path / ".git").mkdir()
    at = tmp_path
    for depth in range(8):
        at /= f"d{depth}"
        at.mkdir()
        (at / ".gitignore").write_text("".join(f"{depth}*{k}\n" for k in range(2600)))
        (at / "m.hlo").write_text(NEAT)
    assert cli("fmt", "-l", tmp_path).exit_code == 0
    rules = rules_for(str(at))
    assert rules is not None
    assert sum(patterns.count for patterns, _ in rules.levels) <= 20_000
    assert sum(len(patterns.tried) for patterns, _ in rules.levels) <= 500


def test_many_patterns_and_many_files(tmp_path: Path) -> None:
    """Checks that the time per entry is bounded.

    Patterns without wildcards are looked up, and only a few of the other patterns are tried.
    """
    (tmp_path / ".git").mkdir()
    words = [f"/n{k}" if k % 2 else f"n{k}" for k in range(10_000)]
    (tmp_path / ".gitignore").write_text("\n".join([*(f"?*a*b*{k}" for k in range(10_000)), *words, "!n7", "*a" * 3_000, "n8"]))
    started = time.process_time()
    rules = rules_for(str(tmp_path))
    assert rules is not None
    last = f"n9999{'a' * 100}"
    assert [rules.ignore(name, is_folder=False) for name in ("n6", "n7", "n8", "xab3", last)] == [True, False, True, True, False]
    for _ in range(1000):
        assert not rules.ignore(last, is_folder=False)
    assert time.process_time() - started < 5


def test_another_repository_has_its_own_rules(tmp_path: Path, cli: Callable[..., Result]) -> None:
    inner = tmp_path / "outer" / "inner"
    (inner / ".git").mkdir(parents=True)
    (tmp_path / "outer/.git").mkdir()
    (tmp_path / "outer/.gitignore").write_text("*.hlo\n")
    (inner / "m.hlo").write_text(MESSY)
    (tmp_path / "outer/m.hlo").write_text(MESSY)
    for folder in (tmp_path / "outer", inner):
        assert cli("fmt", "-l", folder).stdout == f"{inner / 'm.hlo'}\n"
    (inner / "m.hlo").unlink()
    assert cli("fmt", "-l", tmp_path / "outer").stderr == (
        f"hlotool: no HLO files in '{tmp_path / 'outer'}'; git ignores 1 of its files and folders (--no-respect-gitignore)\n"
    )
