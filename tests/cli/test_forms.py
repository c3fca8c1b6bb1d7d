"""The options `--legacy` and `--extract` of the commands that read modules."""

from __future__ import annotations

import pytest

import hlotool

OLD = "HloModule old\n\nENTRY e {\n  p = f32[2]{0} parameter(0)\n  ROOT q = pred[2]{0} less-than(p, p)\n}\n"
NEW = OLD.replace("less-than(p, p)", "compare(p, p), direction=LT")
PAGE = f"# Two modules\n\n```\n{NEW}```\n\nand `HloModule m`:\n\n> HloModule broken\n> ENTRY e {{\n>   ROOT p = f32[2] foo(0)\n> }}\n"


@pytest.fixture
def old(file_of):
    return file_of("old.hlo", OLD)


@pytest.fixture
def page(file_of):
    return file_of("page.md", PAGE)


def test_old_spellings_are_errors_with_a_hint(cli, old):
    result = cli("verify", old)
    assert result.exit_code == 1
    assert "now: compare(a, b), direction=LT; read it with --legacy" in result.stdout


def test_old_spellings_are_warnings_with_legacy(cli, old):
    result = cli("verify", "--legacy", "--output-format", "concise", old)
    assert result.exit_code == 1
    assert [line.split(": ")[1] for line in result.stdout.splitlines()] == ["warning[W060] obsolete-spelling"]
    assert cli("verify", "--legacy", "--ignore", "W060", old).exit_code == 0


def test_fix_writes_the_current_spelling(cli, old):
    result = cli("verify", "--legacy", "--fix", old)
    assert (result.exit_code, old.read_text()) == (0, NEW)
    assert "1 finding fixed in 1 file" in result.stderr


def test_fmt_and_print_write_the_current_spelling(cli, old):
    assert "compare(%p, %p), direction=LT" in cli("print", "--legacy", old).stdout
    assert cli("fmt", "--legacy", old).exit_code == 0
    assert old.read_text() == NEW


def test_run_accepts_old_spellings(cli, old):
    assert cli("run", old).exit_code == 2
    assert "[False False]" in cli("run", "--legacy", "--input", "p={1,2}", old).stdout


def test_findings_in_a_page_have_the_lines_of_the_page(cli, page):
    result = cli("verify", "--extract", "--output-format", "concise", page)
    assert result.exit_code == 1
    assert result.stdout.startswith(f"{page}:16:21: error[S012]")
    assert result.stdout.count("\n") == 1


def test_modules_are_printed_without_the_page(cli, page):
    for command in ("fmt", "print"):
        result = cli(command, "--extract", page)
        assert result.exit_code == 2
        assert "direction=LT" in result.stdout
        assert "unknown opcode" in result.stderr
    assert page.read_text() == PAGE
    assert "[False False]" in cli("run", "--extract", "--input", "p={1,2}", page).stdout


def test_run_names_the_lines_of_several_modules(cli, tmp_path):
    path = tmp_path / "two.log"
    path.write_text(f"x\n{NEW}{NEW}")
    result = cli("run", "--extract", path)
    assert result.exit_code == 2
    assert "contains 2 modules, which begin on lines 2, 8" in result.stderr


@pytest.mark.parametrize(
    "options",
    [
        ("verify", "--extract", "--fix"),
        ("verify", "--extract", "--add-ignore"),
        ("verify", "--legacy", "--add-ignore"),
        ("fmt", "--legacy", "--lines", "5:5"),
        ("fmt", "--legacy", "--range", "5:5", "--check"),
        ("fmt", "--extract", "--check"),
        ("fmt", "--extract", "--diff"),
    ],
)
def test_pages_are_not_rewritten(cli, page, options):
    assert cli(*options, page).exit_code == 2
    assert page.read_text() == PAGE


def test_old_spellings_are_formatted_as_a_whole(cli, old):
    before = old.read_text()
    result = cli("fmt", "--legacy", "--lines", "5:5", old)
    assert (result.exit_code, old.read_text()) == (2, before)
    assert "--legacy changes old spellings on all lines; it cannot be combined with --range" in result.stderr
    with pytest.raises(ValueError, match="legacy=True changes old spellings on all lines"):
        hlotool.format_text(before, lines=(5, 5), legacy=True)


def test_a_file_without_modules_is_an_error(cli, tmp_path):
    path = tmp_path / "empty.md"
    path.write_text("no HLO here\n")
    for command in ("verify", "fmt", "print", "run", "opt"):
        result = cli(command, "--extract", path)
        assert result.exit_code == 2
        assert "has no module to extract" in result.stderr


@pytest.mark.parametrize("text", ["ENTRY e { ROOT p = f32[] parameter(0) }\n", "HloModule m\n\nENTRY e\n"])
def test_messages_about_unextracted_text_are_consistent(cli, text):
    result = cli("print", "--extract", "-", stdin=text)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "hlotool: '<stdin>' has no module to extract: no `HloModule name` before lines with a computation, "
        "and no line `ENTRY name {` before a line with an instruction\n"
    )
