"""Writing: to standard output, to standard error, and to files that are replaced as a whole or not at all.

It does not know what is written.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import traceback
from pathlib import Path

__all__ = ["BROKEN_PIPE", "OutputError", "bug_message", "complain", "flush_out", "replace_file", "report_bug", "silence", "visible", "write_out"]

BROKEN_PIPE = 128 + 13
"""The exit code that shells give to a program whose reader went away."""


class OutputError(Exception):
    """The output cannot be written, so that there is no point in going on; `message` is None when nobody is there to read it."""

    def __init__(self, exit_code: int, message: str | None) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.message = message


def visible(text: str) -> str:
    """The text with control characters spelled out, so that no input can play tricks on a terminal.

    >>> visible("a\\x1b[31mb")
    'a\\\\x1b[31mb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def write_out(text: str) -> None:
    """Writes to standard output: UTF-8 whatever the locale, bytes that were no UTF-8 in the source as they were."""
    if sys.stdout is None:
        raise OutputError(2, "standard output is closed")
    try:
        sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise _output_error(error) from error


def flush_out() -> None:
    """Hands everything written so far to the system, which may only now say that it cannot take it."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except OSError as error:
        raise _output_error(error) from error


def _output_error(error: OSError) -> OutputError:
    if isinstance(error, BrokenPipeError):
        return OutputError(BROKEN_PIPE, None)
    return OutputError(2, f"cannot write to standard output: {error.strerror or error}")


def silence() -> None:
    """Lets the interpreter's own flush at exit succeed after standard output has failed."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def complain(message: str) -> None:
    """One line for people on standard error, after what standard output has got so far."""
    flush_out()
    with contextlib.suppress(OSError, AttributeError):
        sys.stderr.write(f"hlotool: {visible(message)}\n")
        sys.stderr.flush()


def report_bug(error: BaseException, name: str | None = None) -> None:
    """What a traceback would say to those who can mend it, and what everybody else needs to know."""
    complain(bug_message(error, name))


def bug_message(error: BaseException, name: str | None = None) -> str:
    """The same as one line; the traceback is shown at once if it is wanted."""
    if os.environ.get("HLOTOOL_DEBUG"):
        traceback.print_exception(error)
    what = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    where = f" while working on '{name}'" if name else ""
    return f"internal error{where}: {what}. This is a bug; please report it with the input (HLOTOOL_DEBUG=1 shows where)"


def replace_file(path: str, content: str | bytes) -> None:
    """Puts `content` into a file: readers see the old content or the new, never a part, whatever happens meanwhile.

    Links are followed, and the file keeps owner, mode and extended attributes; devices and pipes are written to.
    """
    try:
        target = Path(path)
        data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
        before = target.stat() if target.exists() else None
        if before is not None and not stat.S_ISREG(before.st_mode):
            target.write_bytes(data)
        else:
            _replace(target.resolve(), data, before)
    except BrokenPipeError as error:
        raise OutputError(BROKEN_PIPE, None) from error
    except (OSError, ValueError) as error:
        reason = error.strerror or error if isinstance(error, OSError) else error
        raise OutputError(2, f"cannot write '{path}': {reason}") from error


def _replace(target: Path, data: bytes, before: os.stat_result | None) -> None:
    # In the same folder, since only within one file system a rename is atomic; a process that was killed may have left another.
    temporary = target.with_name(f".{target.name[:200]}.{os.urandom(6).hex()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if before is not None:
                _take_over(target, temporary, before)
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _take_over(target: Path, temporary: Path, before: os.stat_result) -> None:
    """Gives the new file owner, mode and extended attributes of the old one, or raises OSError."""
    if hasattr(os, "chown"):
        now = temporary.stat()
        if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
            try:
                os.chown(temporary, before.st_uid, before.st_gid)
            except PermissionError as error:
                raise OSError(errno.EPERM, "it belongs to somebody else, and would not any more") from error
    # After chown, which clears the bits that give a program its owner's rights.
    temporary.chmod(stat.S_IMODE(before.st_mode))
    if hasattr(os, "listxattr"):
        for name in os.listxattr(target):
            # Not every file system takes what another gave; security labels are the system's to set.
            with contextlib.suppress(OSError):
                os.setxattr(temporary, name, os.getxattr(target, name))
