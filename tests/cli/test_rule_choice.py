"""Which rules run: options, presets and settings, one over the other."""

from __future__ import annotations

import json

import pytest

from hlotool.cli.config import PRESETS, STAGES, TARGETS
from hlotool.opdefs.modes import VerifyModes
from hlotool.verifier import presets
from hlotool.verifier.selection import Layer, Selection

WRONG = "ENTRY e {\n  p = f32[4] parameter(0)\n  a = f32[5] negate(p)\n  ROOT b = s32[3] convert(p)\n}\n"


@pytest.fixture
def codes(cli, tmp_path):
    """The codes found in a text with these options, and settings if given."""

    def run(*options: str, text: str = WRONG, settings: str = "", name: str = "m.hlo") -> list[str]:
        # A folder for each, since a process reads the settings of a folder once.
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        (folder / name).parent.mkdir(parents=True)
        (folder / "hlotool.toml").write_text(settings)
        (folder / name).write_text(text)
        result = cli("verify", "--output-format", "json", *options, folder / name)
        assert result.exit_code in (0, 1), result.output
        return [d["code"] for d in json.loads(result.stdout)]

    return run


def test_settings_and_options(codes):
    assert codes() == ["T003", "T100"]
    assert codes(settings='[lint]\nselect = ["T1"]') == ["T100"]
    assert codes("--extend-select", "T003", settings='[lint]\nselect = ["T1"]') == ["T003", "T100"]
    assert codes("--select", "T", settings='[lint]\nselect = ["T1"]') == ["T003", "T100"]
    assert codes(settings='[lint]\nignore = ["result-shape"]') == ["T100"]
    assert codes("--select", "T", settings='[lint]\nignore = ["T003"]') == ["T100"]
    assert codes("--extend-select", "T003", settings='[lint]\nignore = ["T003"]') == ["T003", "T100"]
    assert codes("--isolated", settings='[lint]\nignore = ["T"]') == ["T003", "T100"]
    assert codes(settings='[lint]\nselect = ["T1"]\nextend-select = ["T003"]') == ["T003", "T100"]


def test_per_file_ignores(codes):
    settings = '[lint.per-file-ignores]\n"dumps/*" = ["T003"]\n"m.hlo" = ["T100"]'
    assert codes(settings=settings) == ["T003"]
    assert codes(settings=settings, name="dumps/x.hlo") == ["T100"]


def test_severities(cli, tmp_path):
    path = tmp_path / "m.hlo"
    path.write_text(WRONG)
    (tmp_path / "hlotool.toml").write_text('[lint.severity]\nT003 = "warning"\nconvert-dims = "info"')
    result = cli("verify", "--output-format", "concise", "--fail-on", "error", path)
    assert result.exit_code == 0
    assert "warning[T003]" in result.stdout
    assert "info[T100]" in result.stdout
    assert cli("verify", path).exit_code == 1


@pytest.mark.parametrize(("options", "code"), [((), 1), (("--fail-on", "never"), 0), (("--exit-zero",), 0), (("--fail-on", "error"), 1)])
def test_when_to_fail(cli, bad, options, code):
    assert cli("verify", *options, bad).exit_code == code


def test_exit_zero_hides_no_trouble(cli, tmp_path):
    assert cli("verify", "--exit-zero", tmp_path / "missing.hlo").exit_code == 2


UNBOUNDED = "ENTRY e {\n  ROOT p = f32[?] parameter(0)\n}\n"


def test_modes(codes):
    assert codes(text=UNBOUNDED) == ["T083"]
    assert codes("--unbounded-dynamic", text=UNBOUNDED) == []
    assert codes(text=UNBOUNDED, settings="unbounded-dynamic = true") == []
    assert codes(text=UNBOUNDED, settings="[lint]\nunbounded-dynamic = true") == []
    assert codes("--no-unbounded-dynamic", text=UNBOUNDED, settings="unbounded-dynamic = true") == ["T083"]


