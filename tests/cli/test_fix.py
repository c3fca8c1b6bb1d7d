"""`--fix` and `--diff`: the changes that they make, and the input that they leave unchanged."""

from __future__ import annotations

import gzip
import subprocess
import sys
from functools import partial

import pytest

from hlotool.codes import CODE_NAMES
from hlotool.errors import Diagnostic, Edit, Fix
from hlotool.interp.arguments.inputs import random_arguments
from hlotool.interp.arrays.values import leaves
from hlotool.interp.evaluator import evaluate
from hlotool.optimizer.checking import same_bits
from hlotool.optimizer.registry import all_rules
from hlotool.text.parse.parser import parse
from hlotool.verifier.engine import verify
from hlotool.verifier.explanations import example_of, explain_rule
from hlotool.verifier.fixing import apply_edits, fix_rules, fix_text, rewrite_fixes, with_fixes
from hlotool.workspace.lint_fixes import rewrite_edits

BROKEN = "ENTRY %e (p: f32[2]) -> f32[3] {\n  %p = f32[2] parameter(0)\n  ROOT %r = f32[2] negate(f32[3]{0} %p) // why\n}\n"
MENDED = "ENTRY %e (p: f32[2]) -> f32[2] {\n  %p = f32[2] parameter(0)\n  ROOT %r = f32[2] negate(f32[2] %p) // why\n}\n"
DOUBTFUL = "ENTRY e {\n  p = f32[2] parameter(0) // hlotool: ignore[T003]\n  a = f32[3] negate(p)\n  ROOT r = f32[2] negate(p)\n}\n"
UNNEEDED = "ENTRY e {\n  p = f32[2] parameter(0) // hlotool: ignore[T003]\n  ROOT r = f32[2] negate(p)\n}\n"


@pytest.fixture
def broken(file_of):
    return file_of("broken.hlo", BROKEN)


def test_fix(cli, broken):
    result = cli("verify", "--fix", broken)
    assert (result.exit_code, result.stdout) == (0, "1 file checked, no findings\n")
    assert result.stderr == "hlotool: 2 findings fixed in 1 file\n"
    assert broken.read_text() == MENDED
    assert cli("verify", "--fix", broken).stderr == "hlotool: nothing to fix\n"


def test_diff_writes_nothing(cli, broken):
    result = cli("verify", "--diff", broken)
    assert result.exit_code == 1
    assert "-ENTRY %e (p: f32[2]) -> f32[3] {\n" in result.stdout
    assert "+ENTRY %e (p: f32[2]) -> f32[2] {\n" in result.stdout
    assert result.stderr == "hlotool: 2 findings would be fixed in 1 file\n"
    assert broken.read_text() == BROKEN
    assert cli("verify", "--diff", "-q", stdin=MENDED).output == ""


def test_standard_input_goes_to_standard_output(cli):
    result = cli("verify", "--fix", stdin=BROKEN)
    assert (result.exit_code, result.stdout) == (0, MENDED)
    result = cli("verify", "--fix", stdin=BROKEN + "// -----\n" + UNNEEDED + "// -----\n" + DOUBTFUL)
    assert result.exit_code == 1
    # A module with an error keeps its suppressions, since fixing the error may bring back the
    # suppressed finding.
    assert result.stdout == MENDED + "// -----\n" + UNNEEDED.replace(" // hlotool: ignore[T003]", "") + "// -----\n" + DOUBTFUL
    assert "error[T003]" in result.stderr


def test_files_that_cannot_be_rewritten(cli, tmp_path):
    packed = tmp_path / "m.hlo.gz"
    packed.write_bytes(gzip.compress(BROKEN.encode()))
    result = cli("verify", "--fix", packed)
    assert result.exit_code == 2
    assert "it is compressed" in result.stderr
    assert cli("verify", "--unsafe-fixes", packed).exit_code == 2


def test_fixes_are_shown(cli, tmp_path):
    path = tmp_path / "m.hlo"
    path.write_text(UNNEEDED)
    result = cli("verify", path)
    assert "  = fix: Remove the suppression (--fix)\n" in result.stdout
    assert "[*]" in cli("verify", "--statistics", path).stdout


