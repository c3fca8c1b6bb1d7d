"""Randomly edited texts: both paths of the parser agree, and ParseError is the only exception. `fuzz.py` runs the same for longer."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from generator import Style, random_module
from hypothesis import given, settings
from hypothesis import strategies as st
from mutation import (
    disagreement,
    edited,
    instructions_of_text,
    random_bytes,
    seeds_of_text,
    texts_of_cases,
)

from hlotool.errors import ParseError
from hlotool.text.parse.parser import parse, parse_all

TESTS = Path(__file__).parent.parent
KNOWN: set[str] = set()
LINES = [seed for text in texts_of_cases(TESTS) for seed in instructions_of_text(text, KNOWN)]
SMALL = [seed for text in texts_of_cases(TESTS) if len(text) < 600 for seed in seeds_of_text(text)]
SMALL += [seed for number in range(20) for seed in seeds_of_text(random_module(number, 1, Style(percent=number % 2 == 0)))]


@pytest.mark.parametrize("seed", range(30))
def test_edited_lines(seed: int) -> None:
    random = Random(seed)
    for _ in range(80):
        seed_text = random.choice(LINES if random.random() < 0.7 else SMALL)
        text = seed_text.prefix + edited(seed_text.line, random) + seed_text.suffix
        difference = disagreement(text)
        assert difference is None, f"{difference}\n{text}"


def check_result(data: str | bytes) -> None:
    """Parses a text; checks that an exception is a ParseError with diagnostics that have a position and a message."""
    for function in (parse, parse_all):
        diagnostics = None
        try:
            function(data)
        except ParseError as error:
            diagnostics = error.diagnostics
        assert diagnostics is None or (diagnostics and all(d.line >= 1 and d.column >= 1 and d.message for d in diagnostics))


@pytest.mark.parametrize("seed", range(10))
def test_random_bytes(seed: int) -> None:
    random = Random(seed)
    for _ in range(60):
        check_result(random_bytes(random))


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    check_result(text)
    check_result(f"HloModule m\nENTRY e {{\n  ROOT x = f32[] {text}\n}}")


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    check_result(data)


@pytest.mark.parametrize("path", sorted((TESTS / "text" / "syntax").glob("*.printed.hlo"))[::6], ids=lambda path: path.stem)
def test_half_a_file(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for end in range(0, len(text), max(1, len(text) // 25)):
        difference = disagreement(text[:end])
        assert difference is None, f"{difference}\n{text[:end]}"
