"""Recognition of HLO files by name and first line, for editors and highlighters."""

from __future__ import annotations

__all__ = ["ALIASES", "FILE_NAMES", "FIRST_LINE", "LANGUAGE", "NAME", "suffixes"]

NAME = "HLO"
LANGUAGE = "hlo"
ALIASES = ("hlo", "xla-hlo")

FILE_NAMES = ("*.hlo", "*.hlo.txt", "*.before_optimizations.txt", "*after_optimizations.txt")
"""The name patterns of files that are HLO regardless of their first line.

XLA dumps other data as `*after_optimizations-*.txt`.
"""

FIRST_LINE = "HloModule[ ,]"
"""A pattern for the beginning of other HLO files, such as the dumps between passes."""


def suffixes() -> list[str]:
    """Returns the suffixes of the file name patterns that have the form `*.SUFFIX`.

    >>> suffixes()
    ['hlo', 'hlo.txt', 'before_optimizations.txt']
    """
    return [name.removeprefix("*.") for name in FILE_NAMES if name.startswith("*.")]
