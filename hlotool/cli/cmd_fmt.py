"""`hlotool fmt`: formats files in place, or shows what it would change.

`hlotool.format_text` does the formatting and checks its result; this module chooses, compares and
writes files.
"""

from __future__ import annotations

import sys
import traceback
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

import click

import hlotool
from hlotool.cli.command import HloCommand
from hlotool.cli.diff.text_diff import unified_diff
from hlotool.cli.inputs import Outcome, choose_files
from hlotool.cli.options import click_option, color_option, file_choice_options, files_argument, input_form_options, input_size_option
from hlotool.cli.output import SEPARATOR, bug_message, complain, counted, visible, write_out
from hlotool.cli.progress import progress
from hlotool.cli.rendering.render import render_to_stderr, wants_color
from hlotool.errors import HlotoolError, InternalError, ParseError, Source
from hlotool.option_fields import options_of
from hlotool.workspace.files import FileChoice, names_from
from hlotool.workspace.reading import STDIN, InputForm, read_input
from hlotool.workspace.settings import Settings, wrong_setting
from hlotool.workspace.workers import map_in_order

if TYPE_CHECKING:
    from hlotool.text.formatting.style import FormatStyle

__all__ = ["command"]

# The maximum number of errors shown for a file that does not parse.
_MAX_ERRORS = 3
# The maximum length of a line range, in characters. Python cannot convert numbers with thousands of
# digits.
_MAX_RANGE_LENGTH = 64
_HELP = """Format HLO files: spacing, line breaks and attribute order match XLA's printer.

Names, comments, numbers, omitted parts and the order of instructions do not change. Files are rewritten in place, each completely or not at
all, and only if the new text is the same module with the same comments. `-` reads standard input and writes to standard output. A folder
stands for the HLO files in it, except those that git ignores.

\b
Examples:
  hlotool fmt module.hlo
  hlotool fmt --check --diff dumps/
  hlotool fmt - --stdin-filename edit.hlo < edit.hlo

\b
Comments that control formatting:
  // hlotool: fmt off         start of lines that are not formatted
  // hlotool: fmt on          end of lines that are not formatted
  ...  // hlotool: fmt skip   do not format this line

\b
Settings, in the nearest hlotool.toml (in pyproject.toml: [tool.hlotool]):
  include = ["*.hlo"]
  exclude = ["golden/*"]
  [fmt]
  width = 120

\b
Exit codes:
  0  all files are formatted
  1  some files are not formatted (with --check or --diff)
  2  a file cannot be read, parsed or written
  3  a bug in hlotool; the file is unchanged
"""


# Parts of messages about files that cannot be written.
_ADVICE = {"action": "format", "instead": "write the result elsewhere with --stdout"}


class Job(NamedTuple):
    """The options that apply to every file."""

    check: bool
    list_different: bool
    diff: bool
    stdout: bool
    lines: tuple[int, int] | None
    color: bool
    stdin_filename: str
    form: InputForm


class Result(NamedTuple):
    """The result for one file: text for standard output, and an error if there was one."""

    name: str
    out: str = ""
    is_changed: bool = False
    error: HlotoolError | None = None
    source: str = ""


def line_range(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, int] | None:
    """Returns the two numbers of `FIRST:LAST` or `FIRST-LAST`, both counted from 1."""
    if value is None:
        return None
    first, _, last = value.partition(":" if ":" in value else "-")
    if not (first.isdecimal() and last.isdecimal() and len(value) < _MAX_RANGE_LENGTH and 1 <= int(first) <= int(last)):
        raise click.BadParameter(f"'{value}' is not a range of lines such as 10:20", ctx, param)
    return int(first), int(last)


def format_file(file: str, style: FormatStyle, job: Job) -> Result:
    """Formats one file.

    Failures are returned as a Result, so that they can be sent between processes and do not stop
    other files.
    """
    # Imported on use, since --help does not need the parser.
    from hlotool.workspace.in_place import write_back  # noqa: PLC0415

    name = job.stdin_filename if file == STDIN else file
    text = ""
    try:
        name, text = read_input(file, job.stdin_filename)
        if job.form.extract:
            return _format_extracted(name, text, style, job.form)
        after = hlotool.format_text(text, style, filename=name, lines=job.lines, legacy=job.form.legacy)
        is_changed = after != text
        if job.check or job.diff or job.list_different:
            return _preview(file, name, text, after, job)
        out = after if file == STDIN or job.stdout else ""
        if is_changed and file != STDIN and not job.stdout:
            write_back(file, text, after, **_ADVICE)
        return Result(name, out, is_changed)
    except HlotoolError as error:
        return Result(name, error=error, source=text if isinstance(error, ParseError) else "")
    except BrokenPipeError:
        raise
    except MemoryError:
        return Result(name, error=HlotoolError(f"not enough memory for '{name}'"))
    except Exception as error:
        return Result(name, error=InternalError(bug_message(f"{type(error).__name__}: {error}", "".join(traceback.format_exception(error)), name)))


