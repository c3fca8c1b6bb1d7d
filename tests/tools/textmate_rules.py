"""An interpreter for the TextMate rules of hlotool's grammar: patterns with captures, and regions.

A region has a begin and an end pattern. The interpreter reads line by line, as editors do. Python's
regular expressions have all features of Oniguruma that the grammar needs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

__all__ = ["Grammar"]


class _Region(NamedTuple):
    """An open region: its rule, and the scope of the text inside it."""

    rule: dict[str, Any]
    content: str


class Grammar:
    """A grammar in the JSON format of TextMate."""

    def __init__(self, text: str) -> None:
        self.data = json.loads(text)
        self.compiled: dict[str, re.Pattern[str]] = {}
        self.included: dict[int, list[dict[str, Any]]] = {}

    @cached_property
    def top(self) -> _Region:
        return _Region(self.data, "")

    def scopes(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yields the start, end and innermost scope of each piece of text that has a scope."""
        regions, offset = [self.top], 0
        for line in text.splitlines(keepends=True):
            for start, end, scope in self._line(line, regions):
                yield offset + start, offset + end, scope
            offset += len(line)

    def _line(self, line: str, regions: list[_Region]) -> Iterator[tuple[int, int, str]]:
        at = 0
        while at <= len(line):
            found = self._next(line, at, regions[-1])
            if found is None:
                break
            match, rule, is_end = found
            yield at, match.start(), regions[-1].content
            yield from _captured(match, rule, regions[-1].content, is_end=is_end)
            if is_end:
                regions.pop()
            elif "begin" in rule:
                regions.append(_Region(rule, rule.get("contentName", rule.get("name", ""))))
            elif match.end() == at:
                raise AssertionError(f"{rule['match']} matches nothing at {line[at:]!r}")
            at = match.end()
        yield min(at, len(line)), len(line), regions[-1].content

    def _next(self, line: str, at: int, region: _Region) -> tuple[re.Match[str], dict[str, Any], bool] | None:
        """Returns the first match, its rule, and whether it ends the region.

        At the same position, the end of the region comes first, and then the rules in order.
        """
        best: tuple[re.Match[str], dict[str, Any], bool] | None = None
        if "end" in region.rule:
            match = self._pattern(region.rule["end"]).search(line, at)
            best = None if match is None else (match, region.rule, True)
        for rule in self._rules(region.rule):
            match = self._pattern(rule.get("match") or rule["begin"]).search(line, at)
            if match is not None and (best is None or match.start() < best[0].start()):
                best = match, rule, False
                if match.start() == at:
                    break
        return best

    def _rules(self, rule: dict[str, Any]) -> list[dict[str, Any]]:
        rules = self.included.get(id(rule))
        if rules is None:
            rules = self.included[id(rule)] = []
            for pattern in rule.get("patterns", ()):
                included = pattern.get("include")
                rules += [pattern] if included is None else self._rules(self.data["repository"][included.removeprefix("#")])
        return rules

    def _pattern(self, pattern: str) -> re.Pattern[str]:
        if pattern not in self.compiled:
            self.compiled[pattern] = re.compile(pattern)
        return self.compiled[pattern]


def _captured(match: re.Match[str], rule: dict[str, Any], outer: str, *, is_end: bool) -> Iterator[tuple[int, int, str]]:
    """Yields the pieces of a match with their scopes; the end of a region has its own captures."""
    captures = rule.get("endCaptures" if is_end else "beginCaptures" if "begin" in rule else "captures", {})
    yield *match.span(), rule.get("name", outer)
    for number, capture in captures.items():
        yield *match.span(int(number)), capture["name"]