# ---- single fixes -----------------------------------------------------------------------------------------------------


def apply_fixes(text: str, code: str, **position: str) -> str:
    """Returns the text after fixing the given finding, even if no rule reports it."""

    def check(module):
        # The finding is reported only before the fix.
        return [Diagnostic(code, "x", "warning", "m", **position)] if module.source.text == text else []

    return fix_text(text, "m.hlo", check).text


def test_missing_root():
    assert apply_fixes("ENTRY e {\n  p = f32[] parameter(0)\n  q = f32[] negate(p)\n}\n", "S007", computation="e").count("  ROOT q") == 1


def test_no_entry():
    text = "add {\n  p = f32[] parameter(0)\n}\n\nmain {\n  p = f32[] parameter(0)\n}\n"
    assert apply_fixes(text, "S009") == text.replace("main", "ENTRY main")


def test_signature_parameters():
    text = "ENTRY %e (x: f32[3], y: (f32[], s32[])) -> f32[2] {\n  %p = f32[2] parameter(0)\n  ROOT %r = f32[2] negate(%p)\n}\n"
    assert apply_fixes(text, "S024", computation="e").splitlines()[0] == "ENTRY %e (p: f32[2]) -> f32[2] {"


def test_dead_instruction():
    text = "ENTRY e {\n  p = f32[] parameter(0)\n  a = f32[] negate(p)\n  b = f32[] negate(p) // kept\n  ROOT r = f32[] negate(p)\n}\n"
    assert apply_fixes(text, "W001", computation="e", instruction="a") == text.replace("  a = f32[] negate(p)\n", "")
    assert apply_fixes(text, "W001", computation="e", instruction="b") == text.replace("  a = f32[] negate(p)\n", "")
    assert apply_fixes(text, "W001", computation="e", instruction="p") == text
    assert apply_fixes(text, "W001", computation="e", instruction="r") == text, "it is the root"
    one_line = "ENTRY e { p = f32[] parameter(0) a = f32[] negate(p) ROOT r = f32[] negate(p) }"
    assert apply_fixes(one_line, "W001", computation="e", instruction="a") == one_line


def test_suppressed_dead_code_stays():
    suppressed = (
        '  // hlotool: off[W001]\n  b = f32[] abs(p)\n  // hlotool: on[W001]\n  c = f32[] sine(p), frontend_attributes={hlotool_ignore="W001"}\n'
    )
    text = f"ENTRY e {{\n  p = f32[] parameter(0)\n  a = f32[] negate(p)\n{suppressed}  ROOT r = f32[] negate(p)\n}}\n"
    assert apply_fixes(text, "W001", computation="e", instruction="a") == text.replace("  a = f32[] negate(p)\n", "")
    dead = "// hlotool: off[W003]\nf {\n  ROOT p = f32[] parameter(0)\n}\n// hlotool: on[W003]\n"
    live = "ENTRY main {\n  ROOT p = f32[] parameter(0)\n}\n"
    assert apply_fixes(dead + "g {\n  ROOT p = f32[] parameter(0)\n}\n" + live, "W003", computation="g") == dead + live


def test_dead_computation():
    dead = "dead {\n  p = f32[] parameter(0)\n}\n\n"
    live = "ENTRY main {\n  p = f32[] parameter(0)\n}\n"
    assert apply_fixes(dead + live, "W003", computation="dead") == live
    assert apply_fixes("HloModule m\n\n" + dead + live, "W003", computation="dead") == "HloModule m\n\n" + live
    assert apply_fixes(dead + live, "W003", computation="main") == dead + live
    # Some versions of XLA repeat the name in a comment, which is removed; other comments stay.
    assert apply_fixes(dead.replace("}", "} // dead") + live, "W003", computation="dead") == live
    for comment in ("} // deadly", "// dead }\n}", "} // }", "/* } */ } // dead"):
        kept = dead.replace("}", comment) + live
        assert apply_fixes(kept, "W003", computation="dead") == kept


