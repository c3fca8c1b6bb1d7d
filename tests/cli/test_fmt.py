"""`hlotool fmt`: output, exit codes and messages; no file is ever partly written or lost."""

from __future__ import annotations

import errno
import gzip
import os
import re
import resource
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest
from texts import MESSY, NEAT

import hlotool
from hlotool.cli.output import BROKEN_PIPE
from hlotool.text.formatting import formatter

ROOT = Path(__file__).resolve().parents[2]
LONG = 'HloModule m\n\nENTRY e {\n  ROOT long = f32[2] parameter(0), sharding={replicated}, metadata={op_name="x"}\n}\n'
KILLS = int(os.environ.get("HLOTOOL_KILLS", "30"))


@pytest.fixture
def bad(file_of):
    return file_of("bad.hlo", "ENTRY e {\n  p = f32[2] parameter(0\n}\n")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


# ---- in place ---------------------------------------------------------------------------------------------------------


def test_files_are_rewritten(cli, messy):
    result = cli("fmt", messy)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"hlotool: reformatted '{messy}'\nhlotool: 1 file reformatted\n"
    assert messy.read_text() == NEAT
    assert names(messy.parent) == ["messy.hlo"]


def test_formatted_files_are_not_rewritten(cli, neat):
    os.utime(neat, ns=(1_000_000_000, 1_000_000_000))
    before = neat.stat()
    result = cli("fmt", neat)
    after = neat.stat()
    assert (result.exit_code, result.stderr) == (0, "hlotool: 1 file already formatted\n")
    assert (after.st_mtime_ns, after.st_ino, after.st_ctime_ns) == (before.st_mtime_ns, before.st_ino, before.st_ctime_ns)


def test_a_file_given_twice(cli, messy):
    result = cli("fmt", messy, messy)
    assert result.exit_code == 0
    assert messy.read_text() == NEAT


def test_verbose_lists_formatted_files(cli, neat, messy):
    assert f"'{neat}' is already formatted" in cli("fmt", "-v", neat, messy).stderr


@pytest.mark.parametrize("flag", ["-q", "-qq"])
def test_quiet(cli, messy, flag):
    result = cli("fmt", flag, messy)
    assert (result.exit_code, result.output) == (0, "")
    assert messy.read_text() == NEAT


@pytest.mark.parametrize(("flag", "says"), [("-q", True), ("-qq", False)])
def test_quiet_shows_failures(cli, bad, flag, says):
    result = cli("fmt", flag, bad, "missing.hlo")
    assert (result.exit_code, result.stdout) == (2, "")
    assert bool(result.stderr) == says


def test_bytes_that_are_not_utf8_are_preserved(cli, tmp_path):
    path = tmp_path / "m.hlo"
    path.write_bytes(b'// \xff\nENTRY e {\n ROOT p = f32[] parameter(0), metadata={op_name="\xfe"}\n}')
    assert cli("fmt", path).exit_code == 0
    assert path.read_bytes() == b'// \xff\nENTRY e {\n  ROOT p = f32[] parameter(0), metadata={op_name="\xfe"}\n}\n'


@pytest.mark.parametrize("text", [MESSY.removesuffix("\n"), "\n\n" + MESSY + "\n\n\n"])
def test_the_text_ends_with_one_newline(cli, tmp_path, text):
    path = tmp_path / "m.hlo"
    path.write_text(text)
    assert cli("fmt", path).exit_code == 0
    assert path.read_text().rstrip("\n") == NEAT.rstrip("\n")
    assert len(path.read_text()) - len(NEAT) in (0, 1)


def test_carriage_returns_are_preserved(cli, tmp_path):
    path = tmp_path / "m.hlo"
    path.write_bytes(MESSY.replace("\n", "\r\n").encode())
    assert cli("fmt", path).exit_code == 0
    assert path.read_bytes() == NEAT.replace("\n", "\r\n").encode()


