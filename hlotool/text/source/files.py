"""Reads text files, plain or compressed, up to a size limit.

Every error is an InputError with a one-line message.
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
"""The maximum size of a text file, in bytes after decompression.

A larger file is probably a mistake or an attack.
"""

_CHUNK = 1 << 20
_GZIP, _XZ, _ZSTD = b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"


class Readable(Protocol):
    """An open file or a decompressor, read chunk by chunk."""

    def read(self, size: int = ..., /) -> bytes: ...


class InputError(HlotoolError):
    """Raised for a file that cannot be read or is not text."""

    exit_code = 2


def read_text(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> str:
    """Returns the text of a file, decompressed if necessary.

    Bytes that are not valid UTF-8 become surrogate escapes. Raises InputError if the file cannot be
    read, is binary, or has more than `max_bytes` bytes.
    """
    name = os.fspath(path)
    with _convert_errors(name), Path(path).open("rb") as file:
        return read_stream(file, name, max_bytes=max_bytes)


def read_stream(stream: Readable, name: str, *, max_bytes: int = MAX_BYTES) -> str:
    """Reads text like `read_text`, but from an open binary file; messages contain `name`.

    Detects compression from the first bytes.
    """
    with _convert_errors(name):
        return _read(_decompress(stream), name, max_bytes).decode("utf-8", "surrogateescape").removeprefix("\ufeff")


def is_compressed(path: str | os.PathLike[str]) -> bool:
    """Returns whether a file is compressed, judging by its first bytes.

    Raises InputError if the file cannot be read.
    """
    with _convert_errors(os.fspath(path)), Path(path).open("rb") as file:
        return file.read(len(_XZ)).startswith((_GZIP, _XZ, _ZSTD))


def read_beginning(path: str | os.PathLike[str], size: int) -> bytes:
    """Returns the first `size` bytes of a file after decompression, or all of a shorter file.

    Raises InputError if the file cannot be read.
    """
    with _convert_errors(os.fspath(path)), Path(path).open("rb") as file:
        reader, data = _decompress(file), b""
        while len(data) < size and (chunk := reader.read(size)):
            data += chunk
        return data[:size]


@contextmanager
def _convert_errors(name: str) -> Iterator[None]:
    """Converts exceptions from the system and the decompressors to InputErrors."""
    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise InputError(f"cannot read '{name}': its compressed data is damaged ({error})") from error
    except OSError as error:
        hint = "; name a file in it" if isinstance(error, IsADirectoryError) else ""
        raise InputError(f"cannot read '{name}': {error.strerror or error}{hint}") from error
    except ImportError as error:
        raise InputError(f"cannot read '{name}': Zstandard files need an extra package: pip install 'hlotool[zstd]'") from error
    except MemoryError as error:
        raise InputError(f"cannot read '{name}': not enough memory") from error
    except ValueError as error:
        # The name contains a NUL, or characters that the file system's encoding lacks.
        raise InputError(f"cannot read {name!r}: {error}") from error


def _decompress(stream: Readable) -> Readable:
    head = _read_head(stream)
    # Typed as Any, because the standard library's types require methods that reading does not need.
    rewound: Any = _RewoundStream(head, stream)
    if head.startswith(_GZIP):
        return gzip.GzipFile(fileobj=rewound)
    if head.startswith(_XZ):
        return lzma.LZMAFile(rewound)
    return _ZstdReader(importlib.import_module("zstandard"), rewound) if head.startswith(_ZSTD) else _RewoundStream(head, stream)


class _RewoundStream:
    """A stream that returns the first bytes again, since pipes cannot be rewound."""

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
    """Reads the bytes that identify the compression; a pipe may deliver them one by one."""
    head = b""
    while len(head) < len(_XZ) and (more := stream.read(len(_XZ) - len(head))):
        head += more
    return head


def _read(stream: Readable, name: str, max_bytes: int) -> bytes:
    """Reads to the end in chunks, at most `max_bytes` bytes.

    The limit keeps decompression bombs and endless devices from filling the memory.
    """
    data = BytesIO()
    while chunk := stream.read(_CHUNK):
        if b"\0" in chunk:
            raise InputError(f"cannot read '{name}': {_nul_reason(data.getvalue()[:4] or chunk[:4])}")
        if data.tell() + len(chunk) > max_bytes:
            raise InputError(
                f"cannot read '{name}': it has more than {max_bytes:,} bytes of text; on the command line, --max-input-size raises the limit"
            )
        data.write(chunk)
    return data.getvalue()


def _nul_reason(head: bytes) -> str:
    """Explains why a file that begins with these bytes contains NUL bytes."""
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "it is UTF-16 text; convert it to UTF-8"
    return "it is a binary file (it has NUL bytes), not HLO text; a serialized module (.pb) must be dumped as text, with --xla_dump_hlo_as_text"


class _ZstdReader:
    """A decompressor that reads one frame after another.

    The zstandard package has its own reader, but that reader does not notice truncated files.
    """

    # Four bytes can expand to 128 KiB of zeros, so a chunk of input expands to at most 128 MiB.
    _INPUT_CHUNK = 4096

    def __init__(self, zstandard: Any, stream: Readable) -> None:
        self.decompressor = zstandard.ZstdDecompressor()
        self.error: type[Exception] = zstandard.ZstdError
        self.stream = stream
        self.frame: Any = None
        self.unread = b""

    def read(self, _size: int = -1, /) -> bytes:
        """Returns the next chunk of output, of any size, or an empty chunk at the end."""
        while True:
            chunk = self.unread or self.stream.read(self._INPUT_CHUNK)
            self.unread = b""
            if not chunk:
                if self.frame is not None:
                    raise EOFError("it ends in the middle of a frame")
                return b""
            if self.frame is None:
                self.frame = self.decompressor.decompressobj()
            try:
                data: bytes = self.frame.decompress(chunk)
            except self.error as error:
                raise EOFError(error) from error
            if self.frame.eof:
                self.unread, self.frame = self.frame.unused_data, None
            if data:
                return data