@pytest.mark.parametrize("shape", ["f32[3]", "f32[3]{0:T(8,128)}", "(f32[3], (s32[], f32[<=2]{0}))", "/*index=0*/f32[3]"])
def test_operand_annotations(shape):
    text = f"ENTRY e {{\n  p = f32[2] parameter(0)\n  ROOT r = f32[2] add({shape} p, p)\n}}\n"
    result = fix_text(text, "m.hlo", verify)
    assert result.fixed == {"S022": 1}
    assert "add(f32[2] p, p)" in result.text.replace("/*index=0*/", "")


@pytest.mark.parametrize(
    ("old", "new"),
    [("ENTRY", "ENTRI"), ("f32[2] negate", "f32[3] negate"), ("  ROOT r = f32[2] negate(a)\n", ""), ("ENTRY e", "ENTRY f"), ("ROOT ", "")],
)
def test_a_fix_that_causes_an_error_is_rejected(old, new):
    text = "ENTRY e {\n  a = f32[2] parameter(0)\n  ROOT r = f32[2] negate(a)\n  z = f32[2] negate(a)\n}\n"
    edit = Edit(text.index(old), text.index(old) + len(old), new)

    def check(module):
        diagnostics = [Diagnostic("W005", "x", "warning", "m", fix=Fix((edit,), "try"))] if module.source.text == text else []
        return [*diagnostics, *verify(module, select=["ALL"], ignore=["W"])]

    assert fix_text(text, "m.hlo", check).text == text


def test_unsafe_fixes_are_applied_on_request():
    text = "ENTRY e {\n  ROOT p = f32[2] parameter(0)\n}\n"

    def check(module):
        edit = Edit(text.index("[2]") + 1, text.index("[2]") + 2, "3")
        return [Diagnostic("W005", "x", "warning", "m", fix=Fix((edit,), "grow", False))] if "f32[2]" in module.source.text else []

    assert fix_text(text, "m.hlo", check).text == text
    assert fix_text(text, "m.hlo", check, unsafe=True).text == text.replace("f32[2]", "f32[3]")


def test_other_fixes_are_applied_after_a_rejected_one():
    text = UNNEEDED

    def check(module):
        diagnostics = verify(module, ignore=["W001"])
        return [*diagnostics, Diagnostic("W001", "x", "warning", "m", fix=Fix((Edit(0, 5, "ENTRI"),), "try"))]

    result = fix_text(text, "m.hlo", check)
    assert result.fixed == {"W050": 1}


@pytest.mark.parametrize(
    ("comment", "after"),
    [
        ("  // hlotool: ignore[T003] // hlotool: ignore[W001] on purpose\n", "  // hlotool: ignore[W001] on purpose\n"),
        ("  // hlotool: ignore[W001] on purpose // hlotool: ignore[T003]\n", "  // hlotool: ignore[W001] on purpose\n"),
        ("\r\n  // hlotool: ignore-next[T003]\r\n", "\r\n"),
    ],
)
def test_only_the_unused_suppression_is_removed(comment, after):
    dead = f"  d = f32[4] abs(p){comment}"
    text = f"HloModule m, is_scheduled=true\n\nENTRY e {{\n  p = f32[4] parameter(0)\n{dead}  ROOT r = f32[4] negate(p)\n}}\n"
    result = fix_text(text, "m.hlo", partial(verify, select=["W050", "T003"]))
    assert result.text == text.replace(comment, after)


def test_the_number_of_fixes_is_not_limited():
    many = "".join(f"  a.{k} = f32[2] negate({f'a.{k - 1}' if k else 'p'})\n" for k in range(500))
    text = "ENTRY e {\n  p = f32[2] parameter(0)\n" + many + "  ROOT r = f32[2] negate(p)\n}\n"
    assert fix_text(text, "m.hlo", verify).text == text.replace(many, "")
    calls = "".join(f"call{k + 1} {{\n  q = f32[2] parameter(0)\n  ROOT d = f32[2] call(q), to_apply=call{k}\n}}\n\n" for k in range(100))
    start = "call0 {\n  ROOT q = f32[2] parameter(0)\n}\n\n"
    entry = "ENTRY e {\n  ROOT p = f32[2] parameter(0)\n}\n"
    assert fix_text(start + calls + entry, "m.hlo", lambda module: verify(module, select=["W003"])).text == entry