def _preview(file: str, name: str, text: str, after: str, job: Job) -> Result:
    """Returns the result of --check, --diff or -l.

    The result has an error if rewriting the file would fail.
    """
    # Imported on use, since --help does not need it.
    from hlotool.workspace.in_place import check_writable  # noqa: PLC0415

    shown = "".join(unified_diff(text, after, name, color=job.color)) if job.diff else ""
    if after == text:
        return Result(name, shown)
    try:
        if file != STDIN:
            check_writable(file, text, **_ADVICE)
    except HlotoolError as error:
        return Result(name, shown, error=error)
    return Result(name, shown or (f"{visible(name)}\n" if job.list_different else ""), is_changed=True)


def lost_file(file: str, reason: str) -> Result:
    """Returns the result for a file whose worker process died."""
    return Result(file, error=HlotoolError(f"cannot format '{file}': {reason}"))


def _format_extracted(name: str, text: str, style: FormatStyle, form: InputForm) -> Result:
    """Formats the modules extracted from other text.

    The result also has the errors of the modules that do not parse.
    """
    # Imported on use, since --help does not need the parser.
    from hlotool.text.formatting.formatter import format_source  # noqa: PLC0415
    from hlotool.workspace.modules import module_sources  # noqa: PLC0415

    texts, diagnostics = [], []
    for source, _ in module_sources(text, name, form):
        try:
            texts.append(format_source(source, style, legacy=form.legacy))
        except ParseError as error:
            diagnostics += error.diagnostics
    out = SEPARATOR.join(text if text.endswith("\n") else f"{text}\n" for text in texts)
    return Result(name, out, is_changed=False, error=ParseError(diagnostics) if diagnostics else None, source=text)


def style_of(width: int | None, settings: Settings) -> FormatStyle:
    """Returns the style from the command line and the settings of a file; raises SettingsError."""
    try:
        return hlotool.FormatStyle(width=width if width is not None else settings.get("fmt", "width"))
    except ValueError as error:
        raise wrong_setting(settings.origin, str(error)) from error


class FormatReport:
    """The report of a run, which counts the results and shows them on standard error."""

    def __init__(self, outcome: Outcome, job: Job, *, quiet: int, verbose: int, color: str) -> None:
        self.outcome = outcome
        self.job = job
        self.quiet = quiet
        self.verbose = verbose
        self.color = color
        self.changed = 0
        self.unchanged = 0

    def take(self, result: Result) -> None:
        """Writes the result for one file."""
        write_out(result.out, is_escaped=self.job.diff and self.job.color)
        if result.error is not None:
            self._report_failure(result)
            return
        self.changed += result.is_changed
        self.unchanged += not result.is_changed
        writes_nothing = self.job.check or self.job.diff or self.job.list_different
        if result.is_changed and writes_nothing:
            self.outcome.at_least(1)
        to_stdout = self.job.stdout or self.job.form.extract or result.name == self.job.stdin_filename
        if self.quiet or self.job.list_different or (to_stdout and not self.job.check):
            return
        if result.is_changed and not self.job.diff:
            complain(f"{'would reformat' if self.job.check else 'reformatted'} '{result.name}'")
        elif self.verbose and not result.is_changed:
            complain(f"'{result.name}' is already formatted")

    def _report_failure(self, result: Result) -> None:
        error = result.error
        if isinstance(error, ParseError):
            self.outcome.unreadable += 1
            self.outcome.at_least(error.exit_code)
            if self.quiet < 2:
                diagnostics = error.diagnostics
                render_to_stderr(diagnostics[:_MAX_ERRORS], Source(result.source, result.name).line_text, self.color)
                more = f" ({counted(len(diagnostics) - _MAX_ERRORS, 'more error')}; see hlotool verify)" if len(diagnostics) > _MAX_ERRORS else ""
                complain(f"cannot format '{result.name}': it does not parse{more}")
        elif error is not None:
            self.outcome.failed(str(error), max(error.exit_code, 2))

    def summary(self) -> str:
        """Returns a summary such as `1 file reformatted, 2 files already formatted`."""
        would = self.job.check or self.job.diff
        parts = []
        if self.changed:
            parts.append(f"{counted(self.changed, 'file')} {'would be ' if would else ''}reformatted")
        if self.unchanged:
            parts.append(f"{counted(self.unchanged, 'file')} already formatted")
        if self.outcome.unreadable:
            parts.append(f"{counted(self.outcome.unreadable, 'file')} failed")
        return ", ".join(parts) or "no files"


