"""S047: characters that other tools may not handle."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

_KINDS = {
    "a line ends with CRLF": re.compile(r"\r\n"),
    "a line ends with whitespace": re.compile(r"(?<![ \t])[ \t]++(?=\r?\n|\Z)"),
    "the file contains a tab": re.compile(r"\t"),
    "the file contains a control character": re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)"),
    "the file contains a byte that is not UTF-8": re.compile(r"[\udc80-\udcff]"),
}


@module_rule("S047", stage="lint")
def odd_characters(facts: Facts) -> Iterator[Finding]:
    """Lines contain only printable characters and end with a line feed.

    Checks: there are no CRLF line endings, tabs, whitespace at the ends of lines, control
    characters or bytes that are not UTF-8; each kind is reported once.
    """
    source = facts.module.source
    for what, pattern in _KINDS.items() if source is not None else ():
        match = pattern.search(source.text)  # type: ignore[union-attr]
        if match is not None:
            yield Finding("S047", None, None, match.start(), what, "run hlotool fmt, which fixes it")
