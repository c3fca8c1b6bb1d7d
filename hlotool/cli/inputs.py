"""Arguments to texts: files, folders and standard input, and what a run over many of them comes to.

It does not look into the texts; which files a folder stands for is `cli.file_choice`'s business.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import click
from click.exceptions import Exit

from hlotool.cli.output import OutputError, complain, flush_out, report_bug
from hlotool.errors import HlotoolError

__all__ = ["STDIN", "Outcome", "files_or_stdin", "one_by_one", "read_input"]

STDIN = "-"


class Outcome:
    """The exit code of a run over many files: the worst of theirs, since no file stops the others."""

    def __init__(self, *, silent: bool = False) -> None:
        self.exit_code = 0
        self.unreadable = 0
        self.silent = silent

    def at_least(self, exit_code: int) -> None:
        self.exit_code = max(self.exit_code, exit_code)

    def failed(self, message: str, exit_code: int = 2) -> None:
        """A file of which there is no more to say than one line."""
        self.unreadable += 1
        self.at_least(exit_code)
        if not self.silent:
            complain(message)

    @contextmanager
    def file(self, name: str) -> Iterator[None]:
        """Around the work on one file: whatever goes wrong there is told, and the run goes on with the next."""
        try:
            yield
        except HlotoolError as error:
            self.failed(str(error), max(error.exit_code, 2))
        except MemoryError:
            self.failed(f"not enough memory for '{name}'")
        except (OutputError, click.ClickException, click.Abort, Exit):
            raise
        except Exception as error:
            self.unreadable += 1
            self.at_least(3)
            report_bug(error, name)

    def finish(self) -> None:
        """Ends the command with the exit code, once everything is written."""
        flush_out()
        raise Exit(self.exit_code)


def files_or_stdin(files: Sequence[str]) -> Sequence[str]:
    """The arguments; standard input when there are none and something is piped in."""
    if files:
        return files
    if sys.stdin is None or sys.stdin.isatty():
        raise click.UsageError("no FILE given, and nothing is piped in")
    return (STDIN,)


def read_input(name: str, stdin_name: str = "<stdin>") -> tuple[str, str]:
    """Name for messages and text of an argument; raises HlotoolError."""
    # --help imports the commands, and shall not wait for the parser, which comes with this.
    from hlotool.text.source.files import InputError, read_stream, read_text  # noqa: PLC0415

    if name != STDIN:
        return name, read_text(name)
    if sys.stdin is None:
        raise InputError("standard input is closed")
    return stdin_name, read_stream(sys.stdin.buffer, stdin_name)


def one_by_one(names: Iterable[str]) -> Iterator[str]:
    """The names, with the garbage of one file's work collected before the next, where the collector is off."""
    for k, name in enumerate(names):
        if k and not gc.isenabled():
            gc.collect()
        yield name
