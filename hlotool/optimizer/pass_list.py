"""Parses lists of passes such as `fold,algsimp{max=3},dce`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hlotool.errors import HlotoolError, nearest
from hlotool.record import Record

__all__ = ["PassError", "PassSpec", "is_pass_name", "parse_passes"]

_ITEM = re.compile(r"\s*(?P<name>[^\s,{}=]+)\s*(?:\{(?P<options>[^{}]*)\})?\s*(?P<end>,|$)")
_EQUALS = re.compile(r"\s*=\s*")
# The options that every pass takes in braces.
_OPTIONS = ("max",)
# Python does not parse numbers with thousands of digits.
_MAX_DIGITS = 9


class PassError(HlotoolError):
    """An unknown pass, or a list of passes that cannot be parsed."""

    exit_code = 2


class PassSpec(Record):
    """One pass of a list.

    The pass runs only in the first `rounds` rounds of the pipeline; None means all rounds.

    >>> PassSpec("algsimp", 3).text
    'algsimp{max=3}'
    """

    name: str
    rounds: int | None = None

    @property
    def text(self) -> str:
        """The pass as written in a list."""
        return self.name if self.rounds is None else f"{self.name}{{max={self.rounds}}}"


def is_pass_name(name: str) -> bool:
    """Returns whether a list can contain a pass of this name.

    >>> is_pass_name("drop-copies"), is_pass_name("drop copies")
    (True, False)
    """
    match = _ITEM.fullmatch(name)
    return match is not None and match["name"] == name


def parse_passes(passes: str | Iterable[str]) -> tuple[PassSpec, ...]:
    """Returns the passes of one or several lists. Raises PassError if a list cannot be parsed.

    Does not check that passes with these names exist.

    >>> parse_passes("fold, algsimp{max=3}")
    (PassSpec(name='fold', rounds=None), PassSpec(name='algsimp', rounds=3))
    >>> parse_passes(["fold", "dce"]) == parse_passes("fold,dce")
    True
    """
    texts = [passes] if isinstance(passes, str) else passes
    for text in texts:
        if not isinstance(text, str):
            raise PassError(f"expected the names of passes, found {type(text).__name__}")
    return tuple(spec for text in texts for spec in _parse(text))


def _parse(text: str) -> list[PassSpec]:
    specs: list[PassSpec] = []
    at = 0
    while at < len(text):
        match = _ITEM.match(text, at)
        if match is None:
            raise PassError(f"expected the name of a pass at '{text[at : at + 40]}'; a list of passes is written like fold,algsimp{{max=3}},dce")
        specs.append(PassSpec(match["name"], _rounds(match["name"], match["options"] or "")))
        at = match.end()
    if text.rstrip().endswith(","):
        raise PassError(f"expected the name of a pass after the last comma of '{text[-40:]}'")
    return specs


def _rounds(name: str, options: str) -> int | None:
    """Returns the number in an option such as `max=3`, or None.

    Options are separated by spaces, as in MLIR, or by commas.
    """
    rounds = None
    for word in _EQUALS.sub("=", options).replace(",", " ").split():
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise PassError(f"expected an option such as max=3 in the braces of pass '{name}', found '{word}'")
        if key not in _OPTIONS:
            meant = nearest(key, _OPTIONS)
            hint = f"did you mean '{meant}'?" if meant else f"use one of: {', '.join(_OPTIONS)}"
            raise PassError(f"pass '{name}' has no option '{key}'; {hint}")
        if not value.isdecimal() or len(value) > _MAX_DIGITS:
            raise PassError(f"expected a number of rounds in '{word}' of pass '{name}', found '{value}'")
        rounds = int(value)
    return rounds
