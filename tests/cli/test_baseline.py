"""`hlotool verify --baseline`: known findings are hidden, even if they move."""

from __future__ import annotations

import gzip
import json

import pytest

from hlotool.workspace.settings import forget_settings

KNOWN = "HloModule m\n\nENTRY e {\n  p = f32[4] parameter(0)\n  a = f32[5] negate(p)\n  ROOT b = s32[3] convert(p)\n}\n"
BROKEN = "ENTRY e {\n  p = f32[4] parameter(0)\n  p = f32[4] parameter(1)\n}\n"


@pytest.fixture(autouse=True)
def fresh():
    """Forgets the settings, which are cached for the whole process."""
    forget_settings()


@pytest.fixture
def project(cli, tmp_path):
    (tmp_path / "known.hlo").write_text(KNOWN)
    (tmp_path / "broken.hlo.gz").write_bytes(gzip.compress(BROKEN.encode()))
    result = cli("verify", "--baseline", tmp_path / "known.json", "--write-baseline", tmp_path)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"hlotool: 3 findings in 2 files written to '{tmp_path}/known.json'\n"
    forget_settings()
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


def test_repeated_findings_are_counted(cli, tmp_path):
    path, baseline = tmp_path / "m.hlo", tmp_path / "b.json"
    path.write_text("ENTRY e {\n  p = f32[4] parameter(0), zork=1\n}\n")
    cli("verify", "--baseline", baseline, "--write-baseline", path)
    assert json.loads(baseline.read_text())["findings"][0]["count"] == 1
    path.write_text("ENTRY e {\n  p = f32[4] parameter(0), zork=1\n}\n// -----\nENTRY e {\n  p = f32[4] parameter(0), zork=1\n}\n")
    assert cli("verify", "--baseline", baseline, path).stdout.count("error[S015]") == 1


def test_resolved_findings_are_mentioned(cli, project):
    (project / "known.hlo").write_text(KNOWN.replace("f32[5]", "f32[4]").replace("s32[3]", "s32[4]"))
    result = cli("verify", "--ignore", "W", "--baseline", project / "known.json", project / "known.hlo")
    assert result.exit_code == 0
    assert "2 of the baseline no longer found (--write-baseline)" in result.stdout


def test_fixes_and_statistics_respect_the_baseline(cli, project):
    assert cli("verify", "-q", "--statistics", "--baseline", project / "known.json", project).stdout == ""
    assert cli("verify", "--fix", "--baseline", project / "known.json", project / "known.hlo").exit_code == 0


def test_a_failed_write_keeps_the_old_baseline(cli, project):
    before = (project / "known.json").read_bytes()
    result = cli("verify", "--baseline", project / "known.json", "--write-baseline", project / "known.hlo", project / "missing.hlo")
    assert result.exit_code == 2
    assert "was not written, since 1 file failed" in result.stderr
    assert (project / "known.json").read_bytes() == before


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        "\0",
        '{"version": 2, "findings": []}',
        '{"version": 1, "findings": [1]}',
        '{"version": 1, "findings": [{"file": 1}]}',
        "[" * 9999,
    ],
)
def test_files_that_are_not_baselines(cli, good, tmp_path, text):
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


def test_links_to_a_folder_do_not_matter(cli, project, tmp_path_factory):
    link = tmp_path_factory.mktemp("elsewhere") / "link"
    link.symlink_to(project)
    assert cli("verify", "--baseline", link / "known.json", project).exit_code == 0
    assert cli("verify", "--baseline", project / "known.json", link / "known.hlo", link / "broken.hlo.gz").exit_code == 0