def test_several_modules_stay_separate(cli, tmp_path):
    path = tmp_path / "m.hlo"
    path.write_text(MESSY + "// -----\n" + MESSY + "\n// ----- last\n\n\n" + MESSY)
    assert cli("fmt", path).exit_code == 0
    assert path.read_text() == NEAT + "// -----\n" + NEAT + "\n// ----- last\n\n" + NEAT
    assert len(hlotool.parse_all(path.read_text())) == 3


# ---- check and diff ---------------------------------------------------------------------------------------------------


def test_check(cli, messy, neat):
    result = cli("fmt", "--check", messy, neat)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == f"hlotool: would reformat '{messy}'\nhlotool: 1 file would be reformatted, 1 file already formatted\n"
    assert messy.read_text() == MESSY


def test_check_of_a_formatted_file(cli, neat):
    assert cli("fmt", "--check", neat).exit_code == 0
    assert cli("fmt", "--diff", neat).stdout == ""


def test_diff(cli, messy):
    result = cli("fmt", "--diff", messy)
    assert result.exit_code == 1
    assert result.stdout.startswith(f"--- {messy}\n+++ {messy}\n@@ -1,7 +1,7 @@\n HloModule m\n+\n ENTRY e {{\n-  a = f32[2]   parameter(")
    assert messy.read_text() == MESSY


def test_the_diff_is_a_patch(cli, messy, tmp_path):
    text = cli("fmt", "--diff", messy).stdout
    subprocess.run(["patch", "-s", str(messy)], input=text, text=True, check=True, cwd=tmp_path)
    assert messy.read_text() == NEAT


def test_check_and_diff(cli, messy, neat):
    result = cli("fmt", "--check", "--diff", messy, neat)
    assert result.exit_code == 1
    assert result.stdout.count("+++") == 1


@pytest.mark.parametrize("flag", ["--check", "--diff"])
def test_exit_zero(cli, messy, bad, flag):
    assert cli("fmt", flag, "--exit-zero", messy).exit_code == 0
    # Errors are not findings.
    assert cli("fmt", flag, "--exit-zero", messy, bad).exit_code == 2


@pytest.mark.parametrize(("arguments", "colored"), [((), False), (("--color", "always"), True), (("--color", "never"), False)])
def test_color_of_diffs(cli, messy, arguments, colored):
    assert ("\x1b[31m" in cli("fmt", "--diff", *arguments, messy).stdout) == colored


def test_the_highest_exit_code_wins(cli, messy, bad, neat):
    result = cli("fmt", "--check", bad, messy, neat)
    assert result.exit_code == 2
    assert "1 file would be reformatted, 1 file already formatted, 1 file failed" in result.stderr


# ---- standard input and output ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [("-",), ()])
def test_stdin(cli, arguments):
    result = cli("fmt", *arguments, stdin=MESSY)
    assert (result.exit_code, result.stdout, result.stderr) == (0, NEAT, "")


@pytest.mark.parametrize("text", ["HloModule", "ENTRY e {", "\x00", "\xff\xfe", MESSY + "}", "ENTRY e { ROOT a = f32[] negate(b }"])
def test_no_output_for_a_buffer_that_does_not_parse(cli, text):
    result = cli("fmt", "-", stdin=text.encode("latin-1"))
    assert (result.exit_code, result.stdout_bytes) == (2, b"")
    assert result.stderr


def test_an_empty_buffer_is_formatted(cli):
    """Formats an empty buffer, as editors do when they save a new file."""
    result = cli("fmt", "-", stdin=b" \n")
    assert (result.exit_code, result.stdout_bytes, result.stderr) == (0, b"", "")


def test_stdin_filename(cli):
    result = cli("fmt", "-", "--stdin-filename", "edit.hlo", stdin="ENTRY e {")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "edit.hlo:1" in result.stderr
    assert "cannot format 'edit.hlo': it does not parse" in result.stderr


def test_stdin_checked(cli):
    result = cli("fmt", "-", "--check", stdin=MESSY)
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", "hlotool: would reformat '<stdin>'\n")
    assert cli("fmt", "-", "--check", stdin=NEAT).exit_code == 0
    assert cli("fmt", "-", "--diff", stdin=MESSY).stdout.startswith("--- <stdin>\n")


