"""`hlotool print`: prints modules as XLA does, with any of XLA's print options.

This module converts flags to PrintOptions; `hlotool.to_text` prints.
"""

from __future__ import annotations

import click

import hlotool
from hlotool.cli.command import HloCommand
from hlotool.cli.inputs import Outcome, files_or_stdin, read_modules
from hlotool.cli.options import color_option, files_argument, input_form_options, input_size_option, stdin_filename_option
from hlotool.cli.output import SEPARATOR, write_out
from hlotool.cli.print_options import print_options
from hlotool.workspace.reading import InputForm, one_by_one
from hlotool.workspace.writing import check_outputs, replace_file

__all__ = ["command"]

_HELP = """Print HLO modules as XLA prints them.

FILE may be compressed (.gz, .xz, .zst); `-`, or nothing in a pipe, is standard input. The modules of a file, and of several files, are
separated by `// -----`. Every option of XLA's printer is a flag. A preset sets all of them, and other flags override it.

\b
Examples:
  hlotool print module.hlo
  hlotool print --preset short --print-metadata dump.txt.gz -o short.hlo
  zcat dump.hlo.gz | hlotool print --no-print-percent
  hlotool print --extract --preset lossless build.log -o modules.hlo

\b
Presets:
  default      the same bytes as XLA's printer
  lossless     parses to the same module: names, order, every digit
  short        without metadata, signatures and %, as in XLA's short dumps
  canonical    independent of the names of instructions
  fingerprint  the text that XLA hashes to compare modules

\b
Exit codes:
  0 success; 2 a file cannot be read or parsed; 3 a bug in hlotool
With -o, nothing is written if any file fails.
"""


@click.command("print", cls=HloCommand, help=_HELP, short_help="Print modules as XLA prints them.")
@files_argument
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(), help="Write to FILE, if all files can be printed; - is standard output, the default."
)
@color_option
@input_size_option
@stdin_filename_option
@input_form_options
@print_options("default")
def command(
    files: tuple[str, ...], output: str | None, color: str, stdin_filename: str, form: InputForm, print_options: hlotool.PrintOptions
) -> None:
    inputs = files_or_stdin(files)
    check_outputs([output], inputs)
    outcome = Outcome()
    printed: list[str] = []
    to_file = output not in (None, "-")
    separator = ""
    for file in one_by_one(inputs):
        with outcome.file(file):
            modules = read_modules(file, outcome, form, color, stdin_filename).modules
            if not modules:
                continue
            texts = [hlotool.to_text(module, print_options) for module in modules]
            # If a module of a file cannot be printed, none of them is.
            whole = separator + SEPARATOR.join(t if t.endswith("\n") else t + "\n" for t in texts)
            separator = SEPARATOR
            if to_file:
                printed.append(whole)
            else:
                write_out(whole)
    if output is not None and to_file and outcome.exit_code == 0:
        replace_file(output, "".join(printed))
    outcome.finish()
