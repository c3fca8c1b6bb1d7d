"""`hlotool print`: flags, presets, modules, inputs and outputs."""

from __future__ import annotations

import gzip
import lzma
import stat
from dataclasses import fields, replace
from pathlib import Path

import pytest
from case_files import read_cases

import hlotool
from hlotool.cli.main import run
from hlotool.cli.print_flags import PRESETS
from hlotool.option_fields import options_of

TEXT = """HloModule m, is_scheduled=true

body {
  a = f32[2]{0} parameter(0)
  ROOT b = f32[2]{0} negate(a), metadata={op_name="x"}
}

ENTRY e {
  p = f32[2]{0} parameter(0)
  c = f32[12]{0} constant({1,2,3,4,5,6,7,8,9,10,11,12})
  ROOT r = f32[2]{0} call(p), to_apply=body, backend_config={"k":1}
}
"""
OPTIONS = options_of(hlotool.PrintOptions)
ACCEPTED = Path(__file__).parents[1] / "text" / "accept"
SWITCHES = [name for name, option in OPTIONS.items() if option.kind == "flag"]
WITH_VALUE = {
    "print_operand_index_annotation_interval": ("3", 3),
    "print_subcomputation_mode": ("full", "full"),
    "indent_amount": ("2", 2),
}


@pytest.fixture
def module(file_of):
    return file_of("m.hlo", TEXT)


def expected(**changes):
    return hlotool.to_text(hlotool.parse(TEXT), replace(hlotool.PrintOptions.xla_default(), **changes))


TUPLES = """HloModule m

ENTRY %e (t: (f32[2], (f32[3], f32[4]))) -> (f32[3], f32[4]) {
  %t = (f32[2]{0}, (f32[3]{0}, f32[4]{0})) parameter(0)
  %g = (f32[3]{0}, f32[4]{0}) get-tuple-element(%t), index=1
  %a = f32[3]{0} get-tuple-element(%g), index=0
  %unused = f32[2]{0} get-tuple-element(%t), index=0
  %b = f32[4]{0} get-tuple-element(%g), index=1, sharding={replicated}
  %n = f32[3]{0} negate(%a)
  ROOT %r = (f32[3]{0}, f32[4]{0}) tuple(%n, %b)
}
"""


def test_compact_gte(cli):
    """Checks that tuple elements are printed at their uses.

    An element is printed as an instruction if the instruction has further attributes or no users.
    The printed text parses to the same program.
    """
    text = cli("print", "--preset", "lossless", "--compact-gte", stdin=TUPLES).stdout
    body = [line.strip() for line in text.splitlines() if " = " in line]
    assert body == [
        "%t = (f32[2]{0}, (f32[3]{0}, f32[4]{0})) parameter(0)",
        "%unused = f32[2]{0} get-tuple-element(%t), index=0",
        "%b = f32[4]{0} get-tuple-element(%t#1), index=1, sharding={replicated}",
        "%n = f32[3]{0} negate(%t#1#0)",
        "ROOT %r = (f32[3]{0}, f32[4]{0}) tuple(%n, %b)",
    ]
    arguments = ([1.0, 2.0], ([3.0, 4.0, 5.0], [6.0, 7.0, 8.0, 9.0]))
    (one, two), (three, four) = (hlotool.evaluate(hlotool.parse(source), [arguments]) for source in (TUPLES, text))
    assert (one.tolist(), two.tolist()) == (three.tolist(), four.tolist())
    canonical = cli("print", "--preset", "canonical", "--compact-gte", stdin=TUPLES).stdout
    assert "negate(f32[3]{0} tmp_0#1#0)" in canonical


def test_the_default_is_the_print_of_xla(cli, module):
    result = cli("print", module)
    assert (result.exit_code, result.stdout, result.stderr) == (0, expected(), "")


def test_flags_are_the_fields_of_print_options():
    assert {field.name for field in fields(hlotool.PrintOptions)} == {*SWITCHES, *WITH_VALUE}


