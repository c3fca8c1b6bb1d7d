"""`hlotool verify --baseline`: known findings are hidden, wherever they move."""

from __future__ import annotations

import gzip
import json

import pytest

KNOWN = "HloModule m\n\nENTRY e {\n  p = f32[4] parameter(0)\n  a = f32[5] negate(p)\n  ROOT b = s32[3] convert(p)\n}\n"
BROKEN = "ENTRY e {\n  p = f32[4] parameter(0)\n  p = f32[4] parameter(1)\n}\n"


@pytest.fixture
def project(cli, tmp_path):
    (tmp_path / "known.hlo").write_text(KNOWN)
    (tmp_path / "broken.hlo.gz").write_bytes(gzip.compress(BROKEN.encode()))
    result = cli("verify", "--baseline", tmp_path / "known.json", "--write-baseline", tmp_path)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"hlotool: 3 findings in 2 files written to '{tmp_path}/known.json'\n"
    return tmp_path


def test_known_findings_are_hidden(cli, project):
    result = cli("verify", "--baseline", project / "known.json", project)
    assert (result.exit_code, result.stdout) == (0, "2 files checked, no findings, 3 in the baseline\n")
    assert cli("verify", "-q", "--output-format", "json", "--baseline", project / "known.json", project).stdout == "[]\n"
    assert cli("verify", project).exit_code == 1


def test_lines_folders_and_compression_may_change(cli, project, monkeypatch):
    (project / "known.hlo").write_text("// one\n// two\n" + KNOWN.replace("  a =", "\n  other = f32[4] abs(p)\n  a ="))
    (project / "broken.hlo.gz").unlink()
    (project / "broken.hlo").write_text("// The message names a line, too.\n" + BROKEN)
    monkeypatch.chdir(project.parent)
    result = cli("verify", "--baseline", f"{project.name}/known.json", project.name)
    assert result.exit_code == 0, result.output


def test_new_findings_fail(cli, project):
    (project / "known.hlo").write_text(KNOWN.replace("  ROOT", "  c = f32[5] negate(p)\n  ROOT"))
    result = cli("verify", "--output-format", "concise", "--baseline", project / "known.json", project / "known.hlo")
    assert result.exit_code == 1
    assert result.stdout.count("\n") == 1
    assert ":6:7: error[T003]" in result.stdout


def test_the_same_finding_counts_as_often_as_it_occurred(cli, tmp_path):
    path, baseline = tmp_path / "m.hlo", tmp_path / "b.json"
    path.write_text("ENTRY e {\n  p = f32[4] parameter(0), zork=1\n}\n")
    cli("verify", "--baseline", baseline, "--write-baseline", path)
    assert json.loads(baseline.read_text())["findings"][0]["count"] == 1
    path.write_text("ENTRY e {\n  p = f32[4] parameter(0), zork=1\n}\n// -----\nENTRY e {\n  p = f32[4] parameter(0), zork=1\n}\n")
    assert cli("verify", "--baseline", baseline, path).stdout.count("error[S015]") == 1


def test_what_is_gone_is_mentioned(cli, project):
    (project / "known.hlo").write_text(KNOWN.replace("f32[5]", "f32[4]").replace("s32[3]", "s32[4]"))
    result = cli("verify", "--ignore", "W", "--baseline", project / "known.json", project / "known.hlo")
    assert result.exit_code == 0
    assert "2 of the baseline no longer found (--write-baseline)" in result.stdout


def test_fixes_and_statistics_know_the_baseline(cli, project):
    assert cli("verify", "-q", "--statistics", "--baseline", project / "known.json", project).stdout == ""
    assert cli("verify", "--fix", "--baseline", project / "known.json", project / "known.hlo").exit_code == 0


def test_a_file_that_fails_keeps_the_old_baseline(cli, project):
    before = (project / "known.json").read_bytes()
    result = cli("verify", "--baseline", project / "known.json", "--write-baseline", project / "known.hlo", project / "missing.hlo")
    assert result.exit_code == 2
    assert "is not written, since 1 file failed" in result.stderr
    assert (project / "known.json").read_bytes() == before


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"version": 2, "findings": []}', '{"version": 1, "findings": [1]}', '{"version": 1, "findings": [{"file": 1}]}', "[" * 9999],
)
def test_what_is_no_baseline(cli, good, tmp_path, text):
    (tmp_path / "b.json").write_text(text)
    result = cli("verify", "--baseline", tmp_path / "b.json", good)
    assert result.exit_code == 2
    assert result.stderr.startswith("hlotool: '")
    assert " is not a baseline" in result.stderr


def test_usage(cli, good, tmp_path):
    assert "requires --baseline FILE" in cli("verify", "--write-baseline", good).stderr
    result = cli("verify", "--baseline", tmp_path / "none.json", good)
    assert result.exit_code == 2
    assert "--write-baseline creates it" in result.stderr
    assert cli("verify", "--baseline", tmp_path / "b.json", "--write-baseline", "--fix", good).exit_code == 2