def test_stdout_leaves_the_file(cli, messy):
    result = cli("fmt", "--stdout", messy)
    assert (result.exit_code, result.stdout) == (0, NEAT)
    assert messy.read_text() == MESSY


@pytest.mark.parametrize("option", ["--check", "-l", "--diff"])
def test_messages_about_compressed_files(cli, tmp_path, option):
    path = tmp_path / "m.hlo.gz"
    path.write_bytes(gzip.compress(b"ENTRY e { ROOT   p = f32[] parameter(0) }"))
    result = cli("fmt", option, path)
    assert result.exit_code == 2
    assert "it is compressed; write the result elsewhere with --stdout" in result.stderr
    assert not re.search("would (be )?reformat", result.stderr)
    assert bool(result.stdout) == (option == "--diff")
    path.write_bytes(gzip.compress(cli("fmt", "--stdout", path).stdout.encode()))
    assert (cli("fmt", option, path).exit_code, cli("fmt", option, path).stdout) == (0, "")


def test_compressed_files(cli, tmp_path):
    path = tmp_path / "m.hlo.gz"
    path.write_bytes(gzip.compress(MESSY.encode()))
    before = path.read_bytes()
    result = cli("fmt", path)
    assert result.exit_code == 2
    assert "it is compressed" in result.stderr
    assert "--stdout" in result.stderr
    assert path.read_bytes() == before
    assert cli("fmt", "--stdout", path).stdout == NEAT
    # --check reports the same problem as formatting would.
    checked = cli("fmt", "--check", path)
    assert (checked.exit_code, checked.stderr.splitlines()[0]) == (2, result.stderr.splitlines()[0])
    path.write_bytes(gzip.compress(NEAT.encode()))
    assert cli("fmt", "--check", path).exit_code == 0
    assert cli("fmt", path).exit_code == 0


def test_logs_keep_their_prefixes(cli, tmp_path):
    path = tmp_path / "log.txt"
    text = "".join(f"I0101 00:00:00.000000     1 a.cc:1] {line}\n" for line in MESSY.splitlines())
    path.write_text(text)
    result = cli("fmt", path)
    assert result.exit_code == 2
    assert "log prefixes" in result.stderr
    assert path.read_text() == text
    assert "negate(a)" in cli("fmt", "--stdout", path).stdout


@pytest.mark.parametrize("arguments", [("--stdout",), ("--diff",), ("--stdout", "-j", "2")])
def test_broken_pipe(process, messy, tmp_path, arguments):
    second = tmp_path / "second.hlo"
    second.write_text(MESSY)
    read, write = os.pipe()
    os.close(read)
    result = process("fmt", *arguments, messy, second, stdout=write)
    os.close(write)
    assert (result.returncode, result.stderr) == (BROKEN_PIPE, "")


def test_full_standard_output(process, messy):
    with open("/dev/full", "w") as full:  # noqa: PTH123  # a device
        result = process("fmt", "--stdout", messy, stdout=full)
    assert result.returncode == 2
    assert "No space left" in result.stderr


# ---- unreadable and unwritable files ----------------------------------------------------------------------------------


def test_several_files_with_bad_ones(cli, tmp_path, bad, messy):
    (tmp_path / "binary.hlo").write_bytes(b"\x00\x01")
    result = cli("fmt", tmp_path / "missing.hlo", bad, tmp_path / "binary.hlo", messy)
    assert (result.exit_code, result.stdout) == (2, "")
    assert messy.read_text() == NEAT
    for words in ("No such file", "cannot format", "NUL bytes", "1 file reformatted, 3 files failed"):
        assert words in result.stderr


def test_the_first_errors_are_shown(cli, tmp_path):
    path = tmp_path / "m.hlo"
    path.write_text("ENTRY e {\n" + "".join(f"  n{k} = f32[] negate(q{k}\n" for k in range(9)) + "}\n")
    result = cli("fmt", path)
    assert result.exit_code == 2
    assert result.stderr.count("error[S001]") == 3
    assert "it does not parse (6 more errors; see hlotool verify)" in result.stderr