def test_help_lists_every_flag(cli):
    text = cli("print", "--help").stdout
    for field in SWITCHES:
        flag = field.replace("_", "-")
        assert f"--{flag} / --no-{flag}" in text
    for field in WITH_VALUE:
        assert "--" + field.replace("_", "-") in text


@pytest.mark.parametrize("field", SWITCHES)
@pytest.mark.parametrize("value", [True, False])
def test_each_switch_sets_its_field(cli, module, field, value):
    flag = ("--" if value else "--no-") + field.replace("_", "-")
    assert cli("print", flag, module).stdout == expected(**{field: value})


@pytest.mark.parametrize("field", WITH_VALUE)
def test_options_with_a_value(cli, module, field):
    text, value = WITH_VALUE[field]
    assert cli("print", "--" + field.replace("_", "-"), text, module).stdout == expected(**{field: value})


@pytest.mark.parametrize("mode", OPTIONS["print_subcomputation_mode"].choices)
def test_subcomputation_modes(cli, module, mode):
    assert cli("print", "--print-subcomputation-mode", mode, module).stdout == expected(print_subcomputation_mode=mode)


@pytest.mark.parametrize("preset", PRESETS)
def test_presets(cli, module, preset):
    constructor = PRESETS[preset]
    options = getattr(hlotool.PrintOptions, constructor)() if constructor else hlotool.PrintOptions()
    assert cli("print", "--preset", preset, module).stdout == hlotool.to_text(hlotool.parse(TEXT), options)


def test_flags_change_a_preset(cli, module):
    options = replace(hlotool.PrintOptions.short_parsable(), print_percent=True)
    assert cli("print", "--preset", "short", "--print-percent", module).stdout == hlotool.to_text(hlotool.parse(TEXT), options)


@pytest.mark.parametrize("arguments", [("--indent-amount", "-1"), ("--preset", "odd"), ("--print-no",), ("--print-subcomputation-mode", "on")])
def test_bad_usage(cli, module, arguments):
    result = cli("print", *arguments, module)
    assert (result.exit_code, result.stdout) == (2, "")


@pytest.mark.parametrize("arguments", [(), ("-",)])
def test_stdin(cli, arguments):
    result = cli("print", *arguments, stdin=TEXT)
    assert (result.exit_code, result.stdout) == (0, expected())


def test_compressed_stdin(cli):
    assert cli("print", stdin=gzip.compress(TEXT.encode())).stdout == expected()


def test_nothing_to_read_is_bad_usage(monkeypatch, cli):
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda self: True, raising=False)
    result = cli("print")
    assert result.exit_code == 2
    assert "no FILE given" in result.stderr


def test_modules_are_separated(cli, tmp_path):
    path = tmp_path / "two.hlo"
    path.write_text(TEXT + "// -----\n" + TEXT)
    result = cli("print", path)
    assert result.stdout == expected() + "// -----\n\n" + expected()
    assert len(hlotool.parse_all(result.stdout)) == 2


def test_files_are_separated_too(cli, module, good):
    result = cli("print", module, good)
    assert result.stdout.startswith(expected() + "// -----\n\nHloModule good")


def test_compressed_files(cli, tmp_path):
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(TEXT.encode()))
    (tmp_path / "b.xz").write_bytes(lzma.compress(TEXT.encode()))
    for name in ("a.txt.gz", "b.xz"):
        assert cli("print", tmp_path / name).stdout == expected()


def test_bytes_that_are_not_utf8_are_printed_unchanged(cli):
    text = b'HloModule m\n\nENTRY e {\n  ROOT p = f32[] parameter(0), metadata={op_name="\xff\xc3\xa9"}\n}\n'
    result = cli("print", "--preset", "lossless", stdin=text)
    assert result.exit_code == 0
    assert b"\xff" in result.stdout_bytes or b"\\377" in result.stdout_bytes


def test_a_file_that_does_not_parse(cli, bad, module):
    result = cli("print", bad, module)
    assert result.exit_code == 2
    assert result.stdout == expected()
    assert result.stderr.startswith("error[S002] undefined-operand: no instruction named 'q'")
    assert f"{bad}:5:26" in result.stderr


