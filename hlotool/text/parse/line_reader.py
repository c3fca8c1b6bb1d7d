"""Interface between the lexer and readers of whole lines."""

from __future__ import annotations

from abc import ABC, abstractmethod

__all__ = ["LineReader", "NoLines"]


class LineReader(ABC):
    """A reader that reads runs of whole lines in place of the lexer.

    `announce` returns a token if the reader can read the next lines, and `consume` reads them after
    the parser has shifted that token.
    """

    # Words that are names only after a percent sign.
    reserved: frozenset[str] = frozenset()

    @abstractmethod
    def announce(self, text: str, position: int, accepted: frozenset[str]) -> str | None:
        """Returns the FAST_ token to feed to the parser here, or None.

        If it is None, the lexer must create the next token. `accepted` holds the special tokens
        that the parser state lists.
        """

    @abstractmethod
    def consume(self, kind: str, text: str, position: int) -> tuple[int, bool]:
        """Reads the announced lines.

        Returns the offset after them, and whether a computation is still open there.
        """


class NoLines(LineReader):
    """A reader that reads no lines, so that the lexer creates every token."""

    def announce(self, text: str, position: int, accepted: frozenset[str]) -> str | None:
        return None

    def consume(self, kind: str, text: str, position: int) -> tuple[int, bool]:
        raise AssertionError("nothing was announced")
