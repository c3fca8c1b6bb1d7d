"""`--add-ignore`: suppresses each finding with a comment on its line."""

from __future__ import annotations

import pytest

from hlotool.text.parse.parser import parse
from hlotool.verifier.engine import verify
from hlotool.verifier.ignoring import add_ignores

WRONG = "ENTRY e {\n  p = f32[2] parameter(0) // hlotool: ignore[T003]\n  a = f32[3] negate(p)\n  ROOT r = f32[2] negate(p)\n}\n"
UNNEEDED = "ENTRY e {\n  p = f32[2] parameter(0) // hlotool: ignore[T003]\n  ROOT r = f32[2] negate(p)\n}\n"
UNREADABLE = "ENTRY %e (p: f32[2]) -> f32[3] {\n  %p = f32[2] parameter(0)\n  ROOT %r = f32[2] negate(f32[3]{0} %p)\n}\n"


def test_add_ignore(cli, tmp_path):
    path = tmp_path / "m.hlo"
    path.write_text(WRONG)
    result = cli("verify", "--select", "T", "--add-ignore", path)
    assert (result.exit_code, result.stdout) == (0, "1 file checked, no findings\n")
    assert result.stderr == "hlotool: 1 finding suppressed in 1 file\n"
    assert path.read_text() == WRONG.replace("f32[3] negate(p)", "f32[3] negate(p) // hlotool: ignore[T003]")
    path.write_text(UNNEEDED + "// -----\n" + WRONG.replace(" // hlotool: ignore[T003]", ""))
    cli("verify", "--fix", "--add-ignore", path)
    assert path.read_text().count("parameter(0)\n") == 2
    assert path.read_text().count("hlotool") == 1


def test_modules_that_do_not_parse_get_no_suppressions(cli, file_of):
    path = file_of("broken.hlo", UNREADABLE)
    assert cli("verify", "--add-ignore", path).exit_code == 1
    assert path.read_text() == UNREADABLE


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("a = f32[5] negate(p) // why", "a = f32[5] negate(p) // why // hlotool: ignore[T003]"),
        ("a = f32[5] negate(p) // hlotool: ignore[W001] old", "a = f32[5] negate(p) // hlotool: ignore[W001, T003] old"),
        ("a = f32[5] negate(p) /* why */  ", "a = f32[5] negate(p) /* why */ // hlotool: ignore[T003]  "),
        ("a = f32[5] negate(\n p)", "a = f32[5] negate( // hlotool: ignore[T003]\n p)"),
        ("a = f32[5] negate(p)\r", "a = f32[5] negate(p) // hlotool: ignore[T003]\r"),
    ],
)
def test_positions_of_suppressions(line, after):
    text = f"ENTRY e {{\n  p = f32[4] parameter(0)\n  {line}\n  ROOT r = f32[4] negate(p)\n}}\n"
    result = add_ignores(text, "m.hlo", verify)
    assert result.text == text.replace(line, after)
    assert result.fixed == {"T003": 1}


def test_suppressions_are_not_put_into_multi_line_comments():
    text = "ENTRY e {\n  p = f32[4] parameter(0)\n  ROOT r = f32[5] negate(p) /* one\n  two */\n}\n"
    result = add_ignores(text, "m.hlo", verify)
    assert result.text == text or not verify(parse(result.text))