def test_fixes_that_undo_each_other_terminate():
    text = "ENTRY e {\n  ROOT p = f32[2] parameter(0)\n}\n"

    def check(module):
        at = module.source.text.index("[") + 1
        old = module.source.text[at]
        return [Diagnostic("W005" if old == "2" else "W007", "x", "warning", "m", fix=Fix((Edit(at, at + 1, "3" if old == "2" else "2"),), "swap"))]

    assert fix_text(text, "m.hlo", check).text == text.replace("[2]", "[3]")


def test_one_bad_fix_among_many_is_skipped():
    names = [f"p{k}" for k in range(60)]
    text = "ENTRY e {\n" + "".join(f"  {name} = f32[2] parameter({k})\n" for k, name in enumerate(names)) + "  ROOT r = f32[2] negate(p0)\n}\n"

    def check(module):
        findings = []
        for name in names:
            at = module.source.text.find(f"{name} = f32[2]")
            if at >= 0:
                findings.append(Diagnostic("W005", "x", "warning", "m", fix=Fix((Edit(at + 7 + len(name), at + 8 + len(name), "4"),), "grow")))
        broken = [Diagnostic("T003", "x", "error", "m")] if "p41 = f32[4]" in module.source.text else []
        return [*findings, *broken]

    result = fix_text(text, "m.hlo", check)
    assert result.fixed == {"W005": 59}
    assert result.text.count("f32[4]") == 59
    assert "p41 = f32[2]" in result.text


def test_with_fixes():
    module = parse(DOUBTFUL)
    assert [(d.code, d.fix is not None) for d in with_fixes(module, verify(module))] == [("T003", False)]
    module = parse(UNNEEDED)
    assert [(d.code, d.fix is not None) for d in with_fixes(module, verify(module))] == [("W050", True)]


# ---- fixes by rewrites ------------------------------------------------------------------------------------------------

BODY = "HloModule m\n\n// Two parameters.\nENTRY e {{\n  p = f32[2,3] parameter(0)  // why\n\n  q = s32[4] parameter(1)\n{}}}\n"


def rewritten_lines(lines: str, *codes: str) -> str:
    """Returns the fixed lines of an entry computation, and checks that nothing else changes."""
    text = BODY.format(lines)
    result = fix_text(text, "m.hlo", lambda module: verify(module, select=codes), rewrite=rewrite_edits).text
    first, _, rest = BODY.format("|").partition("|")
    assert result.startswith(first)
    assert result.endswith(rest)
    assert not [d for d in verify(parse(result)) if d.severity == "error"]
    before, after = parse(text), parse(result)
    arguments = random_arguments(before, 1)
    assert all(map(same_bits, leaves(evaluate(before, arguments)), leaves(evaluate(after, arguments))))
    return result[len(first) : -len(rest)]


