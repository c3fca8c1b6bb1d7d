"""Writes changed text back to its file, unless the file would lose something."""

from __future__ import annotations

import stat

from hlotool.text.parse.parser import has_log_prefixes
from hlotool.text.source.files import InputError, is_compressed, read_text
from hlotool.text.source.marks import INDEX_MARK
from hlotool.text.source.trivia import comment_spans
from hlotool.workspace.reading import file_status
from hlotool.workspace.writing import replace_file

__all__ = ["check_comments", "check_writable", "write_back"]

# Comments that the printer writes again: the numbers of operands, and the lines between modules.
_REPRINTED_COMMENTS = (INDEX_MARK, "// -----")
_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


def write_back(file: str, before: str, after: str, *, action: str = "rewrite", instead: str = "") -> None:
    """Replaces the text of a file.

    `before` is the text that was read. `action` and `instead` are parts of the message: the action
    that failed, and the alternative. Raises WriteError if the file cannot be written, and
    InputError if it has changed since it was read, or if it must not be rewritten, as
    `check_writable` describes.
    """
    check_writable(file, before, action=action, instead=instead)
    if read_text(file) != before:
        raise InputError(f"cannot {action} '{file}': it has changed since it was read; try again")
    replace_file(file, after)


def check_comments(file: str, text: str, *, action: str) -> None:
    """Raises InputError if a file's text has comments that the printer would not write.

    `action` is the verb of the message, such as "optimize".
    """
    for start, end in comment_spans(text):
        if not text.startswith(_REPRINTED_COMMENTS, start):
            line = text.count("\n", 0, start) + 1
            shown = text[start : min(end, start + 40)].partition("\n")[0]
            raise InputError(f"cannot {action} '{file}' in place: its comments would be lost, such as '{shown}' on line {line}; use -o FILE")


def check_writable(file: str, before: str, *, action: str = "rewrite", instead: str = "") -> None:
    """Raises InputError if the file must not be rewritten.

    This is the case if the file is compressed, if its lines have log prefixes, if it is read-only,
    if it has other names (hard links), which would keep the old text, or if it is a device or a
    pipe.
    """
    reason = _reason_not_to_write(file, before)
    if reason:
        raise InputError(f"cannot {action} '{file}': {reason}{instead and f'; {instead}'}")


def _reason_not_to_write(file: str, before: str) -> str:
    status = file_status(file)
    if status is None:
        # The attempt to write the file will report the reason.
        return ""
    if not stat.S_ISREG(status.st_mode):
        return "it is not a regular file"
    if is_compressed(file):
        return "it is compressed"
    if has_log_prefixes(before):
        return "its lines begin with log prefixes, which would be lost"
    # This applies even to root, who may write every file.
    if not status.st_mode & _WRITABLE:
        return "it is read-only"
    return f"it has other names ({status.st_nlink} hard links in total), which would keep the old text" if status.st_nlink > 1 else ""