# ---- in settings ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "table"), [("hlotool.toml", "lint"), ("pyproject.toml", "tool.hlotool.lint")])
def test_settings_name_a_baseline(cli, project, monkeypatch, name, table):
    (project / "sub").mkdir()
    (project / "known.hlo").rename(project / "sub" / "known.hlo")
    (project / name).write_text(f'[{table}]\nbaseline = "sub/../all.json"\n')
    result = cli("verify", project)
    assert (result.exit_code, result.stderr) == (2, f"hlotool: there is no baseline '{project}/all.json'; --write-baseline creates it\n")
    assert cli("verify", "--no-baseline", project).stdout.endswith("2 files checked, 3 errors in 2 files\n")
    monkeypatch.chdir(project / "sub")
    assert cli("verify", "--write-baseline", "..").stderr == f"hlotool: 3 findings in 2 files written to '{project}/all.json'\n"
    assert cli("verify", "known.hlo").stdout == "1 file checked, no findings, 2 in the baseline\n"
    assert cli("verify", "-", "--stdin-filename", "known.hlo", stdin=KNOWN).exit_code == 0
    assert cli("verify", "--isolated", "known.hlo").exit_code == 1
    assert cli("verify", "--baseline", project / "known.json", "known.hlo").exit_code == 1
    assert f"baseline = {project}/all.json\n" in cli("verify", "--show-settings", "known.hlo").stdout
    assert "baseline = none\n" in cli("verify", "--show-settings", "--isolated", "known.hlo").stdout
    assert "baseline = other.json\n" in cli("verify", "--show-settings", "--baseline", "other.json", "known.hlo").stdout


def test_each_file_has_the_baseline_of_its_settings(cli, project):
    for name in ("a", "b", "c"):
        (project / name).mkdir()
        (project / name / "m.hlo").write_text(KNOWN)
        (project / name / "hlotool.toml").write_text('[lint]\nbaseline = "b.json"\n')
    names = [project / name / "m.hlo" for name in ("a", "b")]
    written = cli("verify", "--write-baseline", *names)
    assert (written.exit_code, written.stderr) == (
        0,
        "".join(f"hlotool: 2 findings in 1 file written to '{project}/{name}/b.json'\n" for name in ("a", "b")),
    )
    assert json.loads((project / "a" / "b.json").read_text())["findings"][0]["file"] == "m.hlo"
    names[1].write_text(KNOWN.replace("f32[5]", "f32[4]"))
    result = cli("verify", *names)
    assert (result.exit_code, result.stdout) == (
        0,
        "2 files checked, no findings, 3 in the baseline, 1 of the baseline no longer found (--write-baseline)\n",
    )
    assert cli("verify", *names, project / "c" / "m.hlo").exit_code == 2


def test_baselines_of_settings_are_inputs(cli, project):
    (project / "hlotool.toml").write_text('[lint]\nbaseline = "known.json"\n')
    before = (project / "known.json").read_bytes()
    assert "it is an input" in cli("verify", "-o", project / "known.json", project).stderr
    assert "another output is written to it" in cli("verify", "--write-baseline", "-o", project / "known.json", project).stderr
    (project / "hlotool.toml").write_text('[lint]\nbaseline = "known.hlo"\n')
    forget_settings()
    assert "it is an input" in cli("verify", "--write-baseline", project).stderr
    assert ((project / "known.json").read_bytes(), (project / "known.hlo").read_text()) == (before, KNOWN)


@pytest.mark.parametrize(
    ("arguments", "settings", "message"),
    [
        (("--write-baseline",), "", "--write-baseline requires --baseline FILE, or the key baseline in the settings"),
        (("--write-baseline", "--isolated"), '[lint]\nbaseline = "b.json"', "--write-baseline requires --baseline FILE"),
        (("--no-baseline", "--baseline", "b.json"), "", "--no-baseline cannot be combined with --baseline or --write-baseline"),
        (("--no-baseline", "--write-baseline"), '[lint]\nbaseline = "b.json"', "--no-baseline cannot be combined"),
        (("--write-baseline", "--fix"), '[lint]\nbaseline = "b.json"', "--write-baseline cannot be combined with --fix, --diff or --add-ignore"),
        ((), "[lint]\nbaseline = 3", "'baseline' must be the name of a file, not 3"),
        ((), '[lint]\nbaseline = ""', "'baseline' must be the name of a file, not ''"),
        ((), 'baseline = "b.json"', "unknown key 'baseline'"),
        ((), '[lint]\nbaseline = "."', ": Is a directory"),
        ((), '[lint]\nbaseline = "a\\u0000b"', "a\\x00b': embedded null byte"),
        (("--write-baseline",), '[lint]\nbaseline = "a\\u0000b"', "a\\x00b': embedded null byte"),
    ],
)
def test_options_that_cannot_be_combined(cli, good, arguments, settings, message):
    good.with_name("hlotool.toml").write_text(settings)
    result = cli("verify", *arguments, good)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