@pytest.mark.parametrize(
    ("code", "lines", "after"),
    [
        (
            "W005",
            '  a = f32[2,3] sine(p)\n  b = f32[2,3] sine(p), metadata={op_name="b"}\n  ROOT r = f32[2,3] divide(b, a)\n',
            "  a = f32[2,3] sine(p)\n  ROOT r = f32[2,3] divide(a, a)\n",
        ),
        (
            "W007",
            "  a = f32[2,3]{1,0} reshape(p)\n  ROOT r = (f32[2,3], f32[2,3]) tuple(f32[2,3]{1,0} a, %a)\n",
            "  ROOT r = (f32[2,3], f32[2,3]) tuple(f32[2,3]{1,0} p, %p)\n",
        ),
        (
            "W008",
            "  a = s32[4] copy(q)\n  b = s32[4] copy(a)\n  c = s32[4] copy(b)\n  ROOT r = s32[4] negate(c)\n",
            "  a = s32[4] copy(q)\n  ROOT r = s32[4] negate(a)\n",
        ),
        (
            "W009",
            '  a = f64[2,3] convert(p)\n  ROOT %r = bf16[2,3] convert(f64[2,3] %a), metadata={op_name="r"}  // kept\n',
            '  ROOT %r = bf16[2,3] convert(f32[2,3] %p), metadata={op_name="r"}  // kept\n',
        ),
        (
            "W010",
            "  s = f32[2,3] sine(p)\n  a = f32[3,2] transpose(s), dimensions={1,0}\n  ROOT r = f32[2,3] transpose(a), dimensions={1,0}\n",
            "  ROOT s = f32[2,3] sine(p)\n",
        ),
        (
            "W011",
            "  a = f32[6] reshape(p)\n  b = f32[6] abs(a)\n  c = f32[3,2]{1,0} reshape(a)\n  ROOT r = (f32[6], f32[3,2]) tuple(b, c)\n",
            "  a = f32[6] reshape(p)\n  b = f32[6] abs(a)\n  c = f32[3,2]{1,0} reshape(p)\n  ROOT r = (f32[6], f32[3,2]) tuple(b, c)\n",
        ),
        (
            "W019",
            "  a = f32[2,3] negate(p) /* both */\n  b = f32[2,3] negate(a)\n  z = s32[4] subtract(q, q)\n  ROOT r = (f32[2,3], s32[4]) tuple(b, z)\n",
            (
                "  a = f32[2,3] negate(p) /* both */\n  constant = s32[] constant(0)\n  z = s32[4] broadcast(constant), dimensions={}\n"
                "  ROOT r = (f32[2,3], s32[4]) tuple(p, z)\n"
            ),
        ),
        (
            "W020",
            "  t = (f32[2,3], s32[4]) tuple(p, q)\n  g = f32[2,3] get-tuple-element(t), index=0\n  ROOT r = f32[2,3] sine(g)\n",
            "  ROOT r = f32[2,3] sine(p)\n",
        ),
        (
            "W021",
            (
                '  a = f32[] constant(2)\n  b = f32[] constant(0.5)\n  c = f32[] add(a, b), metadata={op_name="c"}\n  d = f32[] multiply(c, c)\n'
                "  ROOT r = (f32[], f32[]) tuple(d, a)\n"
            ),
            "  a = f32[] constant(2)\n  d = f32[] constant(6.25)\n  ROOT r = (f32[], f32[]) tuple(d, a)\n",
        ),
        (
            "W022",
            "  ROOT r = f32[2,40]{1,0} constant({" + ", ".join(["{" + ", ".join(["1"] * 40) + "}"] * 2) + "})\n",
            "  constant = f32[] constant(1)\n  ROOT r = f32[2,40]{1,0} broadcast(constant), dimensions={}\n",
        ),
        (
            "W036",
            "  %i = s32[] constant(1)\n  ROOT %r = s32[2]{0} dynamic-slice(%q, %i), dynamic_slice_sizes={2}\n",
            "  ROOT %r = s32[2]{0} slice(%q), slice={[1:3]}\n",
        ),
        (
            "W046",
            "  y = pred[] constant(true)\n  n = f32[2,3] negate(p)\n  s = f32[2,3] select(y, p, n)\n  ROOT r = f32[2,3] sine(s)\n",
            "  ROOT r = f32[2,3] sine(p)\n",
        ),
        (
            "W054",
            "  v = s32[] constant(0)\n  a = s32[6] pad(q, v), padding=1_1\n  ROOT r = s32[3] slice(a), slice={[1:4]}\n",
            "  ROOT r = s32[3] slice(q), slice={[0:3]}\n",
        ),
    ],
)
def test_lints_fixed_by_rewrites(code, lines, after):
    assert rewritten_lines(lines, code) == after


