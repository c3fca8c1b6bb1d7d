"""Reads texts from files: plain or compressed, within a size limit, with errors that say what is wrong in one line.

It does not decide what is HLO: that is the parser's business.
"""

from __future__ import annotations

import gzip
import importlib
import lzma
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, Protocol

from hlotool.errors import HlotoolError

__all__ = ["MAX_BYTES", "InputError", "is_compressed", "read_beginning", "read_stream", "read_text"]

MAX_BYTES = 4 << 30
"""A text larger than this, after decompression, is taken for a mistake or an attack."""

_CHUNK = 1 << 20
_GZIP, _XZ, _ZSTD = b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"


class Readable(Protocol):
    """What can be read piece by piece: an open file or a decompressor."""

    def read(self, size: int = ..., /) -> bytes: ...


class InputError(HlotoolError):
    """A file that cannot be read, or that is no text."""

    exit_code = 2


def read_text(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> str:
    """The text of a file; bytes that are not UTF-8 become surrogate escapes. Raises HlotoolError."""
    name = os.fspath(path)
    with _as_input_errors(name), Path(path).open("rb") as file:
        return read_stream(file, name, max_bytes=max_bytes)


def read_stream(stream: Readable, name: str, *, max_bytes: int = MAX_BYTES) -> str:
    """As `read_text`, from an open file that errors call `name`; its first bytes tell how it is compressed, not its name."""
    with _as_input_errors(name):
        return _read(_decompressed(stream), name, max_bytes).decode("utf-8", "surrogateescape").removeprefix("\ufeff")


def is_compressed(path: str | os.PathLike[str]) -> bool:
    """Whether a file has to be decompressed before it is read. Raises HlotoolError."""
    with _as_input_errors(os.fspath(path)), Path(path).open("rb") as file:
        return file.read(len(_XZ)).startswith((_GZIP, _XZ, _ZSTD))


def read_beginning(path: str | os.PathLike[str], size: int) -> bytes:
    """The first `size` bytes of a file after decompression, text or not; fewer if it has no more. Raises HlotoolError."""
    with _as_input_errors(os.fspath(path)), Path(path).open("rb") as file:
        reader, found = _decompressed(file), b""
        while len(found) < size and (more := reader.read(size)):
            found += more
        return found[:size]


@contextmanager
def _as_input_errors(name: str) -> Iterator[None]:
    """Turns what the system and the decompressors raise into one line."""
    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise InputError(f"cannot read '{name}': its compressed data is damaged ({error})") from error
    except OSError as error:
        raise InputError(f"cannot read '{name}': {error.strerror or error}") from error
    except ImportError as error:
        raise InputError(f"cannot read '{name}': Zstandard files need an extra package: pip install 'hlotool[zstd]'") from error
    except MemoryError as error:
        raise InputError(f"cannot read '{name}': not enough memory") from error
    except ValueError as error:
        # A name that no file can have: with a NUL, or with characters that the system's encoding lacks.
        raise InputError(f"cannot read {name!r}: {error}") from error


def _decompressed(stream: Readable) -> Readable:
    head = _read_head(stream)
    # The standard library's types demand methods that reading does not call.
    whole: Any = _Rejoined(head, stream)
    if head.startswith(_GZIP):
        return gzip.GzipFile(fileobj=whole)
    if head.startswith(_XZ):
        return lzma.LZMAFile(whole)
    return _ZstdReader(importlib.import_module("zstandard"), whole) if head.startswith(_ZSTD) else _Rejoined(head, stream)


class _Rejoined:
    """A stream with its first bytes put back, since pipes cannot be rewound."""

    def __init__(self, head: bytes, stream: Readable) -> None:
        self.head = head
        self.stream = stream

    def read(self, size: int = -1, /) -> bytes:
        if not self.head:
            return self.stream.read(size)
        part = self.head if size < 0 else self.head[:size]
        self.head = self.head[len(part) :]
        return part + self.stream.read(-1) if size < 0 else part


def _read_head(stream: Readable) -> bytes:
    """Enough bytes to know the format; a pipe may give them one by one."""
    head = b""
    while len(head) < len(_XZ) and (more := stream.read(len(_XZ) - len(head))):
        head += more
    return head


def _read(stream: Readable, name: str, max_bytes: int) -> bytes:
    """Everything, piece by piece, so that neither a decompression bomb nor an endless device fills the memory."""
    found = BytesIO()
    while chunk := stream.read(_CHUNK):
        if b"\0" in chunk:
            raise InputError(f"cannot read '{name}': {_what_has_nuls(found.getvalue()[:4] or chunk[:4])}")
        if found.tell() + len(chunk) > max_bytes:
            raise InputError(f"cannot read '{name}': more than {max_bytes:,} bytes of text")
        found.write(chunk)
    return found.getvalue()


def _what_has_nuls(head: bytes) -> str:
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "it is UTF-16 text; convert it to UTF-8"
    return "it is binary (it has NUL bytes), and HLO text was expected; print a serialized module as text first"


class _ZstdReader:
    """Decompresses one frame after the other; zstandard's own reader takes a file that was cut off for a complete one."""

    # Four bytes can stand for 128 KiB of zeros, so this much input makes 128 MiB at most.
    _PIECE = 4096

    def __init__(self, zstandard: Any, stream: Readable) -> None:
        self.decompressor = zstandard.ZstdDecompressor()
        self.error: type[Exception] = zstandard.ZstdError
        self.stream = stream
        self.frame: Any = None
        self.waiting = b""

    def read(self, _size: int = -1, /) -> bytes:
        """The next piece of text, whatever its size; empty at the end."""
        while True:
            piece = self.waiting or self.stream.read(self._PIECE)
            self.waiting = b""
            if not piece:
                if self.frame is not None:
                    raise EOFError("it ends within a frame")
                return b""
            if self.frame is None:
                self.frame = self.decompressor.decompressobj()
            try:
                found: bytes = self.frame.decompress(piece)
            except self.error as error:
                raise EOFError(error) from error
            if self.frame.eof:
                self.waiting, self.frame = self.frame.unused_data, None
            if found:
                return found
