"""Output files: an output never replaces an input or another output."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

SUM = """HloModule m

ENTRY e {
  left = f32[2] parameter(0)
  right = f32[2] parameter(1)
  ROOT sum = f32[2] add(left, right)
}
"""
# Command lines, each with the file that must not change. `link` is a symbolic link to m.hlo.
OVERWRITING = [
    ("print m.hlo -o m.hlo", "m.hlo"),
    ("print other.hlo m.hlo -o link", "m.hlo"),
    ("opt m.hlo -o m.hlo", "m.hlo"),
    ("opt other.hlo m.hlo -o link", "m.hlo"),
    ("opt . -o m.hlo", "m.hlo"),
    ("verify m.hlo -o m.hlo", "m.hlo"),
    ("verify . -o link", "m.hlo"),
    ("verify --write-baseline --baseline m.hlo m.hlo", "m.hlo"),
    ("verify --write-baseline --baseline link other.hlo m.hlo", "m.hlo"),
    ("verify --baseline known.json -o known.json m.hlo", "known.json"),
    ("verify --config settings.toml -o settings.toml m.hlo", "settings.toml"),
    ("verify -o hlotool.toml m.hlo", "hlotool.toml"),
    ("verify --write-baseline --baseline hlotool.toml m.hlo", "hlotool.toml"),
    ("run m.hlo -o m.hlo", "m.hlo"),
    ("run m.hlo -o link", "m.hlo"),
    ("run m.hlo --against other.hlo -o other.hlo", "other.hlo"),
    ("run m.hlo --input left=x.npy -o x.npy", "x.npy"),
    ("run m.hlo --input 1=x.npy --input left=ones --trace sum --trace-out ./x.npy", "x.npy"),
    ("run m.hlo --inputs in.npz -o in.npz", "in.npz"),
    ("run m.hlo --inputs in.npz --compare out.npz -o out.npz", "out.npz"),
    ("run m.hlo --inputs in.npz --compare out.npz --trace sum --trace-out out.npz", "out.npz"),
]


@pytest.fixture
def folder(tmp_path, monkeypatch, cli):
    monkeypatch.chdir(tmp_path)
    for name in ("m.hlo", "other.hlo"):
        Path(name).write_text(SUM)
    Path("link").symlink_to("m.hlo")
    Path("settings.toml").touch()
    Path("hlotool.toml").touch()
    np.save("x.npy", np.ones(2, np.float32))
    np.savez("in.npz", left=np.ones(2, np.float32), right=np.ones(2, np.float32))
    np.savez("out.npz", output=np.full(2, 2, np.float32))
    assert cli("verify", "--write-baseline", "--baseline", "known.json", "m.hlo").exit_code == 0
    return tmp_path


@pytest.mark.parametrize(("line", "name"), OVERWRITING)
def test_an_output_never_replaces_an_input(cli, folder, line, name):
    before = (folder / name).read_bytes()
    result = cli(*line.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.endswith(": it is an input; choose another name for the output\n")
    assert (folder / name).read_bytes() == before


@pytest.mark.parametrize("trace", ["new.npz", "./new.npz", "dangling", "existing.npz"])
def test_two_outputs_must_be_two_files(cli, folder, trace):
    Path("dangling").symlink_to("new.npz")
    Path("existing.npz").touch()
    result = cli("run", "m.hlo", "--trace", "sum", "-o", "existing.npz" if trace == "existing.npz" else "new.npz", "--trace-out", trace)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"hlotool: cannot write '{trace}': another output is written to it; choose another name for one of them\n"
    assert not Path("new.npz").exists()
    assert Path("existing.npz").read_bytes() == b""


def test_outputs_with_other_names(cli, folder):
    result = cli("run", "m.hlo", "-q", "--input", "left=ones", "--trace", "sum", "-o", "ones", "--trace-out", "trace.npz")
    assert (result.exit_code, result.stderr) == (0, "")
    # The input `ones` is an array of ones, even though there is a file with this name.
    assert cli("run", "m.hlo", "-q", "--input", "left=ones", "-o", "ones").exit_code == 0
    assert np.load("ones").files == ["output"]
    assert cli("run", "m.hlo", "-q", "--trace", "sum", "-o", "/dev/null", "--trace-out", "/dev/null").exit_code == 0
    assert cli("print", "-", "-o", "-", stdin=SUM).stdout.startswith("HloModule m")
    assert cli("verify", "-", "-o", "-", stdin=SUM).stdout == "1 file checked, no findings\n"
    for options in (("-o", "-"), ("--trace", "sum", "--trace-out", "-")):
        assert cli("run", "m.hlo", *options).stderr.endswith("arrays are written to a file, not to standard output; --json prints them\n")
    assert not Path("-").exists()
