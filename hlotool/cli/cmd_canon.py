"""`hlotool canon`: prints the canonical form of modules, as computed by `differ.canonical`."""

from __future__ import annotations

import click

from hlotool.cli.command import HloCommand
from hlotool.cli.inputs import Outcome, files_or_stdin, read_modules
from hlotool.cli.options import color_option, files_argument, input_form_options, input_size_option, stdin_filename_option
from hlotool.cli.output import SEPARATOR, write_out
from hlotool.workspace.reading import InputForm, one_by_one

__all__ = ["command"]

_HELP = """Print modules in a form that does not depend on names.

Metadata and attributes with default values are left out. Instructions and computations are numbered
and sorted in an order that depends only on what they compute; the instructions of a scheduled module
keep their order. Modules without other differences have the same form.

FILE may be compressed (.gz, .xz, .zst); `-`, or no FILE in a pipe, means standard input. All modules
are separated by `// -----`, within a file and between files.

\b
Examples:
  hlotool canon module.hlo
  diff <(hlotool canon before.hlo) <(hlotool canon after.hlo)

\b
Exit codes:
  0 success; 2 a file cannot be read or parsed; 3 a bug in hlotool
"""


@click.command("canon", cls=HloCommand, help=_HELP, short_help="Print modules in a form that does not depend on names.")
@files_argument
@color_option
@input_size_option
@stdin_filename_option
@input_form_options
def command(files: tuple[str, ...], color: str, stdin_filename: str, form: InputForm) -> None:
    # Imported on use, since --help does not need the parser.
    from hlotool.differ.canonical import canonical_text  # noqa: PLC0415

    outcome = Outcome()
    separator = ""
    for file in one_by_one(files_or_stdin(files)):
        with outcome.file(file):
            modules = read_modules(file, outcome, form, color, stdin_filename).modules
            if not modules:
                continue
            texts = [canonical_text(module) for module in modules]
            write_out(separator + SEPARATOR.join(texts))
            separator = SEPARATOR
    outcome.finish()
