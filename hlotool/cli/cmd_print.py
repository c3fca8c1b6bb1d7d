"""`hlotool print`: prints modules as XLA would, under any of XLA's print options.

It makes PrintOptions of flags; the printing is the library's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click

import hlotool
from hlotool.cli.inputs import Outcome, files_or_stdin, one_by_one, read_input
from hlotool.cli.options import color_option, files_argument, stdin_filename_option
from hlotool.cli.output import replace_file, write_out
from hlotool.cli.render import render_to_stderr
from hlotool.errors import ParseError, Source

__all__ = ["PRESETS", "SWITCHES", "command"]

PRESETS: dict[str, str | None] = {
    "default": "xla_default",
    "lossless": None,
    "short": "short_parsable",
    "canonical": "canonical",
    "fingerprint": "fingerprint",
}
"""The constructor of PrintOptions for each preset; lossless is what it is without arguments."""

SWITCHES = {
    "lossless": "Keep the author's order and names, and every bit of numbers.",
    "print_large_constants": "Print large constants in full, not as {...}.",
    "print_only_essential_constants": "Print only constants that are all 0, all 1 or integers.",
    "print_metadata": "Print metadata and the tables of stack frames.",
    "print_metadata_only_op_name": "Of metadata, print op_name only.",
    "print_backend_config": "Print backend_config.",
    "sort_backend_config": "Sort the keys of backend_config.",
    "print_infeed_outfeed_config": "Print infeed_config and outfeed_config.",
    "print_original_value": "Print origin.",
    "print_result_shape": "Print result shapes.",
    "print_operand_shape": "Print the shapes of operands.",
    "print_operand_names": "Print the names of operands.",
    "print_ids": "Print the module's and computations' names, and instruction names with their suffix.",
    "print_program_shape": "Print the signatures of computations.",
    "print_percent": "Print % before names.",
    "print_control_dependencies": "Print control-predecessors.",
    "print_extra_attributes": "Print the attributes that belong to an opcode.",
    "print_frontend_attributes": "Print frontend_attributes.",
    "compact_operands": "Of more than four operands, print four.",
    "include_layout_in_shapes": "Print layouts.",
    "canonicalize_instruction_names": "Call instructions tmp_0, tmp_1, ...; wants --no-print-percent.",
    "canonicalize_computations": "Print computations in an order that does not depend on names.",
    "is_in_nested_computation": "Print computations as if inside another.",
    "syntax_sugar_async_ops": "Print async operations as if they were the one that they wrap.",
    "print_name_after_closing_brace": "Repeat the name after the brace of a long computation.",
    "print_full_replica_group_list": "Print replica groups as lists of devices.",
    "print_replica_groups_without_subaxes": "Print mesh replica groups without parts of axes.",
    "print_parameter_number": "Print the numbers of parameters.",
    "print_channel_id": "Print the numbers of channels.",
    "print_inline_stack_frames": "Print source lines in place of stack_frame_id.",
    "compact_gte": "Print get-tuple-element as a suffix of its operand.",
}
"""The fields of PrintOptions that are on or off, with what they do when on; a test compares this table with the class."""

_MODES = ["names", "full", "non_sequential", "off"]
_SEPARATOR = "// -----\n\n"
_HELP = """Print HLO modules as XLA prints them.

FILE may be compressed (.gz, .xz, .zst); `-`, or nothing in a pipe, is standard input. The modules of a file, and of several files, are
separated by `// -----`. Every option of XLA's printer is a flag; a preset sets them all, and flags beside it change it.

\b
Examples:
  hlotool print module.hlo
  hlotool print --preset short --print-metadata dump.txt.gz -o short.hlo
  zcat dump.hlo.gz | hlotool print --no-print-percent

\b
Presets:
  default      XLA's own print, byte for byte
  lossless     reads back as the same module: names, order, every digit
  short        the form of XLA's dump files
  canonical    independent of the names of instructions
  fingerprint  what XLA hashes to tell modules apart

\b
Exit codes:
  0 printed; 2 a file cannot be read or parsed; 3 a bug in hlotool
With -o, nothing is written unless everything could be printed.
"""


def _switches(function: Callable[..., None]) -> Callable[..., None]:
    """One option for each field of PrintOptions, in the order in which --help lists them."""
    options = [
        click.option(
            "--print-operand-index-annotation-interval",
            type=click.IntRange(min=0),
            metavar="N",
            help="Number every Nth operand with /*index=N*/; 0: none.",
        ),
        click.option("--print-subcomputation-mode", type=click.Choice(_MODES), help="How to print called computations."),
        click.option("--indent-amount", type=click.IntRange(0, 100), metavar="N", help="Indent every line by N steps."),
    ]
    for field, text in SWITCHES.items():
        flag = field.replace("_", "-")
        options.append(click.option(f"--{flag}/--no-{flag}", field, default=None, help=text))
    for option in reversed(options):
        function = option(function)
    return function


def _options(preset: str, changes: dict[str, Any]) -> hlotool.PrintOptions:
    constructor = PRESETS[preset]
    options: hlotool.PrintOptions = getattr(hlotool.PrintOptions, constructor)() if constructor else hlotool.PrintOptions()
    return replace(options, **changes)


@click.command("print", help=_HELP, short_help="Print modules as XLA prints them.")
@files_argument
@click.option("-o", "--output", metavar="FILE", type=click.Path(), help="Write to FILE, as a whole or not at all.")
@click.option("--preset", type=click.Choice(list(PRESETS)), default="default", help="Where the flags start from.")
@color_option
@stdin_filename_option
@_switches
def command(files: tuple[str, ...], output: str | None, preset: str, color: str, stdin_filename: str, **switches: Any) -> None:
    inputs = files_or_stdin(files)
    options = _options(preset, {field: value for field, value in switches.items() if value is not None})
    outcome = Outcome()
    printed: list[str] = []
    to_file = output not in (None, "-")
    separator = ""
    for file in one_by_one(inputs):
        with outcome.file(file):
            name, text = read_input(file, stdin_filename)
            try:
                texts = [hlotool.to_text(module, options) for module in hlotool.parse_all(text, name)]
            except ParseError as error:
                outcome.at_least(error.exit_code)
                render_to_stderr(error.diagnostics, Source(text, name).line_text, color)
                continue
            # A file is printed as a whole or not at all.
            whole = separator + _SEPARATOR.join(t if t.endswith("\n") else t + "\n" for t in texts)
            separator = _SEPARATOR
            if to_file:
                printed.append(whole)
            else:
                write_out(whole)
    if output is not None and to_file and outcome.exit_code == 0:
        replace_file(output, "".join(printed))
    outcome.finish()
