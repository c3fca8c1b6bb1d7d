"""Functions that write to standard output and standard error."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import traceback

from hlotool.errors import visible

__all__ = [
    "BROKEN_PIPE",
    "SEPARATOR",
    "OutputError",
    "bug_message",
    "complain",
    "counted",
    "escape",
    "flush_out",
    "report_bug",
    "silence",
    "system_message",
    "visible",
    "write_out",
]

BROKEN_PIPE = 128 + 13
"""The exit code that shells report for a program whose output pipe was closed."""


# Control characters other than tabs and line ends, characters that control the direction of text,
# and bytes that are not UTF-8, which some terminals take for control characters. Other unprintable
# characters are harmless.
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]|\r(?!\n)")

SEPARATOR = "// -----\n\n"
"""The lines between modules on standard output."""


class OutputError(Exception):
    """Raised if standard output cannot be written, to end the command.

    `message` is None if the reader of a pipe has closed the pipe.
    """

    def __init__(self, exit_code: int, message: str | None) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.message = message


def escape(text: str) -> str:
    """Returns a string with control characters escaped, except for line ends and tabs.

    >>> escape("a\\tb\\x1b[31m\\n")
    'a\\tb\\\\x1b[31m\\n'
    """
    return _CONTROL_CHARACTERS.sub(lambda found: visible(found[0]), text)


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Returns the number with its noun, in the plural unless the number is 1.

    >>> counted(1, "file"), counted(2, "file"), counted(2, "try", "tries")
    ('1 file', '2 files', '2 tries')
    """
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def write_out(text: str | bytes, *, is_escaped: bool = False) -> None:
    """Writes UTF-8 to standard output, regardless of the locale.

    A `bytes` object is written unchanged, and so are bytes of the input that are not UTF-8. On a
    terminal, control characters in a string are escaped, since modules may come from untrusted
    sources and must not control the terminal. If `is_escaped` is True, the string is already
    escaped and may contain colors. Files and pipes get every character unchanged.
    """
    if not text:
        return
    if sys.stdout is None:
        raise OutputError(2, "standard output is closed")
    if isinstance(text, str) and not is_escaped and sys.stdout.isatty():
        text = escape(text)
    try:
        sys.stdout.buffer.write(text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise _output_error(error) from error


def flush_out() -> None:
    """Flushes standard output; raises OutputError if that fails."""
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
    """Redirects standard output to the null device.

    The flush at exit then succeeds even after a failure.
    """
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def complain(message: str) -> None:
    """Writes a line to standard error, after flushing standard output."""
    flush_out()
    with contextlib.suppress(OSError, AttributeError):
        sys.stderr.write(f"hlotool: {visible(message)}\n")
        sys.stderr.flush()


def system_message(error: OSError) -> str:
    """Returns the operating system's message as one line, preceded by the name of the file.

    >>> system_message(FileNotFoundError(2, "No such file or directory", "a.hlo"))
    "'a.hlo': No such file or directory"
    """
    name = "" if error.filename is None else f"'{error.filename}': "
    return f"{name}{error.strerror or error or type(error).__name__}"


def report_bug(error: BaseException, name: str | None = None) -> None:
    """Reports an unexpected exception as a bug, with a traceback if HLOTOOL_DEBUG is set."""
    complain(bug_message(f"{type(error).__name__}: {error}", "".join(traceback.format_exception(error)), name))


def bug_message(message: str, trace: str, name: str | None = None) -> str:
    """Returns a one-line message about a bug.

    Writes the traceback to standard error if HLOTOOL_DEBUG is set.
    """
    if os.environ.get("HLOTOOL_DEBUG") and sys.stderr is not None:
        sys.stderr.write(escape(trace))
    where = f" while working on '{name}'" if name else ""
    return f"internal error{where}: {message.splitlines()[0][:200]}. This is a bug; please report it with the input (HLOTOOL_DEBUG=1 shows where)"
