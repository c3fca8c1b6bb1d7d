"""`hlotool fmt`: the choice of files, lossless rewriting, diffs, and file names in the output."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from texts import MESSY, NEAT

import hlotool

# ---- invalid modules --------------------------------------------------------------------------------------------------

ERRORS = [
    ("a  =  f32[] negate( b )", "a = f32[] negate(b)"),
    ("a =  f32[] nagate()", "a = f32[] nagate()"),
    ("a = f32[2] add(  )", "a = f32[2] add()"),
    ("a =  f32[4] iota(  )", "a = f32[4] iota()"),
    ("a =  f32[4] iota( ), iota_dimension=0, iota_dimension=1", "a = f32[4] iota(), iota_dimension=0, iota_dimension=1"),
    ("a =  f32[] parameter( 7 )", "a = f32[] parameter(7)"),
    ("a =  f32[2] call( ),to_apply=nothing", "a = f32[2] call(), to_apply=nothing"),
    ("a = f32[2] constant({1,2,  3})", "a = f32[2] constant({1, 2, 3})"),
    ("a =  f32[2]{1,0}  parameter(0)", "a = f32[2]{1,0} parameter(0)"),
    ("ROOT a =  f32[] parameter(0)", "ROOT a = f32[] parameter(0)"),
]


@pytest.mark.parametrize(("line", "formatted"), ERRORS)
def test_modules_that_the_verifier_rejects_are_formatted(cli, line, formatted):
    text = f"HloModule m\n\nENTRY e {{\n  {line} // typing\n  ROOT r = f32[] negate(a)\n}}\n"
    result = cli("fmt", "-", stdin=text)
    assert (result.exit_code, result.stdout) == (0, text.replace(line, formatted))
    assert cli("verify", "-", stdin=text).exit_code == 1


# ---- rewriting files only if nothing is lost --------------------------------------------------------------------------


def test_a_file_that_changed_while_formatting_is_not_written(cli, messy, monkeypatch):
    honest = hlotool.format_text

    def slow(*arguments, **options):
        messy.write_text(MESSY + "// saved by an editor\n")
        return honest(*arguments, **options)

    monkeypatch.setattr(hlotool, "format_text", slow)
    result = cli("fmt", messy)
    assert result.exit_code == 2
    assert "has changed since it was read" in result.stderr
    assert messy.read_text() == MESSY + "// saved by an editor\n"


def test_a_file_with_hard_links_is_not_written(cli, messy, tmp_path):
    (tmp_path / "other").hardlink_to(messy)
    result = cli("fmt", messy)
    assert result.exit_code == 2
    assert "other names (2 hard links in total)" in result.stderr
    assert messy.read_text() == (tmp_path / "other").read_text() == MESSY


@pytest.mark.parametrize("arguments", [(), ("--check",), ("--check", "-l"), ("--check", "--diff"), ("--check", "--stdout")])
def test_a_read_only_file_is_not_written(cli, messy, arguments):
    messy.chmod(0o444)
    result = cli("fmt", *arguments, messy)
    assert result.exit_code == 2
    assert "it is read-only" in result.stderr
    assert messy.read_text() == MESSY
    assert cli("fmt", "--stdout", messy).stdout == NEAT


def test_only_regular_files_inside_a_folder_are_formatted(cli, tmp_path, messy):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "inside.hlo").write_text(MESSY)
    (folder / "link.hlo").symlink_to(folder / "inside.hlo")
    (folder / "out.hlo").symlink_to(messy)
    os.mkfifo(folder / "pipe.hlo")
    result = cli("fmt", folder)
    assert result.exit_code == 0
    assert f"skipped '{folder / 'out.hlo'}': it is a link to '{messy}', outside of '{folder}'" in result.stderr
    assert (folder / "inside.hlo").read_text() == NEAT
    assert messy.read_text() == MESSY


# ---- lists of files ---------------------------------------------------------------------------------------------------


def test_list_different(cli, messy, neat):
    result = cli("fmt", "-l", messy, neat)
    assert (result.exit_code, result.stdout, result.stderr) == (1, f"{messy}\n", "")
    assert cli("fmt", "--list-different", neat).exit_code == 0
    assert messy.read_text() == MESSY


@pytest.mark.parametrize("separator", ["\n", "\0"])
def test_files_from(cli, messy, neat, tmp_path, separator):
    names = separator.join([str(messy), str(neat), ""])
    (tmp_path / "list").write_text(names)
    assert cli("fmt", "--check", "--files-from", tmp_path / "list").stderr.endswith("1 file would be reformatted, 1 file already formatted\n")
    assert cli("fmt", "--files-from", "-", stdin=names).exit_code == 0
    assert messy.read_text() == NEAT
    assert cli("fmt", "--files-from", "-", stdin="").exit_code == 0
    assert "No such file" in cli("fmt", "--files-from", tmp_path / "missing").stderr
    (tmp_path / "list").write_text("-\n")
    assert cli("fmt", "--files-from", tmp_path / "list", stdin=MESSY).stdout == NEAT


def test_changed_since_without_git(cli, messy, tmp_path, monkeypatch):
    missing = cli("fmt", "--changed-since", "HEAD", tmp_path / "none" / "m.hlo")
    assert (missing.exit_code, missing.stderr) == (
        2,
        f"hlotool: cannot run git in '{tmp_path}/none': '{tmp_path}/none': No such file or directory\n",
    )
    monkeypatch.setenv("PATH", str(tmp_path))
    refused = cli("fmt", "--changed-since", "HEAD", messy)
    assert (refused.exit_code, refused.stderr) == (2, f"hlotool: cannot run git in '{tmp_path}': 'git': No such file or directory\n")
    assert messy.read_text() == MESSY
    # Formatting a folder does not need git, even inside a repository.
    (tmp_path / ".git").mkdir()
    assert cli("fmt", "-l", tmp_path).stdout == f"{messy}\n"


@pytest.mark.parametrize(
    "line", ["fmt - -", "fmt --files-from - -", "fmt --files-from -", "print - m.hlo -", "verify - -", "verify --fix - -", "run - --against -"]
)
def test_standard_input_is_read_once(cli, line):
    result = cli(*line.split(), stdin="-" if line.endswith("-from -") else NEAT)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.endswith("Error: standard input can be read only once, but '-' is given more than once\n")


def test_changed_since(cli, tmp_path):
    def git(*arguments):
        subprocess.run(["git", "-C", tmp_path, "-c", "user.name=a", "-c", "user.email=b", *arguments], check=True, capture_output=True)

    git("init", "-q")
    for name in ("same", "changed", "sub/same", "sub/changed"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.hlo").write_text(MESSY)
    (tmp_path / "link.hlo").symlink_to("sub/same.hlo")
    (tmp_path / "turned.hlo").symlink_to("same.hlo")
    git("add", ".")
    git("commit", "-qm", "first")
    for name in ("changed", "sub/changed", "new", "sub/new"):
        (tmp_path / f"{name}.hlo").write_text(MESSY + "\n")
    (tmp_path / "turned.hlo").unlink()
    (tmp_path / "turned.hlo").symlink_to("sub/same.hlo")
    result = cli("fmt", "-l", "--changed-since", "HEAD", tmp_path)
    assert {Path(line).relative_to(tmp_path).as_posix() for line in result.stdout.splitlines()} == {
        "changed.hlo", "new.hlo", "sub/changed.hlo", "sub/new.hlo", "turned.hlo",
    }  # fmt: skip
    for reference in ("nothing", "--help"):
        refused = cli("fmt", "--changed-since", reference, tmp_path)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert f"git found no commit '{reference}'" in refused.stderr
    for arguments in (("-",), ("-", "new.hlo")):
        refused = cli("fmt", "--changed-since", "HEAD", *arguments, stdin=MESSY)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert refused.stderr.endswith("--changed-since compares files with a git commit; it cannot be combined with standard input\n")


def test_patterns_are_relative_to_their_file(cli, tmp_path):
    for name in ("src/golden/a.hlo", "src/b.hlo", "golden/c.hlo"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(MESSY)
    (tmp_path / "hlotool.toml").write_text('exclude = ["src/golden"]\n')
    golden = tmp_path / "src" / "golden" / "a.hlo"
    for arguments in ((tmp_path,), (tmp_path / "src", tmp_path / "golden"), (*tmp_path.rglob("*.hlo"), "--force-exclude")):
        listed = cli("fmt", "-l", *arguments).stdout.splitlines()
        assert sorted(listed) == sorted([str(tmp_path / "src" / "b.hlo"), str(tmp_path / "golden" / "c.hlo")]), arguments
    assert cli("fmt", "-l", golden).stdout == f"{golden}\n"
    assert cli("fmt", "-", "--stdin-filename", golden, "--force-exclude", stdin=MESSY).stdout == MESSY
    assert cli("fmt", "-", "--stdin-filename", golden, stdin=MESSY).stdout == NEAT
    fixable = MESSY.replace("ROOT ", "")
    for options, lines in ((("--fix",), fixable), (("--add-ignore",), fixable), (("--diff",), "")):
        result = cli("verify", *options, "-", "--stdin-filename", golden, "--force-exclude", stdin=fixable)
        assert (result.exit_code, result.stdout) == (0, lines)
    assert "ROOT" in cli("verify", "--fix", "-", "--stdin-filename", golden, stdin=fixable).stdout


def test_stdout_does_not_report_rewritten_files(cli, messy):
    assert cli("fmt", "--stdout", messy).stderr == ""


# ---- diffs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("comment", ["plain", "form\x0cfeed \x0b \x1c \x85 \u2028", "carriage\rreturn"])
@pytest.mark.parametrize("end", ["", "\n", "\n\n\n"])
def test_diffs_are_patches(cli, tmp_path, monkeypatch, newline, comment, end):
    path = tmp_path / "a file.hlo"
    text = MESSY.rstrip("\n") + (f"\n/* {comment} */" + end)
    path.write_bytes(text.replace("\n", newline).encode())
    monkeypatch.chdir(tmp_path)
    patch = cli("fmt", "--diff", path.name).stdout_bytes
    subprocess.run(["patch", "-s", "-p0", "--binary"], input=patch, check=True, cwd=tmp_path)
    patched = path.read_bytes()
    path.write_bytes(text.replace("\n", newline).encode())
    assert cli("fmt", path).exit_code == 0
    assert path.read_bytes() == patched


def test_names_cannot_control_the_terminal(cli, tmp_path):
    path = tmp_path / "a\x1b[31m\n::error::b.hlo"
    path.write_text(MESSY)
    for arguments in (("--check",), ("--diff",), ("-l",), ("-v",), ("--no-such\x1b[31m",), ("--range", "\x1b[31m"), ("--config", "\x1b[31m")):
        result = cli("fmt", *arguments, path)
        assert "\x1b" not in result.output, arguments
        assert "\n::error" not in result.output, arguments
        path.write_text(MESSY)
    (tmp_path / "hlotool.toml").write_text('"\\u001b[31m" = 1\n')
    assert "\x1b" not in cli("fmt", path).output


def test_usage_errors_cannot_control_the_terminal(process):
    assert "\x1b" not in process("fmt", "--no-such\x1b[31m").stderr
    assert "\x1b" not in process("\x1b[31m").stderr


def test_colored_diffs_escape_control_characters(cli, messy):
    messy.write_text(MESSY.replace("// in", "// \x1b[7m in"))
    assert "\x1b[7m" in cli("fmt", "--diff", messy).stdout
    assert "\x1b[7m" not in cli("fmt", "--diff", "--color", "always", messy).stdout


REPORTS = {
    "module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt": "BufferAssignment:\nallocation 0: size 8, parameter 0\n",
    "module_0001.jit_f.cpu_after_optimizations-memory-usage-report.txt": "Total bytes used: 8 (8B)\n",
    "module_0001.jit_f.thunk_sequence.txt": "000: kKernel\n",
    "gpu.memory-usage-report.txt": "Memory Space: default (color=0)\nTotal bytes: 1651940 (1.58MiB)\n",
    "gpu.live-range.txt": "HloLiveRange (max 38):\n  InstructionSequence:\n",
    "gpu.ptx": ".version 8.1\n",
}


def test_reports_in_a_dump_are_skipped(cli, tmp_path):
    for name, text in {**REPORTS, "module_0001.jit_f.cpu_after_optimizations.txt": "HloModule m\nENTRY e { ROOT p = f32[] parameter(0) }\n"}.items():
        (tmp_path / name).write_text(text)
    for pattern in ("*", "*.txt"):
        result = cli("verify", "--include", pattern, tmp_path)
        assert (result.exit_code, result.stdout) == (0, "1 file checked, no findings\n")
    (tmp_path / "mistake.txt").write_text("ENTRY e { p = f32[ }")
    assert cli("verify", "--include", "*", tmp_path).exit_code == 1


def test_the_memory_report_is_recognized(cli, file_of):
    result = cli("verify", file_of("usage.txt", REPORTS["gpu.memory-usage-report.txt"]))
    assert "this is an XLA memory report, not HLO text" in result.stdout
