"""Navigation in modules, `str(module)`, and parsing of arbitrary text with `strict=False`."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutation import texts_of_cases
from strategies import RANDOM, shortest_first

import hlotool
from hlotool.errors import HlotoolError

TEXT = (
    "f { x = f32[] parameter(0) ROOT n = f32[] negate(x) } ENTRY e { p = f32[] parameter(0) c = f32[] call(p), to_apply=f ROOT s = f32[] add(c, p) }"
)


TEXTS = [text for text in texts_of_cases(Path(__file__).parents[1]) if 0 < len(text) < 3000]
WITHOUT_COMPUTATIONS = [
    "",
    "HloModule m\n",
    "HloModule m, is_scheduled=true",
    "ENTRY e {",
    "ENTRY e { }",
    "\x00",
    "}",
    "f32[",
    "ENTRY e { ROOT a = f32[] zork(b) }",
    'HloModule m, origin_recovery_table={{"a"} : {"b"}, "no module"}\nENTRY e { ROOT p = f32[] parameter(0) }',
]


def test_parts_are_found_by_name() -> None:
    module = hlotool.parse(TEXT)
    assert module.computation("f")["n"].opcode == "negate"
    assert [x.name for x in module.entry["p"].users(module.entry)] == ["c", "s"]
    assert (len(module.entry), "c" in module.entry, "n" in module.entry, module.entry.root in module.entry) == (3, True, False, True)
    with pytest.raises(KeyError, match="no instruction named 'q' in computation 'e'"):
        module.entry["q"]
    with pytest.raises(KeyError, match="no computation named 'g' in module 'module_e'"):
        module.computation("g")


def test_str_is_the_text() -> None:
    module = hlotool.parse(TEXT)
    assert str(module) == hlotool.to_text(module)
    assert repr(module) == "<module module_e with 2 computations>"


def damage(text: str, random: Random) -> str:
    """Returns the text truncated, without one of its lines, or without the start of a line."""
    kind = random.randrange(3)
    if kind == 0:
        return text[: random.randrange(len(text) + 1)]
    lines = text.split("\n")
    at = random.randrange(len(lines))
    if kind == 1:
        return "\n".join(lines[:at] + lines[at + 1 :])
    return "\n".join([*lines[:at], lines[at][random.randrange(len(lines[at]) + 1) :], *lines[at + 1 :]])


@pytest.mark.parametrize("text", WITHOUT_COMPUTATIONS)
def test_text_without_computations_is_parsed(text: str) -> None:
    check_tolerant_parse(text)


@settings(max_examples=300)
@given(st.builds(damage, shortest_first(TEXTS), RANDOM))
def test_any_text_is_parsed(text: str) -> None:
    check_tolerant_parse(text)


def check_tolerant_parse(text: str) -> None:
    """Checks that parsing any text returns a module that can be walked, printed and verified.

    Evaluating the module must fail if the text has errors.
    """
    module = hlotool.parse(text, strict=False)
    assert module.entry in module.computations
    assert str(module).startswith("HloModule")
    for computation in module.computations:
        assert computation.root in computation.instructions
        assert computation.program_shape.result is computation.root.shape
    hlotool.verify(module, select=["ALL"])
    if any(d.severity == "error" for d in module.diagnostics):
        with pytest.raises(HlotoolError):
            hlotool.evaluate(module, [])
