"""`hlotool verify`: reports what is wrong with HLO texts.

It finds nothing itself: it asks the library and hands the answers to `cli.render`.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence

import click

import hlotool
from hlotool.cli.file_choice import FileChoice, file_choice_options
from hlotool.cli.inputs import Outcome, files_or_stdin, one_by_one, read_input
from hlotool.cli.options import color_option, files_argument, stdin_filename_option
from hlotool.cli.output import complain, write_out
from hlotool.cli.render import FORMATS, Finding, style_for
from hlotool.errors import Diagnostic, ParseError, Source

__all__ = ["command"]

_HELP = """Report what is wrong with HLO texts.

FILE may be compressed (.gz, .xz, .zst), `-` is standard input, and a folder stands for the *.hlo files in it and the *.txt files that begin
with HloModule. Every module of a file is read.

CODES are codes, their beginnings or their names, separated by commas: T003, T, result-shape; ALL is every rule. Without --select, all errors
and a few warnings are reported; the longest match decides between --select and --ignore. What does not parse is always reported.

\b
Examples:
  hlotool verify module.hlo
  hlotool verify --select T,C --ignore T085 module.hlo
  hlotool verify --output-format concise dumps/
  hlotool print module.hlo | hlotool verify

\b
Exit codes:
  0 nothing found; 1 findings; 2 a file cannot be read; 3 a bug in hlotool
"""


class Report:
    """One run: yields findings while it counts them."""

    def __init__(self, outcome: Outcome, choice: FileChoice, select: Sequence[str] | None, ignore: Sequence[str]) -> None:
        self.outcome = outcome
        self.choice = choice
        self.select = select
        self.ignore = ignore
        self.files = 0
        self.files_with_findings = 0
        self.severities: Counter[str] = Counter()

    def findings(self, files: Sequence[str]) -> Iterator[Finding]:
        for file in one_by_one(self.choice.files(files, self.outcome)):
            found: list[Finding] = []
            with self.outcome.file(file):
                name, text = read_input(file, self.choice.stdin_filename)
                self.files += 1
                source = Source(text, name)
                found = [Finding(d, source.line_text(d.line)) for d in self._diagnostics(text, name)]
            self._count(found)
            yield from found

    def _count(self, found: list[Finding]) -> None:
        severities = Counter(finding.diagnostic.severity for finding in found)
        self.severities += severities
        self.files_with_findings += bool(found)
        if severities["error"] or severities["warning"]:
            self.outcome.at_least(1)

    def _diagnostics(self, text: str, name: str) -> list[Diagnostic]:
        # --help imports this module, and shall not wait for the parser.
        from hlotool.text.parser import parse_each  # noqa: PLC0415

        found: list[Diagnostic] = []
        for part in parse_each(text, name):
            found += part.diagnostics if isinstance(part, ParseError) else hlotool.verify(part, select=self.select, ignore=self.ignore)
        return sorted(found, key=lambda d: (d.line, d.column, d.code))

    def summary(self) -> str:
        """For example: 3 files checked, 2 errors in 1 file."""
        parts = [f"{_count_of(self.files, 'file')} checked"]
        if self.severities:
            kinds = ", ".join(_count_of(self.severities[s], s) for s in ("error", "warning", "info") if self.severities[s])
            parts.append(f"{kinds} in {_count_of(self.files_with_findings, 'file')}")
        elif self.files:
            parts.append("nothing found")
        if self.outcome.unreadable:
            parts.append(f"{self.outcome.unreadable} failed")
        return ", ".join(parts)


def _codes(values: Sequence[str]) -> list[str]:
    """The codes of a repeated option; a usage error when one names no rule."""
    from hlotool.verify.selection import Selection, SelectionError  # noqa: PLC0415  # as above

    codes = [code.strip() for value in values for code in value.split(",") if code.strip()]
    try:
        Selection(codes)
    except SelectionError as error:
        raise click.UsageError(str(error)) from None
    return codes


def _count_of(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 or noun == 'info' else 's'}"


@click.command("verify", help=_HELP, short_help="Report what is wrong with HLO texts.")
@files_argument
@click.option("--output-format", type=click.Choice(list(FORMATS)), default="text", help="How findings are written.")
@click.option("--select", multiple=True, metavar="CODES", help="Report these only.")
@click.option("--ignore", multiple=True, metavar="CODES", help="Do not report these.")
@color_option
@click.option("-q", "--quiet", count=True, help="No summary; -qq: nothing but the exit code.")
@stdin_filename_option
@file_choice_options
def command(
    files: tuple[str, ...], output_format: str, select: tuple[str, ...], ignore: tuple[str, ...], color: str, quiet: int, stdin_filename: str,
    choice: FileChoice,
) -> None:  # fmt: skip
    silent = quiet > 1
    outcome = Outcome(silent=silent)
    report = Report(outcome, choice, _codes(select) or None, _codes(ignore))
    for piece in FORMATS[output_format](report.findings(files_or_stdin(files)), style_for(color, sys.stdout)):
        if not silent:
            write_out(piece)
    if not quiet:
        if output_format == "text":
            write_out(report.summary() + "\n")
        else:
            complain(report.summary())
    outcome.finish()
