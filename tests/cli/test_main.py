"""The command group: version, help, completion, and exit codes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import hlotool
from hlotool.cli import main as cli_main
from hlotool.cli.command import GROUPS, HloCommand
from hlotool.cli.output import BROKEN_PIPE

ROOT = Path(__file__).resolve().parents[2]
MANY = "HloModule many\n\nENTRY e {\n  p = f32[2] parameter(0)\n" + "".join(f"  n{k} = f32[2] negate(p)\n" for k in range(5_000)) + "}\n"
COMMANDS = sorted(path.stem.removeprefix("cmd_") for path in (ROOT / "hlotool" / "cli").glob("cmd_*.py"))


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_version(process, option):
    result = process(option)
    assert (result.returncode, result.stdout) == (0, f"hlotool {hlotool.__version__}\n")


def test_version_imports_little():
    command = [sys.executable, "-X", "importtime", "-m", "hlotool", "--version"]
    imported = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stderr
    modules = {line.rpartition("|")[2].strip() for line in imported.splitlines()}
    assert "click" in modules
    assert not modules & {"lark", "numpy", "rich", "importlib.metadata", "hlotool.text", "hlotool.cli.inputs", "hlotool.workspace"}


def test_help_lists_every_command(cli):
    result = cli("--help")
    assert result.exit_code == 0
    for name in COMMANDS:
        assert f"\n  {name} " in result.stdout
    assert "Exit codes" in result.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help(cli, name):
    result = cli(name, "-h")
    assert result.exit_code == 0
    assert "hlotool " + name in result.stdout
    # Some pairs of flags do not fit on one line.
    assert max(len(line) for line in result.stdout.splitlines() if " / --no-" not in line) <= 80


def test_unknown_commands_suggest_the_nearest(cli):
    result = cli("prnt")
    assert result.exit_code == 2
    assert "Did you mean 'print'?" in result.stderr


@pytest.mark.parametrize(("shell", "word"), [("bash", "-F _hlotool_completion"), ("zsh", "#compdef hlotool"), ("fish", "complete ")])
def test_completion_script(cli, shell, word):
    result = cli("completion", shell)
    assert result.exit_code == 0
    assert word in result.stdout
    assert "_HLOTOOL_COMPLETE" in result.stdout


def test_completion_answers(process):
    result = process(env={"_HLOTOOL_COMPLETE": "bash_complete", "COMP_WORDS": "hlotool ver", "COMP_CWORD": "1"})
    assert "verify" in result.stdout


def complete(process, words: str) -> list[str]:
    """Returns the completions that a shell offers for the last of the words."""
    count = len(words.split(" ")) - 1
    result = process(env={"_HLOTOOL_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(count)})
    return [line.partition(",")[2] for line in result.stdout.splitlines() if line]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("hlotool explain T00", "T003"),
        ("hlotool explain dynamic-s", "dynamic-slice"),
        ("hlotool verify --select result-", "result-shape"),
        ("hlotool verify --ignore T001,C0", "T001,C012"),
        ("hlotool verify --explain W0", "W050"),
        ("hlotool verify --preset after", "after-opt"),
        ("hlotool verify --output-format sa", "sarif"),
        ("hlotool run samples/while_loop.hlo --input ", "x="),
    ],
)
def test_completion_of_values(process, words, offered):
    assert offered in complete(process, words)


def test_completion_ignores_unreadable_files(process):
    assert complete(process, "hlotool run no-such-file.hlo --input x") == []
    assert complete(process, "hlotool run README.md --input x") == []


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("format", "x.hlo"), "Did you mean 'fmt'?"),
        (("lint", "x.hlo"), "Did you mean 'verify'?"),
        (("check", "x.hlo"), "Did you mean 'verify'?"),
        (("compare", "a.hlo", "b.hlo"), "Did you mean 'diff'?"),
        (("version",), "Did you mean '--version'?"),
        (("help",), "Did you mean '--help'?"),
        (("help", "verify"), "Did you mean 'verify --help'?"),
        (("help", "me"), "Did you mean '--help'?"),
        (("optimize", "x.hlo"), "Did you mean 'opt'?"),
        (("README.md",), "Did you mean 'hlotool verify README.md'?"),
        (("docs",), "Did you mean 'hlotool verify docs'?"),
        (("x" * 5000,), "No such command 'xxx"),
        (("verify", "--format", "json", "x.hlo"), "Did you mean '--output-format'?"),
        (("verify", "--selct", "T", "x.hlo"), "'--select'"),
        (("verify", "--json", "x.hlo"), "Did you mean '--output-format'?"),
        (("verify", "--disable", "T", "x.hlo"), "Did you mean '--ignore'?"),
        (("run", "--nan", "x.hlo"), "Did you mean '--check-nans'?"),
        (("fmt", "--dry-run", "x.hlo"), "Did you mean '--diff'?"),
        (("run", "--devices", "2", "x.hlo"), "Did you mean '--replicas'?"),
        (("run", "--seed", "one", "x.hlo"), "'one' is not a valid integer."),
        (("run", "--rtol", "small", "x.hlo"), "'small' is not a valid number."),
        (("run", "before.hlo", "after.hlo"), "to compare two, use hlotool run before.hlo --against after.hlo"),
        (("run", "--input", "in.npz", "x.hlo"), "'in.npz' is not of the form NAME=VALUE; to read several arrays from a file, use --inputs in.npz"),
        (("verify", "--ignore", "T3", "x.hlo"), "did you mean 'T003'?"),
        (("explain", "w16"), "did you mean 'W016'?"),
        (("verify", "--output-format", "jsno", "x.hlo"), "Did you mean 'json'?"),
        (("verify", "--preset", "gup", "x.hlo"), "Did you mean 'gpu'?"),
        (("print", "--preset", "shrt", "x.hlo"), "Did you mean 'short'?"),
    ],
)
def test_near_names(process, arguments, hint):
    result = process(*arguments)
    assert result.returncode == 2
    assert hint in result.stderr


def test_options_are_in_groups(cli):
    sections = [line.rstrip(":") for line in cli("verify", "--help").stdout.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert "Rules:" not in cli("print", "--help").stdout
    assert sections == ["Rules", "Modes", "Thresholds", "Known findings", "Fixes", "Limits", "Output", "Files", "Information"]
    for name in COMMANDS:
        command = cli_main.COMMANDS.get_command(None, name)
        assert isinstance(command, HloCommand), f"{name} does not show its options in groups"


def test_groups_name_existing_options():
    params = {param.name for name in COMMANDS for param in cli_main.COMMANDS.get_command(None, name).params}
    assert {name for names in GROUPS.values() for name in names} <= params


def test_no_command_means_help(process):
    result = process()
    assert result.returncode == 2
    assert "Usage: hlotool" in result.stdout + result.stderr


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX pipes")
@pytest.mark.parametrize("arguments", [["print"], ["opt", "--passes", "algsimp"], ["verify", "--output-format", "json"], ["--help"]])
def test_broken_pipe_ends_quietly(arguments, tmp_path):
    path = tmp_path / "many.hlo"
    path.write_text(MANY.replace("negate(p)", "negate(q)") if arguments[0] == "verify" else MANY)
    read, write = os.pipe()
    os.close(read)
    files = [] if arguments == ["--help"] else [str(path)]
    command = [sys.executable, "-m", "hlotool", *arguments, *files]
    result = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, cwd=ROOT, check=False)
    os.close(write)
    assert result.stderr == b""
    assert result.returncode == (1 if arguments == ["--help"] else BROKEN_PIPE)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_full_disk_is_one_line(process, good):
    with Path("/dev/full").open("w") as full:
        result = process("print", good, stdout=full)
    assert result.returncode == 2
    assert result.stderr == "hlotool: cannot write to standard output: No space left on device\n"


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_interrupt_shows_no_traceback():
    command = [sys.executable, "-m", "hlotool", "print"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT)
    assert process.stdin is not None
    process.stdin.write(b"HloModule m\n")
    process.stdin.flush()
    # This gives the process enough time to start and wait for more input.
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == cli_main.INTERRUPTED
    assert b"Traceback" not in stderr


def test_other_files_are_processed_after_a_bug(monkeypatch, capfdbinary, good, tmp_path):
    second = tmp_path / "second.hlo"
    second.write_text(good.read_text())
    to_text = hlotool.to_text

    def failing(module, options):
        if module.source.filename == str(good):
            raise ZeroDivisionError("of all things\nand more")
        return to_text(module, options)

    monkeypatch.setattr(hlotool, "to_text", failing)
    assert cli_main.run(["print", str(good), str(second)]) == 3
    out, err = capfdbinary.readouterr()
    assert out.startswith(b"HloModule good")
    assert err.count(b"\n") == 1
    assert b"ZeroDivisionError: of all things. This is a bug; please report" in err


def test_a_bug_shows_its_traceback_on_request(monkeypatch, capfdbinary, good):
    monkeypatch.setattr("hlotool.workspace.checking.check_text", lambda *arguments, **options: 1 // 0)
    monkeypatch.setenv("HLOTOOL_DEBUG", "1")
    assert cli_main.run(["verify", str(good)]) == 3
    assert b"Traceback" in capfdbinary.readouterr().err


def test_a_bug_outside_files(monkeypatch, capfdbinary, good):
    monkeypatch.setattr("hlotool.cli.printing.replace_file", lambda path, text: 1 // 0)
    assert cli_main.run(["print", str(good), "-o", "x"]) == 3
    err = capfdbinary.readouterr().err
    assert err.startswith(b"hlotool: internal error: ZeroDivisionError")
    assert err.count(b"\n") == 1


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("fmt",), 0),
        (("fmt", "--check"), 0),
        (("verify", "-o", os.devnull), 0),
        (("verify",), 2),
        (("print", "-o", os.devnull), 0),
        (("opt", "--stats", "--explain", "--print-changed", "-o", os.devnull), 0),
        (("opt", "--in-place"), 0),
        (("opt",), 2),
        (("verify", "--no-such-option"), 2),
        (("--no-such-option",), 2),
        (("fmt", "--config", "no-such-file.toml"), 2),
    ],
)
def test_without_streams(good, arguments, code):
    """Runs commands without standard streams, as pythonw does.

    No messages are shown, but the exit code is correct. Commands that must print fail.
    """
    script = "import sys, os; sys.stdin = sys.stdout = sys.stderr = None; from hlotool.cli.main import run; os._exit(run(sys.argv[1:]))"
    command = [sys.executable, "-c", script, *arguments, str(good)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    result = subprocess.run(command, capture_output=True, env=environment, timeout=60, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (code, b"", b"")


def test_broken_input_without_streams(tmp_path):
    broken = tmp_path / "broken.hlo"
    broken.write_text("ENTRY e {\n  ROOT p = f32[2 parameter(0\n}\n")
    script = "import sys, os; sys.stdin = sys.stdout = sys.stderr = None; from hlotool.cli.main import run; os._exit(run(sys.argv[1:]))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    result = subprocess.run([sys.executable, "-c", script, "fmt", str(broken)], env=environment, timeout=60, check=False)
    assert result.returncode == 2
