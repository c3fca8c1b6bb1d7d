"""Settings files: the choice of the file, its keys, and messages about invalid keys and values."""

from __future__ import annotations

import json
import os

import pytest
from texts import NEAT

from hlotool.workspace.settings import forget_settings

LONG = 'HloModule m\n\nENTRY e {\n  ROOT long = f32[2] parameter(0), sharding={replicated}, metadata={op_name="x"}\n}\n'
WIDTH = "[fmt]\nwidth = 60\n"


@pytest.fixture(autouse=True)
def fresh():
    """Forgets the settings, which are cached for the whole process."""
    forget_settings()


@pytest.fixture
def module(tmp_path):
    path = tmp_path / "a" / "b" / "m.hlo"
    path.parent.mkdir(parents=True)
    path.write_text(LONG)
    return path


def is_wrapped(cli, path, *arguments):
    result = cli("fmt", "--check", *arguments, path)
    assert result.exit_code in (0, 1), result.output
    return result.exit_code == 1


def test_without_settings_nothing_is_wrapped(cli, module):
    assert not is_wrapped(cli, module)


@pytest.mark.parametrize("name", ["hlotool.toml", ".hlotool.toml"])
@pytest.mark.parametrize("folder", [".", "a", "a/b"])
def test_the_nearest_settings_file_is_used(cli, tmp_path, module, name, folder):
    (tmp_path / "hlotool.toml").write_text("[fmt]\nwidth = 200\n")
    (tmp_path / folder / name).write_text(WIDTH)
    if (folder, name) == (".", ".hlotool.toml"):
        # If a folder has both files, the file without the leading dot has priority.
        assert not is_wrapped(cli, module)
    else:
        assert is_wrapped(cli, module)


def test_pyproject(cli, tmp_path, module):
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\n[tool.hlotool.fmt]\nwidth = 60\n')
    assert is_wrapped(cli, module)


def test_a_pyproject_without_the_table_is_ignored(cli, tmp_path, module):
    (tmp_path / "pyproject.toml").write_text("[tool.hlotool.fmt]\nwidth = 60\n")
    (tmp_path / "a" / "pyproject.toml").write_text("this is [[ no TOML")
    assert is_wrapped(cli, module)


def test_the_command_line_has_priority(cli, tmp_path, module):
    (tmp_path / "hlotool.toml").write_text(WIDTH)
    assert not is_wrapped(cli, module, "--width", "200")
    assert not is_wrapped(cli, module, "--isolated")


def test_config_option_names_a_file(cli, tmp_path, module):
    (tmp_path / "hlotool.toml").write_text("[fmt]\nwidth = 200\n")
    (tmp_path / "other.toml").write_text(WIDTH)
    assert is_wrapped(cli, module, "--config", tmp_path / "other.toml")


def test_stdin_uses_the_settings_for_its_name(cli, tmp_path, module):
    (tmp_path / "a" / "hlotool.toml").write_text(WIDTH)
    assert cli("fmt", "-", "--stdin-filename", module, stdin=LONG).stdout != LONG
    assert cli("fmt", "-", "--stdin-filename", tmp_path / "m.hlo", stdin=LONG).stdout == LONG


def test_each_file_uses_its_own_settings(cli, tmp_path, module):
    other = tmp_path / "other.hlo"
    other.write_text(LONG)
    (tmp_path / "a" / "hlotool.toml").write_text(WIDTH)
    assert cli("fmt", other, module).exit_code == 0
    assert other.read_text() == LONG
    assert module.read_text() != LONG


def test_files_of_folders(cli, tmp_path):
    for name in ("a.hlo", "b.txt", "golden/c.hlo"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(LONG.replace("ENTRY e", "ENTRY   e"))
    (tmp_path / "hlotool.toml").write_text('include = ["*.hlo"]\nexclude = ["golden/*"]\nrespect-gitignore = false\n')
    assert cli("fmt", tmp_path).exit_code == 0
    assert [(tmp_path / name).read_text() == LONG for name in ("a.hlo", "b.txt", "golden/c.hlo")] == [True, False, False]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[fmt", "not valid TOML"),
        ("[fmt]\nwidths = 3\n", "unknown key 'widths' in [fmt]; did you mean 'width'?"),
        ("[fmtt]\nwidth = 100\n", "unknown table [fmtt]; did you mean 'fmt'?"),
        ("[zzz]\n", "unknown table [zzz]; known: fmt"),
        ("exlude = []\n", "unknown key 'exlude'; did you mean 'exclude'?"),
        ("[fmt]\nwidth = 'a'\n", "'width' must be a number, not 'a'"),
        ("[fmt]\nwidth = true\n", "'width' must be a number, not True"),
        ("[fmt]\nwidth = 39\n", "at least 40"),
        ("[fmt]\nwidth = 9223372036854775808\n", "'width' must be at most 9223372036854775807, not 9223372036854775808"),
        (f"[fmt]\nwidth = 0x{'f' * 5000}\n", "'width' must be at most 9223372036854775807, not a number with thousands of digits"),
        (f"exclude = [0x{'f' * 5000}]\n", "'exclude' must be a list of strings, not a number with thousands of digits"),
        (f"exclude = '{'x' * 5000}'\n", f"'exclude' must be a list of strings, not '{'x' * 99}...\n"),
        ("exclude = 'x'\n", "'exclude' must be a list of strings, not 'x'"),
        ("exclude = [1]\n", "'exclude' must be a list of strings, not [1]"),
        ("respect-gitignore = 1\n", "'respect-gitignore' must be true or false, not 1"),
        ("fmt = 3\n", "'fmt'"),
        ("[include]\n", "unknown table [include]; known: fmt"),
        ("\xff", "not valid TOML"),
    ],
)
def test_wrong_settings(cli, tmp_path, module, text, words):
    (tmp_path / "hlotool.toml").write_bytes(text.encode("latin-1"))
    result = cli("fmt", module)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert words in result.stderr
    assert "hlotool.toml" in result.stderr
    assert module.read_text() == LONG