def test_presets(codes, cli, good):
    assert codes("--preset", "parse") == []
    assert codes(settings='[lint]\npreset = "parse"') == []
    assert codes("--select", "T", settings='[lint]\npreset = "parse"') == ["T003", "T100"]
    assert codes("--preset", "default", settings='[lint]\npreset = "parse"') == ["T003", "T100"]
    shown = cli("verify", "--show-settings", "--preset", "gpu", "--devices", "8", "--layout-sensitive", "true", good).stdout.splitlines()
    assert {"preset = gpu", "target = gpu", "collective-deadlocks = true", "devices = 8", "layout-sensitive = true"} <= set(shown)


def test_presets_are_those_of_the_verifier():
    assert tuple(presets.PRESETS) == PRESETS
    for preset in presets.PRESETS.values():
        VerifyModes(**preset.modes)
        Selection.layered([preset.layer])
        assert preset.modes.get("stage", "auto") in STAGES
        assert preset.modes.get("target", "generic") in TARGETS
        assert preset.doc.endswith(".")


def test_layers():
    assert Selection.layered([Layer(("T",)), Layer(None, (), ("T003",)), Layer(None, ("T003",))]).has("T003")
    assert not Selection.layered([Layer(("T",)), Layer(("C",))]).has("T003")
    assert not Selection.layered([Layer(("ALL",), (), ("W",))]).has("W001")
    assert Selection.layered([Layer(None, ("W012",))]).has("T003")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ('[lint]\nselct = ["T"]', "unknown key 'selct' in [lint]; did you mean 'select'?"),
        ('[lint]\nselect = ["T999"]', "no rule is called 'T999'"),
        ('[lint]\nselect = "T"', "'select' is a list of strings"),
        ('[lint]\npreset = "strickt"', "unknown preset 'strickt'; did you mean 'strict'?"),
        ('[lint]\ntarget = "tpuu"', "unknown target 'tpuu'; did you mean 'tpu'?"),
        ("[lint]\ndevices = true", "'devices' is a number"),
        ('layout-sensitive = "yes"', "'layout-sensitive' is auto, true or false"),
        ('[lint.severity]\nT003 = "fatal"', "unknown severity 'fatal'"),
        ('[lint.severity]\nresult-shap = "error"', "no rule is called 'result-shap'; did you mean 'result-shape'?"),
        ('[lint.per-file-ignores]\n"*" = "T"', "'per-file-ignores' is a table of patterns"),
        ('[lint.per-file-ignores]\n"*" = ["T9"]', "no rule is called 'T9'"),
        ("[lnt]\n", "unknown table [lnt]; did you mean 'lint'?"),
    ],
)
def test_settings_that_nobody_understands(cli, tmp_path, good, settings, said):
    (tmp_path / "hlotool.toml").write_text(settings)
    result = cli("verify", good)
    assert result.exit_code == 2
    assert said in result.stderr
    assert "hlotool.toml" in result.stderr


def test_show_settings(cli, tmp_path, good):
    (tmp_path / "hlotool.toml").write_text('[lint]\nselect = ["T003"]\n[lint.severity]\nT003 = "info"')
    result = cli("verify", "--show-settings", good)
    assert result.stdout.startswith(f"settings for '{good}', from '{tmp_path}/hlotool.toml'\npreset = default\nlayout-sensitive = auto\n")
    assert result.stdout.endswith("severity.T003 = info\n1 rules: T003\n")


def test_list_rules(cli):
    rows = cli("verify", "--isolated", "--list-rules", "--select", "W050").stdout.splitlines()
    assert ["-", "T003", "result-shape", "error"] in [row.split() for row in rows]
    assert [row.split() for row in rows if row.startswith("+ W")] == [["+", "W050", "unused-suppression", "warning", "[fix]"]]
    rules = json.loads(cli("verify", "--isolated", "--list-rules", "--output-format", "json").stdout)
    assert all(rule["summary"] for rule in rules)
    assert next(rule["is_selected"] for rule in rules if rule["code"] == "T003")
