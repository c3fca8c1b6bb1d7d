"""The files that a command works on, and its exit code."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import click
from click.exceptions import Exit

from hlotool.cli.output import OutputError, complain, flush_out, report_bug, system_message
from hlotool.cli.rendering.render import render_to_stderr
from hlotool.errors import HlotoolError, Source
from hlotool.workspace.files import FileChoice
from hlotool.workspace.reading import STDIN, InputForm, read_input

if TYPE_CHECKING:
    from hlotool.ir.model import Module

__all__ = ["Outcome", "choose_files", "files_or_stdin", "read_module", "read_modules"]


class Outcome:
    """A command's exit code, which is the maximum of the exit codes for its files.

    A bad file does not end the command.
    """

    def __init__(self, *, silent: bool = False) -> None:
        self.exit_code = 0
        self.unreadable = 0
        self.silent = silent

    def at_least(self, exit_code: int) -> None:
        self.exit_code = max(self.exit_code, exit_code)

    def failed(self, message: str, exit_code: int = 2) -> None:
        """Counts a file that failed, and reports it with a one-line message."""
        self.unreadable += 1
        self.at_least(exit_code)
        if not self.silent:
            complain(message)

    @contextmanager
    def file(self, name: str) -> Iterator[None]:
        """Reports errors in a `with` block about one file, so that the command can continue."""
        try:
            yield
        except HlotoolError as error:
            self.failed(str(error), max(error.exit_code, 2))
        except MemoryError:
            self.failed(f"not enough memory for '{name}'")
        except (OutputError, BrokenPipeError, click.ClickException, click.Abort, Exit):
            raise
        except OSError as error:
            self.failed(system_message(error))
        except Exception as error:
            self.unreadable += 1
            self.at_least(3)
            report_bug(error, name)

    def finish(self) -> None:
        """Flushes the output and ends the command with the exit code."""
        flush_out()
        raise Exit(self.exit_code)


def files_or_stdin(files: Sequence[str], *others: str | None) -> Sequence[str]:
    """Returns the arguments, or `-` if there are none and standard input is not a terminal.

    `others` contains the files given by options. Naming standard input twice is a usage error,
    since it can be read only once.
    """
    if [*files, *others].count(STDIN) > 1:
        raise click.UsageError("standard input can be read only once, but '-' is given more than once")
    if files:
        return files
    if sys.stdin is None or sys.stdin.isatty():
        raise click.UsageError("no FILE given, and standard input is not a file or a pipe")
    return (STDIN,)


class ModulesOfFile(NamedTuple):
    """The name of a file, as shown in messages, and its modules."""

    name: str
    modules: list[Module]


def read_modules(file: str, outcome: Outcome, form: InputForm, color: str, stdin_filename: str) -> ModulesOfFile:
    """Returns the modules of a file; none if it does not parse.

    Parse errors are written to standard error. With `form.extract`, the modules that parse are
    returned even if others do not.
    """
    # Imported on use, since --help does not need the parser.
    from hlotool.workspace.modules import modules_or_error  # noqa: PLC0415

    name, text = read_input(file, stdin_filename)
    modules, error = modules_or_error(text, name, form)
    if error is not None:
        outcome.at_least(error.exit_code)
        render_to_stderr(error.diagnostics, Source(text, name).line_text, color)
    return ModulesOfFile(name, modules if error is None or form.extract else [])


class ModuleOfFile(NamedTuple):
    """The name of a file, as shown in messages, its text, and the only module in it."""

    name: str
    text: str
    module: Module


def read_module(file: str, outcome: Outcome, form: InputForm, color: str, stdin_filename: str, reason: str) -> ModuleOfFile | None:
    """Returns the only module of a file; None if it does not parse.

    Parse errors are written to standard error. Raises HlotoolError if there are several modules;
    `reason` is the reason given in the message.
    """
    # Imported on use, since --help does not need the parser.
    from hlotool.workspace.modules import modules_or_error, only_module  # noqa: PLC0415

    name, text = read_input(file, stdin_filename)
    modules, error = modules_or_error(text, name, form)
    if error is not None and not (form.extract and modules):
        outcome.at_least(error.exit_code)
        render_to_stderr(error.diagnostics, Source(text, name).line_text, color)
        return None
    return ModuleOfFile(name, text, only_module(modules, name, reason))


class ChosenFiles(NamedTuple):
    """The chosen files, and whether the name for standard input is excluded."""

    names: list[str]
    excludes_stdin: bool


def choose_files(choice: FileChoice, names: Sequence[str], outcome: Outcome, *others: str | None) -> ChosenFiles:
    """Returns the files that the arguments select, and reports remarks about the choice.

    `others` contains the files given by options.
    """
    chosen = choice.files(files_or_stdin(names, *others))
    for remark in chosen.remarks:
        if remark.is_failure:
            outcome.failed(remark.message)
        elif not outcome.silent:
            complain(remark.message)
    return ChosenFiles(chosen.names, chosen.excludes_stdin)