def test_the_file_mode_is_preserved(cli, messy):
    messy.chmod(0o640)
    assert cli("fmt", messy).exit_code == 0
    assert stat.S_IMODE(messy.stat().st_mode) == 0o640


def test_links_are_followed(cli, messy, tmp_path):
    link, other = tmp_path / "link.hlo", tmp_path / "other.hlo"
    link.symlink_to(other)
    other.symlink_to(messy)
    assert cli("fmt", link).exit_code == 0
    assert link.is_symlink()
    assert other.is_symlink()
    assert messy.read_text() == NEAT


def test_extended_attributes_are_preserved(cli, messy, monkeypatch):
    """Simulates extended attributes, because not every file system supports them."""
    attributes = {}
    monkeypatch.setattr(os, "listxattr", lambda path: ["user.note"] if Path(path) == messy else [], raising=False)
    monkeypatch.setattr(os, "getxattr", lambda path, name: b"mine", raising=False)
    monkeypatch.setattr(os, "setxattr", lambda path, name, value: attributes.update({name: value}), raising=False)
    assert cli("fmt", messy).exit_code == 0
    assert attributes == {"user.note": b"mine"}


def test_the_owner_is_preserved(cli, messy, foreign, monkeypatch):
    """Simulates another owner, because only root can change the owner of a file."""
    owners = []
    monkeypatch.setattr(os, "chown", lambda path, user, group: owners.append((user, group)))
    messy.chmod(0o750)
    owner = messy.stat()
    assert cli("fmt", messy).exit_code == 0
    assert owners == [(owner.st_uid, owner.st_gid)]
    assert stat.S_IMODE(messy.stat().st_mode) == 0o750
    assert messy.read_text() == NEAT


@pytest.fixture
def foreign(messy, monkeypatch):
    """Makes messy.hlo appear to belong to another user."""
    real = Path.stat

    def stat_of(self, **options):
        result = real(self, **options)
        if self.name != "messy.hlo":
            return result
        return os.stat_result((*result[:4], result.st_uid + 1, *result[5:10]))

    monkeypatch.setattr(Path, "stat", stat_of)


def test_files_of_other_users_keep_their_owner(cli, messy, foreign, monkeypatch):
    def refuse(*_):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "chown", refuse)
    result = cli("fmt", messy)
    assert messy.read_text() == MESSY
    assert names(messy.parent) == ["messy.hlo"]
    assert result.exit_code == 2
    assert "it belongs to another user" in result.stderr


def test_a_folder_that_cannot_be_written(cli, messy, monkeypatch):
    """Simulates a missing permission, because root can write to any folder."""

    def refuse(path, *arguments, **options):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(os, "open", refuse)
    result = cli("fmt", messy)
    assert result.exit_code == 2
    assert "Permission denied" in result.stderr
    assert messy.read_text() == MESSY
    assert names(messy.parent) == ["messy.hlo"]


def limited():
    resource.setrlimit(resource.RLIMIT_FSIZE, (50, 50))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def test_a_full_disk_keeps_the_old_file(process, messy):
    result = process("fmt", messy, preexec_fn=limited)
    assert result.returncode == 2
    assert result.stderr.startswith(f"hlotool: cannot write '{messy}': File too large\n")
    assert messy.read_text() == MESSY
    assert names(messy.parent) == ["messy.hlo"]


def test_a_failed_write_does_not_stop_the_others(cli, tmp_path, monkeypatch):
    paths = [tmp_path / f"{k}.hlo" for k in range(3)]
    for path in paths:
        path.write_text(MESSY)
    real = os.open

    def refuse(path, *rest):
        if "1.hlo" in str(path):
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(path, *rest)

    monkeypatch.setattr(os, "open", refuse)
    result = cli("fmt", *paths)
    assert result.exit_code == 2
    assert f"cannot write '{paths[1]}': Permission denied" in result.stderr
    assert [path.read_text() for path in paths] == [NEAT, MESSY, NEAT]


