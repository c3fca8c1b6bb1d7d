"""Reads text from files, and from standard input under the name `-`."""

from __future__ import annotations

import errno
import gc
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

__all__ = [
    "DEFAULT_INPUT_SIZE",
    "STDIN",
    "InputForm",
    "file_status",
    "input_size",
    "is_link",
    "limit_input_size",
    "one_by_one",
    "read_bounded",
    "read_input",
    "real_path",
]

STDIN = "-"
DEFAULT_INPUT_SIZE = 400 << 20
"""The size of the largest input that commands read by default, in bytes after decompression.

A module takes ten times as much memory as its text.
"""

_max_size = DEFAULT_INPUT_SIZE


class InputForm(NamedTuple):
    """The form of the input.

    `legacy` allows spellings of earlier versions of XLA. `extract` finds modules inside other text.
    """

    legacy: bool = False
    extract: bool = False


def limit_input_size(size: int | None) -> None:
    """Sets the size, in bytes, of the largest input that `read_input` reads in this process.

    None restores the default.
    """
    global _max_size
    _max_size = DEFAULT_INPUT_SIZE if size is None else size


def input_size() -> int:
    """Returns the size, in bytes, of the largest input that `read_input` reads."""
    return _max_size


def read_input(name: str, stdin_name: str = "<stdin>") -> tuple[str, str]:
    """Returns a name for messages, and the text of a file or of standard input.

    Raises HlotoolError if the input cannot be read.
    """
    # Imported on use: the modules that decompress files would delay every --help by 3 ms.
    files = import_module("hlotool.text.source.files")
    if name != STDIN:
        return name, files.read_text(name, max_bytes=_max_size)
    if sys.stdin is None:
        raise files.InputError("standard input is closed")
    return stdin_name, files.read_stream(sys.stdin.buffer, stdin_name, max_bytes=_max_size)


def file_status(name: str) -> os.stat_result | None:
    """Returns the status of a file or folder; None if there is none, or if it cannot be examined.

    Unlike `Path.exists` and `Path.is_dir`, this function accepts any name, even one that is too
    long.
    """
    try:
        return Path(name).stat()
    except (OSError, ValueError):
        return None


def is_link(path: str) -> bool:
    """Returns whether the path is a symbolic link."""
    return os.path.islink(path)  # noqa: PTH114


def read_bounded(path: str | os.PathLike[str], limit: int, *, needs_file: bool = False) -> bytes:
    """Returns the content of a small file.

    Raises OSError if the file has more than `limit` bytes, or if it is a device or a pipe and
    `needs_file` is True. Without `needs_file`, the path must come from the user, since reading a
    pipe waits for its writer.
    """
    # O_NONBLOCK opens a pipe at once, without waiting for a writer.
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | (getattr(os, "O_NONBLOCK", 0) if needs_file else 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        if needs_file and not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        data = file.read(limit + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"it has more than {limit:,} bytes, which is the limit")
    return data


def real_path(path: str) -> str:
    """Returns the absolute path with all links resolved, except for the last part of the path."""
    folder, name = os.path.split(os.path.abspath(path))  # noqa: PTH100
    return os.path.join(os.path.realpath(folder), name)  # noqa: PTH118


def one_by_one(names: Iterable[str]) -> Iterator[str]:
    """Yields the names, and collects garbage between them if the garbage collector is off."""
    if not gc.isenabled():
        # Imported modules stay in memory; searching them for garbage would take longer than the
        # work on a small file.
        gc.freeze()
    for k, name in enumerate(names):
        if k and not gc.isenabled():
            gc.collect()
        yield name
