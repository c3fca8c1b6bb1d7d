"""`hlotool graph`: draws pictures of modules with `hlotool.graph`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import ClassVar

import click

from hlotool.cli.command import GROUPS, HloCommand
from hlotool.cli.inputs import Outcome, files_or_stdin, read_module
from hlotool.cli.options import color_option, input_form_options, input_size_option, stdin_filename_option
from hlotool.cli.output import write_out
from hlotool.graph.graph_options import COLORINGS, EXPANSIONS, FORMATS, GraphOptions
from hlotool.workspace.reading import STDIN, InputForm
from hlotool.workspace.writing import check_outputs, replace_file

__all__ = ["command"]

_HELP = """Draw a picture of a module.

The picture is a self-contained HTML page. In a browser, you can pan, zoom and search, open and close
computations and layers, and click an instruction to see its text, operands and users. A list shows
the groups with the most bytes or operations. The other formats are not interactive: svg and png
show as many open groups as fit, and dot and mermaid describe the picture for other programs. The
suffix of the output determines the format: .html, .svg, .png, .dot (or .gv) or .mmd. html and png are not written to a
terminal.

FILE may be compressed (.gz, .xz, .zst); `-`, or no FILE in a pipe, means standard input.

Instructions are grouped by the scopes in `op_name`, by repeated layers, and by the computations of
fusions, calls and loops. NAME is an instruction, looked up in the entry first and then in the other
computations.

\b
Examples:
  hlotool graph module.hlo -o module.html
  hlotool graph module.hlo -o module.html --color-by bytes
  hlotool graph module.hlo -o neighbors.svg --around dot.12 --depth 3
  hlotool graph module.hlo -o path.png --path param_0 dot.12 --no-constants
  hlotool graph module.hlo --format dot --computation body | dot -Tpdf > b.pdf
  zcat module.hlo.gz | hlotool graph --format mermaid

\b
Exit codes:
  0  success
  2  bad usage, a file cannot be read or parsed, or there is nothing to draw
  3  a bug in hlotool
html, svg and png require the `graph` extra: pip install 'hlotool[graph]'.
"""

_SUFFIXES = {".html": "html", ".htm": "html", ".svg": "svg", ".png": "png", ".dot": "dot", ".gv": "dot", ".mmd": "mermaid", ".mermaid": "mermaid"}
_NOT_FOR_TERMINALS = ("html", "png")


class GraphCommand(HloCommand):
    """The `graph` command, with its own groups of options."""

    groups: ClassVar[Mapping[str, Sequence[str]]] = {
        "Contents": ("computation", "around", "depth", "path", "select", "constants", "expand"),
        "Limits": GROUPS["Limits"],
        "Output": ("output", "format_", "color_by", "color"),
        "Files": GROUPS["Files"],
        "Information": GROUPS["Information"],
    }


def _choices(table: Mapping[str, str]) -> str:
    return ", ".join(f"{name} ({text})" if text else name for name, text in table.items())


@click.command("graph", cls=GraphCommand, help=_HELP, short_help="Draw a picture of a module: HTML, SVG, PNG, DOT or Mermaid.")
@click.argument("file", metavar="[FILE|-]", required=False, type=click.Path())
@click.option("--computation", metavar="NAME", help="Show this computation; default: the entry.")
@click.option("--around", metavar="NAME", help="Show only the instructions up to --depth steps away from this one.")
@click.option("--depth", type=click.IntRange(min=0), metavar="N", help="With --around: maximum number of steps to operands or users; default: 2.")
@click.option("--path", nargs=2, metavar="A B", help="Show only the instructions through which B depends on A.")
@click.option("--select", metavar="NAME", help="Mark this instruction; an HTML page opens at it.")
@click.option("--constants/--no-constants", default=True, help="Show constants (default), or leave them out.")
@click.option("--expand", type=click.Choice(list(EXPANSIONS)), default="auto", help=f"Groups and calls to open: {_choices(EXPANSIONS)}.")
@click.option("-o", "--output", metavar="FILE", type=click.Path(), help="Write to FILE; - is standard output, the default.")
@click.option("--format", "format_", type=click.Choice(list(FORMATS)), help="Output format; default: from the suffix of the output, or html.")
@click.option("--color-by", type=click.Choice(list(COLORINGS)), default="opcode", help=f"Colors of boxes: {_choices(COLORINGS)}.")
@color_option
@input_size_option
@stdin_filename_option
@input_form_options
def command(
    file: str | None,
    computation: str | None,
    around: str | None,
    depth: int | None,
    path: tuple[str, str] | None,
    select: str | None,
    constants: bool,
    expand: str,
    output: str | None,
    format_: str | None,
    color_by: str,
    color: str,
    stdin_filename: str,
    form: InputForm,
) -> None:
    # Imported on use, since --help does not need it.
    from hlotool.graph.to_graph import to_graph  # noqa: PLC0415

    if depth is not None and around is None:
        raise click.UsageError("--depth requires --around")
    if around is not None and path is not None:
        raise click.UsageError("--around and --path cannot be combined")
    (name,) = files_or_stdin([file] if file is not None else [])
    check_outputs([output], [name])
    options = GraphOptions(computation, around, GraphOptions().depth if depth is None else depth, path, constants, color_by, expand, select)
    format_ = format_ or _format_of(output)
    if format_ in _NOT_FOR_TERMINALS and output in (None, STDIN) and sys.stdout is not None and sys.stdout.isatty():
        raise click.UsageError(f"the format {format_} cannot be shown in a terminal; write to a file with -o FILE, or redirect the output")
    outcome = Outcome()
    with outcome.file(name):
        read = read_module(name, outcome, form, color, stdin_filename, "a picture shows one module")
        if read is not None:
            _write(to_graph(read.module, format_, options), output)
    outcome.finish()


def _format_of(output: str | None) -> str:
    """Returns the format for the suffix of the output. Raises UsageError for unknown suffixes."""
    if output is None or output == STDIN:
        return FORMATS[0]
    suffix = PurePath(output).suffix.lower()
    if suffix not in _SUFFIXES:
        raise click.UsageError(f"'{output}' has none of the suffixes {', '.join(_SUFFIXES)}; choose the format with --format")
    return _SUFFIXES[suffix]


def _write(picture: str | bytes, output: str | None) -> None:
    if output is not None and output != STDIN:
        replace_file(output, picture)
    else:
        write_out(picture)
