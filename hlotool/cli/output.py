"""Writing to standard output and standard error; it does not know what is written."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback

__all__ = ["BROKEN_PIPE", "OutputError", "bug_message", "complain", "flush_out", "report_bug", "silence", "visible", "write_out"]

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
    if not text:
        return
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
    complain(bug_message(f"{type(error).__name__}: {error}", "".join(traceback.format_exception(error)), name))


def bug_message(message: str, trace: str, name: str | None = None) -> str:
    """The same as one line; the traceback is shown at once if it is wanted."""
    if os.environ.get("HLOTOOL_DEBUG") and sys.stderr is not None:
        sys.stderr.write(trace)
    where = f" while working on '{name}'" if name else ""
    return f"internal error{where}: {message.splitlines()[0][:200]}. This is a bug; please report it with the input (HLOTOOL_DEBUG=1 shows where)"
