"""`hlotool python`: prints modules as Python code that builds them, with `hlotool.to_python`."""

from __future__ import annotations

import click

import hlotool
from hlotool.cli.command import HloCommand
from hlotool.cli.inputs import files_or_stdin
from hlotool.cli.options import color_option, files_argument, input_form_options, input_size_option, stdin_filename_option
from hlotool.cli.printing import print_modules
from hlotool.workspace.reading import InputForm

__all__ = ["command"]

_HELP = """Print HLO modules as Python code that builds them.

The code calls `hlotool.Builder`. At the end, the variable `module` holds a module with the same printed
text as the one in the file. Use the code as a starting point for a test, a smaller case or a program
that builds many similar modules. The code is safe to run: it only builds the module, and names and
strings from the module appear in it only as string literals.

FILE may be compressed (.gz, .xz, .zst); `-`, or no FILE in a pipe, means standard input. The programs
of several modules are separated by `# -----`.

\b
Examples:
  hlotool python module.hlo
  hlotool python dump.txt.gz -o make_module.py
  hlotool python module.hlo | python -i -

\b
Exit codes:
  0 success; 2 a file cannot be read or parsed; 3 a bug in hlotool
With -o, nothing is written if any input fails.
"""
_SEPARATOR = "\n# -----\n\n"


@click.command("python", cls=HloCommand, help=_HELP, short_help="Print modules as Python code that builds them.")
@files_argument
@click.option("-o", "--output", metavar="FILE", type=click.Path(), help="Write to FILE, unless an input fails; - is standard output, the default.")
@color_option
@input_size_option
@stdin_filename_option
@input_form_options
def command(files: tuple[str, ...], output: str | None, color: str, stdin_filename: str, form: InputForm) -> None:
    print_modules(files_or_stdin(files), hlotool.to_python, _SEPARATOR, output=output, color=color, stdin_filename=stdin_filename, form=form)
