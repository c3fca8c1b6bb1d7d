"""Randomly edited modules: the verifier raises no exception, whether or not it reports errors.

`fuzz_verify.py` also compares the verdicts with XLA's. If only parts of a broken module parse,
these parts are verified without false errors.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from fuzz_verify import verdict
from hypothesis import given
from hypothesis import strategies as st
from module_edits import KINDS, case_seeds, edited
from mutation import texts_of_cases
from strategies import shortest_first

from hlotool.errors import Diagnostic, ParseError, Source
from hlotool.opdefs.modes import VerifyModes
from hlotool.text.parse.parser import parse, parse_source
from hlotool.verifier.engine import check, verify
from hlotool.verifier.selection import Selection

TESTS = Path(__file__).parent.parent
SEEDS = case_seeds(TESTS)[::3]


def is_valid(text: str) -> bool:
    try:
        return not any(d.severity == "error" for d in verify(parse(text)))
    except ParseError:
        return False


VALID = [text for text in texts_of_cases(TESTS) if len(text) < 20_000 and is_valid(text)]


@pytest.mark.parametrize("kind", KINDS)
def test_edited_modules(kind: str) -> None:
    random, count = Random(kind), 0
    outcomes = set()
    # The loop continues until some edited modules are valid and some are not.
    while count < 25 or (len(outcomes) < 2 and count < 250):
        text = edited(random.choice(SEEDS), random, kind)
        if text is None:
            continue
        count += 1
        result = verdict(text, VerifyModes(layout_sensitive=random.random() < 0.5))
        assert not result.fault, f"{result.fault}\n{text}"
        assert result.seconds < 5, text
        outcomes.add(bool(result.errors))
    assert outcomes == {False, True}


@given(shortest_first(VALID), st.data())
def test_a_stray_character_causes_no_other_errors(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))
    broken = f"{text[:at]}@{text[at:]}"
    errors: list[Diagnostic] = []
    try:
        parse(broken)
    except ParseError as error:
        errors = error.diagnostics
    findings = check(parse_source(Source(broken), strict=False), VerifyModes(), Selection(), errors)
    assert [d for d in findings if d.severity == "error"] == errors