@pytest.mark.parametrize("text", ["tool = 3 # tool.hlotool\n", "[tool]\nhlotool = 3 # tool.hlotool\n", "# tool.hlotool\n"])
def test_odd_projects(cli, tmp_path, module, text):
    (tmp_path / "pyproject.toml").write_text(text)
    result = cli("fmt", module)
    assert result.exit_code in (0, 2)
    assert "internal error" not in result.output


def test_a_missing_config(cli, tmp_path, module):
    result = cli("fmt", "--config", tmp_path / "none.toml", module)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "none.toml" in result.stderr
    assert "No such file" in result.stderr


# ---- untrusted settings -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("/dev/zero", "is an absolute path"),
        ("{outside}", "is an absolute path"),
        ("../outside.json", "leads to '{outside}'"),
        ("link.json", "leads to '{outside}'"),
        ("folder/outside.json", "leads to '{outside}'"),
        ("device", "leads to '/dev/zero'"),
        ("pipe", "is not a regular file"),
    ],
)
@pytest.mark.parametrize("arguments", [(), ("--write-baseline",), ("--show-settings",)])
def test_settings_cannot_name_files_outside_their_folder(cli, tmp_path, name, reason, arguments):
    outside, folder = tmp_path / "outside.json", tmp_path / "project"
    outside.write_text("precious")
    folder.mkdir()
    (folder / "m.hlo").write_text(NEAT)
    (folder / "link.json").symlink_to(outside)
    (folder / "folder").symlink_to(tmp_path)
    (folder / "device").symlink_to("/dev/zero")
    os.mkfifo(folder / "pipe")
    (folder / "hlotool.toml").write_text(f'[lint]\nbaseline = "{name.format(outside=outside)}"\n')
    result = cli("verify", *arguments, folder / "m.hlo")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        f"hlotool: in '{folder / 'hlotool.toml'}': 'baseline' must name a regular file below the folder of the settings file; "
        f"'{name.format(outside=outside)}' {reason.format(outside=outside)}\n"
    )
    assert outside.read_text() == "precious"


@pytest.mark.parametrize("name", ["hlotool.toml", ".hlotool.toml", "pyproject.toml"])
def test_settings_files_that_are_not_regular_or_too_large(cli, tmp_path, name):
    (tmp_path / "m.hlo").write_text(NEAT)
    os.mkfifo(tmp_path / name)
    assert cli("verify", tmp_path / "m.hlo").exit_code == 0
    (tmp_path / name).unlink()
    (tmp_path / name).symlink_to("/dev/zero")
    assert cli("verify", tmp_path / "m.hlo").exit_code == 0
    forget_settings()
    (tmp_path / name).unlink()
    with (tmp_path / name).open("w") as file:
        file.write("# tool.hlotool\n")
        file.truncate(1 << 40)
    result = cli("verify", tmp_path / "m.hlo")
    assert (result.exit_code, result.stderr) == (
        2,
        f"hlotool: cannot read '{tmp_path / name}': it has more than 524,288 bytes, which is the limit\n",
    )


def test_keys_with_many_parts_take_little_memory(cli, tmp_path):
    (tmp_path / "m.hlo").write_text(NEAT)
    (tmp_path / "hlotool.toml").write_text(f"exclude = []\n{'a.' * 100_000}a = 1\n")
    result = cli("verify", tmp_path / "m.hlo")
    assert (result.exit_code, "line 2 has more than 200 dots" in result.stderr) == (2, True)


def test_the_size_of_baselines_is_limited(cli, tmp_path):
    (tmp_path / "m.hlo").write_text(NEAT)
    with (tmp_path / "known.json").open("w") as file:
        file.truncate(1 << 40)
    (tmp_path / "hlotool.toml").write_text('[lint]\nbaseline = "known.json"\n')
    result = cli("verify", tmp_path / "m.hlo")
    assert (result.exit_code, "known.json': it has more than 33,554,432 bytes" in result.stderr) == (2, True)
    finding = {"file": "m.hlo", "code": "W001", "computation": "", "instruction": "", "message": "", "count": 10**4000}
    (tmp_path / "known.json").write_text(json.dumps({"version": 1, "findings": [finding, finding]}))
    assert (cli("verify", tmp_path / "m.hlo").exit_code) == 2