def test_leftover_temporary_files_do_not_matter(cli, messy):
    (messy.parent / f".messy.hlo.{os.getpid()}.tmp").write_text("from a process that was killed")
    result = cli("fmt", messy)
    assert result.exit_code == 0
    assert messy.read_text() == NEAT


# ---- folders ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path):
    for name in ("a.hlo", "dump.txt", "b/c.hlo", "b/golden/d.hlo", "build/e.hlo", ".hidden/f.hlo", "odd.mlir"):
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(MESSY)
    (tmp_path / "tree" / "notes.txt").write_text("no HLO\n")
    return tmp_path / "tree"


def changed(tree):
    return {path.relative_to(tree).as_posix() for path in tree.rglob("*") if path.is_file() and path.read_text() == NEAT}


def test_a_folder(cli, tree):
    assert cli("fmt", tree).exit_code == 0
    assert changed(tree) == {"a.hlo", "dump.txt", "b/c.hlo", "b/golden/d.hlo", "build/e.hlo"}


def test_include_and_exclude(cli, tree):
    assert cli("fmt", tree, "--exclude", "golden", "--exclude", "build/*").exit_code == 0
    assert changed(tree) == {"a.hlo", "dump.txt", "b/c.hlo"}
    assert cli("fmt", tree, "--include", "*.mlir").exit_code == 0
    assert changed(tree) == {"a.hlo", "dump.txt", "b/c.hlo", "odd.mlir"}


def test_ignored_files_of_git(cli, tree):
    subprocess.run(["git", "init", "-q", str(tree)], check=True)
    (tree / ".gitignore").write_text("build/\ndump.txt\n")
    assert cli("fmt", tree / "b", tree).exit_code == 0
    assert changed(tree) == {"a.hlo", "b/c.hlo", "b/golden/d.hlo"}
    assert cli("fmt", "--no-respect-gitignore", tree).exit_code == 0
    assert "build/e.hlo" in changed(tree)


def test_a_file_that_is_named_is_formatted_even_if_ignored(cli, tree):
    assert cli("fmt", "--exclude", "*.hlo", tree / "a.hlo").exit_code == 0
    assert changed(tree) == {"a.hlo"}


def test_an_empty_folder(cli, tmp_path):
    result = cli("fmt", tmp_path)
    assert result.exit_code == 0
    assert f"no HLO files in '{tmp_path}'" in result.stderr


def test_results_do_not_depend_on_jobs(process, tmp_path):
    outputs = []
    for jobs in ("1", "2"):
        folder = tmp_path / f"j{jobs}"
        folder.mkdir()
        for k in range(6):
            (folder / f"{k}.hlo").write_text((MESSY, NEAT, "ENTRY e {")[k % 3])
        result = process("fmt", "-v", "-j", jobs, ".", cwd=folder)
        diff = process("fmt", "--diff", "-j", jobs, ".", cwd=folder)
        outputs.append((result.returncode, result.stdout, result.stderr, diff.stdout, [p.read_text() for p in sorted(folder.iterdir())]))
    assert outputs[0] == outputs[1]
    assert outputs[0][0] == 2


@pytest.mark.parametrize(("command", "status"), [("fmt", 2), ("verify", 1)])
def test_standard_input_with_several_jobs(process, tmp_path, command, status):
    (tmp_path / "a.hlo").write_text(NEAT)
    result = process(command, "-", "a.hlo", "-j", "2", cwd=tmp_path, input="ENTRY e {")
    assert result.returncode == status
    assert "<stdin>" in result.stderr + result.stdout


# ---- style options ----------------------------------------------------------------------------------------------------


def test_range(cli, messy):
    assert cli("fmt", "--range", "6:6", messy).exit_code == 0
    assert messy.read_text() == MESSY.replace("negate( a )", "negate(a)")


@pytest.mark.parametrize("value", ["3", "5:3", "0:2", "a:b", "3:", "-1:2", ""])
def test_a_bad_range(cli, messy, value):
    result = cli("fmt", "--range", value, messy)
    assert result.exit_code == 2
    assert messy.read_text() == MESSY


