"""Semantic differences: running two modules to find the cause of different results."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from edit_modules import edit_module, renamed, reordered

import hlotool
from hlotool.differ.semantic import SemanticDifference, semantic_difference

PROGRAMS = sorted((Path(__file__).parent.parent / "programs").glob("*.hlo"))

LOOP = """HloModule loop
condition {
  c = (s32[], f32[4]) parameter(0)
  k = s32[] get-tuple-element(c), index=0
  three = s32[] constant(3)
  ROOT more = pred[] compare(k, three), direction=LT
}
body {
  b = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(b), index=0
  x = f32[4] get-tuple-element(b), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  later = pred[] compare(i, one), direction=GT
  flags = pred[4] broadcast(later), dimensions={}
  doubled = f32[4] add(x, x)
  other = f32[4] %(other)s(doubled), metadata={op_name="step/other" source_file="step.py" source_line=12}
  y = f32[4] select(flags, other, doubled)
  ROOT t = (s32[], f32[4]) tuple(next, y)
}
ENTRY main {
  p = f32[4] parameter(0)
  zero = s32[] constant(0)
  init = (s32[], f32[4]) tuple(zero, p)
  w = (s32[], f32[4]) while(init), condition=condition, body=body
  ROOT r = f32[4] get-tuple-element(w), index=1
}
"""


def compare(left: str, right: str, *, runs: int = 1, relative: float | None = None, absolute: float | None = None) -> SemanticDifference:
    return semantic_difference(hlotool.parse(left), renamed(hlotool.parse(right), Random(1)), runs=runs, relative=relative, absolute=absolute)


def test_equal_modules_agree() -> None:
    result = compare(LOOP % {"other": "negate"}, LOOP % {"other": "negate"}, runs=3)
    assert not result
    assert (result.runs, result.first, result.failure) == (3, None, None)
    assert result.text == "the results agree on 3 random inputs"


def test_an_instruction_in_a_loop() -> None:
    result = compare(LOOP % {"other": "negate"}, LOOP % {"other": "abs"})
    assert result
    assert result.first is not None
    assert (result.first.left, result.first.opcode, result.first.iterations) == (("body", "other"), "negate, abs", (0,))
    assert result.first.changes == ("opcode",)
    lines = result.text.splitlines()
    assert lines[0] == "the results differ on random input 0"
    assert "  in iteration 0 (0-based) of the enclosing loop" in lines
    assert any("'step/other' at step.py:12" in line for line in lines)


def test_the_iteration_in_which_values_begin_to_differ() -> None:
    # The results of a comparison differ only in a later iteration.
    left = LOOP.replace("other = f32[4] %(other)s(doubled)", "other = f32[4] add(doubled, x)")
    right = left.replace("direction=GT", "direction=GE")
    result = compare(left % {}, right % {})
    assert result.first is not None
    assert (result.first.left, result.first.iterations) == (("body", "later"), (1,))
    assert (result.first.left_value, result.first.right_value) == ("False", "True")


def test_an_operand_of_a_call_is_the_fault_of_the_caller() -> None:
    text = """f { a = f32[2] parameter(0) b = f32[2] parameter(1) s = f32[2] subtract(a, b) ROOT n = f32[2] negate(s) }
    ENTRY e { p = f32[2] parameter(0) q = f32[2] parameter(1) r = f32[2] abs(q) ROOT c = f32[2] call(p, %s), to_apply=f }"""
    result = compare(text % "q", text % "r")
    assert result.first is not None
    assert (result.first.left, result.first.changes) == (("e", "c"), ("operands",))


def test_a_reducer_that_a_fast_path_replaces() -> None:
    text = """f { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] %s(a, b) }
    ENTRY e { p = f32[9] parameter(0) z = f32[] constant(0) ROOT r = f32[] reduce(p, z), dimensions={0}, to_apply=f }"""
    result = compare(text % "add", text % "maximum")
    assert result.first is not None
    assert result.first.left == ("f", "s")


@pytest.mark.parametrize(("old", "new"), [("1", "2"), ("0", "-0.0"), ("nan", "nan(0x400001)")])
def test_constants_are_compared_bit_for_bit(old: str, new: str) -> None:
    text = "ENTRY e { p = f32[2] parameter(0) c = f32[2] constant({3, %s}) ROOT m = f32[2] add(p, c) }"
    first = compare(text % old, text % new).first
    assert first is not None
    assert (first.left, first.index, first.elements, first.size) == (("e", "c"), (1,), 1, 2)


def test_tolerances() -> None:
    text = "ENTRY e { p = f32[] parameter(0) a = f32[] abs(p) ROOT m = f32[] %s }"
    left, right = text % "multiply(a, a)", text % "power(a, p)"
    assert compare(left, right)
    assert not compare(left, right, relative=1e9, absolute=1e9)


def test_a_module_that_cannot_be_run() -> None:
    text = "ENTRY e { p = f32[2] parameter(0) n = f32[2] %s ROOT m = f32[2] abs(n) }"
    good, bad = text % "negate(p)", text % 'custom-call(p), custom_call_target="nobody_knows"'
    result = compare(good, bad)
    assert result.failure is not None
    assert result.failure.startswith("the right module cannot be run: ")
    assert "the left module cannot be run" in (compare(bad, good).failure or "")


@pytest.mark.parametrize("kind", ["constants", "attributes", "operands", "opcode"])
def test_an_injected_fault_is_named(kind: str) -> None:
    """Checks real programs, renamed and reordered.

    Faults that change no value on these inputs cannot be found.
    """
    random = Random(kind)
    named = 0
    while named < 4:
        module = hlotool.parse(random.choice(PROGRAMS).read_text())
        edited = edit_module(module, 1, random, [kind])
        if edited is None or any(d.severity == "error" for d in hlotool.verify(edited.module)):
            continue
        edited = reordered(edited, random)
        result = semantic_difference(module, renamed(edited.module, random), runs=2)
        if not result and result.first is None:
            continue
        fault = list(module.all_instructions())[edited.edits[0].left]
        assert result.first is not None
        assert result.first.left[1] == fault.name
        named += 1
