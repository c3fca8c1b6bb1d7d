"""`hlotool verify`: formats, exit codes, folders, colors and summary."""

from __future__ import annotations

import gzip
import json
from dataclasses import asdict

import pytest

import hlotool
from hlotool.cli.rendering.render import FORMATS, Style, wants_color
from hlotool.errors import Diagnostic
from hlotool.workspace.findings import FileFinding

FAULTY = "HloModule bad\n\nENTRY e {\n  p = f32[2] parameter(0)\n  ROOT r = f32[2] negate(q)\n}\n"


def test_clean(cli, good):
    result = cli("verify", good)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "1 file checked, no findings\n", "")


def test_text_shows_the_line(cli, bad):
    result = cli("verify", bad)
    assert result.exit_code == 1
    assert result.stdout == (
        "error[S002] undefined-operand: no instruction named 'q' in computation 'e'\n"
        f" --> {bad}:5:26\n"
        "  |\n"
        "5 |   ROOT r = f32[2] negate(q)\n"
        "  |                          ^\n"
        "  = hint: define it above; if this is an excerpt, complete it\n"
        "\n"
        "1 file checked, 1 error in 1 file\n"
    )


def test_concise_is_the_diagnostic(cli, bad):
    with pytest.raises(hlotool.ParseError) as caught:
        hlotool.parse_file(bad)
    result = cli("verify", "--output-format", "concise", bad)
    assert result.exit_code == 1
    assert result.stdout == f"{caught.value.diagnostics[0]}\n"
    assert result.stderr == "hlotool: 1 file checked, 1 error in 1 file\n"


def test_json_has_the_fields_of_diagnostic(cli, good, bad):
    result = cli("verify", "--output-format", "json", good, bad)
    assert result.exit_code == 1
    with pytest.raises(hlotool.ParseError) as caught:
        hlotool.parse_file(bad)
    assert json.loads(result.stdout) == [{**asdict(d), "notes": list(d.notes), "others": list(d.others)} for d in caught.value.diagnostics]
    assert json.loads(cli("verify", "--output-format", "json", good).stdout) == []


def test_github_annotations(cli, bad):
    result = cli("verify", "-q", "--output-format", "github", bad)
    assert result.stdout == (
        f"::error file={bad},line=5,endLine=5,col=26,endColumn=27,title=S002 undefined-operand::no instruction named 'q' in computation 'e'"
        "%0Ahint: define it above; if this is an excerpt, complete it\n"
    )


def test_github_escapes():
    diagnostic = Diagnostic("S001", "syntax-error", "warning", "100%\nof it", "a,b:c.hlo")
    (text,) = FORMATS["github"]([FileFinding(diagnostic, "")], Style())
    assert text.startswith("::warning file=a%2Cb%3Ac.hlo,line=1")
    assert text.endswith("::100%25%0Aof it\n")


@pytest.mark.parametrize("output_format", FORMATS)
def test_quiet(cli, bad, output_format):
    assert "checked" not in cli("verify", "-q", "--output-format", output_format, bad).output
    result = cli("verify", "-qq", "--output-format", output_format, bad)
    assert (result.exit_code, result.output) == (1, "")


def test_other_files_are_checked_after_a_bad_one(cli, good, bad, tmp_path):
    (tmp_path / "nul.hlo").write_bytes(b"\0" * 10)
    result = cli("verify", tmp_path / "missing.hlo", tmp_path / "nul.hlo", bad, good)
    assert result.exit_code == 2
    assert "3 failed" not in result.stdout
    assert result.stdout.endswith("2 files checked, 1 error in 1 file, 2 failed\n")
    assert result.stderr.count("\n") == 2


def test_stdin_and_its_name(cli):
    result = cli("verify", "--output-format", "concise", "-", stdin=FAULTY)
    assert result.stdout.startswith("<stdin>:5:26: error[S002]")
    result = cli("verify", "--output-format", "concise", "--stdin-filename", "x.hlo", stdin=FAULTY)
    assert result.stdout.startswith("x.hlo:5:26: error[S002]")


def test_lines_of_later_modules_count_from_the_start_of_the_file(cli, tmp_path):
    path = tmp_path / "two.hlo"
    path.write_text(FAULTY + "// -----\n" + FAULTY)
    result = cli("verify", path)
    assert f"{path}:5:26" in result.stdout
    assert f"{path}:12:26" in result.stdout
    assert "12 |   ROOT r = f32[2] negate(q)" in result.stdout


def test_a_byte_order_mark_does_not_shift_positions(cli):
    result = cli("verify", stdin="\ufeffHloModule m, zork=1\nENTRY e { ROOT p = f32[] parameter(0) }\n")
    assert "<stdin>:1:14" in result.stdout
    assert "1 | HloModule m, zork=1\n  |              ^^^^\n" in result.stdout


def test_folders(cli, tmp_path, good):
    (tmp_path / "deep" / ".hidden").mkdir(parents=True)
    (tmp_path / "deep" / "b.hlo").write_text(FAULTY)
    (tmp_path / "deep" / "dump.txt").write_text("// a comment\n/* and\nanother */ HloModule bad\n" + FAULTY.partition("\n")[2])
    (tmp_path / "deep" / "dump.txt.gz").write_bytes(gzip.compress(FAULTY.encode()))
    (tmp_path / "deep" / "notes.txt").write_text("HloModules are fun\n")
    (tmp_path / "deep" / "binary.txt").write_bytes(b"\0\1\2")
    (tmp_path / "deep" / "other.py").write_text("HloModule no\n")
    (tmp_path / "deep" / ".hidden" / "c.hlo").write_text(FAULTY)
    result = cli("verify", "--output-format", "concise", tmp_path)
    names = [line.partition(":")[0].removeprefix(f"{tmp_path}/") for line in result.stdout.splitlines()]
    assert names == ["deep/b.hlo", "deep/dump.txt", "deep/dump.txt.gz"]
    assert result.stderr == "hlotool: 4 files checked, 3 errors in 3 files\n"
    assert good.parent == tmp_path


