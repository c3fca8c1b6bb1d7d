"""`hlotool fmt`: formats files in place, or says what it would change.

It chooses files, compares and writes; the formatting and its proof are the library's.
"""

from __future__ import annotations

import sys
import traceback
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import click

import hlotool
from hlotool.cli.inputs import Outcome, chosen_files
from hlotool.cli.options import click_option, color_option, file_choice_options, files_argument
from hlotool.cli.output import bug_message, complain, write_out
from hlotool.cli.progress import progress
from hlotool.cli.render import render_to_stderr, wants_color
from hlotool.cli.text_diff import unified_diff
from hlotool.errors import HlotoolError, InternalError, ParseError, Source
from hlotool.options import options_of
from hlotool.workspace.files import FileChoice
from hlotool.workspace.reading import STDIN, read_input
from hlotool.workspace.settings import Settings, wrong_setting
from hlotool.workspace.workers import in_order

if TYPE_CHECKING:
    from hlotool.text.formatting.style import FormatStyle

__all__ = ["command"]

# Of the errors in a file that does not parse.
_MOST_SHOWN = 3
_HELP = """Format HLO texts: the spaces, line breaks and order of attributes of XLA's own print.

Names, comments, numbers, the order of instructions, and what is left out stay as they are. Files are rewritten in place, each as a whole or
not at all, and only after a check that the new text is the same module with the same comments. `-` reads standard input and writes
standard output. A folder stands for the HLO files in it, without those that git ignores.

\b
Examples:
  hlotool fmt module.hlo
  hlotool fmt --check --diff dumps/
  hlotool fmt - --stdin-filename edit.hlo < edit.hlo

\b
Marks in the text:
  // hlotool: fmt off     from here on leave everything as it is,
  // hlotool: fmt on      up to here
  ...  // hlotool: fmt skip   leave this line

\b
Settings, in the nearest hlotool.toml or pyproject.toml ([tool.hlotool]):
  include = ["*.hlo"]
  exclude = ["golden/*"]
  [fmt]
  width = 120

\b
Exit codes:
  0  formatted, or nothing to do
  1  --check or --diff found something to do
  2  a file cannot be read, parsed or written
  3  a bug in hlotool: the check failed, and the file is as it was
"""


class Job(NamedTuple):
    """What to do with every file."""

    check: bool
    diff: bool
    stdout: bool
    lines: tuple[int, int] | None
    color: bool
    stdin_filename: str


class Result(NamedTuple):
    """What came of one file: text for standard output, and how it ended."""

    name: str
    out: str = ""
    is_changed: bool = False
    error: HlotoolError | None = None
    source: str = ""


def line_range(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, int] | None:
    """The two numbers of `FIRST:LAST`, both counted from 1."""
    if value is None:
        return None
    first, _, last = value.partition(":")
    if not (first.isdecimal() and last.isdecimal() and 1 <= int(first) <= int(last)):
        raise click.BadParameter(f"'{value}' is not a range of lines such as 10:20", ctx, param)
    return int(first), int(last)


def format_file(file: str, style: FormatStyle, job: Job) -> Result:
    """Formats one file by a job; every failure is a Result, so that it can come from another process and stops no other file."""
    # --help imports this module, and shall not wait for the parser.
    from hlotool.workspace.in_place import write_back  # noqa: PLC0415

    name = job.stdin_filename if file == STDIN else file
    text = ""
    try:
        name, text = read_input(file, job.stdin_filename)
        after = hlotool.format_text(text, style, filename=name, lines=job.lines)
        out = ""
        if job.diff:
            out = "".join(unified_diff(text, after, name, color=job.color))
        elif not job.check and (file == STDIN or job.stdout):
            out = after
        elif not job.check and after != text:
            write_back(file, text, after, action="format", instead="write the result elsewhere with --stdout")
        return Result(name, out, after != text)
    except HlotoolError as error:
        return Result(name, error=error, source=text if isinstance(error, ParseError) else "")
    except BrokenPipeError:
        raise
    except MemoryError:
        return Result(name, error=HlotoolError(f"not enough memory for '{name}'"))
    except Exception as error:
        return Result(name, error=InternalError(bug_message(f"{type(error).__name__}: {error}", "".join(traceback.format_exception(error)), name)))


def style_of(width: int | None, settings: Settings) -> FormatStyle:
    """The style that the command line and a file's settings ask for; raises SettingsError."""
    try:
        return hlotool.FormatStyle(width=width if width is not None else settings.get("fmt", "width"))
    except ValueError as error:
        raise wrong_setting(settings.origin, str(error)) from error


