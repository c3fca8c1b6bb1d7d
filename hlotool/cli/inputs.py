"""The files that a command works on, and the exit code of a run over many of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click
from click.exceptions import Exit

from hlotool.cli.output import OutputError, complain, flush_out, report_bug
from hlotool.errors import HlotoolError
from hlotool.workspace.files import FileChoice
from hlotool.workspace.reading import STDIN

__all__ = ["Outcome", "chosen_files", "files_or_stdin"]


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
        except (OutputError, BrokenPipeError, click.ClickException, click.Abort, Exit):
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


def chosen_files(choice: FileChoice, names: Sequence[str], outcome: Outcome) -> list[str]:
    """The files that arguments stand for; what there is to tell about the choice is told."""
    chosen = choice.files(files_or_stdin(names))
    for remark in chosen.remarks:
        if remark.is_failure:
            outcome.failed(remark.message)
        elif not outcome.silent:
            complain(remark.message)
    return chosen.names
