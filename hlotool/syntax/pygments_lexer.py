"""Lexer for Pygments, used by Sphinx, MkDocs, Jupyter, `rich` and `pygmentize -l hlo`.

Pygments finds the lexer through the entry point `pygments.lexers`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar

from pygments.lexer import Lexer
from pygments.token import Token, Whitespace, string_to_tokentype

from hlotool.syntax.filetypes import ALIASES, FILE_NAMES, FIRST_LINE, NAME
from hlotool.syntax.kinds import KINDS
from hlotool.syntax.scanner import scan

__all__ = ["HloLexer"]

_TYPES = {name: string_to_tokentype(kind.pygments) for name, kind in KINDS.items()}


class HloLexer(Lexer):
    """XLA's textual HLO.

    >>> from pygments import highlight
    >>> from pygments.formatters import NullFormatter
    >>> highlight("HloModule m", HloLexer(), NullFormatter())
    'HloModule m\\n'
    """

    name = NAME
    aliases: ClassVar[list[str]] = list(ALIASES)
    filenames: ClassVar[list[str]] = list(FILE_NAMES)
    mimetypes: ClassVar[list[str]] = ["text/x-hlo"]
    # Higher than the priority of plain text, which matches `*.txt`.
    priority = 0.1
    url = "https://openxla.org/xla/operation_semantics"

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, Any, str]]:
        """Yields the offset, type and text of every token.

        Spaces, and text that is not HLO, have their own types.
        """
        end = 0
        for token in scan(text):
            if token.start > end:
                yield end, _type_of_gap(text[end : token.start]), text[end : token.start]
            end = token.end
            yield token.start, _TYPES[token.kind], text[token.start : end]
        if end < len(text):
            yield end, _type_of_gap(text[end:]), text[end:]

    @staticmethod
    def analyse_text(text: str) -> float:
        """Returns the likelihood, from 0 to 1, that `text` is HLO."""
        return 1.0 if re.match(FIRST_LINE, text) else 0.0


def _type_of_gap(text: str) -> Any:
    return Whitespace if text.isspace() else Token.Text
