"""`hlotool canon` and `hlotool hash`."""

from __future__ import annotations

import json

import hlotool
from hlotool.differ.canonical import canonical_text, hashes

A = 'HloModule a\nENTRY e {\n  p = f32[2] parameter(0)\n  ROOT n = f32[2] negate(p), metadata={op_name="n"}\n}\n'
B = "HloModule b\nENTRY main {\n  x = f32[2]{0} parameter(0)\n  ROOT y = f32[2]{0} negate(x)\n}\n"


def test_canon(cli, file_of):
    a, b = file_of("a.hlo", A), file_of("b.hlo", B)
    first = cli("canon", str(a))
    assert first.exit_code == 0
    assert first.stdout == cli("canon", str(b)).stdout == canonical_text(hlotool.parse(A))
    both = cli("canon", str(a), str(b)).stdout
    assert len(hlotool.parse_all(both)) == 2
    assert cli("canon", "-", stdin=A).stdout == first.stdout


def test_hash(cli, file_of):
    a, b = file_of("a.hlo", A), file_of("b.hlo", B)
    lines = cli("hash", str(a), str(b)).stdout.splitlines()
    digest = hashes(hlotool.parse(A)).module
    assert lines == [f"{digest}  {a}  a", f"{digest}  {b}  b"]
    assert digest.startswith("hlo1:")
    rows = cli("hash", "--computations", str(a)).stdout.splitlines()
    assert rows[1] == f"{hashes(hlotool.parse(A)).computations['e']}  {a}  a  e"
    row = json.loads(cli("hash", "--output-format", "json", "--computations", str(b)).stdout)
    assert row == {"file": str(b), "module": "b", "hash": digest, "computations": {"main": hashes(hlotool.parse(B)).computations["main"]}}


def test_files_that_cannot_be_read(cli, good, bad, tmp_path):
    for command in ("canon", "hash"):
        result = cli(command, str(bad), str(tmp_path / "none.hlo"), str(good))
        assert result.exit_code == 2
        assert "none.hlo" in result.stderr
        assert "bad.hlo:5:" in result.stderr
        assert result.stdout


def test_hashes_of_a_folder(cli, tmp_path):
    module = "HloModule m\nENTRY e { ROOT p = f32[] parameter(0) }\n"
    for name, text in (("a.hlo", module), ("dump.txt", module), ("notes.txt", "not HLO"), ("sub/b.hlo", module)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    result = cli("hash", tmp_path)
    assert (result.exit_code, result.stderr) == (0, "")
    assert [line.split()[1].removeprefix(f"{tmp_path}/") for line in result.stdout.splitlines()] == ["a.hlo", "dump.txt", "sub/b.hlo"]
    assert len({line.split()[0] for line in result.stdout.splitlines()}) == 1
    assert len(cli("hash", tmp_path, "--exclude", "sub").stdout.splitlines()) == 2