@pytest.mark.parametrize(
    "lines",
    [
        "  a = f32[2,3] negate(p)\n  b = f32[2,3] negate(a) // kept\n  ROOT r = f32[2,3] sine(b)\n",
        "  a = f32[2,3] negate(p)\n  b = f32[2,3] negate(a), control-predecessors={p}\n  ROOT r = f32[2,3] sine(b)\n",
        "  a = f32[2,3] negate(p) b = f32[2,3] negate(a)\n  ROOT r = f32[2,3] sine(b)\n",
        "  ROOT r = f32[2,3] sine(f32[2,3] negate(f32[2,3] negate(p)))\n",
    ],
)
def test_lines_that_are_not_rewritten(lines):
    assert rewritten_lines(lines, "W019") == lines


def offered_lines(lines: str, code: str) -> list[str]:
    """Returns the lines after each offered fix, applied alone; the lines need not be valid."""
    module = parse(BODY.format(lines))
    findings = with_fixes(module, verify(module, select=[code]), rewrite=rewrite_edits)
    assert findings
    first, _, rest = BODY.format("|").partition("|")
    texts = [apply_edits(BODY.format(lines), d.fix.edits) for d in findings if d.fix is not None]
    return [text.removeprefix(first).removesuffix(rest) for text in texts]


NUMBERS = ", ".join(map(str, range(101)))


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        # A result that is too long, a tuple, and a number that cannot be written as text.
        ("W021", f"  c = s32[101] constant({{{NUMBERS}}})\n  ROOT n = s32[101] negate(c)\n"),
        ("W021", "  a = f32[] constant(nan)\n  b = f32[] constant(1)\n  ROOT c = c64[] complex(a, b)\n"),
        # The result has a different sharding, or the value is computed inside another line.
        ("W019", "  a = f32[2,3] negate(p)\n  ROOT b = f32[2,3] negate(a), sharding={replicated}\n"),
        ("W019", "  a = f32[2,3] abs(f32[2,3] sine(p))\n  ROOT b = f32[2,3] abs(f32[2,3] abs(f32[2,3] cosine(p)))\n"),
        # The comment keeps the operand, so its instruction stays too.
        ("W011", "  a = f32[6] reshape(p)\n  ROOT b = f32[3,2] reshape(/* p */ a)\n"),
    ],
)
def test_fixes_that_are_not_offered(code, lines):
    assert offered_lines(lines, code) == []


