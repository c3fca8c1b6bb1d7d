"""Output formats of `hlotool verify` that other programs read."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from hlotool.cli.rendering.render import FORMATS, Style
from hlotool.codes import CODE_NAMES, FAMILIES
from hlotool.errors import Diagnostic, Edit, Fix
from hlotool.workspace.findings import FileFinding

ROOT = Path(__file__).resolve().parents[2]
NASTY = '100% <b>&"it\'s" | `x`\n\x1b[31m\udcff é]]>'
DIAGNOSTICS = [
    Diagnostic("T003", "result-shape", "error", "'a' is wrong", "dir/a b.hlo", 3, 7, 3, 13, "write f32[4]", ("see 2:3",), "e", "a", "op", "m.py", 7),
    Diagnostic("T003", "result-shape", "error", "'a' is wrong", "dir/a b.hlo", 9, 7, 9, 13, None, (), "e", "a"),
    Diagnostic("W050", "unused-suppression", "warning", NASTY, "z.hlo", 1, 2, 2, 1, fix=Fix((Edit(3, 9, "x"),), "remove it")),
    Diagnostic("S047", "non-ascii-or-tab", "info", "odd", "z.hlo", 4, 3, 4, 4),
]
LINES = ["  a = f32[5] negate(p)", "  a = f32[5] negate(p)", "one", "\N{GREEK SMALL LETTER ALPHA}\N{GREEK SMALL LETTER BETA}c"]


def render(name: str, diagnostics: list[Diagnostic] = DIAGNOSTICS) -> str:
    return "".join(FORMATS[name]((FileFinding(d, line) for d, line in zip(diagnostics, LINES, strict=False)), Style()))


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_accepts_any_diagnostic(name):
    text = render(name)
    assert text == render(name)
    assert text.isascii() or name in {"text", "concise", "markdown", "github", "junit"}
    assert "\x1b" not in text
    assert isinstance(render(name, []), str)


def test_json_lines():
    records = [json.loads(line) for line in render("jsonl").splitlines()]
    assert records == json.loads(render("json"))
    assert records[0]["source_line"] == 7
    assert records[2]["fix"] == {"title": "remove it", "is_safe": True, "edits": [{"start": 3, "end": 9, "text": "x"}]}


def test_github_keeps_one_line_each():
    lines = render("github").splitlines()
    assert [line.split()[0] for line in lines] == ["::error", "::error", "::warning", "::notice"]
    assert lines[0].endswith("::'a' is wrong%0Asee 2:3%0Ahint: write f32[4]")


def test_gitlab_fingerprints_are_unique():
    records = json.loads(render("gitlab"))
    assert len({record["fingerprint"] for record in records}) == len(records)
    assert records[0] == {
        "description": "result-shape: 'a' is wrong",
        "check_name": "T003",
        "fingerprint": records[0]["fingerprint"],
        "severity": "major",
        "location": {"path": "dir/a b.hlo", "lines": {"begin": 3}},
    }
    assert re.fullmatch("[0-9a-f]{32}", records[1]["fingerprint"])
    moved = [Diagnostic("T003", "result-shape", "error", "'a' is wrong", "dir/a b.hlo", 77, 7, 3, 13, None, (), "e", "a")]
    assert json.loads(render("gitlab", moved))[0]["fingerprint"] == records[0]["fingerprint"]
    assert json.loads(render("gitlab", [])) == []


def test_rdjson_counts_bytes():
    report = json.loads(render("rdjson"))
    assert report["source"] == {"name": "hlotool"}
    assert [d["severity"] for d in report["diagnostics"]] == ["ERROR", "ERROR", "WARNING", "INFO"]
    assert report["diagnostics"][3]["location"]["range"] == {"start": {"line": 4, "column": 5}, "end": {"line": 4, "column": 6}}
    assert json.loads(render("rdjson", [])) == {"source": {"name": "hlotool"}, "diagnostics": []}


def test_junit_is_xml():
    root = ElementTree.fromstring(render("junit"))
    assert root.attrib == {"name": "hlotool", "tests": "4", "failures": "3", "errors": "0", "skipped": "1"}
    assert [(suite.get("name"), len(suite)) for suite in root] == [("dir/a b.hlo", 2), ("z.hlo", 2)]
    assert [child.tag for case in root[1] for child in case] == ["failure", "skipped"]
    failure = root[1][0][0]
    assert failure.get("message", "").startswith('100% <b>&"it\'s" | `x`\\n\\x1b[31m\\udcff')
    assert ElementTree.fromstring(render("junit", [])).get("tests") == "0"


def test_junit_has_files_that_pass(cli, good, bad):
    root = ElementTree.fromstring(cli("verify", "-q", "--output-format", "junit", good, bad).stdout)
    assert [(suite.get("name"), suite.get("tests"), suite.get("failures")) for suite in root] == [(str(good), "1", "0"), (str(bad), "1", "1")]
    (case,) = root[0]
    assert (case.get("name"), len(case)) == ("no findings", 0)


def test_markdown_has_one_row_each():
    lines = render("markdown").splitlines()
    assert len(lines) == 2 + len(DIAGNOSTICS)
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 5 for line in lines)
    assert "&lt;b&gt;" in lines[4]


def test_null_has_no_output():
    assert not render("null")


# ---- SARIF ------------------------------------------------------------------------------------------------------------

# The requirements of the SARIF 2.1.0 schema for the properties that hlotool writes: the required
# properties, their types, and lower bounds.
SARIF = {
    "": {"version": "2.1.0", "$schema": str, "runs": list},
    "run": {"tool": dict, "columnKind": ("utf16CodeUnits", "unicodeCodePoints"), "results": list},
    "driver": {"name": str, "version": str, "rules": list},
    "rule": {
        "id": str, "name": str, "shortDescription": dict, "fullDescription": dict, "helpUri": str, "help": dict, "defaultConfiguration": dict,
    },
    "result": {
        "ruleId": str, "ruleIndex": 0, "level": ("none", "note", "warning", "error"), "message": dict, "locations": list,
        "partialFingerprints": dict, "fixes": list,
    },
    "location": {"physicalLocation": dict, "logicalLocations": list},
    "region": {"startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 1},
    "deleted": {"charOffset": 0, "charLength": 0},
    "fix": {"description": dict, "artifactChanges": list},
    "change": {"artifactLocation": dict, "replacements": list},
    "replacement": {"deletedRegion": dict, "insertedContent": dict},
}  # fmt: skip
OPTIONAL = {"logicalLocations", "fixes"}


def conforms(kind: str, value: dict[str, object]) -> None:
    known = SARIF[kind]
    assert known.keys() - value.keys() <= OPTIONAL
    assert value.keys() <= known.keys()
    for name, item in value.items():
        demanded = known[name]
        if isinstance(demanded, type):
            assert isinstance(item, demanded), name
        elif isinstance(demanded, int):
            assert isinstance(item, int), name
            assert item >= demanded
        else:
            assert item in demanded, name


def test_sarif():
    log = json.loads(render("sarif"))
    conforms("", log)
    (run,) = log["runs"]
    conforms("run", run)
    driver = run["tool"]["driver"]
    conforms("driver", driver)
    ids = []
    for rule in driver["rules"]:
        conforms("rule", rule)
        ids.append(rule["id"])
        assert rule["helpUri"].startswith("https://")
        assert len(rule["fullDescription"]["text"]) > len(rule["shortDescription"]["text"])
        assert rule["help"]["text"].startswith(f"{rule['id']} {rule['name']}\n")
        assert rule["help"]["markdown"].startswith(f"## {rule['id']} ")
        assert rule["defaultConfiguration"]["level"] in {"note", "warning", "error"}
    assert ids == sorted(set(ids))
    for result in run["results"]:
        conforms("result", result)
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["message"]["text"]
        for location in result["locations"]:
            conforms("location", location)
            conforms("region", location["physicalLocation"]["region"])
            assert re.fullmatch(r"[A-Za-z0-9_.~/%\-]+", location["physicalLocation"]["artifactLocation"]["uri"])
    assert run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "dir/a%20b.hlo"
    fix = run["results"][2]["fixes"][0]
    conforms("fix", fix)
    (change,) = fix["artifactChanges"]
    conforms("change", change)
    (replacement,) = change["replacements"]
    conforms("replacement", replacement)
    conforms("deleted", replacement["deletedRegion"])
    marks = [result["partialFingerprints"]["hlotool/v1"] for result in run["results"]]
    assert len(set(marks)) == len(marks)
    assert json.loads(render("sarif", []))["runs"][0]["results"] == []


def test_sarif_describes_rules_as_the_pages_do():
    diagnostics = [Diagnostic(code, name, "error", "wrong", "m.hlo", 1) for code, name in CODE_NAMES.items()]
    text = "".join(FORMATS["sarif"]((FileFinding(d, "") for d in diagnostics), Style()))
    rules = {rule["id"]: rule for rule in json.loads(text)["runs"][0]["tool"]["driver"]["rules"]}
    assert rules.keys() == CODE_NAMES.keys()
    for code, rule in rules.items():
        page = (ROOT / "docs" / "rules" / f"{FAMILIES[code[0]][1]}.md").read_text(encoding="utf-8")
        (section,) = (part for part in page.split("\n## ") if part.startswith(f"{code} "))
        assert f"## {section}".startswith(rule["help"]["markdown"].rstrip()), code
        # The links lead to XLA's documentation, since hlotool's own rule pages are not on the web.
        assert rule["helpUri"].removeprefix("https://openxla.org/xla/") in {"aliasing", "async_ops", "hlo_dumps", "operation_semantics", "shapes"}


# ---- destinations and summaries ---------------------------------------------------------------------------------------


def test_output_is_written_to_a_file(cli, bad, tmp_path):
    report = tmp_path / "report.json"
    result = cli("verify", "--output-format", "json", "-o", report, bad)
    assert (result.exit_code, result.stdout) == (1, "")
    assert len(json.loads(report.read_text())) == 1
    result = cli("verify", "-o", report, bad)
    assert report.read_text().startswith("error[S002]")
    assert result.stderr == "hlotool: 1 file checked, 1 error in 1 file\n"
    assert cli("verify", "-o", tmp_path / "no" / "r", bad).exit_code != 0


def test_step_summary(cli, bad, tmp_path, monkeypatch):
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    cli("verify", bad)
    assert summary.read_text() == "before\n"
    cli("verify", "--output-format", "github", bad)
    assert summary.read_text().startswith("before\n### hlotool verify: 1 file checked, 1 error in 1 file\n\n| location |")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "no" / "way"))
    assert cli("verify", "--output-format", "github", bad).exit_code == 1


SIMILAR = (
    "ENTRY main {\n  p = f32[4] parameter(0)\n" + "".join(f"  a.{k} = f32[5] negate(p)\n" for k in range(9)) + "  ROOT r = s32[3] convert(p)\n}\n"
)


@pytest.fixture
def similar(file_of):
    return file_of("alike.hlo", SIMILAR)


def test_similar_findings_are_grouped(cli, similar):
    text = cli("verify", similar).stdout
    assert text.count("error[T003]") == 1
    assert "  = and 8 more like it in 'main' (--show-all)\n" in text
    assert text.endswith("1 file checked, 10 errors in 1 file\n")
    assert cli("verify", "--show-all", similar).stdout.count("error[T003]") == 9
    assert cli("verify", "--output-format", "concise", similar).stdout.count("error[T003]") == 9


def test_max_findings(cli, similar):
    result = cli("verify", "--max-findings", "2", "--output-format", "concise", similar)
    assert result.stdout.count("\n") == 2
    assert result.stderr == "hlotool: 1 file checked, 10 errors in 1 file, 8 more not shown (--max-findings)\n"
    assert cli("verify", "--max-findings", "1", similar).stdout.count("error[") == 1


def test_statistics(cli, similar):
    result = cli("verify", "--statistics", similar)
    assert result.stdout == f"9  T003 result-shape  [ ] error    {similar}:3:9\n1  T100 convert-dims  [ ] error    {similar}:12:12\n"
    rows = json.loads(cli("verify", "--statistics", "--output-format", "json", similar).stdout)
    assert [(row["code"], row["count"], row["first"]["line"]) for row in rows] == [("T003", 9, 3), ("T100", 1, 12)]


def test_results_do_not_depend_on_jobs(cli, similar, bad, good):
    names = [similar, bad, good, similar.parent / "missing.hlo"]
    one, two = (cli("verify", "-j", jobs, "--output-format", "json", *names) for jobs in ("1", "2"))
    assert (one.exit_code, one.stdout, one.stderr) == (two.exit_code, two.stdout, two.stderr)
    assert one.exit_code == 2


def test_source_lines_of_stack_frames(cli):
    text = (
        'HloModule m\n\nFileNames\n1 "train.py"\n\nFunctionNames\n1 "f"\n\nFileLocations\n'
        "1 {file_name_id=1 function_name_id=1 line=41 end_line=41 column=3 end_column=9}\n\n"
        "StackFrames\n1 {file_location_id=1 parent_frame_id=1}\n\n\n"
        'ENTRY e {\n  p = f32[4] parameter(0)\n  ROOT r = f32[5] negate(p), metadata={op_name="jit(f)/neg" stack_frame_id=1}\n}\n'
    )
    assert "= note: the instruction comes from 'jit(f)/neg' at train.py:41\n" in cli("verify", stdin=text).stdout
