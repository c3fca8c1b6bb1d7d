"""Reads messages from a stream: headers, then a body of `Content-Length` bytes.

pygls waits forever for the rest of a message whose header it does not understand, and then mistakes
the bodies of all later messages for headers. Here, such a message is replaced with an invalid
one, which is answered with an error, and the next header is found wherever it begins.
"""

from __future__ import annotations

import re
from typing import BinaryIO

__all__ = ["MessageReader"]

# A header may follow the rest of a message on the same line.
_LENGTH = re.compile(rb"Content-Length:[ \t]*+(\d{1,18})[ \t]*+\r?\n\Z", re.IGNORECASE)
# The first line of an HTTP request. Any web page can make a browser send arbitrary messages to a
# port on this computer.
_HTTP = re.compile(rb"[A-Z]+ \S+ HTTP/[0-9.]+\r?\n\Z")
# In bytes. Documents are at most 400 MB long, and escapes make them longer.
_MAX_SIZE = 2 << 30
_MAX_LINE_LENGTH = 1 << 20
_NOT_VALID = b"not a message"


class MessageReader:
    """A binary stream with exactly one header line before each body, as pygls expects."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self.lines: list[bytes] = []
        self.body: bytes | None = None

    def readline(self) -> bytes:
        """Returns the next line of a header; empty at the end of the stream.

        An HTTP request counts as the end of the stream.
        """
        if self.lines:
            return self.lines.pop()
        size, is_header = -1, False
        while line := self.stream.readline(_MAX_LINE_LENGTH):
            if _HTTP.search(line):
                return b""
            if line.strip():
                is_header = True
                found = _LENGTH.search(line)
                size = size if found is None else int(found[1])
            elif is_header:
                break
        else:
            return b""
        self.body = None if 0 <= size <= _MAX_SIZE else _NOT_VALID
        self.lines = [b"\r\n"]
        return b"Content-Length: %d\r\n" % (size if self.body is None else len(self.body))

    def read(self, size: int) -> bytes:
        """Returns the body of a message."""
        if self.body is not None:
            return self.body
        return self.stream.read(size)
