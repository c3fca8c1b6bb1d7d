"""Writing a changed text back into its file, where that loses nothing."""

from __future__ import annotations

from hlotool.text.parse.parser import has_log_prefixes
from hlotool.text.source.files import InputError, is_compressed
from hlotool.workspace.writing import replace_file

__all__ = ["write_back"]


def write_back(file: str, before: str, after: str, *, action: str = "rewrite", instead: str = "") -> None:
    """Replaces the text of a file; raises InputError where that would lose what the file is, and WriteError.

    `action` and `instead` say in the message what cannot be done, and what could be done instead.
    """
    if is_compressed(file):
        raise InputError(f"cannot {action} '{file}': it is compressed{instead and f'; decompress it, or {instead}'}")
    if has_log_prefixes(before):
        raise InputError(f"cannot {action} '{file}': the prefixes of a log stand before its lines, and would be lost{instead and f'; {instead}'}")
    replace_file(file, after)