@click.command("fmt", cls=HloCommand, help=_HELP, short_help="Format HLO files in place.")
@files_argument
@click.option("--check", is_flag=True, help="Write nothing; list files that are not formatted, and exit with code 1 if there are any.")
@click.option("-l", "--list-different", is_flag=True, help="Like --check, but print only the names of the files, one per line.")
@click.option("--diff", is_flag=True, help="Write nothing; show the changes as a diff, and exit with code 1 if there are any.")
@click.option("--stdout", is_flag=True, help="Write the formatted text to standard output instead of to the files.")
@click_option("width", options_of(hlotool.FormatStyle)["width"])
@click.option("--range", "--lines", "lines", callback=line_range, metavar="FIRST:LAST", help="Format only these lines, counted from 1.")
@click.option(
    "-j", "--jobs", type=click.IntRange(min=0), default=0, metavar="N", help="Number of processes; 0, the default, chooses by the size of the files."
)
@click.option("--files-from", metavar="FILE", type=click.Path(), help="Also format the files that FILE lists, one per line; - is standard input.")
@click.option("--changed-since", metavar="REF", help="Format only files changed since this git commit; without FILE, those in the working directory.")
@click.option("--exit-zero", is_flag=True, help="Exit with code 0 even if files are not formatted.")
@click.option("--stdin-filename", metavar="NAME", default="<stdin>", help="File name to use for standard input, in messages and to find settings.")
@input_size_option
@input_form_options
@file_choice_options
@color_option
@click.option("-q", "--quiet", count=True, help="Report only failures; -qq reports nothing.")
@click.option("-v", "--verbose", count=True, help="Also list files that are already formatted.")
def command(
    files: tuple[str, ...], check: bool, diff: bool, stdout: bool, width: int | None, lines: tuple[int, int] | None, jobs: int, exit_zero: bool,
    list_different: bool, files_from: str | None, changed_since: str | None, stdin_filename: str, color: str,
    quiet: int, verbose: int, choice: FileChoice, form: InputForm,
) -> None:  # fmt: skip
    outcome = Outcome(silent=quiet > 1)
    job = Job(check, list_different, diff, stdout, lines, wants_color(color, sys.stdout), stdin_filename, form)
    if form.extract and (check or list_different or diff or lines is not None):
        raise click.UsageError("--extract writes the modules to standard output; it cannot be combined with --check, -l, --diff or --range")
    if form.legacy and lines is not None:
        raise click.UsageError("--legacy changes old spellings on all lines; it cannot be combined with --range")
    if files_from is not None:
        files = (*files, *names_from(files_from))
    elif changed_since is not None and not files:
        files = (".",)
    if changed_since is not None and STDIN in files:
        raise click.UsageError("--changed-since compares files with a git commit; it cannot be combined with standard input")
    names, excludes_stdin = ([], False) if files_from is not None and not files else choose_files(choice, files, outcome, files_from)
    if changed_since is not None:
        # Imported on use, since most calls need no git.
        names = import_module("hlotool.workspace.revisions").changed_since(changed_since, names)
    if lines is not None and len(names) > 1:
        raise click.UsageError("--range can be used with one file only")
    report = FormatReport(outcome, job, quiet=quiet, verbose=verbose, color=color)
    work = [(name, style_of(width, choice.settings_of(name))) for name in names]
    with progress(len(work), "Formatting", quiet=bool(quiet)) as advance:
        for result in map_in_order(partial(format_file, job=job), work, jobs, lost_file):
            advance(result.name)
            report.take(result)
    if excludes_stdin and not (check or diff or list_different):
        # An editor replaces its buffer with the output, so an excluded file is written unchanged.
        write_out(read_input(STDIN, stdin_filename)[1])
    if not quiet and names and names != [STDIN] and not list_different and (check or diff or not stdout):
        complain(report.summary())
    if exit_zero and outcome.exit_code == 1:
        outcome.exit_code = 0
    outcome.finish()
