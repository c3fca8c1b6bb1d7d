"""The interface between the lexer and readers of whole lines."""

from __future__ import annotations

from abc import ABC, abstractmethod

__all__ = ["LineReader", "NoLines"]


class LineReader(ABC):
    """Reads runs of whole lines in place of the lexer.

    `announce` says whether it can read the next lines, and `consume` reads them after the parser has shifted the announced token.
    """

    # Words that are names only after a percent sign.
    reserved: frozenset[str] = frozenset()

    @abstractmethod
    def announce(self, text: str, position: int, accepted: frozenset[str]) -> str | None:
        """The FAST_ token to feed to the parser here, None when the lexer must make the next token. `accepted` are tokens of the state."""

    @abstractmethod
    def consume(self, kind: str, text: str, position: int) -> tuple[int, bool]:
        """Reads the announced lines; returns the offset after them, and whether a computation is still open there."""


class NoLines(LineReader):
    """Reads no lines, so that the lexer makes every token."""

    def announce(self, text: str, position: int, accepted: frozenset[str]) -> str | None:
        return None

    def consume(self, kind: str, text: str, position: int) -> tuple[int, bool]:
        raise AssertionError("nothing was announced")
