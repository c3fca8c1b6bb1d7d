"""Selecting rules: options override settings, which override presets."""

from __future__ import annotations

import json

import pytest

from hlotool.opdefs.modes import VerifyModes
from hlotool.verifier.selection import Layer, Selection
from hlotool.workspace.keys import KEYS, MODES, key_of
from hlotool.workspace.presets import PRESETS

WRONG = "ENTRY e {\n  p = f32[4] parameter(0)\n  a = f32[5] negate(p)\n  ROOT b = s32[3] convert(p)\n}\n"


@pytest.fixture
def codes(cli, tmp_path):
    """Returns a function that runs `verify` with options and settings and returns the codes."""

    def run(*options: str, text: str = WRONG, settings: str = "", name: str = "m.hlo") -> list[str]:
        # Each call needs a new folder, since settings are cached per folder.
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
def test_severity_that_fails(cli, bad, options, code):
    assert cli("verify", *options, bad).exit_code == code


def test_exit_zero_keeps_errors(cli, tmp_path):
    assert cli("verify", "--exit-zero", tmp_path / "missing.hlo").exit_code == 2


SCHEDULED = """HloModule m, is_scheduled=true, entry_computation_layout={(f32[8]{0})->f32[8]{0}}

ENTRY e {
  p = f32[8]{0} parameter(0)
  s = (f32[8]{0}, f32[8]{0}, u32[]) copy-start(p)
  t = (f32[8]{0}, f32[8]{0}, u32[]) copy-start(p)
  d = f32[8]{0} copy-done(s)
  f = f32[8]{0} copy-done(t)
  ROOT r = f32[8]{0} add(d, f), metadata={scheduling_name="q"}
}
"""


def test_limits(codes):
    """Checks that A034 and A035 are reported only if options or settings set a limit."""
    assert codes("--select", "A034,A035", text=SCHEDULED) == []
    assert codes("--select", "A034,A035", "--in-flight-limit", "1", text=SCHEDULED) == ["A034"]
    assert codes("--select", "A034,A035", "--in-flight-limit", "2", text=SCHEDULED) == []
    assert codes("--select", "A034,A035", "--memory-budget", "64", text=SCHEDULED) == ["A035"]
    assert codes("--select", "A034,A035", "--memory-budget", "16GiB", text=SCHEDULED) == []
    assert codes("--in-flight-limit", "1", text=SCHEDULED) == ["A034"]
    assert codes(text=SCHEDULED, settings='in-flight-limit = 1\n[lint]\nmemory-budget = "0.05k"') == ["A034", "A035"]
    assert codes(text=SCHEDULED, settings="memory-budget = 64") == ["A035"]


@pytest.mark.parametrize("size", ["much", "0", "-1", "1e999", "nan"])
def test_invalid_sizes(cli, good, size):
    result = cli("verify", "--memory-budget", size, good)
    assert result.exit_code == 2
    assert "is not a size such as 500M or 2GiB" in result.stderr


def test_names_unchanged(cli, tmp_path):
    path = tmp_path / "m.hlo"
    path.write_text(SCHEDULED)
    concise = ("verify", "--output-format", "concise", "--select", "A033")
    assert "warning[A033]" in cli(*concise, path).stdout
    assert "error[A033]" in cli(*concise, "--names-unchanged", path).stdout


STAGED = """HloModule m, entry_computation_layout={(f32[2,3]{1,0})->f32[2,3]{0,1}}

ENTRY e {
  a = f32[2,3]{1,0} parameter(0)
  ROOT b = f32[2,3]{1,0} negate(a)
}
"""


def test_stage(codes):
    """Checks that layouts are compared after optimization; scheduled modules count as optimized."""
    scheduled = STAGED.replace("HloModule m,", "HloModule m, is_scheduled=true,")
    layouts = ("--select", "L")
    assert codes(*layouts, text=STAGED) == []
    assert codes(*layouts, "--stage", "after-opt", text=STAGED) != []
    assert codes(*layouts, text=scheduled) == codes(*layouts, "--stage", "after-opt", text=STAGED)
    assert codes(*layouts, "--stage", "before-opt", text=scheduled) == []
    assert codes(*layouts, text=STAGED, settings='stage = "after-opt"') != []
    assert codes(*layouts, "--stage", "after-opt", "--layout-sensitive", "false", text=STAGED) == []


def test_layouts_kept(codes):
    text = "ENTRY e {\n  a = f32[2,3]{1,0} parameter(0)\n  ROOT b = f32[2,3]{0,1} negate(a)\n}\n"
    assert codes("--select", "L", "--layouts-kept", "true", "--layout-sensitive", "true", text=text) == ["L008"]
    assert codes("--select", "L", "--layouts-kept", "false", "--layout-sensitive", "true", text=text) == []


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


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_consistent(name):
    preset = PRESETS[name]
    VerifyModes(**preset.modes)
    Selection.layered([Layer(preset.select, preset.extend_select, preset.ignore)])
    for field, value in preset.modes.items():
        assert MODES[field].choices == () or value in MODES[field].choices
    assert preset.doc.endswith(".")


@pytest.mark.parametrize("field", VerifyModes._fields)
def test_every_mode_is_an_option_and_a_setting(cli, field):
    key = key_of(field)
    assert f"--{key}" in cli("verify", "--help").stdout
    assert key in KEYS[""]
    assert key in KEYS["lint"]


