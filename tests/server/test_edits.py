"""After any edits, the server knows of a text what it knows when the text is opened."""

from __future__ import annotations

import os

import pytest
from fuzz_server import edited_at_random, sample_texts

_SEQUENCES = 100
_CORPUS = os.environ.get("HLOTOOL_CORPUS")


@pytest.mark.parametrize("first", range(0, _SEQUENCES, 20))
def test_samples_edited_at_random(first: int) -> None:
    texts = sample_texts()
    for seed in range(first, first + 20):
        assert edited_at_random(texts, seed, edits=5) == 5
