"""Control characters in the input: a terminal never gets them, but files and pipes do."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Colors, a window title, backspaces, an 8-bit control character, a byte that is not UTF-8, and a
# character that changes the text direction.
BAD = b"\x1b[31m\x1b]0;title\x07\x08\x7f\xc2\x9b31m\x9b31m\xe2\x80\xaex\r"
NEGATE = b'negate(p), frontend_attributes={k="%s"}, backend_config={"k":"%s"}, metadata={op_name="%s"}  // %s' % (BAD, BAD, BAD, BAD[:-1])
TEXT = b"HloModule m\n\nENTRY e {\n  p = f32[4] parameter(0)\n\n  d = f32[4] %s\n  ROOT   r = f32[4] %s\n}\n" % (NEGATE, NEGATE)
OWN_COLORS = re.compile(rb"\x1b\[[0-9;]*m")


def run_on_terminal(*arguments: str | Path, folder: Path) -> bytes:
    """Returns the output of a command that runs on a terminal."""
    ours, theirs = pty.openpty()
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "HLOTOOL_PAGER": "cat"}
    env.pop("NO_COLOR", None)
    command = [sys.executable, "-m", "hlotool", *map(str, arguments)]
    process = subprocess.Popen(command, cwd=folder, stdout=theirs, stderr=theirs, stdin=subprocess.DEVNULL, env=env)
    os.close(theirs)
    written = b""
    try:
        while piece := os.read(ours, 1 << 16):
            written += piece
    except OSError:
        # The command has closed the terminal.
        pass
    finally:
        os.close(ours)
    assert process.wait(60) in (0, 1, 2)
    return written.replace(b"\r\n", b"\n")


COMMANDS = [
    "print m.hlo", "print --preset lossless m.hlo", "opt m.hlo", "opt --diff m.hlo", "opt --diff --color never m.hlo", "opt -v --stats m.hlo",
    "opt --explain m.hlo", "canon m.hlo", "fmt --diff m.hlo", "fmt --diff --color never m.hlo", "fmt --stdout m.hlo", "fmt --check m.hlo",
    "verify m.hlo", "verify --extend-select ALL --show-all m.hlo", "verify --fix --diff broken.hlo", "verify --add-ignore --diff broken.hlo",
    "verify --output-format concise broken.hlo", "verify --output-format markdown broken.hlo", "python m.hlo", "hash --computations m.hlo",
    "diff m.hlo other.hlo", "diff --output-format patch m.hlo other.hlo", "diff --output-format patch --color never m.hlo other.hlo",
    "diff --output-format markdown m.hlo other.hlo",
    "diff --output-format html m.hlo other.hlo", "diff --output-format json m.hlo other.hlo", "diff --stat m.hlo other.hlo",
    "apply -o - m.patch m.hlo", "graph --format svg m.hlo", "graph --format dot m.hlo", "graph --format mermaid m.hlo",
    "run m.hlo", "run --show-plan m.hlo", "run --trace m.hlo", "run --profile m.hlo",
]  # fmt: skip


@pytest.mark.parametrize("line", COMMANDS)
def test_no_control_character_reaches_a_terminal(tmp_path: Path, line: str) -> None:
    for name, text in {
        "m.hlo": TEXT, "other.hlo": TEXT.replace(b"negate", b"sine"), "broken.hlo": TEXT.replace(b"[4] negate", b"[5] negate"),
        "m.patch": b"",
    }.items():  # fmt: skip
        (tmp_path / name).write_bytes(text)
    if line.startswith("apply"):
        command = [sys.executable, "-m", "hlotool", "diff", "--output-format", "patch", "-o", "m.patch", "m.hlo", "other.hlo"]
        subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False, capture_output=True)
    written = run_on_terminal(*line.split(), folder=tmp_path)
    assert b"Traceback" not in written
    assert b"No such option" not in written
    assert written, line
    # The output must be plain text except for the colors that hlotool itself adds.
    left = OWN_COLORS.sub(b"", written).decode()
    assert not re.findall(r"[^\n\t -~\u00a0-\u200d\u2010-\u2027\u2030-\ud7ff]", left.replace("\N{REPLACEMENT CHARACTER}", ""))
    assert b"\x1b[31mx" not in written


@pytest.mark.parametrize(("line", "name"), [("graph m.hlo", "html"), ("graph --format html -o - m.hlo", "html"), ("graph --format png m.hlo", "png")])
def test_pages_and_images_are_not_written_to_a_terminal(tmp_path: Path, line: str, name: str) -> None:
    (tmp_path / "m.hlo").write_bytes(TEXT)
    written = run_on_terminal(*line.split(), folder=tmp_path).decode()
    assert f"the format {name} cannot be shown in a terminal; write to a file with -o FILE, or redirect the output" in " ".join(written.split())
    assert "<!doctype" not in written


@pytest.mark.parametrize("line", ["print m.hlo", "canon m.hlo", "fmt --stdout m.hlo", "fmt --diff m.hlo", "opt m.hlo"])
def test_pipes_get_every_byte(tmp_path: Path, line: str) -> None:
    (tmp_path / "m.hlo").write_bytes(TEXT)
    command = [sys.executable, "-m", "hlotool", *line.split()]
    done = subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False, capture_output=True)
    assert b'backend_config={"k":"%s"}' % BAD in done.stdout


@pytest.mark.parametrize("name", ["a\x1b[31m.hlo", "a\u202eb.hlo", "a|b`*<i>.hlo", "a\nb.hlo"])
@pytest.mark.parametrize("output_format", ["markdown", "html", "patch", "json", "text"])
def test_names_of_files_in_reports(tmp_path: Path, name: str, output_format: str) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    (tmp_path / "a" / name).write_bytes(TEXT.replace(BAD, b"x"))
    (tmp_path / "b" / name).write_bytes(TEXT.replace(BAD, b"x").replace(b"negate", b"sine"))
    folders = [("a", "b")] if output_format in ("text", "json", "markdown") else []
    for arguments in ((f"a/{name}", f"b/{name}"), *folders):
        command = [sys.executable, "-m", "hlotool", "diff", "--output-format", output_format, *arguments]
        done = subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False, capture_output=True, text=True)
        assert done.stdout, done.stderr
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", done.stdout)
        if output_format in ("markdown", "html"):
            assert "<i>.hlo" not in re.sub(r"`[^`\n]*`", "", done.stdout)
        if output_format == "markdown":
            assert "a\nb" not in done.stdout


def test_names_of_targets_in_reports(tmp_path: Path) -> None:
    target = r"<img src=x>|`*a*\n| b"
    text = f'ENTRY e {{\n  p = f32[4] parameter(0)\n  ROOT r = f32[4] custom-call(p), custom_call_target="{target}"\n}}\n'
    (tmp_path / "a.hlo").write_text(text)
    (tmp_path / "b.hlo").write_text(text.replace("<img", "<svg"))
    command = [sys.executable, "-m", "hlotool", "diff", "--output-format", "markdown", "a.hlo", "b.hlo"]
    done = subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False, capture_output=True, text=True)
    rows = [line for line in done.stdout.splitlines() if line.startswith("| custom-call")]
    assert rows == [
        rf"| custom-call \<{name} src=x\>\|\`\*a\*\\n\| b | {change} |" for name, change in (("img", "1 | 0 | -1"), ("svg", "0 | 1 | +1"))
    ]