def test_layers():
    assert Selection.layered([Layer(("T",)), Layer(None, (), ("T003",)), Layer(None, ("T003",))]).has("T003")
    assert not Selection.layered([Layer(("T",)), Layer(("C",))]).has("T003")
    assert not Selection.layered([Layer(("ALL",), (), ("W",))]).has("W001")
    assert Selection.layered([Layer(None, ("W012",))]).has("T003")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ('[lint]\nselct = ["T"]', "unknown key 'selct' in [lint]; did you mean 'select'?"),
        ('[lint]\nselect = ["T999"]', "no rule is called 'T999'"),
        ('[lint]\nselect = "T"', "'select' must be a list of strings"),
        ('[lint]\npreset = "strickt"', "unknown preset 'strickt'; did you mean 'strict'?"),
        ('[lint]\ntarget = "tpuu"', "unknown target 'tpuu'; did you mean 'tpu'?"),
        ("[lint]\ndevices = true", "'devices' must be a number"),
        ('layout-sensitive = "yes"', "'layout-sensitive' must be auto, true or false"),
        ('[lint.severity]\nT003 = "fatal"', "unknown severity 'fatal'"),
        ('[lint.severity]\nresult-shap = "error"', "no rule is called 'result-shap'; did you mean 'result-shape'?"),
        ('[lint.per-file-ignores]\n"*" = "T"', "'per-file-ignores' must be a table of patterns"),
        ('[lint.per-file-ignores]\n"*" = ["T9"]', "no rule is called 'T9'"),
        ("[lnt]\n", "unknown table [lnt]; did you mean 'lint'?"),
    ],
)
def test_unknown_settings(cli, tmp_path, good, settings, message):
    (tmp_path / "hlotool.toml").write_text(settings)
    result = cli("verify", good)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "hlotool.toml" in result.stderr


def test_show_settings(cli, tmp_path, good):
    (tmp_path / "hlotool.toml").write_text('[lint]\nselect = ["T003"]\n[lint.severity]\nT003 = "info"')
    result = cli("verify", "--show-settings", good)
    assert result.stdout.startswith(f"settings for '{good}', from '{tmp_path}/hlotool.toml'\npreset = default\nlayout-sensitive = auto\n")
    assert result.stdout.endswith("severity.T003 = info\n1 rule: T003\n")


def test_list_rules(cli):
    rows = cli("verify", "--isolated", "--list-rules", "--select", "W050").stdout.splitlines()
    assert ["-", "T003", "result-shape", "error"] in [row.split() for row in rows]
    assert [row.split() for row in rows if row.startswith("+ W")] == [["+", "W050", "unused-suppression", "warning", "[fix]"]]
    rules = json.loads(cli("verify", "--isolated", "--list-rules", "--output-format", "json").stdout)
    assert all(rule["summary"] for rule in rules)
    assert next(rule["is_selected"] for rule in rules if rule["code"] == "T003")


CALL = 'ENTRY e {\n  p = f32[4] parameter(0)\n  ROOT c = f32[4] custom-call(p), custom_call_target="my.kernel"\n}\n'


def test_known_custom_calls(codes):
    assert codes("--select", "W028", text=CALL) == ["W028"]
    assert codes("--select", "W028", "--known-custom-calls", "other", "--known-custom-calls", "my.*", text=CALL) == []
    assert codes("--select", "W028", text=CALL, settings='[lint]\nknown-custom-calls = ["my.*"]') == []
    assert codes("--select", "W028", "--known-custom-calls", "other", text=CALL, settings='known-custom-calls = ["my.*"]') == ["W028"]


def test_thresholds_are_settings(codes):
    two = "ENTRY e {\n  p = f32[4] parameter(0)\n  q = f32[4] parameter(1)\n  ROOT r = f32[4] add(p, q)\n}\n"
    assert codes("--select", "W055", text=two) == []
    assert codes("--select", "W055", "--entry-parameter-limit", "1", text=two) == ["W055"]
    assert codes("--select", "W055", text=two, settings="[lint]\nentry-parameter-limit = 1") == ["W055"]
    constant = "ENTRY e {\n  ROOT c = f32[2] constant({1, 2})\n}\n"
    assert codes("--select", "W006", text=constant) == []
    assert codes("--select", "W006", text=constant, settings='[lint]\nconstant-size-limit = "8"') == ["W006"]


DEAD = "{header}ENTRY e {{\n  p = f32[4]{{0}} parameter(0)\n  d = f32[4]{{0}} abs(p)\n  ROOT r = f32[4]{{0}} negate(p)\n}}\n"


@pytest.mark.parametrize(
    ("header", "options", "severity"),
    [
        ("HloModule m, entry_computation_layout={(f32[4]{0})->f32[4]{0}}\n", (), "info"),
        ("HloModule m, is_scheduled=true, entry_computation_layout={(f32[4]{0})->f32[4]{0}}\n", (), "warning"),
        ("HloModule m, entry_computation_layout={(f32[4]{0})->f32[4]{0}}\n", ("--stage", "after-opt"), "warning"),
        ("", (), "warning"),
        ("", ("--stage", "before-opt"), "info"),
    ],
)
def test_dead_code_before_optimization_does_not_fail(cli, header, options, severity):
    result = cli("verify", "--output-format", "json", *options, stdin=DEAD.format(header=header))
    assert [(d["code"], d["severity"]) for d in json.loads(result.stdout)] == [("W001", severity)]
    assert result.exit_code == (severity == "warning")
