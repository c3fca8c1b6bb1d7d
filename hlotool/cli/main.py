"""The `hlotool` command: finds subcommands, and converts results and exceptions to exit codes.

Subcommands are the files `cmd_<name>.py` in this folder, imported when they are called. This module
imports only what `hlotool --version` needs.
"""

from __future__ import annotations

import gc
import sys
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import IO, Any, NoReturn

import click

import hlotool
from hlotool.cli.interruption import TERMINATED, Terminated, raise_on_termination
from hlotool.cli.output import BROKEN_PIPE, OutputError, complain, escape, flush_out, report_bug, silence, system_message
from hlotool.errors import HlotoolError, InternalError, nearest

__all__ = ["COMMANDS", "INTERRUPTED", "main", "run"]

INTERRUPTED = 128 + 2
"""The exit code that shells report for a program ended by Ctrl-C."""

_EPILOG = """\b
Exit codes, the same for every command:
  0  success, no findings
  1  findings
  2  bad usage, unreadable file, or input that does not parse
  3  a bug in hlotool

\b
Environment:
  NO_COLOR       if set, no colors are used without --color always
  HLOTOOL_DEBUG  if set, tracebacks of internal errors are shown
"""

_OTHER_NAMES = {
    "format": "fmt",
    "lint": "verify",
    "check": "verify",
    "validate": "verify",
    "eval": "run",
    "evaluate": "run",
    "exec": "run",
    "interpret": "run",
    "optimize": "opt",
    "optimise": "opt",
    "simplify": "opt",
    "parse": "print",
    "show": "print",
    "cat": "print",
    "rule": "explain",
    "doc": "explain",
    "docs": "explain",
    "compare": "diff",
    "delta": "diff",
    "patch": "apply",
    "version": "--version",
}
"""Command names from other tools, with hlotool's name for each."""


class CommandError(click.ClickException):
    """An error raised by the library, shown as an error of the command."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        complain(self.message)


class Commands(click.Group):
    """A group of commands, each in the file `cmd_<name>.py`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(path.stem.removeprefix("cmd_").replace("_", "-") for path in Path(__file__).parent.glob("cmd_*.py"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        # Imported when called, so that no command waits for the imports of another.
        command: click.Command = import_module(f"hlotool.cli.cmd_{cmd_name.replace('-', '_')}").command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except InternalError:
            raise
        except HlotoolError as error:
            raise CommandError(str(error)) from error

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            word = args[0]
            suggestion = _OTHER_NAMES.get(word) or nearest(word, self.list_commands(ctx))
            if word == "help":
                suggestion = f"{args[1]} --help" if args[1:] and args[1] in self.list_commands(ctx) else "--help"
            # Imported on use, since --version does not need it.
            if import_module("hlotool.workspace.reading").file_status(word) is not None:
                suggestion = f"hlotool verify {word}"
            if suggestion is None:
                raise
            raise click.UsageError(f"No such command '{word}'. Did you mean '{suggestion}'?", ctx) from error


COMMANDS = click.version_option(hlotool.__version__, "-V", "--version", prog_name="hlotool", message="%(prog)s %(version)s")(
    Commands(
        "hlotool",
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog=_EPILOG,
        help="Format, check, optimize, print and run XLA's textual HLO.",
    )
)


def run(arguments: list[str] | None = None) -> int:
    """Runs one command line and returns its exit code.

    No exception leaves this function, except SystemExit for shell completion.
    """
    try:
        result = COMMANDS.main(arguments, prog_name="hlotool", standalone_mode=False)
        flush_out()
    except click.ClickException as error:
        _show(error)
        return error.exit_code
    except OutputError as error:
        silence()
        if error.message is not None:
            complain(error.message)
        return error.exit_code
    except BrokenPipeError:
        silence()
        return BROKEN_PIPE
    except (click.Abort, KeyboardInterrupt):
        silence()
        return INTERRUPTED
    except Terminated:
        silence()
        return TERMINATED
    except OSError as error:
        # For example, a full disk or a deleted working directory: a system error, not a bug.
        silence()
        complain(system_message(error))
        return 2
    except Exception as error:
        report_bug(error)
        return 3
    return result if isinstance(result, int) else 0


def _show(error: click.ClickException) -> None:
    """Shows an error with control characters escaped.

    Such characters may occur in arguments, for example in the names of files from untrusted
    sources.
    """
    shown = StringIO()
    error.show(shown)
    if sys.stderr is not None:
        sys.stderr.write(escape(shown.getvalue()))


def main() -> NoReturn:
    """Runs one command and ends the process: the entry point of the console script."""
    # Most objects live until the command ends, so garbage collection would gain little and take a
    # third of the running time.
    gc.disable()
    raise_on_termination()
    sys.exit(run())