@pytest.mark.parametrize(
    ("code", "lines", "after"),
    [
        # Only the lint's own rewrites are applied; for example, nothing is merged or folded.
        (
            "W019",
            "  y = s32[4] subtract(q, q)\n  z = s32[4] subtract(q, q)\n  ROOT r = (s32[4], s32[4]) tuple(y, z)\n",
            [
                (
                    "  constant = s32[] constant(0)\n  y = s32[4] broadcast(constant), dimensions={}\n  z = s32[4] subtract(q, q)\n"
                    "  ROOT r = (s32[4], s32[4]) tuple(y, z)\n"
                ),
                (
                    "  y = s32[4] subtract(q, q)\n  constant = s32[] constant(0)\n  z = s32[4] broadcast(constant), dimensions={}\n"
                    "  ROOT r = (s32[4], s32[4]) tuple(y, z)\n"
                ),
            ],
        ),
        (
            "W019",
            "  c = s32[2] constant({1, 2})\n  ROOT z = s32[2] subtract(c, c)\n",
            ["  constant = s32[] constant(0)\n  ROOT z = s32[2] broadcast(constant), dimensions={}\n"],
        ),
        (
            "W045",
            "  n = f32[2,3] negate(p)\n  c = f32[2,3] concatenate(n), dimensions={0}\n  ROOT r = f32[2,3] sine(c)\n",
            ["  n = f32[2,3] negate(p)\n  ROOT r = f32[2,3] sine(n)\n"],
        ),
        # The new instruction keeps the sharding of the old one.
        (
            "W019",
            "  ROOT z = s32[4] subtract(q, q), sharding={devices=[2]<=[2]}\n",
            ["  constant = s32[] constant(0)\n  ROOT z = s32[4] broadcast(constant), dimensions={}, sharding={devices=[2]<=[2]}\n"],
        ),
        # The root, and instructions with an effect, a control dependency or a suppression, stay.
        (
            "W019",
            (
                '  a = s32[4] custom-call(q), custom_call_target="f", custom_call_has_side_effect=true\n  z = s32[4] subtract(a, a)\n'
                "  ROOT n = s32[4] negate(z)\n"
            ),
            [
                (
                    '  a = s32[4] custom-call(q), custom_call_target="f", custom_call_has_side_effect=true\n  constant = s32[] constant(0)\n'
                    "  z = s32[4] broadcast(constant), dimensions={}\n  ROOT n = s32[4] negate(z)\n"
                )
            ],
        ),
        (
            "W019",
            "  b = s32[4] abs(q)\n  a = s32[4] negate(q), control-predecessors={b}\n  z = s32[4] subtract(a, a)\n  ROOT n = s32[4] subtract(z, b)\n",
            [
                (
                    "  b = s32[4] abs(q)\n  a = s32[4] negate(q), control-predecessors={b}\n  constant = s32[] constant(0)\n"
                    "  z = s32[4] broadcast(constant), dimensions={}\n  ROOT n = s32[4] subtract(z, b)\n"
                )
            ],
        ),
        (
            "W019",
            "  a = s32[4] negate(q)  // hlotool: ignore[W001]\n  z = s32[4] subtract(a, a)\n  ROOT n = s32[4] negate(z)\n",
            [
                (
                    "  a = s32[4] negate(q)  // hlotool: ignore[W001]\n  constant = s32[] constant(0)\n"
                    "  z = s32[4] broadcast(constant), dimensions={}\n  ROOT n = s32[4] negate(z)\n"
                )
            ],
        ),
        (
            "W019",
            "  ROOT a = s32[4] negate(q)\n  z = s32[4] subtract(a, a)\n  n = s32[4] negate(z)\n",
            [
                (
                    "  ROOT a = s32[4] negate(q)\n  constant = s32[] constant(0)\n  z = s32[4] broadcast(constant), dimensions={}\n"
                    "  n = s32[4] negate(z)\n"
                )
            ],
        ),
    ],
)
def test_fixes_that_are_offered(code, lines, after):
    assert offered_lines(lines, code) == after


def test_modules_with_errors_are_not_rewritten():
    """Checks that a line that does not parse prevents fixes, but an unknown opcode does not.

    A line that does not parse may use an instruction that the fix would remove.
    """
    lines = "  a = f32[2,3] negate(p)\n  b = f32[2,3] negate(a)\n  c = f32[2,3] {}\n  ROOT r = f32[2,3] sine(b)\n"
    for end, is_fixed in (("ceil(a) =", False), ("nogate(a)", True)):
        module = parse(BODY.format(lines.format(end)), strict=False)
        findings = with_fixes(module, verify(module, select=["W019"]), rewrite=rewrite_edits)
        assert [d.fix is not None for d in findings] == [is_fixed]


def test_another_instruction_becomes_the_root(cli):
    text = "HloModule m{}\n\nENTRY %e (p: f32[4]) -> f32[4] {{\n  {}%p = f32[4]{{0}} parameter(0)\n{}}}\n"
    lines = '  %a = f32[4]{0} negate(f32[4]{0} %p)\n  ROOT %r = f32[4]{0} negate(f32[4]{0} %a), metadata={op_name="r"}\n'
    assert cli("verify", "--select", "W019", "--fix", "-q", "-", stdin=text.format("", "", lines)).stdout == text.format("", "ROOT ", "")
    # In a scheduled module, the last instruction must stay the root.
    scheduled = text.format(", is_scheduled=true", "", lines)
    assert cli("verify", "--select", "W019", "--fix", "-q", "-", stdin=scheduled).stdout == scheduled


