"""The search for comments: it is linear even if strings, comments or braces are not closed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from scaling import slowdown

from hlotool.text.source.trivia import comment_spans

# The maximum factor by which the time may grow if a text becomes eight times as long.
MAX_RATIO = 32
FAMILIES: dict[str, Callable[[int], str]] = {
    "escaped quotes": lambda n: "// a\n" + '\\"' * n,
    "escaped single quotes": lambda n: "// a\n" + "\\'" * n,
    "open comments": lambda n: "// a\n" + "/* " * n,
    "quotes in frontend attributes": lambda n: "// a\nfrontend_attributes={" + '\\"' * n,
    "open comments in frontend attributes": lambda n: "// a\nfrontend_attributes={" + "/* " * n,
    "open dictionaries": lambda n: "// a\n" + "backend_config={" * n,
    "open dictionaries with open strings": lambda n: "// a\n" + 'backend_config={"' * n,
    "open frontend attributes": lambda n: "// a\n" + "frontend_attributes={" * n,
    "open dictionaries in frontend attributes": lambda n: "// a\nfrontend_attributes={" + "a={" * n,
    "slashes": lambda n: "/ " * n + "// a",
}


def comments(text: str) -> None:
    list(comment_spans(text))


@pytest.mark.parametrize("name", FAMILIES)
def test_the_search_is_linear(name: str) -> None:
    make = FAMILIES[name]
    assert slowdown(comments, make(1_000), make(8_000), MAX_RATIO, negligible=0.2) <= MAX_RATIO


@pytest.mark.parametrize(
    "before",
    [
        'metadata={op_name="a}',
        "it's",
        "/",
        "backend_config={",
        'backend_config={"a":1',
        "frontend_attributes={a={",
        "frontend_attributes={} '",
        '"\\',
    ],
)
def test_comments_after_unclosed_parts(before: str) -> None:
    text = f"{before}\n// one\nx = 1 // two"
    assert [text[start:end] for start, end in comment_spans(text)] == ["// one", "// two"]
