"""`hlotool diff` with two folders: pairing, output, formats and errors."""

from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path

import pytest
from schemas import check_schema

import hlotool
from hlotool.cli.diff.diff_folders import SCHEMA as SCHEMA_NAME
from hlotool.differ.folders.module_pairing import pair_up
from hlotool.workspace.modules import modules_or_error

DIFFER = Path(hlotool.__file__).parent / "differ"
SCHEMA, DIFF_SCHEMA = (json.loads((DIFFER / name).read_text(encoding="utf-8")) for name in ("folders.schema.json", "diff.schema.json"))


def chain(*opcodes: str, name: str = "m", size: int = 8) -> str:
    """Returns a module that applies elementwise operations to its parameter in turn."""
    shape = f"f32[{size}]"
    lines = [f"  {opcode}.{k} = {shape} {opcode}({f'{opcodes[k - 1]}.{k - 1}' if k else 'p'})\n" for k, opcode in enumerate(opcodes)]
    lines[-1] = f"  ROOT {lines[-1].lstrip()}"
    return f"HloModule {name}\n\nENTRY main {{\n  p = {shape} parameter(0)\n{''.join(lines)}}}\n"


SMALL = chain("tanh", "negate", "abs", name="small")
LARGE = chain("sine", "cosine", "exponential", "log", "sqrt", "rsqrt", name="large")
OTHER = chain("floor", "ceil", name="other")


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Returns a function that fills the folders `before` and `after` in the working directory."""
    monkeypatch.chdir(tmp_path)

    def make(before: dict[str, str], after: dict[str, str]) -> tuple[str, str]:
        for folder, texts in (("before", before), ("after", after)):
            (tmp_path / folder).mkdir()
            for name, text in texts.items():
                (tmp_path / folder / name).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / folder / name).write_text(text)
        return "before", "after"

    return make


def rename_all(text: str) -> str:
    return re.sub(r"\b(\w+)\.(\d)\b", r"\1.7\2", text)


def test_modules_are_paired_by_content(cli, folders):
    pair = folders(
        {"module_0001.jit_f.txt": SMALL, "module_0002.jit_f.txt": LARGE, "module_0003.jit_g.txt": OTHER},
        {"module_0001.jit_f.txt": LARGE.replace("log(", "log-plus-one("), "module_0002.jit_f.txt": SMALL, "module_0004.jit_g.txt": OTHER},
    )
    result = cli("diff", *pair)
    assert (result.exit_code, result.stderr) == (1, "")
    assert result.stdout == (
        "1 of 3 modules differs\n\n~ module_0002.jit_f.txt -> module_0001.jit_f.txt\n    1 instruction changed (log -> log-plus-one)\n"
    )


def test_exit_codes(cli, folders, tmp_path):
    before, after = folders({"a.hlo": SMALL, "b.hlo": LARGE}, {"c.hlo": rename_all(SMALL), "b.hlo": LARGE})
    same = cli("diff", before, before)
    assert (same.exit_code, same.stdout, same.stderr) == (0, "", "")
    names = cli("diff", before, after)
    assert (names.exit_code, names.stdout) == (1, "1 of 2 modules is equal except for names\n")
    assert cli("diff", before, after, "--ignore", "names").exit_code == 0
    # If both names and metadata are ignored, the modules are not even compared.
    assert cli("diff", before, after, "--ignore", "names,metadata").exit_code == 0
    quiet = cli("diff", before, after, "--quiet")
    assert (quiet.exit_code, quiet.stdout) == (1, "")
    (tmp_path / "after" / "d.hlo").write_text(OTHER)
    more = cli("diff", before, after, "--ignore", "names")
    assert (more.exit_code, more.stdout) == (1, "2 modules are equal, 1 only in after\n\n+ d.hlo: 3 instructions\n")


def test_modules_of_one_folder_only(cli, folders):
    pair = folders({"a.hlo": SMALL, "old.hlo": OTHER}, {"sub/a.hlo": SMALL.replace("abs(", "sign("), "new.hlo": LARGE})
    assert cli("diff", *pair).stdout == (
        "1 of 1 module differs, 1 only in before, 1 only in after\n"
        "\n"
        "~ a.hlo -> sub/a.hlo\n"
        "    1 instruction changed (abs -> sign)\n"
        "- old.hlo: 3 instructions\n"
        "+ new.hlo: 7 instructions\n"
    )
    assert cli("diff", *pair, "--name-only").stdout == "~ a.hlo -> sub/a.hlo\n- old.hlo\n+ new.hlo\n"


def test_equal_changes_are_shown_once(cli, folders):
    count = 100
    texts = {f"m{k:03}.hlo": chain("tanh", "abs", size=k + 1) for k in range(count)}
    pair = folders(texts, {name: text.replace("abs(", "sign(") for name, text in texts.items()})
    short = cli("diff", *pair).stdout
    assert short.startswith("100 of 100 modules differ\n\n~ m000.hlo\n    1 instruction changed (abs -> sign)\n")
    assert "    ... and the same in 99 other modules: m001.hlo, m002.hlo," in short
    assert len(short.splitlines()) == 5
    assert cli("diff", *pair, "--show-all").stdout.count("abs -> sign") == count
    assert cli("diff", *pair, "--stat").stdout.count(" |     1 ~\n") == count


def test_the_report_on_many_changes_is_short(cli, folders):
    """Checks that the report is short even if all modules differ, each in a different way."""
    count = 100
    texts = {f"m{k:03}.hlo": chain("tanh", "abs", size=k + 1, name=f"m{k}") for k in range(count)}
    others = dict.fromkeys((f"n{k:03}.hlo" for k in range(count)), "HloModule n\nENTRY e { ROOT p = s8[] parameter(0) }")
    pair = folders(texts, {**{name: text.replace(f"f32[{k + 1}]", f"f32[{k + 1001}]") for k, (name, text) in enumerate(texts.items())}, **others})
    lines = cli("diff", *pair).stdout.splitlines()
    assert lines[0] == "100 of 100 modules differ, 100 only in after"
    assert "... 60 more modules that differ not shown (--show-all)" in lines
    assert lines[-1] == "  ... and 80 more (--show-all)"
    assert len(lines) < 120
    everything = cli("diff", *pair, "--show-all").stdout
    assert everything.count("~ m") == everything.count("+ n") == count


def test_details(cli, folders):
    pair = folders({"a.hlo": SMALL}, {"a.hlo": SMALL.replace("abs(", "sign(")})
    assert cli("diff", *pair, "--details").stdout == (
        "1 of 1 module differs\n"
        "\n"
        "~ a.hlo\n"
        "    1 instruction changed (abs -> sign)\n"
        "\n"
        "    main (ENTRY)\n"
        "      - ROOT abs.2 = f32[8] abs(negate.1)\n"
        "      + ROOT abs.2 = f32[8] sign(negate.1)\n"
        "          opcode: abs -> sign\n"
        "\n"
    )


def test_which_differences_count(cli, folders):
    pair = folders({"a.hlo": SMALL}, {"a.hlo": SMALL.replace("abs(", "sign(")})
    assert cli("diff", *pair, "--ignore", "opcode").exit_code == 0
    assert cli("diff", *pair, "--only", "shape").exit_code == 0


def test_selected_files(cli, folders, tmp_path):
    pair = folders({"a.hlo": SMALL, "notes.txt": "no module", ".hidden/x.hlo": LARGE}, {"a.hlo": SMALL, "drafts/b.hlo": OTHER})
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("*.hlo\n")
    assert cli("diff", *pair).stdout.startswith("1 module is equal, 1 only in after")
    assert cli("diff", *pair, "--exclude", "drafts").exit_code == 0
    assert cli("diff", *pair, "--include", "a.*").exit_code == 0


def test_files_that_cannot_be_read(cli, folders, tmp_path):
    pair = folders({"a.hlo": SMALL, "bad.hlo": SMALL.replace("abs(negate.1)", "abs(nothing)")}, {"a.hlo": SMALL.replace("abs(", "sign(")})
    (tmp_path / "after" / "cut.hlo.gz").write_bytes(gzip.compress(LARGE.encode())[:-9])
    result = cli("diff", *pair)
    assert result.exit_code == 2
    assert "before/bad.hlo:7:" in result.stderr
    assert "cut.hlo.gz" in result.stderr
    assert "1 instruction changed (abs -> sign)" in result.stdout


@pytest.mark.parametrize("folder", ["before", "after"])
def test_files_that_vanish(cli, folders, tmp_path, monkeypatch, folder):
    """Checks that a file that can no longer be read counts as neither equal nor different."""
    pair = folders({"a.hlo": SMALL, "b.hlo": LARGE}, {"a.hlo": SMALL, "b.hlo": rename_all(LARGE)})

    def pair_up_late(left, right):
        (tmp_path / folder / "b.hlo").unlink()
        return pair_up(left, right)

    monkeypatch.setattr("hlotool.cli.diff.diff_folders.pair_up", pair_up_late)
    result = cli("diff", *pair, "--output-format", "json")
    assert result.exit_code == 2
    assert f"{folder}/b.hlo" in result.stderr
    assert json.loads(result.stdout)["equal"] == [["a.hlo", "a.hlo"]]


def test_equal_files_are_parsed_once(cli, folders, monkeypatch):
    texts = {f"m{k}.hlo": chain("tanh", "abs", size=k + 1) for k in range(4)}
    pair = folders(texts, {f"other{name}": text for name, text in texts.items()})
    parsed = []

    def record_modules_or_error(text, name, form):
        parsed.append(name)
        return modules_or_error(text, name, form)

    monkeypatch.setattr("hlotool.workspace.comparing.modules_or_error", record_modules_or_error)
    assert cli("diff", *pair).exit_code == 0
    assert parsed == [f"before/m{k}.hlo" for k in range(4)]
    # A second command does not reuse the results of the first.
    assert cli("diff", *pair).exit_code == 0
    assert len(parsed) == 8


def test_several_modules_in_a_file(cli, folders):
    pair = folders({"all.hlo": f"{SMALL}// -----\n{LARGE}"}, {"a.hlo": SMALL, "b.hlo": LARGE.replace("log(", "log-plus-one(")})
    shown = cli("diff", *pair).stdout
    assert shown.startswith("1 of 2 modules differs\n\n~ all.hlo:")
    assert "-> b.hlo\n    1 instruction changed (log -> log-plus-one)\n" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("before", "before/a.hlo"), "'before' is a folder and 'before/a.hlo' is not; compare two files, such as 'before/a.hlo' and 'before/a.hlo'"),
        (("before/a.hlo", "after"), "compare two files, or two folders"),
        (("before",), "expected two modules or two folders, A and B, found 1; for the dumps of passes, use --passes"),
        (("before", "after", "after"), "found 3; for the dumps of passes, use --passes"),
        (("before", "after", "--output-format", "html"), "html applies to two modules; for folders and passes, use one of text, json, markdown"),
        (("before", "after", "--semantic"), "--semantic runs two modules"),
        (("before", "after", "--details", "--stat"), "--details shows differences, and --stat does not"),
        (("before", "after", "--until", "opcode"), "--until requires --passes"),
        (("before/a.hlo", "before/a.hlo", "--details"), "--details applies to folders and passes"),
        (("before", "after", "--ignore", "nams"), "did you mean 'names'?"),
    ],
)
def test_usage(cli, folders, arguments, message):
    folders({"a.hlo": SMALL}, {"b.hlo": SMALL})
    result = cli("diff", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_an_output_never_replaces_an_input(cli, folders, tmp_path):
    pair = folders({"a.hlo": SMALL}, {"a.hlo": LARGE})
    assert cli("diff", *pair, "-o", "after/a.hlo").exit_code == 2
    assert (tmp_path / "after" / "a.hlo").read_text() == LARGE
    result = cli("diff", *pair, "-o", "out.txt")
    assert (result.exit_code, result.stdout) == (1, "")
    assert (tmp_path / "out.txt").read_text() == cli("diff", *pair).stdout


def test_empty_folders(cli, folders):
    before, after = folders({}, {"a.hlo": SMALL})
    result = cli("diff", before, after)
    assert (result.exit_code, result.stdout) == (1, "1 module only in after\n\n+ a.hlo: 4 instructions\n")
    assert "no HLO files in 'before'" in result.stderr


def test_no_file_on_one_side(cli, file_of):
    """Compares a file with /dev/null, which git passes for the missing side of a new file."""
    path = file_of("a.hlo", SMALL)
    assert cli("diff", os.devnull, path).stdout == "1 module added\n\n+ a.hlo: 4 instructions\n"
    assert cli("diff", path, os.devnull).stdout == "1 module deleted\n\n- a.hlo: 4 instructions\n"


def test_json(cli, folders):
    pair = folders({"a.hlo": SMALL, "b.hlo": LARGE, "c.hlo": OTHER}, {"x.hlo": SMALL, "y.hlo": LARGE.replace("log(", "log-plus-one(")})
    result = cli("diff", *pair, "--output-format", "json")
    document = json.loads(result.stdout)
    check_schema(document, SCHEMA)
    assert (result.exit_code, document["schema"], document["differs"]) == (1, SCHEMA_NAME, True)
    assert (document["left"], document["right"]) == ({"folder": "before", "modules": 3}, {"folder": "after", "modules": 2})
    assert document["equal"] == [["a.hlo", "x.hlo"]]
    assert document["left_only"] == [{"file": "c.hlo", "module": "other", "instructions": 3}]
    (changed,) = document["changed"]
    check_schema(changed["diff"], DIFF_SCHEMA)
    assert changed["diff"]["left"].pop("file").endswith("b.hlo")
    assert changed["diff"]["right"].pop("file").endswith("y.hlo")
    assert changed["diff"] == hlotool.diff(hlotool.parse(LARGE), hlotool.parse(LARGE.replace("log(", "log-plus-one("))).to_dict()


def test_markdown(cli, folders):
    pair = folders({"a.hlo": SMALL, "b_1.hlo": OTHER}, {"a.hlo": SMALL.replace("abs(", "sign("), "sub/c.hlo": LARGE})
    text = cli("diff", *pair, "--output-format", "markdown").stdout
    assert text == (
        "### before → after\n"
        "\n"
        "1 of 1 module differs, 1 only in before, 1 only in after\n"
        "\n"
        "| module | instructions | changes |\n"
        "| --- | --- | --- |\n"
        "| a.hlo | 4 | 1 instruction changed (abs -\\> sign) |\n"
        "| b\\_1.hlo | 3 | only in before |\n"
        "| sub/c.hlo | 7 | only in after |\n"
    )
    details = cli("diff", *pair, "--output-format", "markdown", "--details").stdout
    assert "<details><summary>a.hlo</summary>" in details
    assert "-   ROOT abs.2 = f32[8] abs(negate.1)\n+   ROOT abs.2 = f32[8] sign(negate.1)\n" in details


def test_markdown_fits_into_a_comment(cli, folders):
    names = [f"{k:04}{'x' * 60}.hlo" for k in range(700)]
    pair = folders(dict.fromkeys(names, SMALL), {})
    text = cli("diff", *pair, "--output-format", "markdown").stdout
    assert len(text) < 65_536
    assert re.search(r"\.\.\. and \d+ more\.\n$", text)


def test_names_with_line_breaks(cli, folders):
    pair = folders({"a\nb.hlo": SMALL}, {})
    assert "\n| a\\\\nb.hlo | 4 | only in before |\n" in cli("diff", *pair, "--output-format", "markdown").stdout
    assert "- a\\nb.hlo: 4 instructions\n" in cli("diff", *pair).stdout


def test_results_do_not_depend_on_jobs(process, folders, tmp_path):
    texts = {f"m{k}.hlo": chain("tanh", "abs", size=k + 1) for k in range(5)}
    pair = folders({**texts, "bad.hlo": "HloModule"}, {name: text.replace("abs(", "sign(") for name, text in texts.items()})
    one, two = (process("diff", *pair, "--show-all", "-j", jobs, cwd=tmp_path) for jobs in ("1", "2"))
    assert one.stdout.count("abs -> sign") == 5
    assert (one.returncode, one.stdout, one.stderr) == (two.returncode, two.stdout, two.stderr)


def test_highlights_of_details(cli, folders):
    """Checks that indented lines have the same highlights as the lines of a single comparison."""
    pair = folders({"a.hlo": SMALL}, {"a.hlo": SMALL.replace("abs(", "sign(")})
    plain = cli("diff", "before/a.hlo", "after/a.hlo", "--color", "always", "--no-pager").stdout.splitlines()
    details = cli("diff", *pair, "--details", "--color", "always", "--no-pager").stdout.splitlines()
    marks = re.compile(r"\x1b\[7m\w+")
    highlighted = [marks.findall(line) for line in plain if "\x1b[7m" in line]
    assert highlighted
    assert [marks.findall(line) for line in details if "\x1b[7m" in line] == highlighted


def test_names_are_escaped_and_colored(cli, folders):
    pair = folders({"a\x1b[31m.hlo": SMALL}, {"a\x1b[31m.hlo": SMALL.replace("abs(", "sign(")})
    assert "\x1b" not in cli("diff", *pair).stdout
    assert "\x1b[33m~ a\\x1b[31m.hlo\x1b[0m\n" in cli("diff", *pair, "--color", "always").stdout
