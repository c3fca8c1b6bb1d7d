"""`hlotool explain`: explains rules, opcodes, rewrite rules and passes.

`verifier.explanations` and `optimizer.explanations` collect the explanations, and `cli.explain`
renders them.
"""

from __future__ import annotations

from importlib import import_module

import click

from hlotool.cli.command import HloCommand
from hlotool.cli.completions import complete_subjects
from hlotool.cli.inputs import Outcome
from hlotool.cli.output import write_out

__all__ = ["command"]

_HELP = """Explain rules, opcodes, and the rewrites of `hlotool opt`.

SUBJECT is a code (T003), the name of a rule (result-shape), an opcode, or the name of a rewrite rule
or a pass.

\b
Examples:
  hlotool explain T003
  hlotool explain transpose
  hlotool explain --json W050
  hlotool explain two-inversions
"""


@click.command("explain", cls=HloCommand, help=_HELP, short_help="Explain rules, opcodes and rewrites.")
@click.argument("subjects", nargs=-1, required=True, metavar="SUBJECT...", shell_complete=complete_subjects)
@click.option("--format", "output_format", type=click.Choice(["text", "markdown", "json"]), default="text", help="Output format; default: text.")
@click.option("--json", "as_json", is_flag=True, help="Short for --format json.")
def command(subjects: tuple[str, ...], output_format: str, as_json: bool) -> None:
    # Imported on use, since --help does not need the op table.
    explain = import_module("hlotool.cli.explain").explain
    outcome = Outcome()
    for k, subject in enumerate(subjects):
        with outcome.file(subject):
            text = explain(subject, "json" if as_json else output_format)
            write_out("\n" + text if k and not as_json else text)
    outcome.finish()
