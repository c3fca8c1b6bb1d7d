"""Shows text on a terminal in a pager, as git does."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from hlotool.workspace.programs import find_program

__all__ = ["show_in_pager"]

# -F exits at once if the text fits on the screen, -R shows colors, -X leaves the text on the screen.
_DEFAULT = "less -FRX"
# Default options for `less` and `lv`, in case the user has chosen one of them.
_ENVIRONMENT = {"LESS": "FRX", "LV": "-c"}
# Keeps the Windows shell from starting programs in the working directory, whose files may come from
# untrusted sources.
_SAFE = {"NoDefaultCurrentDirectoryInExePath": "1"}
_ASSIGNMENT = re.compile(r"\w+=")


def show_in_pager(pieces: Iterable[str]) -> bool:
    """Shows text in $HLOTOOL_PAGER, $PAGER or less, if standard output is a terminal.

    If it is not a terminal, or if there is no pager, shows nothing and returns False. An empty
    value or `cat` means that there is no pager. Leaving the pager before the end is not an error.
    """
    command = _command()
    if command is None or sys.stdout is None or not sys.stdout.isatty():
        return False
    sys.stdout.flush()
    try:
        # Uses a shell, as git does: the value may be a pipeline.
        pager = subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, env={**_ENVIRONMENT, **os.environ, **_SAFE})
    except OSError:
        return False
    with _ignore_interrupts():
        assert pager.stdin is not None
        try:
            for piece in pieces:
                pager.stdin.write(piece.encode("utf-8", "surrogateescape"))
            pager.stdin.close()
        except BrokenPipeError:
            pass
        finally:
            pager.wait()
    return True


def _command() -> str | None:
    """Returns the pager's command, or None if the program is missing or no pager is wanted."""
    chosen = next((value for name in ("HLOTOOL_PAGER", "PAGER") if (value := os.environ.get(name)) is not None), _DEFAULT)
    try:
        words = shlex.split(chosen)
    except ValueError:
        return None
    program = next((word for word in words if not _ASSIGNMENT.match(word)), "cat")
    return chosen if program != "cat" and find_program(program) is not None else None


@contextmanager
def _ignore_interrupts() -> Iterator[None]:
    """Ignores Ctrl-C while a pager is open, since the pager handles it.

    For example, Ctrl-C ends a search in `less`, but not `less` itself.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
