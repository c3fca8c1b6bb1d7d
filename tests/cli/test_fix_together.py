"""Independent fixes: they are applied in one attempt, since each attempt verifies the module."""

from __future__ import annotations

from random import Random

import pytest

from hlotool.errors import Diagnostic
from hlotool.interp.arguments.inputs import random_arguments
from hlotool.interp.arrays.values import leaves
from hlotool.interp.evaluator import evaluate
from hlotool.ir.model import Module
from hlotool.optimizer.checking import same_bits
from hlotool.testing import random_module
from hlotool.text.parse.parser import parse
from hlotool.verifier.engine import verify
from hlotool.verifier.fixing import FixedText, fix_text
from hlotool.workspace.lint_fixes import rewrite_edits


def apply_fixes(text: str, *codes: str) -> tuple[FixedText, int]:
    """Returns the text after fixing, and the number of times it was verified."""
    checked = []

    def check(module: Module) -> list[Diagnostic]:
        checked.append(module)
        return verify(module, select=codes)

    return fix_text(text, "m.hlo", check, rewrite=rewrite_edits), len(checked)


def entry(lines: list[str], results: str) -> str:
    return "".join(["HloModule m\nENTRY e {\n", *(f"  {line}\n" for line in lines), f"  ROOT t = tuple({results})\n}}\n"])


def test_independent_fixes_need_one_attempt() -> None:
    numbers = range(40)
    kinds = ("a{0} = f32[{0}]{{0}} parameter({0})", "b{0} = f32[{0}]{{0}} copy(a{0})", "c{0} = f32[{0}]{{0}} copy(b{0})")
    text = entry([kind.format(k) for k in numbers for kind in kinds], ", ".join(f"c{k}" for k in numbers))
    result, checks = apply_fixes(text, "W008")
    assert (verify(parse(result.text), select=["W008"]), result.fixed["W008"], checks) == ([], 40, 2)


def test_neighboring_lines() -> None:
    lines = ["p = f32[4] parameter(0)", "x = f32[4] sine(p)", *(f"y{k} = f32[4] sine(p)" for k in range(40))]
    result, checks = apply_fixes(entry(lines, ", ".join(f"y{k}" for k in range(40))), "W005")
    assert result.text == entry(lines[:2], ", ".join("x" for _ in range(40)))
    assert checks == 2


def test_a_fix_that_needs_an_instruction_that_another_removes() -> None:
    """Replaces `b` with `a`, which another fix replaces with `p` at the same time."""
    lines = ["p = f32[4] parameter(0)", "a = f32[4] reshape(p)", "b = f32[4] reshape(p)", "c = f32[4] sine(a)", "d = f32[4] cosine(b)"]
    result, checks = apply_fixes(entry(lines, "c, d"), "W005", "W007")
    assert result.text == entry(["p = f32[4] parameter(0)", "c = f32[4] sine(p)", "d = f32[4] cosine(p)"], "c, d")
    assert checks <= 3


@pytest.mark.parametrize("seed", range(12))
def test_fixed_modules_compute_the_same_values(seed: int) -> None:
    module = random_module(seed, size=Random(seed).randint(10, 60))
    result, checks = apply_fixes(str(module), "ALL")
    arguments = random_arguments(module, seed)
    values, after = (leaves(evaluate(m, arguments)) for m in (module, parse(result.text)))
    assert all(map(same_bits, values, after))
    assert checks <= 40
