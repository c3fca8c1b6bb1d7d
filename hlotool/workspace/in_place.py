"""Writing a changed text back to its file, if that loses nothing."""

from __future__ import annotations

from hlotool.text.parse.parser import has_log_prefixes
from hlotool.text.source.files import InputError, is_compressed
from hlotool.workspace.writing import replace_file

__all__ = ["write_back"]


def write_back(file: str, before: str, after: str, *, action: str = "rewrite", instead: str = "") -> None:
    """Replaces the text of a file. Raises WriteError, and InputError if the file is compressed or its lines have log prefixes.

    `action` and `instead` are parts of the message: what cannot be done, and what can be done instead.
    """
    if is_compressed(file):
        raise InputError(f"cannot {action} '{file}': it is compressed{instead and f'; decompress it, or {instead}'}")
    if has_log_prefixes(before):
        raise InputError(f"cannot {action} '{file}': its lines begin with log prefixes, which would be lost{instead and f'; {instead}'}")
    replace_file(file, after)
