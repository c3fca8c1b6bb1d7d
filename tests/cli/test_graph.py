"""`hlotool graph`: formats by file name, standard input and output, and errors."""

from __future__ import annotations

import re

import pytest

SINE = "HloModule s\n\nENTRY e {\n  p = f32[2] parameter(0)\n  a = f32[2] abs(p)\n  ROOT r = f32[2] sine(a)\n}\n"

BEGINNINGS = {
    "a.html": b"<!doctype html>", "a.HTM": b"<!doctype html>", "a.svg": b"<svg ", "a.png": b"\x89PNG", "a.dot": b"digraph", "a.gv": b"digraph",
    "a.mmd": b"flowchart", "a.mermaid": b"flowchart",
}  # fmt: skip


@pytest.fixture
def sine(file_of):
    return file_of("sine.hlo", SINE)


@pytest.mark.parametrize("name", BEGINNINGS)
def test_format_of_the_output(cli, sine, tmp_path, name):
    result = cli("graph", sine, "-o", tmp_path / name)
    assert (result.exit_code, result.output) == (0, "")
    assert (tmp_path / name).read_bytes().startswith(BEGINNINGS[name])


@pytest.mark.parametrize(("format_name", "beginning"), [("html", b"<!doctype html>"), ("png", b"\x89PNG"), ("mermaid", b"flowchart")])
def test_format_by_option(cli, sine, tmp_path, format_name, beginning):
    assert cli("graph", sine, "--format", format_name).stdout_bytes.startswith(beginning)
    assert cli("graph", "-", "--format", format_name, stdin=SINE).stdout_bytes.startswith(beginning)
    assert cli("graph", sine, "--format", format_name, "-o", tmp_path / "picture").exit_code == 0
    assert (tmp_path / "picture").read_bytes().startswith(beginning)


def test_the_default_is_a_page(cli, sine):
    assert cli("graph", sine).stdout.startswith("<!doctype html>")
    assert cli("graph", stdin=SINE).stdout.startswith("<!doctype html>")


def names(text: str) -> list[str]:
    return re.findall(r'\["(\w+)<br/>', text)


def test_selections(cli, sine):
    assert names(cli("graph", sine, "--format", "mermaid", "--around", "r", "--depth", "1").stdout) == ["a", "r"]
    assert names(cli("graph", sine, "--format", "mermaid", "--around", "r").stdout) == ["p", "a", "r"]
    assert names(cli("graph", sine, "--format", "mermaid", "--path", "p", "a").stdout) == ["p", "a"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--around", "rr"), "has no instruction 'rr'; did you mean 'r'?"),
        (("--path", "r", "p"), "'r' depends on 'p'; swap the two names"),
        (("--computation", "body"), "module 's' has no computation 'body'"),
        (("--depth", "2"), "--depth requires --around"),
        (("--around", "r", "--path", "p", "r"), "--around and --path cannot be combined"),
        (("-o", "picture.jpg"), "'picture.jpg' has none of the suffixes .html, .htm, .svg"),
        (("--format", "htm"), "Did you mean 'html'?"),
        (("--color-by", "opcodes"), "Did you mean 'opcode'?"),
    ],
)
def test_errors(cli, sine, words, message):
    result = cli("graph", sine, *words)
    assert result.exit_code == 2
    assert message in re.sub(r"\s+", " ", result.stderr)
    assert result.stdout == ""


def test_output_must_not_be_the_input(cli, sine):
    result = cli("graph", sine, "--format", "svg", "-o", sine)
    assert result.exit_code == 2
    assert "it is an input" in result.stderr
    assert sine.read_text() == SINE


def test_nothing_is_written_after_an_error(cli, bad, tmp_path):
    result = cli("graph", bad, "-o", tmp_path / "a.svg")
    assert result.exit_code == 2
    assert "q" in result.stderr
    assert not (tmp_path / "a.svg").exists()


def test_several_modules(cli, file_of):
    result = cli("graph", file_of("two.hlo", f"{SINE}// -----\n{SINE}"), "--format", "dot")
    assert result.exit_code == 2
    assert "contains 2 modules, which begin on lines 1, 9; a picture shows one module" in result.stderr