def test_a_range_after_the_end_changes_nothing(cli, messy):
    result = cli("fmt", "--range", "100:200", messy)
    assert result.exit_code == 0
    assert messy.read_text() == MESSY


def test_a_range_is_for_one_file(cli, messy, neat):
    assert cli("fmt", "--range", "1:2", messy, neat).exit_code == 2


def test_a_range_in_the_second_of_several_modules(cli, tmp_path):
    path = tmp_path / "m.hlo"
    path.write_text(MESSY + "// -----\n" + MESSY)
    assert cli("fmt", "--range", "14:14", path).exit_code == 0
    assert path.read_text() == MESSY + "// -----\n" + MESSY.replace("negate( a )", "negate(a)")


def test_width(cli, tmp_path):
    path = tmp_path / "m.hlo"
    path.write_text(LONG)
    assert cli("fmt", "--width", "60", path).exit_code == 0
    assert max(map(len, path.read_text().splitlines())) <= 60
    assert cli("fmt", path).exit_code == 0
    assert path.read_text() == LONG


@pytest.mark.parametrize("value", ["39", "0", "-1", "x"])
def test_a_bad_width(cli, messy, value):
    assert cli("fmt", "--width", value, messy).exit_code == 2
    assert messy.read_text() == MESSY


# ---- checking the result ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("right", "wrong"), [(" // in", ""), ("f32[2] parameter", "f32[3] parameter"), ("negate(a)", "negate(a), x=1")])
@pytest.mark.parametrize("arguments", [(), ("--check",), ("--diff",), ("--stdout",)])
def test_a_wrong_formatter_writes_nothing(monkeypatch, cli, messy, neat, right, wrong, arguments):
    honest = formatter._format
    monkeypatch.setattr(formatter, "_format", lambda *rest: honest(*rest).replace(right, wrong))
    result = cli("fmt", *arguments, messy)
    assert (result.exit_code, result.stdout) == (3, "")
    assert "The text is left unchanged. This is a bug in hlotool" in result.stderr
    assert messy.read_text() == MESSY
    assert names(messy.parent) == ["messy.hlo", "neat.hlo"]


@pytest.mark.parametrize(("error", "code", "words"), [(RuntimeError("oops"), 3, "oops. This is a bug"), (MemoryError(), 2, "not enough memory")])
def test_a_formatter_that_raises(monkeypatch, cli, messy, tmp_path, error, code, words):
    second = tmp_path / "second.hlo"
    second.write_text(MESSY)
    honest, failures = formatter._format, [error]

    def fail(*arguments):
        if failures:
            raise failures.pop()
        return honest(*arguments)

    monkeypatch.setattr(formatter, "_format", fail)
    result = cli("fmt", messy, second)
    assert result.exit_code == code
    assert words in result.stderr
    assert (messy.read_text(), second.read_text()) == (MESSY, NEAT)


# ---- killed processes -------------------------------------------------------------------------------------------------

# A script that writes the contents of two files alternately to the same path until it is killed.
_WRITER = """
import sys
from pathlib import Path
from hlotool.workspace.writing import replace_file
path, texts = sys.argv[1], [Path(name).read_text() for name in sys.argv[2:]]
print("ready", flush=True)
while True:
    for text in texts:
        replace_file(path, text)
"""


def test_a_killed_process_leaves_the_old_or_the_new_text(tmp_path):
    instructions = "".join(f"  n{k} = f32[2]   constant({{1,{k}}})\n" for k in range(5_000))
    old = "HloModule m\nENTRY e {\n" + instructions + "}\n"
    new = hlotool.format_text(old)
    target, first, second = tmp_path / "target" / "m.hlo", tmp_path / "old", tmp_path / "new"
    target.parent.mkdir()
    for path, text in ((target, old), (first, old), (second, new)):
        path.write_text(text)
    random = Random(0)
    seen = set()
    for _ in range(KILLS):
        command = [sys.executable, "-c", _WRITER, target, second, first]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)}) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"ready\n"
            time.sleep(random.random() * 0.02)
            writer.kill()
        content = target.read_text()
        assert content in (old, new)
        seen.add(content == new)
    assert seen == {True, False}
