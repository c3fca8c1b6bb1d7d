"""`hlotool diff --patch` and `hlotool apply`: output files, exit codes and messages."""

from __future__ import annotations

import gzip
import re

import pytest

import hlotool

LEFT = """HloModule m

ENTRY e {
  p = f32[8] parameter(0)
  t = f32[8] tanh(p)
  ROOT s = f32[8] sine(t)
}
"""
RIGHT = LEFT.replace("tanh", "logistic")
RENUMBERED = LEFT.replace("p", "x.1").replace("t =", "x.2 =").replace("(t)", "(x.2)").replace("x.1arameter", "parameter")


@pytest.fixture
def files(cli, file_of):
    """Returns the left and the right module, and the patch."""
    left, right = file_of("left.hlo", LEFT), file_of("right.hlo", RIGHT)
    patch = file_of("change.patch", "")
    assert cli("diff", left, right, "--patch", "-o", patch).exit_code == 1
    return left, right, patch


def same(text: str, other: str) -> bool:
    return hlotool.diff(hlotool.parse(text), hlotool.parse(other)).categories in ((), ("names",))


def test_the_patch(cli, files):
    left, right, patch = files
    text = patch.read_text()
    assert text.startswith(f"--- a{left}\n+++ b{right}\n@@ computation e @@\n")
    assert text == cli("diff", "-p", left, right).stdout == cli("diff", "--output-format", "patch", left, right).stdout
    colored = cli("diff", "-p", left, right, "--color", "always").stdout
    assert "\x1b[31m-  %t = f32[8]{0} tanh(%p)\x1b[0m\n" in colored
    assert cli("diff", "-p", left, left).stdout == ""
    assert "@@ names @@" in cli("diff", "-p", left, "-", stdin=RENUMBERED).stdout
    assert cli("diff", "-p", left, "-", "--ignore", "names", stdin=RENUMBERED).stdout == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--patch", "--output-format", "json"), "--patch is --output-format patch; it cannot be combined with --output-format json"),
        (("--patch", "--stat"), "--stat applies to text only; it cannot be combined with --output-format patch"),
    ],
)  # fmt: skip
def test_options_of_diff(cli, files, options, message):
    result = cli("diff", *files[:2], *options)
    assert result.exit_code == 2
    assert message in result.stderr


def test_in_place(cli, files, file_of):
    left, _, patch = files
    assert cli("apply", patch, left).exit_code == 0
    assert same(left.read_text(), RIGHT)
    assert cli("apply", "-R", patch, left).exit_code == 0
    assert same(left.read_text(), LEFT)
    renumbered = file_of("renumbered.hlo", RENUMBERED)
    assert cli("apply", patch, renumbered).exit_code == 0
    assert renumbered.read_text() == hlotool.to_text(hlotool.parse(RENUMBERED.replace("tanh", "logistic")))


def test_output_to_another_file(cli, files, tmp_path):
    left, _, patch = files
    out = tmp_path / "out.hlo"
    assert cli("apply", patch, left, "-o", out).exit_code == 0
    assert same(out.read_text(), RIGHT)
    assert left.read_text() == LEFT
    assert cli("apply", patch, left, "-o", "-").stdout == cli("apply", patch, "-", stdin=LEFT).stdout == out.read_text()
    assert same(cli("apply", "-", left, "-o", "-", stdin=patch.read_text()).stdout, RIGHT)
    compressed = tmp_path / "left.hlo.gz"
    compressed.write_bytes(gzip.compress(LEFT.encode()))
    assert cli("apply", patch, compressed, "-o", "-").stdout == out.read_text()


def test_check(cli, files):
    left, right, patch = files
    before = left.read_text()
    fits, misfits = cli("apply", "--check", patch, left), cli("apply", "--check", patch, right)
    assert (fits.exit_code, fits.stdout, fits.stderr) == (0, "", "")
    assert (misfits.exit_code, misfits.stdout) == (1, "")
    assert left.read_text() == before
    assert right.read_text() == RIGHT


def test_a_patch_that_does_not_apply(cli, files):
    _, right, patch = files
    result = cli("apply", patch, right)
    assert result.exit_code == 1
    assert f"{patch}: the patch seems to have been applied already" in result.stderr
    assert right.read_text() == RIGHT
    right.write_text(RIGHT.replace("logistic", "cosine"))
    expected = "expected '%t = f32[8]{0} tanh(%p)' in computation 'e', but the nearest is '%t = f32[8]{0} cosine(%p)'"
    assert f"{patch}:5:1: the patch does not apply: {expected}" in cli("apply", patch, right).stderr


@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        (("PATCH", "NONE"), None, "none.hlo"),
        (("NONE", "LEFT"), None, "none.hlo"),
        (("LEFT", "LEFT"), None, "left.hlo:1:1: this is not a patch"),
        (("PATCH", "-"), "ENTRY e {", "<stdin>:1:"),
        (("PATCH", "-"), f"{LEFT}// -----\n{LEFT}", "contains 2 modules, which begin on lines 1, 9; a patch is for one module"),
        (("-", "-"), LEFT, "standard input can be read only once"),
        (("PATCH", "LEFT", "--check", "-o", "-"), None, "--check writes nothing; it cannot be combined with -o"),
        (("PATCH", "LEFT", "-o", "LEFT"), None, "it is an input"),
        (("PATCH", "LEFT", "--extract"), None, "which cannot be changed in place; use -o FILE"),
        (("PATCH",), None, "Missing argument 'FILE'"),
    ],
)  # fmt: skip
def test_bad_usage(cli, files, tmp_path, arguments, stdin, message):
    names = {"LEFT": files[0], "PATCH": files[2], "NONE": tmp_path / "none.hlo"}
    result = cli("apply", *[names.get(word, word) for word in arguments], stdin=stdin)
    assert result.exit_code == 2
    assert message in result.stderr
    assert files[0].read_text() == LEFT


def test_comments_are_preserved(cli, files, file_of):
    commented = file_of("commented.hlo", LEFT.replace("ENTRY", "// The entry.\nENTRY"))
    result = cli("apply", files[2], commented)
    assert result.exit_code == 2
    assert "its comments would be lost, such as '// The entry.' on line 3; use -o FILE" in result.stderr
    assert "// The entry." in commented.read_text()
    assert cli("apply", files[2], commented, "-o", "-").exit_code == 0


def test_each_reason_is_on_its_own_line(cli, files, file_of):
    other = file_of("other\n.hlo", "ENTRY e { q = s32[3] parameter(0) ROOT n = s32[3] not(q) }")
    result = cli("apply", "--check", files[2], other)
    assert (result.exit_code, result.stdout) == (1, "")
    lines = result.stderr.splitlines()
    assert len(lines) > 1
    assert all(re.match(r"hlotool: .*change\.patch:\d+:1: the patch does not apply: ", line) for line in lines)
    assert "\\n" not in result.stderr
