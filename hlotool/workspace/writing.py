"""Writing files, which are replaced as a whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path

from hlotool.errors import HlotoolError

__all__ = ["WriteError", "replace_file"]


class WriteError(HlotoolError):
    """A file that cannot be written."""

    exit_code = 2


def replace_file(path: str, content: str | bytes) -> None:
    """Puts `content` into a file: readers see the old content or the new, never a part, whatever happens meanwhile.

    Links are followed, and the file keeps owner, mode and extended attributes; devices and pipes are written to. Raises WriteError, or
    BrokenPipeError when nobody reads from a pipe any more.
    """
    try:
        target = Path(path)
        data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
        before = target.stat() if target.exists() else None
        if before is not None and not stat.S_ISREG(before.st_mode):
            target.write_bytes(data)
        else:
            _replace(target.resolve(), data, before)
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        reason = error.strerror or error if isinstance(error, OSError) else error
        raise WriteError(f"cannot write '{path}': {reason}") from error


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
