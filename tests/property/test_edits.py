"""Randomly edited modules: both paths of the parser agree, and ParseError is the only exception.

`fuzz.py` runs the same checks for longer.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutation import (
    CHARACTERS,
    PIECES,
    Seed,
    disagreement,
    edited,
    instructions_of_text,
    seeds_of_text,
    texts_of_cases,
)
from random_texts import Style, random_text
from strategies import RANDOM

from hlotool.errors import ParseError
from hlotool.text.parse.parser import parse, parse_all

TESTS = Path(__file__).parent.parent
KNOWN: set[str] = set()
LINES = [seed for text in texts_of_cases(TESTS) for seed in instructions_of_text(text, KNOWN)]
SMALL = [seed for text in texts_of_cases(TESTS) if len(text) < 600 for seed in seeds_of_text(text)]
SMALL += [seed for number in range(20) for seed in seeds_of_text(random_text(number, 1, Style(percent=number % 2 == 0)))]


def seeds(texts: list[Seed]) -> st.SearchStrategy[Seed]:
    return st.sampled_from(sorted(texts, key=lambda seed: len(seed.prefix + seed.line + seed.suffix)))


def edited_text(seed: Seed, random: Random) -> str:
    return seed.prefix + edited(seed.line, random) + seed.suffix


@settings(max_examples=2_400)
@given(st.builds(edited_text, seeds(LINES) | seeds(SMALL), RANDOM))
def test_edited_lines(text: str) -> None:
    assert disagreement(text) is None


def check_result(data: str | bytes) -> None:
    """Checks that parsing raises no exception other than ParseError.

    The diagnostics of the error must have positions and messages.
    """
    for function in (parse, parse_all):
        diagnostics = None
        try:
            function(data)
        except ParseError as error:
            diagnostics = error.diagnostics
        assert diagnostics is None or (diagnostics and all(d.line >= 1 and d.column >= 1 and d.message for d in diagnostics))


@settings(max_examples=400)
@given(st.sampled_from(("", "HloModule m\n", "HloModule m\nENTRY e {\n  x = f32[] ")), st.lists(st.sampled_from(PIECES), max_size=30))
def test_pieces_in_any_order(start: str, pieces: list[str]) -> None:
    check_result((start + "".join(pieces)).encode("utf-8", "surrogatepass"))


# Most of these characters have a meaning in HLO, since parsing stops at the first one without.
@settings(max_examples=300)
@given(st.text(st.sampled_from(CHARACTERS) | st.characters(), max_size=200))
def test_any_text(text: str) -> None:
    check_result(text)
    check_result(f"HloModule m\nENTRY e {{\n  ROOT x = f32[] {text}\n}}")


@settings(max_examples=200)
@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    check_result(data)


@pytest.mark.parametrize("path", sorted((TESTS / "text" / "syntax").glob("*.printed.hlo"))[::6], ids=lambda path: path.stem)
def test_half_a_file(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for end in range(0, len(text), max(1, len(text) // 25)):
        difference = disagreement(text[:end])
        assert difference is None, f"{difference}\n{text[:end]}"
