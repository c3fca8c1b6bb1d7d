"""Code shared by `hlotool diff` for folders and for passes: options, messages and output."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

import click

from hlotool.cli.diff.diff_options import FolderChoice
from hlotool.cli.diff.diff_output import row_line, write_difference
from hlotool.cli.diff.diff_session import DiffRequest
from hlotool.cli.inputs import Outcome
from hlotool.cli.output import bug_message, complain
from hlotool.cli.rendering.render import Style, render_to_stderr, style_for
from hlotool.differ.folders.predicates import Predicate, parse_predicate
from hlotool.differ.rendering.difference_report import Report
from hlotool.differ.rendering.markdown_report import details
from hlotool.differ.rendering.rows import Layout, Row
from hlotool.differ.rendering.text_report import text_rows
from hlotool.workspace.comparing import CompareRequest, Failure, ModuleLocation
from hlotool.workspace.files import FileChoice

__all__ = ["ManyRequest", "choose_files", "report_failure", "write_document", "write_rows", "write_text"]


class ManyRequest(NamedTuple):
    """The options for comparing two modules, and those for folders and passes."""

    base: DiffRequest
    choice: FolderChoice
    until: Predicate | None = None

    @classmethod
    def of(cls, base: DiffRequest, choice: FolderChoice) -> ManyRequest:
        """Returns the request for these options; raises UsageError if --until is not valid."""
        try:
            return cls(base, choice, None if choice.until is None else parse_predicate(choice.until))
        except ValueError as error:
            raise click.UsageError(f"--until: {error}") from error

    @property
    def style(self) -> Style:
        style = style_for(self.base.color, sys.stdout if self.base.output is None else None)
        return style if self.base.width is None else style._replace(width=self.base.width)

    def comparison(self, *, shows: bool, is_brief: bool = False) -> CompareRequest:
        """Returns the request for comparing each pair of modules.

        If `shows` is True, the results include each difference in the form that the output format
        shows.
        """
        base = self.base
        layout = Layout(self.style.width and max(0, self.style.width - 4), base.unified, base.show_all, base.side_by_side)
        show = partial(_render_difference, base.output_format, layout) if shows and not base.quiet else None
        return CompareRequest(base.ignored, base.form, base.max_memory, self.until, show, is_brief)


def _render_difference(output_format: str, layout: Layout, report: Report, left: ModuleLocation, right: ModuleLocation) -> Any:
    """Returns a difference in the form that the output format requires."""
    if output_format == "json":
        document = report.delta.to_dict()
        for side, location in (("left", left), ("right", right)):
            document[side] = {"file": location.file, **document[side]}
        return document
    if output_format == "markdown":
        return details(report)
    # Leaves out the summary, which was shown above.
    return list(text_rows(report, layout))[1:]


def choose_files(request: ManyRequest, names: Iterable[str], outcome: Outcome) -> list[str]:
    """Returns the files that the arguments select.

    Settings files and git's ignore files are not used, since they may differ between the two sides.
    """
    choice = FileChoice(include=request.choice.include, exclude=request.choice.exclude, respect_gitignore=False, isolated=True)
    files = choice.files([name for name in names if name != os.devnull])
    for remark in files.remarks:
        if remark.is_failure:
            outcome.failed(remark.message)
        elif not request.base.quiet:
            complain(remark.message)
    return files.names


def report_failure(failure: Failure, outcome: Outcome, color: str) -> None:
    """Reports why a file is left out."""
    if failure.findings:
        lines = {finding.diagnostic.line: finding.line for finding in failure.findings}
        render_to_stderr([finding.diagnostic for finding in failure.findings], lambda number: lines.get(number, ""), color)
    message = failure.message if failure.traceback is None else bug_message(failure.message, failure.traceback)
    outcome.failed(message, failure.exit_code)


def write_rows(rows: Iterable[Row], request: ManyRequest) -> None:
    """Writes lines, in color if requested."""
    lines = [row_line(row, has_color=request.style.color) for row in rows]
    write_difference(lines, request.base.output, has_pager=not request.base.no_pager, is_escaped=True)


def write_document(document: dict[str, Any], request: ManyRequest) -> None:
    """Writes a JSON document."""
    write_text(json.dumps(document) + "\n", request)


def write_text(text: str, request: ManyRequest) -> None:
    """Writes a string to the -o file, or to standard output."""
    write_difference([text], request.base.output, has_pager=False, is_escaped=False)