def test_every_lint_with_rewrites_has_an_example_that_is_fixed():
    # In W009's example, the converts change values by rounding. In W022's example, the optimizer
    # keeps the constant, because it is short.
    for code in rewrite_fixes().keys() - {"W009", "W022"}:
        text = example_of(code).bad.replace("  // " + code, "")
        result = fix_text(text, "m.hlo", lambda module, code=code: verify(module, select=[code]), rewrite=rewrite_edits)
        assert result.fixed[code] == 1, code


def test_comments_inside_an_instruction_are_preserved():
    lines = "  a = f32[6] reshape(p)\n  ROOT b = f32[3,2] reshape(/* p */ a)\n"
    assert rewritten_lines(lines, "W011") == lines


def test_line_endings_are_preserved():
    text = BODY.format("  z = s32[4] subtract(q, q)\n  ROOT r = s32[4] negate(z)\n").replace("\n", "\r\n")
    result = fix_text(text, "m.hlo", lambda module: verify(module, select=["W019"]), rewrite=rewrite_edits).text
    assert result.count("\r\n") == result.count("\n") == text.count("\n") + 1


def test_many_lints_at_once(cli, tmp_path):
    """Checks that the next fix removes instructions that a rewrite leaves unused."""
    path = tmp_path / "m.hlo"
    chain = "".join(f"  n{k + 1} = f32[2,3] negate(n{k})\n" for k in range(40))
    path.write_text(BODY.format(f"  n0 = f32[2,3] copy(p)\n{chain}  ROOT r = f32[2,3] sine(n40)\n"))
    result = cli("verify", "--extend-select", "W019", "--fix", path)
    assert result.exit_code == 0
    assert path.read_text() == BODY.format("  n0 = f32[2,3] copy(p)\n  ROOT r = f32[2,3] sine(n0)\n")
    path.write_text(BODY.format("  a = s32[4] negate(q)\n  b = s32[4] negate(a)\n  ROOT r = s32[4] copy(b)\n"))
    assert "= fix: Use the known result (--fix)" in cli("verify", "--select", "W019", path).stdout


@pytest.mark.parametrize(("codes", "is_needed"), [("W010", False), ("W001,W005,W010", True)])
def test_the_optimizer_is_only_loaded_if_findings_need_it(tmp_path, codes, is_needed):
    path = tmp_path / "m.hlo"
    path.write_text(BODY.format("  a = f32[2,3] sine(p)\n  b = f32[2,3] sine(p)\n  ROOT r = f32[2,3] divide(b, a)\n"))
    code = f"import sys; from hlotool.cli.main import run; run(['verify', '--select', '{codes}', {str(path)!r}]); print('numpy' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == str(is_needed)


def test_rewrites_that_fix_lints_exist():
    names = {*all_rules(), *(entry.topic for entry in all_rules().values()), "cse", "fold"}
    assert all(fix.title and names.issuperset(fix.rewrites) for fix in rewrite_fixes().values())
    inexact = {name for entry in all_rules().values() if entry.flags for name in (entry.name, entry.topic)}
    assert all(inexact.isdisjoint({*fix.rewrites} - {"cse", "fold"}) for fix in rewrite_fixes().values())
    assert rewrite_fixes().keys() <= CODE_NAMES.keys() - fix_rules().keys()
    assert (explain_rule("W010").fix, explain_rule("W010").fix_is_safe) == ("Transpose once", True)


def test_fixes_are_shown_next_to_errors(cli):
    text = cli("verify", stdin=UNNEEDED + "// -----\n" + BROKEN).stdout
    assert "= fix: Annotate the operand with its shape (--fix)\n" in text
    assert text.count("= fix:") == 2


def test_only_selected_findings_are_fixed(cli, tmp_path):
    path = tmp_path / "m.hlo"
    path.write_text(UNNEEDED)
    assert cli("verify", "--fix", "--select", "T100", path).exit_code == 0
    assert path.read_text() == UNNEEDED
    assert cli("verify", "--fix", "--select", "W050", path).exit_code == 0
    assert "hlotool" not in path.read_text()