@pytest.mark.parametrize(
    ("name", "message"),
    [("missing.hlo", "No such file or directory"), (".", "Is a directory; name a file in it"), ("binary", "NUL bytes")],
)
def test_a_file_that_cannot_be_read(cli, tmp_path, module, name, message):
    (tmp_path / "binary").write_bytes(b"\x08\x00\x00\x12")
    result = cli("print", f"{tmp_path}/{name}", module)
    assert result.exit_code == 2
    assert result.stdout == expected()
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_no_permission(monkeypatch, cli, module):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", refuse)
    result = cli("print", module)
    assert result.exit_code == 2
    assert result.stderr == f"hlotool: cannot read '{module}': Permission denied\n"


# ---- output to a file -------------------------------------------------------------------------------------------------


def test_output_to_a_file(cli, module, tmp_path):
    target = tmp_path / "out.hlo"
    result = cli("print", module, "-o", target)
    assert (result.exit_code, result.stdout) == (0, "")
    assert target.read_text() == expected()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.hlo", "out.hlo"]


def test_output_keeps_mode_and_follows_links(cli, module, tmp_path):
    target, link = tmp_path / "out.hlo", tmp_path / "link.hlo"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    assert cli("print", module, "-o", link).exit_code == 0
    assert link.is_symlink()
    assert target.read_text() == expected()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_nothing_is_written_when_a_file_fails(cli, module, bad, tmp_path):
    target = tmp_path / "out.hlo"
    target.write_text("old")
    assert cli("print", module, bad, "-o", target).exit_code == 2
    assert target.read_text() == "old"


def test_a_failed_write_keeps_the_old_file(monkeypatch, capfdbinary, module, tmp_path):
    target = tmp_path / "out.hlo"
    target.write_text("old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    assert run(["print", str(module), "-o", str(target)]) == 2
    assert capfdbinary.readouterr().err == f"hlotool: cannot write '{target}': No space left on device\n".encode()
    assert target.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.hlo", "out.hlo"]


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="needs /dev/stdout")
def test_output_to_a_device(process, module):
    assert process("print", module, "-o", "/dev/stdout").stdout == expected()
    assert process("print", module, "-o", "-").stdout == expected()
    assert process("print", module, "-o", "/dev/null").returncode == 0


def test_output_into_a_missing_folder(process, module, tmp_path):
    result = process("print", module, "-o", tmp_path / "no" / "out.hlo")
    assert result.returncode == 2
    assert "No such file or directory" in result.stderr
    assert result.stderr.count("\n") == 1


def test_every_option_prints_every_accepted_module():
    """Prints modules that the parser accepts, even if the verifier rejects their replica groups."""
    cases = [case.text for path in sorted(ACCEPTED.glob("*.hlo")) for case in read_cases(path)]
    groups = ("[4,8]<=[64,8]T(1,0)", "[2,4]<=[4]", "[99999,99999]<=[99999,99999]T(1,0)", "{}", "{{}}")
    cases += [f"ENTRY e {{ p = f32[2] parameter(0) ROOT r = f32[2] all-gather(p), dimensions={{0}}, replica_groups={text} }}" for text in groups]
    for text in cases:
        module = hlotool.parse(text)
        for name in SWITCHES:
            default = getattr(hlotool.PrintOptions.xla_default(), name)
            assert hlotool.to_text(module, replace(hlotool.PrintOptions.xla_default(), **{name: not default}))


def test_invalid_groups_are_printed_unchanged(cli, file_of):
    text = "ENTRY e { p = f32[2] parameter(0) ROOT r = f32[2] all-gather(p), dimensions={0}, replica_groups=[4,8]<=[64,8]T(1,0) }"
    result = cli("print", "--print-full-replica-group-list", file_of("m.hlo", text))
    assert result.exit_code == 0
    assert "replica_groups=[4,8]<=[64,8]T(1,0)" in result.stdout
