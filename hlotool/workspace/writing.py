"""Writes files atomically."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from hlotool.errors import HlotoolError
from hlotool.workspace.reading import STDIN

__all__ = ["WriteError", "check_outputs", "remove_temporaries", "replace_file"]

# Files that are being written.
_temporaries: set[Path] = set()


class WriteError(HlotoolError):
    """Raised if a file cannot be written."""

    exit_code = 2


def check_outputs(outputs: Iterable[str | None], inputs: Iterable[str | None]) -> None:
    """Raises WriteError if an output file is one of the inputs or another output.

    A file is recognized even under a different name. None stands for no file.
    """
    read = [name for name in inputs if name is not None and name != STDIN]
    written: list[str] = []
    for output in outputs:
        if output is None:
            continue
        if any(_is_same_file(output, name) for name in read):
            raise WriteError(f"cannot write '{output}': it is an input; choose another name for the output")
        if any(_is_same_file(output, name) for name in written):
            raise WriteError(f"cannot write '{output}': another output is written to it; choose another name for one of them")
        written.append(output)


def _is_same_file(output: str, other: str) -> bool:
    """Returns whether writing an output would replace another file, which may not exist yet.

    Devices and pipes have no content to lose.
    """
    try:
        if Path(output).exists():
            return Path(output).is_file() and Path(output).samefile(other)
        return os.path.realpath(output) == os.path.realpath(other)
    except (OSError, ValueError):
        return False


def replace_file(path: str, content: str | bytes) -> None:
    """Writes `content` to a file, replacing it atomically.

    Readers see the old content or the new content, never a part of either. Symbolic links are
    followed, and the file keeps its owner, mode and extended attributes. Devices and pipes are
    written to directly. Raises WriteError, or BrokenPipeError if the reader of a pipe has closed
    it.
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
    # The temporary file is in the same folder, since a rename is atomic only within one file
    # system. The random part avoids conflicts with files that a killed process has left.
    temporary = target.with_name(f".{target.name[:200]}.{os.urandom(6).hex()}.tmp")
    _temporaries.add(temporary)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if before is not None:
                _copy_attributes(target, temporary, before)
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        _temporaries.discard(temporary)


def remove_temporaries() -> None:
    """Removes unfinished files, for a process that ends without unwinding its stack."""
    for temporary in tuple(_temporaries):
        with contextlib.suppress(OSError):
            temporary.unlink()


def _copy_attributes(target: Path, temporary: Path, before: os.stat_result) -> None:
    """Copies the owner, the mode and the extended attributes of the old file to the new one.

    Raises OSError if the owner cannot be kept.
    """
    if hasattr(os, "chown"):
        now = temporary.stat()
        if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
            try:
                os.chown(temporary, before.st_uid, before.st_gid)
            except PermissionError as error:
                raise OSError(errno.EPERM, "it belongs to another user, and rewriting it would change its owner") from error
    # The mode is set after chown, which clears the setuid and setgid bits.
    temporary.chmod(stat.S_IMODE(before.st_mode))
    if hasattr(os, "listxattr"):
        for name in os.listxattr(target):
            # Some file systems do not support all attributes, and security labels are set by the
            # system.
            with contextlib.suppress(OSError):
                os.setxattr(temporary, name, os.getxattr(target, name))
