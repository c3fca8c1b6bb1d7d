"""Text on a terminal in a pager, as git shows it."""

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

# -F ends at once if the text fits on the screen, -R shows colors, -X leaves the text on the screen.
_DEFAULT = "less -FRX"
# What `less` and `lv` do if they are called without options, for a pager that the user has chosen.
_ENVIRONMENT = {"LESS": "FRX", "LV": "-c"}
# The shell of Windows does not start programs of the working directory then, which may be a folder from anywhere.
_SAFE = {"NoDefaultCurrentDirectoryInExePath": "1"}
_ASSIGNMENT = re.compile(r"\w+=")


def show_in_pager(pieces: Iterable[str]) -> bool:
    """Shows text in $HLOTOOL_PAGER, $PAGER or less, if standard output is a terminal; returns False, with nothing shown, if there is no pager.

    An empty value and `cat` mean no pager. A reader who leaves the pager before the end is no error.
    """
    command = _command()
    if command is None or sys.stdout is None or not sys.stdout.isatty():
        return False
    sys.stdout.flush()
    try:
        # With a shell, as git does it: the value may be a pipeline.
        pager = subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, env={**_ENVIRONMENT, **os.environ, **_SAFE})
    except OSError:
        return False
    with _without_interrupts():
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
    """The command; None if there is no such program, or none is wanted."""
    chosen = next((value for name in ("HLOTOOL_PAGER", "PAGER") if (value := os.environ.get(name)) is not None), _DEFAULT)
    try:
        words = shlex.split(chosen)
    except ValueError:
        return None
    program = next((word for word in words if not _ASSIGNMENT.match(word)), "cat")
    return chosen if program != "cat" and find_program(program) is not None else None


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """While a pager is open, Ctrl-C is for the pager: `less` stops a search and goes on."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
