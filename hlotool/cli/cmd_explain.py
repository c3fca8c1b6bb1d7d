"""`hlotool explain`: what a rule checks, or what an opcode does.

What there is to say is known by `verifier.explanations`; `cli.explain` writes it.
"""

from __future__ import annotations

from importlib import import_module

import click

from hlotool.cli.inputs import Outcome
from hlotool.cli.output import write_out

__all__ = ["command"]

_HELP = """Explain rules and opcodes.

SUBJECT is a code (T003), the name of a rule (result-shape) or an opcode.

\b
Examples:
  hlotool explain T003
  hlotool explain transpose
  hlotool explain --json W050
"""


@click.command("explain", help=_HELP, short_help="Explain rules and opcodes.")
@click.argument("subjects", nargs=-1, required=True, metavar="SUBJECT...")
@click.option("--format", "output_format", type=click.Choice(["text", "markdown", "json"]), default="text", help="How it is written.")
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
def command(subjects: tuple[str, ...], output_format: str, as_json: bool) -> None:
    # --help imports this module, and shall not wait for the op table.
    explain = import_module("hlotool.cli.explain").explain
    outcome = Outcome()
    for k, subject in enumerate(subjects):
        with outcome.file(subject):
            text = explain(subject, "json" if as_json else output_format)
            write_out("\n" + text if k and not as_json else text)
    outcome.finish()
