"""`hlotool python`."""

from __future__ import annotations

import hlotool

A = 'HloModule a\nENTRY e {\n  p = f32[2] parameter(0)\n  ROOT n = f32[2] negate(p), metadata={op_name="n"}\n}\n'
B = "HloModule b\nENTRY main {\n  x = f32[2]{0} parameter(0)\n  ROOT y = f32[2]{0} negate(x)\n}\n"


def build(code: str) -> str:
    namespace: dict[str, hlotool.Module] = {}
    exec(code, namespace)
    return hlotool.to_text(namespace["module"])


def test_the_code_builds_the_module(cli, file_of, tmp_path):
    a, b = file_of("a.hlo", A), file_of("b.hlo", B)
    result = cli("python", str(a))
    assert result.exit_code == 0
    assert build(result.stdout) == hlotool.to_text(hlotool.parse(A))
    assert cli("python", "-", stdin=A).stdout == result.stdout
    both = cli("python", str(a), str(b)).stdout.split("\n# -----\n\n")
    assert [build(code) for code in both] == [hlotool.to_text(hlotool.parse(text)) for text in (A, B)]
    output = tmp_path / "make.py"
    assert cli("python", str(b), "-o", str(output)).exit_code == 0
    assert output.read_text() == cli("python", str(b)).stdout


def test_an_input_is_not_overwritten(cli, file_of):
    a = file_of("a.hlo", A)
    assert cli("python", str(a), "-o", str(a)).exit_code == 2
    assert a.read_text() == A


def test_files_that_cannot_be_read(cli, good, bad, tmp_path):
    output = tmp_path / "make.py"
    result = cli("python", str(bad), str(tmp_path / "none.hlo"), str(good))
    assert result.exit_code == 2
    assert "none.hlo" in result.stderr
    assert "bad.hlo:5:" in result.stderr
    assert "import hlotool" in result.stdout
    assert cli("python", str(bad), str(good), "-o", str(output)).exit_code == 2
    assert not output.exists()
