"""Time for requests, which must be linear in the size of a document.

The documents have unclosed strings, comments or braces. A slow request would delay all others.
"""

from __future__ import annotations

import pytest
from scaling import slowdown

from hlotool.server.documents import Document
from hlotool.server.tokens import tokens


def all_tokens(text: str) -> None:
    tokens(Document("file:///m.hlo", text))


@pytest.mark.parametrize("piece", ["/* ", '\\"', "{", "[", "a[", "metadata={"])
def test_semantic_tokens(piece: str) -> None:
    start = "HloModule m\n\nENTRY e {\n  p = f32[] parameter(0)\n"
    assert slowdown(all_tokens, start + piece * 1_500, start + piece * 12_000, 32, negligible=0.3) <= 32


def test_an_unclosed_comment() -> None:
    found = tokens(Document("file:///m.hlo", "ENTRY e {\n  p = f32[] parameter(0)\n/* a\nb */ c /* d\n\n  e"))
    rows = [*zip(*[iter(found.data)] * 5, strict=True)]
    assert rows[-5:] == [(1, 0, 4, 0, 0), (1, 0, 4, 0, 0), (0, 5, 1, 9, 0), (0, 2, 4, 0, 0), (2, 0, 3, 0, 0)]
