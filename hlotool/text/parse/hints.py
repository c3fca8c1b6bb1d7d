"""Hints for texts that do not parse: what they may be instead of one module in today's spelling.

They look at the whole text, so they are made only after an error.
"""

from __future__ import annotations

from hlotool.errors import Diagnostic, Source
from hlotool.text.legacy.rewrite import with_legacy_hints

__all__ = ["with_hints"]


def with_hints(source: Source, diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """The diagnostics of a text with errors, with more hints."""
    return with_legacy_hints(source, diagnostics)
