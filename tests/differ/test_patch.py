"""Patches: random edits, targets with other names and further changes, and damaged patches.

The cases in tests/patches show the format of patches.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from case_files import read_cases
from edit_modules import EDITS, edit_module, renamed, reordered
from fuzz_differ import PROGRAMS
from patching import damaged, patch_faults

import hlotool
from hlotool.differ.patches.fingerprints import fingerprints
from hlotool.errors import HlotoolError
from hlotool.testing import random_module

PATHS = [path for path in sorted(PROGRAMS.glob("*.hlo")) if path.stat().st_size < 30_000]
CASES = [case for path in sorted(Path(__file__).parent.parent.glob("patches/*.hlo")) for case in read_cases(path)]
LEFT = "ENTRY e {\n  p = f32[8] parameter(0)\n  t = f32[8] tanh(p)\n  ROOT s = f32[8] sine(t)\n}\n"
RIGHT = LEFT.replace("tanh", "logistic")
LONG = """
ENTRY e {
  p = f32[8] parameter(0)
  a = f32[8] tanh(p)
  b = f32[8] sine(a)
  c = f32[8] cosine(b)
  d = f32[8] negate(c)
  ROOT t = (f32[8], f32[8]) tuple(d, b)
}
"""


def patch_of(left: str, right: str) -> str:
    return hlotool.diff(hlotool.parse(left), hlotool.parse(right)).to_patch()


@pytest.mark.parametrize("kind", sorted(EDITS))
def test_random_edits(kind: str) -> None:
    random = Random(kind)
    for _ in range(2):
        edited = None
        while edited is None:
            module = hlotool.parse(random.choice(PATHS).read_text() if random.random() < 0.7 else str(random_module(random.randrange(1 << 30))))
            edited = edit_module(module, random.choice((1, 5)), random, [kind])
        edited = reordered(edited, random)
        if random.random() < 0.5:
            edited.module = renamed(edited.module, random)
        assert not [*patch_faults(hlotool.diff(module, edited.module), random)]


def test_a_patch_produces_exactly_the_other_text() -> None:
    """Applies patches to modules in canonical spelling, so that the printed lines are equal."""
    random = Random(0)
    for path in random.sample(PATHS, 6):
        left = hlotool.parse(hlotool.to_text(hlotool.parse(path.read_text())))
        edited = None
        while edited is None:
            edited = edit_module(left, 3, random, ["opcode", "rewire"] if {"opcode", "rewire"} <= EDITS.keys() else sorted(EDITS))
        result = hlotool.apply_patch(left, hlotool.diff(left, edited.module).to_patch())
        assert sorted(hlotool.to_text(result).split("\n")) == sorted(hlotool.to_text(edited.module).split("\n")), path.name


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"line{case.first_line}")
def test_damaged_patches(case) -> None:
    """Checks that a damaged patch either can be applied or is rejected with an HlotoolError."""
    patch = case.output or ""
    module = hlotool.parse(case.text.partition("// to\n")[0])
    random, rejected = Random(case.first_line), 0
    for _ in range(60 if patch else 0):
        text = damaged(patch, random)
        for reverse in (False, True):
            try:
                result = hlotool.apply_patch(module, text, reverse=reverse)
            except HlotoolError:
                rejected += 1
            else:
                assert hlotool.parse(hlotool.to_text(result)).entry is not None
    assert rejected or not patch


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("--- a\n", "", "m.patch:1:1: this is not a patch: a patch begins with the lines '--- FILE'"),
        ("@@ end @@", "", "m.patch:14:1: the patch is truncated: its last line '@@ end @@' is missing"),
        ("@@ computation e @@", "@@ computation @@", "m.patch:3:1: unknown section '@@ computation @@'; expected"),
        ("   %p", "   p", "m.patch:4:2: expected an instruction, such as '%n = f32[] negate(%p)'"),
        ("   %p", "%p", "m.patch:4:1: expected '@@ ... @@' or a line that begins with a space, '-' or '+', but found '%p = "),
        ("logistic(%p)", "logistic(%q)", "m.patch:6:29: the instruction '%q' is neither in this patch nor in the module"),
        ("logistic(%p)", "logistics(%p)", "m.patch:6:19: unknown opcode 'logistics'"),
        ("logistic(%p)", "logistic(%p, %p)", "m.patch:6:"),
        ("+  %t = f32[8]{0} logistic(%p)\n", "", "with the patch, the module does not parse: "),
        ("-  %t =", "-  %p =", "m.patch:5:2: '%p' occurs twice in the computation"),
        ("-module ", "-module x", "expected 'module HASH' or 'COMPUTATION INSTRUCTION FINGERPRINT'"),
        ("@@ references @@", "@@ references @@\n@@ references @@", "'@@ references @@' occurs twice"),
        ("@@ references @@", "@@ names @@\n-%e\n@@ references @@", "m.patch:8:2: expected alternating old and new names"),
        ("@@ references @@", "@@ names @@\n-%e\n+%e %x\n@@ references @@", "m.patch:9:1: expected the new name of '%e'"),
        ("@@ references @@", "@@ names @@\n+%e\n-%x\n@@ references @@", "m.patch:8:1: expected '-HloModule NAME'"),
        ("@@ computation", "@@ stack frames @@\n+1 x\n@@ computation", "m.patch:4:2: expected a stack frame"),
        ("@@ computation", "@@ header @@\n+replicas\n@@ computation", "m.patch:4:2: expected a changed attribute of the header"),
        ("@@ computation", "@@ header @@\n+replica_count=2\n+replica_count=3\n@@ computation", "'replica_count' occurs on two '+' lines"),
        ("@@ computation", "@@ header @@\n+replica_count=many\n@@ computation", "m.patch: with the patch, the module does not parse"),
        ("@@ computation", "@@ computation f @@\n+%f {\n@@ computation", "m.patch:4:2: expected a whole computation, not only its first line"),
        ("@@ computation", "@@ computation f @@\n+%f {\n+}\n+}\n@@ computation", "m.patch:5:2: expected an instruction"),
        ("@@ computation", "@@ computation f @@\n+%f {\n+  %x = f32[] parameter(0)\n@@ computation", "m.patch:5:2: expected '}' at the end"),
        ("@@ computation", "@@ computation f @@\n+%f {\n-  %x = f32[] parameter(0)\n+}\n@@ computation", "expected '+' at the start of the line"),
        ("@@ computation", "@@ header @@\n replica_count=2\n@@ computation", "m.patch:4:1: expected a changed attribute of the header"),
        ("@@ computation", "@@ computation f @@\n-%f {\n@@ computation", "m.patch:4:2: expected a whole computation, not only its first line"),
        ("@@ computation", "@@ computation f @@\n-%f {\n-}\n-}\n@@ computation", "m.patch:5:2: expected an instruction"),
        ("@@ computation", "@@ computation f @@\n-%f {\n-  %x = f32[] parameter(0)\n@@ computation", "m.patch:5:2: expected '}' at the end"),
        ("@@ computation", "@@ computation f @@\n-%f {\n   %x = f32[] parameter(0)\n-}\n@@ computation", "m.patch:5:1: expected '-' at the start"),
        ("@@ computation", "@@ header @@\n-replica_count=2\n-replica_count=3\n@@ computation", "'replica_count' occurs on two '-' lines"),
        ("@@ computation", "@@ header @@\n-replica_count=2\n+replica_count=3\n@@ computation", "header, but the module has no 'replica_count'"),
        ("@@ references @@", "@@ names @@\n-%e %t\n+%x\n@@ references @@", "m.patch:9:1: expected the new name of '%e %t'"),
        ("@@ references @@", "@@ names @@\n-%e %t\n-%e %u\n@@ references @@", "m.patch:9:1: expected the new name of '%e %t'"),
        ("@@ references @@", "@@ names @@\n-e\n+%x\n@@ references @@", "m.patch:8:1: expected '-HloModule NAME'"),
        ("+  %t = f32[8]{0} logistic", "   %t = f32[8]{0} logistic", "m.patch:6:2: '%t' occurs twice in the computation"),
        ("+  %t", "   %t = f32[8]{0} tanh(%p)\n+  %t", "m.patch:6:2: '%t' occurs twice in the computation"),
        ("logistic(%p)", "logistic(%p), to_apply=%g", "m.patch:6:43: the computation '%g' is neither in this patch nor in the module"),
        ("+  %t", "+\\x\n+  %t", "m.patch:6:1: '+\\' continues the previous line"),
        ("@@ computation e @@\n", "@@ computation e @@\n\n", "m.patch:4:1: expected '@@ ... @@' or a line that"),
        ("@@ computation e @@\n", "@@ computation e @@\n" + "x" * 70 + "\n", "but found '" + "x" * 60 + "...'"),
        ("+  %t", "+%f {\n+  %t", "m.patch:6:2: expected an instruction"),
        ("+  %t", " \\x\n+  %t", "m.patch:6:1: ' \\' continues the previous line"),
    ],
)  # fmt: skip
def test_messages(old: str, new: str, message: str) -> None:
    patch = patch_of(LEFT, RIGHT)
    assert old in patch
    with pytest.raises(HlotoolError) as raised:
        hlotool.apply_patch(hlotool.parse(LEFT), patch.replace(old, new, 1), filename="m.patch")
    assert message in str(raised.value)


def test_a_patch_that_has_already_been_applied() -> None:
    patch = patch_of(LEFT, RIGHT)
    with pytest.raises(HlotoolError, match="the patch seems to have been applied already"):
        hlotool.apply_patch(hlotool.parse(RIGHT), patch)
    with pytest.raises(HlotoolError, match="the patch seems to have been reverted already"):
        hlotool.apply_patch(hlotool.parse(LEFT), patch, reverse=True)
    with pytest.raises(HlotoolError) as raised:
        hlotool.apply_patch(hlotool.parse(LEFT.replace("tanh", "cosine")), patch)
    assert "already" not in str(raised.value)


def test_an_empty_patch() -> None:
    module = hlotool.parse(LEFT)
    assert hlotool.diff(module, hlotool.parse(LEFT)).to_patch() == ""
    assert hlotool.to_text(hlotool.apply_patch(module, "\n")) == hlotool.to_text(module)


def test_text_around_a_patch() -> None:
    """Applies a patch in an e-mail with Windows line endings."""
    text = f"From: me\nSubject: faster\n\n{patch_of(LEFT, RIGHT)}-- \n2.39\n".replace("\n", "\r\n")
    assert not hlotool.diff(hlotool.apply_patch(hlotool.parse(LEFT), text), hlotool.parse(RIGHT))


@pytest.mark.parametrize(
    ("target", "wanted"),
    [
        (LONG.replace("tanh", "exponential"), "cosine(b) -> logistic(b)"),
        (LONG.replace("negate", "abs"), "cosine(b) -> logistic(b)"),
        (LONG.replace("tanh", "exponential").replace("c = ", "x = ").replace("negate(c)", "negate(x)"), "cosine(b) -> logistic(b)"),
        (LONG.replace("tuple(d, b)", "tuple(d, a)").replace("tanh", "abs"), "cosine(b) -> logistic(b)"),
    ],
)  # fmt: skip
def test_targets_with_other_changes(target: str, wanted: str) -> None:
    old, _, new = wanted.partition(" -> ")
    patch = patch_of(LONG, LONG.replace("cosine(b)", "logistic(b)"))
    result = hlotool.apply_patch(hlotool.parse(target), patch)
    assert not hlotool.diff(result, hlotool.parse(target.replace(old, new)))


def test_fingerprints_are_the_same_in_all_processes() -> None:
    code = f"import hlotool\nfrom hlotool.differ.patches.fingerprints import fingerprints\nprint([*fingerprints(hlotool.parse({LONG!r})).values()])"
    outputs = set()
    for seed in ("0", "1"):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed, "PATH": ""})
        outputs.add(done.stdout)
    assert outputs == {f"{[*fingerprints(hlotool.parse(LONG)).values()]}\n"}
    # Fingerprints must not change, since patches contain them and users keep patches.
    assert fingerprints(hlotool.parse(LEFT)) != {}


def test_equal_instructions_are_numbered() -> None:
    text = "ENTRY e {\n  a = token[] after-all()\n  b = token[] after-all()\n  ROOT p = f32[] parameter(0)\n}\n"
    numbers = [text.split(".")[2:] for text in fingerprints(hlotool.parse(text)).values()]
    assert sorted(numbers) == [[], ["1/2"], ["2/2"]]
