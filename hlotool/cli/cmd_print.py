"""`hlotool print`: prints modules as XLA does, with any of XLA's print options.

This module converts flags to PrintOptions; `hlotool.to_text` prints.
"""

from __future__ import annotations

import click

import hlotool
from hlotool.cli.command import HloCommand
from hlotool.cli.inputs import files_or_stdin
from hlotool.cli.options import color_option, files_argument, input_form_options, input_size_option, stdin_filename_option
from hlotool.cli.output import SEPARATOR
from hlotool.cli.print_flags import print_options
from hlotool.cli.printing import print_modules
from hlotool.workspace.reading import InputForm

__all__ = ["command"]

_HELP = """Print HLO modules as XLA prints them.

FILE may be compressed (.gz, .xz, .zst); `-`, or no FILE in a pipe, means standard input. All modules
are separated by `// -----`, within a file and between files. Every option of XLA's printer is a flag.
A preset sets all of them, and other flags override it.

\b
Examples:
  hlotool print module.hlo
  hlotool print --preset short --print-metadata dump.txt.gz -o short.hlo
  zcat dump.hlo.gz | hlotool print --no-print-percent
  hlotool print --extract --preset lossless build.log -o modules.hlo

\b
Presets:
  default      the same bytes as XLA's printer
  lossless     parses to the same module, with names, order and every digit
  short        without metadata, signatures and %, as in XLA's short dumps
  canonical    independent of the names of instructions
  fingerprint  the text that XLA hashes to compare modules

\b
Exit codes:
  0 success; 2 a file cannot be read or parsed; 3 a bug in hlotool
With -o, nothing is written if any input fails.
"""


@click.command("print", cls=HloCommand, help=_HELP, short_help="Print modules as XLA prints them.")
@files_argument
@click.option("-o", "--output", metavar="FILE", type=click.Path(), help="Write to FILE, unless an input fails; - is standard output, the default.")
@color_option
@input_size_option
@stdin_filename_option
@input_form_options
@print_options("default")
def command(
    files: tuple[str, ...], output: str | None, color: str, stdin_filename: str, form: InputForm, print_options: hlotool.PrintOptions
) -> None:
    print_modules(
        files_or_stdin(files),
        lambda module: hlotool.to_text(module, print_options),
        SEPARATOR,
        output=output,
        color=color,
        stdin_filename=stdin_filename,
        form=form,
    )