def test_an_empty_folder_is_reported(cli, tmp_path):
    result = cli("verify", tmp_path)
    assert result.exit_code == 0
    assert result.stderr == f"hlotool: no HLO files in '{tmp_path}'\n"


# ---- rendering --------------------------------------------------------------------------------------------------------


def render(line: str, column: int, end_column: int, width: int = 60, **changes: object) -> list[str]:
    diagnostic = Diagnostic("S001", "syntax-error", "error", "message", "m.hlo", 7, column, 7, end_column, **changes)  # type: ignore[arg-type]
    return "".join(FORMATS["text"]([FileFinding(diagnostic, line)], Style(width))).splitlines()


@pytest.mark.parametrize("at", [0, 30, 50_000, 99_990])
def test_long_lines_are_truncated_around_the_position(at):
    line = "x" * at + "!?" + "y" * (100_000 - at)
    shown, marks = render(line, at + 1, at + 3)[3:5]
    assert len(shown) <= 60
    assert shown[marks.index("^") :].startswith("!?")
    assert marks.count("^") == 2


def test_a_position_after_the_end_of_the_line():
    shown, marks = render("abc", 10, 11)[3:5]
    assert (shown, marks) == ("7 | abc", "  |    ^")


def test_marks_align_below_tabs_and_wide_characters():
    shown, marks = render("\ta\N{CJK UNIFIED IDEOGRAPH-4E2D}(b)", 5, 6)[3:5]
    assert shown == "7 |  a\N{CJK UNIFIED IDEOGRAPH-4E2D}(b)"
    assert marks == "  |      ^"


def test_control_characters_never_reach_a_terminal():
    text = "\n".join(render("a\x1b[31mb\u202e", 1, 2, hint="\x07bell"))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\\x07bell" in text


def test_notes_and_hint():
    assert render("a", 1, 2, notes=("one", "two"), hint="three")[5:] == ["  = note: one", "  = note: two", "  = hint: three", ""]


def test_a_span_over_several_lines_is_marked_to_the_end_of_the_first():
    diagnostic = Diagnostic("S001", "syntax-error", "error", "message", "m.hlo", 7, 3, 9, 1)
    text = "".join(FORMATS["text"]([FileFinding(diagnostic, "a (bc d")], Style()))
    assert "  |   ^^^^^\n" in text


@pytest.mark.parametrize(
    ("choice", "environment", "terminal", "wanted"),
    [
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {}, True, False),
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"TERM": "dumb"}, True, False),
    ],
)
def test_color_settings(monkeypatch, choice, environment, terminal, wanted):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    class Stream:
        def isatty(self):
            return terminal

    assert wants_color(choice, Stream()) is wanted


@pytest.mark.parametrize("output_format", ["text", "concise"])
def test_colors(cli, bad, output_format):
    plain = cli("verify", "--color", "never", "--output-format", output_format, bad).stdout
    painted = cli("verify", "--color", "always", "--output-format", output_format, bad).stdout
    assert "\x1b[" not in plain
    assert "\x1b[31m" in painted


def test_width_follows_columns(cli, monkeypatch, tmp_path):
    path = tmp_path / "long.hlo"
    path.write_text(FAULTY.replace("negate(q)", "negate(q), metadata={op_name=" + '"' + "x" * 500 + '"}'))
    monkeypatch.setenv("COLUMNS", "70")
    assert max(map(len, cli("verify", path).stdout.splitlines()[2:])) <= 70


WRONG = "ENTRY e {\n  p = f32[4] parameter(0)\n  a = f32[5] negate(p)\n  ROOT b = s32[3] convert(p)\n}\n"


@pytest.mark.parametrize(
    ("options", "codes"),
    [
        ((), ["T003", "T100"]),
        (("--select", "T1,C"), ["T100"]),
        (("--select", "T003", "--select", "T100"), ["T003", "T100"]),
        (("--ignore", "result-shape"), ["T100"]),
        (("--select", "C"), []),
    ],
)
def test_rules_are_selected(cli, tmp_path, options, codes):
    path = tmp_path / "wrong.hlo"
    path.write_text(WRONG)
    result = cli("verify", "--output-format", "json", *options, path)
    assert [d["code"] for d in json.loads(result.stdout)] == codes
    assert result.exit_code == bool(codes)


def test_unknown_codes_are_usage_errors(cli, good):
    result = cli("verify", "--select", "T999", good)
    assert result.exit_code == 2
    assert "no rule is called 'T999'" in result.stderr


def test_a_faulty_module_does_not_hide_the_others(cli, tmp_path):
    path = tmp_path / "both.hlo"
    path.write_text(FAULTY + "// -----\n" + WRONG)
    result = cli("verify", "--output-format", "concise", path)
    assert [line.split(":")[1] for line in result.stdout.splitlines()] == ["5", "10", "11"]
