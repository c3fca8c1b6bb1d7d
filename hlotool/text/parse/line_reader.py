"""What the lexer asks of those who read whole lines at once; who they are, it need not know."""

from __future__ import annotations

from abc import ABC, abstractmethod

__all__ = ["LineReader", "NoLines"]


class LineReader(ABC):
    """Takes runs of lines off the lexer: announces one, and consumes it once the parser has finished everything before."""

    # Words that are no names without a percent sign.
    reserved: frozenset[str] = frozenset()

    @abstractmethod
    def announce(self, text: str, position: int, accepted: frozenset[str]) -> str | None:
        """The FAST_ token to give to the parser here, None when the ordinary lexer shall go on."""

    @abstractmethod
    def consume(self, kind: str, text: str, position: int) -> tuple[int, bool]:
        """Takes what was announced; returns the offset after it and whether a computation was left open there."""


class NoLines(LineReader):
    """Recognises no lines: every token is the lexer's."""

    def announce(self, text: str, position: int, accepted: frozenset[str]) -> str | None:
        return None

    def consume(self, kind: str, text: str, position: int) -> tuple[int, bool]:
        raise AssertionError("nothing was announced")
