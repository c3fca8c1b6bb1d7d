"""Names to texts: files, and standard input under the name `-`."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module

__all__ = ["STDIN", "one_by_one", "read_input"]

STDIN = "-"


def read_input(name: str, stdin_name: str = "<stdin>") -> tuple[str, str]:
    """Name for messages and text of an argument; raises HlotoolError."""
    # Loaded where something is read: what decompresses files would cost every --help 3 ms.
    files = import_module("hlotool.text.source.files")
    if name != STDIN:
        return name, files.read_text(name)
    if sys.stdin is None:
        raise files.InputError("standard input is closed")
    return stdin_name, files.read_stream(sys.stdin.buffer, stdin_name)


def one_by_one(names: Iterable[str]) -> Iterator[str]:
    """The names, with the garbage of one file's work collected before the next, where the collector is off."""
    for k, name in enumerate(names):
        if k and not gc.isenabled():
            gc.collect()
        yield name