class Report:
    """Counts what came of the files, and tells people."""

    def __init__(self, outcome: Outcome, job: Job, *, quiet: int, verbose: int, color: str) -> None:
        self.outcome = outcome
        self.job = job
        self.quiet = quiet
        self.verbose = verbose
        self.color = color
        self.changed = 0
        self.unchanged = 0

    def take(self, result: Result) -> None:
        """Writes what one file gave."""
        if result.error is not None:
            self._failed(result)
            return
        write_out(result.out)
        self.changed += result.is_changed
        self.unchanged += not result.is_changed
        if result.is_changed and (self.job.check or self.job.diff):
            self.outcome.at_least(1)
        to_stdout = self.job.stdout or result.name == self.job.stdin_filename
        if self.quiet or (to_stdout and not self.job.check):
            return
        if result.is_changed and not self.job.diff:
            complain(f"{'would reformat' if self.job.check else 'reformatted'} '{result.name}'")
        elif self.verbose and not result.is_changed:
            complain(f"'{result.name}' is formatted already")

    def _failed(self, result: Result) -> None:
        error = result.error
        if isinstance(error, ParseError):
            self.outcome.unreadable += 1
            self.outcome.at_least(error.exit_code)
            if self.quiet < 2:
                diagnostics = error.diagnostics
                render_to_stderr(diagnostics[:_MOST_SHOWN], Source(result.source, result.name).line_text, self.color)
                more = f" ({len(diagnostics) - _MOST_SHOWN} more errors; see hlotool verify)" if len(diagnostics) > _MOST_SHOWN else ""
                complain(f"cannot format '{result.name}': it does not parse{more}")
        elif error is not None:
            self.outcome.failed(str(error), max(error.exit_code, 2))

    def summary(self) -> str:
        """For example: 1 file reformatted, 2 files left as they were."""
        would = self.job.check or self.job.diff
        parts = []
        if self.changed:
            parts.append(f"{_files(self.changed)} {'would be ' if would else ''}reformatted")
        if self.unchanged:
            parts.append(f"{_files(self.unchanged)} formatted already")
        if self.outcome.unreadable:
            parts.append(f"{_files(self.outcome.unreadable)} failed")
        return ", ".join(parts) or "no files"


def _files(number: int) -> str:
    return f"{number} file{'' if number == 1 else 's'}"


@click.command("fmt", help=_HELP, short_help="Format HLO texts in place.")
@files_argument
@click.option("--check", is_flag=True, help="Write nothing; say which files would change, and exit with 1 if any would.")
@click.option("--diff", is_flag=True, help="Write nothing; print what would change, and exit with 1 if anything would.")
@click.option("--stdout", is_flag=True, help="Write the formatted texts to standard output instead of the files.")
@click_option("width", options_of(hlotool.FormatStyle)["width"])
@click.option("--range", "lines", callback=line_range, metavar="FIRST:LAST", help="Format only the instructions on these lines, counted from 1.")
@click.option("-j", "--jobs", type=click.IntRange(min=0), default=0, metavar="N", help="Work in N processes; 0: as many as are worth it.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even if --check or --diff found something to do.")
@click.option("--stdin-filename", metavar="NAME", default="<stdin>", help="What messages call standard input; its folder is searched for settings.")
@file_choice_options
@color_option
@click.option("-q", "--quiet", count=True, help="Report failures only; -qq: nothing but the exit code.")
@click.option("-v", "--verbose", count=True, help="Name the files that are left as they are.")
def command(
    files: tuple[str, ...], check: bool, diff: bool, stdout: bool, width: int | None, lines: tuple[int, int] | None, jobs: int, exit_zero: bool,
    stdin_filename: str, color: str, quiet: int, verbose: int, choice: FileChoice,
) -> None:  # fmt: skip
    outcome = Outcome(silent=quiet > 1)
    job = Job(check, diff, stdout, lines, wants_color(color, sys.stdout), stdin_filename)
    names = chosen_files(choice, files, outcome)
    if lines is not None and len(names) > 1:
        raise click.UsageError("--range is for one file")
    report = Report(outcome, job, quiet=quiet, verbose=verbose, color=color)
    work = [(name, style_of(width, choice.settings_of(name))) for name in names]
    with progress(len(work), "Formatting", quiet=bool(quiet)) as advance:
        for result in in_order(partial(format_file, job=job), work, jobs):
            advance(result.name)
            report.take(result)
    if not quiet and names != [STDIN]:
        complain(report.summary())
    if exit_zero and outcome.exit_code == 1:
        outcome.exit_code = 0
    outcome.finish()
