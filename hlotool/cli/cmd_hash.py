"""`hlotool hash`: prints name-independent hashes of modules, computed by `differ.canonical`."""

from __future__ import annotations

import json

import click

from hlotool.cli.command import HloCommand
from hlotool.cli.inputs import Outcome, choose_files, read_modules
from hlotool.cli.options import color_option, file_choice_options, files_argument, input_form_options, input_size_option, stdin_filename_option
from hlotool.cli.output import visible, write_out
from hlotool.workspace.files import FileChoice
from hlotool.workspace.reading import InputForm, one_by_one

__all__ = ["command"]

_HELP = """Hash HLO modules by their contents, ignoring names.

Modules have the same hash if they differ only in names, metadata, spelling or, unless they are
scheduled, the order of instructions. A hash is computed from the text that `hlotool canon` prints. It begins
with the version of its scheme (`hlo1:`) and is the same in all versions of hlotool that use this
scheme.

FILE may be compressed (.gz, .xz, .zst); `-`, or no FILE in a pipe, means standard input. A folder
stands for the HLO files in it. Each module is printed on one line: the hash, the file and the name of
the module.

\b
Examples:
  hlotool hash dumps/*.hlo | sort | uniq -w 37 --all-repeated=separate
  hlotool hash dumps/ --exclude '*.before_*'
  hlotool hash --computations module.hlo
  hlotool hash --output-format json module.hlo

\b
Exit codes:
  0 success; 2 a file cannot be read or parsed; 3 a bug in hlotool
"""


@click.command("hash", cls=HloCommand, help=_HELP, short_help="Hash modules by their contents, ignoring names.")
@files_argument
@click.option("--computations", is_flag=True, help="Also print a line for each computation: the hash, the file, the module and the computation.")
@click.option(
    "--output-format", type=click.Choice(["text", "json"]), default="text", help="Output format: text, or json for an object per line; default: text."
)
@color_option
@input_size_option
@stdin_filename_option
@input_form_options
@file_choice_options
def command(
    files: tuple[str, ...], computations: bool, output_format: str, color: str, stdin_filename: str, form: InputForm, choice: FileChoice
) -> None:
    # Imported on use, since --help does not need the parser.
    from hlotool.differ.canonical import hashes  # noqa: PLC0415

    outcome = Outcome()
    for file in one_by_one(choose_files(choice, files, outcome).names):
        with outcome.file(file):
            name, modules = read_modules(file, outcome, form, color, stdin_filename)
            for module in modules:
                result = hashes(module)
                if output_format == "json":
                    row = {"file": name, "module": module.name, "hash": result.module}
                    write_out(json.dumps({**row, "computations": result.computations} if computations else row) + "\n")
                    continue
                shown = f"{visible(name)}  {visible(module.name)}"
                write_out(f"{result.module}  {shown}\n")
                if computations:
                    write_out("".join(f"{digest}  {shown}  {visible(body)}\n" for body, digest in result.computations.items()))
    outcome.finish()
