"""`hlotool print`: prints modules as XLA does, with any of XLA's print options.

This module converts flags to PrintOptions; `hlotool.to_text` prints.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click

import hlotool
from hlotool.cli.command import HloCommand
from hlotool.cli.inputs import Outcome, files_or_stdin
from hlotool.cli.options import click_option, color_option, decorate, files_argument, input_form_options, input_size_option, stdin_filename_option
from hlotool.cli.output import SEPARATOR, write_out
from hlotool.cli.render import render_to_stderr
from hlotool.errors import Source
from hlotool.options import options_of
from hlotool.workspace.reading import InputForm, one_by_one, read_input
from hlotool.workspace.writing import check_outputs, replace_file

__all__ = ["PRESETS", "command"]

PRESETS: dict[str, str | None] = {
    "default": "xla_default",
    "lossless": None,
    "short": "short_parsable",
    "canonical": "canonical",
    "fingerprint": "fingerprint",
}
"""The constructor of PrintOptions for each preset; None for PrintOptions without arguments."""

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


_OPTIONS = options_of(hlotool.PrintOptions)


def _print_options(function: Callable[..., None]) -> Callable[..., None]:
    """One option for each field of PrintOptions; --help lists options with a value first, then flags."""
    names = sorted(_OPTIONS, key=lambda name: _OPTIONS[name].kind == "flag")
    return decorate(function, [click_option(name, _OPTIONS[name]) for name in names])


def _options(preset: str, changes: dict[str, Any]) -> hlotool.PrintOptions:
    constructor = PRESETS[preset]
    options: hlotool.PrintOptions = getattr(hlotool.PrintOptions, constructor)() if constructor else hlotool.PrintOptions()
    return replace(options, **changes)


@click.command("print", cls=HloCommand, help=_HELP, short_help="Print modules as XLA prints them.")
@files_argument
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(), help="Write to FILE, if all files can be printed; - is standard output, the default."
)
@click.option("--preset", "base", type=click.Choice(list(PRESETS)), default="default", help="Values of the flags that are not set; default: default.")
@color_option
@input_size_option
@stdin_filename_option
@input_form_options
@_print_options
def command(files: tuple[str, ...], output: str | None, base: str, color: str, stdin_filename: str, form: InputForm, **switches: Any) -> None:
    # Imported on use, since --help does not need the parser.
    from hlotool.workspace.modules import modules_or_error  # noqa: PLC0415

    inputs = files_or_stdin(files)
    check_outputs([output], inputs)
    options = _options(base, {field: value for field, value in switches.items() if value is not None})
    outcome = Outcome()
    printed: list[str] = []
    to_file = output not in (None, "-")
    separator = ""
    for file in one_by_one(inputs):
        with outcome.file(file):
            name, text = read_input(file, stdin_filename)
            modules, error = modules_or_error(text, name, form)
            if error is not None:
                outcome.at_least(error.exit_code)
                render_to_stderr(error.diagnostics, Source(text, name).line_text, color)
                if not (form.extract and modules):
                    continue
            texts = [hlotool.to_text(module, options) for module in modules]
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
