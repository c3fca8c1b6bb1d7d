"""Edited texts: both paths of the parser agree, and nothing but ParseError is ever raised. `fuzz.py` does the same for hours."""

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
        chosen = random.choice(LINES if random.random() < 0.7 else SMALL)
        text = chosen.prefix + edited(chosen.line, random) + chosen.suffix
        found = disagreement(text)
        assert found is None, f"{found}\n{text}"


def parses_or_refuses(data: str | bytes) -> None:
    for read in (parse, parse_all):
        found = []
        try:
            read(data)
        except ParseError as error:
            found = [error.diagnostics]
        assert all(d.line >= 1 and d.column >= 1 and d.message for diagnostics in found for d in diagnostics)
        assert [] not in found


@pytest.mark.parametrize("seed", range(10))
def test_random_bytes(seed: int) -> None:
    random = Random(seed)
    for _ in range(60):
        parses_or_refuses(random_bytes(random))


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    parses_or_refuses(text)
    parses_or_refuses(f"HloModule m\nENTRY e {{\n  ROOT x = f32[] {text}\n}}")


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    parses_or_refuses(data)


@pytest.mark.parametrize("path", sorted((TESTS / "text" / "syntax").glob("*.printed.hlo"))[::6], ids=lambda path: path.stem)
def test_half_a_file(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for end in range(0, len(text), max(1, len(text) // 25)):
        found = disagreement(text[:end])
        assert found is None, f"{found}\n{text[:end]}"
