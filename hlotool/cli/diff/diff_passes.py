"""`hlotool diff --passes`: shows the changes of each pass in a pass-by-pass dump.

With --until, it shows the first pass that makes a certain kind of change.

This module imports the differ, and with it NumPy, so the command imports this module
only to compare dumps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import click

from hlotool.cli.diff.diff_many import ManyRequest, report_failure, write_document, write_rows, write_text
from hlotool.cli.diff.diff_pass_files import chosen_sequences, files_of_passes
from hlotool.cli.diff.diff_tables import PassRow, pass_headline, pass_rows
from hlotool.cli.inputs import Outcome
from hlotool.cli.output import counted, visible
from hlotool.cli.progress import progress
from hlotool.cli.run.run_deadline import Deadline
from hlotool.differ.categories import CATEGORIES, MINOR
from hlotool.differ.folders.dumps import DumpSequence, makers
from hlotool.differ.folders.predicates import Predicate
from hlotool.differ.rendering.markdown_report import listing
from hlotool.differ.rendering.rows import EMPTY, Row, bar_rows
from hlotool.errors import nearest
from hlotool.opdefs.table import OPS
from hlotool.text.source.tokens import LINE, whole_word
from hlotool.workspace.comparing import compare_sequence, forget_modules
from hlotool.workspace.reading import read_input
from hlotool.workspace.writing import check_outputs

__all__ = ["SCHEMA", "compare_passes"]

SCHEMA = "hlotool.diff-passes/1"
"""The name and version of the format of `--output-format json` for passes."""


# The maximum number of names considered for a hint.
_MAX_NAMES = 10_000


class _Report(NamedTuple):
    """The compared dumps of a module.

    With --until, `rows` ends with `first`, the first dump that matches.
    """

    sequence: DumpSequence
    rows: list[PassRow]
    first: PassRow | None = None


def _add_title(report: _Report, sentence: str) -> str:
    return f"{report.sequence.title}: {sentence}" if report.sequence.title else sentence


def compare_passes(files: Sequence[str], request: ManyRequest, outcome: Outcome, deadline: Deadline) -> None:
    """Compares consecutive dumps of each module, and sets the exit code.

    The exit code is 1 if something changed, and 2 if a file cannot be read.
    """
    names = files_of_passes(files, request, outcome)
    check_outputs([request.base.output], names)
    report: list[_Report] = []
    try:
        for sequence in chosen_sequences(names, request, outcome):
            one = _report(sequence, request, outcome, deadline)
            if len(one.rows) > 1:
                report.append(one)
    finally:
        forget_modules()
    # The time limit does not apply while the user reads the output.
    deadline.stop()
    if request.until is not None and not any(one.first for one in report):
        _check_name(request.until, [file for one in report for file in one.sequence.files], request)
    outcome.at_least(1 if any(_differs(one, request) for one in report) else 0)
    if not request.base.quiet and report:
        _FORMATS[request.base.output_format](report, request)


def _differs(report: _Report, request: ManyRequest) -> bool:
    return report.first is not None if request.until is not None else any(row.differs for row in report.rows)


def _check_name(until: Predicate, files: Sequence[str], request: ManyRequest) -> None:
    """Raises UsageError if the name given to --until occurs in no dump."""
    if until.subject in ("opcode", "category"):
        return
    word = whole_word(until.value)
    text = ""
    for file in files:
        text = read_input(file, request.base.stdin_filename)[1]
        if word.search(text):
            return
    meant = nearest(until.value, [*OPS, *CATEGORIES, *islice(dict.fromkeys(_defined_names(text)), _MAX_NAMES)])
    hint = f"did you mean '{meant}'?" if meant else "write a category, an opcode or a name, such as opcode=all-gather"
    raise click.UsageError(f"--until: no dump has an instruction or a computation named '{until.value}'; {hint}")


def _defined_names(text: str) -> Iterator[str]:
    """Yields the names of the instructions and computations."""
    for line in LINE.finditer(text):
        name = line["defined"] or line["opened"]
        if name is not None:
            yield name


def _report(sequence: DumpSequence, request: ManyRequest, outcome: Outcome, deadline: Deadline) -> _Report:
    """Compares the dumps of a module, up to the first one that matches --until."""
    rows: list[PassRow] = []
    comparison = request.comparison(shows=request.choice.details or request.until is not None, is_brief=True)
    with progress(len(sequence.files), sequence.module or "Comparing", quiet=request.base.quiet) as advance:
        for name, maker, result in zip(
            sequence.names, makers(sequence.names), compare_sequence(sequence.files, comparison, request.choice.jobs), strict=False
        ):
            deadline.check()
            advance(result.right.file)
            if result.failure is not None:
                report_failure(result.failure, outcome, request.base.color)
                continue
            rows.append(PassRow(maker if result.categories else name, result.right.file, result, MINOR.issuperset(result.categories)))
            if result.evidence:
                return _Report(sequence, rows, rows[-1])
    return _Report(sequence, rows)


# ---- formats -----------------------------------------------------------------------------------


def _text(report: Sequence[_Report], request: ManyRequest) -> None:
    write_rows(_text_rows(report, request), request)


def _text_rows(report: Sequence[_Report], request: ManyRequest) -> Iterator[Row]:
    for k, one in enumerate(report):
        if k:
            yield EMPTY
        yield from _until_rows(one, request) if request.until is not None else _module_rows(one, request)


def _rows_to_show(report: _Report, request: ManyRequest) -> list[PassRow]:
    """Returns the passes to show: all, or those that change more than names and metadata."""
    return [row for row in report.rows[1:] if request.base.show_all or (row.differs and not row.is_minor)]


def _module_rows(report: _Report, request: ManyRequest) -> Iterator[Row]:
    yield Row("=", _add_title(report, pass_headline(report.rows)))
    rows = _rows_to_show(report, request)
    if request.base.name_only:
        yield from (Row("~", f"~ {row.label}") for row in rows)
    elif request.base.stat:
        yield from bar_rows([(row.label, row.compared.counts) for row in rows])
    else:
        for row, lines in pass_rows(rows, request.style.width):
            yield from lines
            if request.choice.details and row.compared.shown:
                yield from (line.indented(4) for line in row.compared.shown)
                yield EMPTY


def _until_sentence(report: _Report, request: ManyRequest) -> str:
    assert request.until is not None
    text = request.until.text
    if report.first is None:
        return f"{text} does not change in {counted(len(report.rows) - 1, 'step')}"
    number = len(report.rows) - 1
    return f"{text} first changes in step {number} of {len(report.sequence.files) - 1}, {report.first.label} ({report.first.compared.evidence})"


def _until_rows(report: _Report, request: ManyRequest) -> Iterator[Row]:
    yield Row("=" if report.first is not None else ".", _add_title(report, _until_sentence(report, request)))
    if report.first is None:
        return
    compared = report.first.compared
    if compared.left is not None:
        yield Row("-", f"- {compared.left.file}")
    yield Row("+", f"+ {compared.right.file}")
    yield EMPTY
    yield Row(" ", compared.sentence)
    yield from compared.shown or ()


def _json(report: Sequence[_Report], request: ManyRequest) -> None:
    modules = []
    for one in report:
        document: dict[str, Any] = {
            "module": one.sequence.module,
            "dump": one.sequence.dump,
            "first": None if one.first is None else len(one.rows) - 2,
            "passes": [_pass(row) for row in one.rows[1:]],
        }
        modules.append(document)
    until = None if request.until is None else request.until.text
    write_document({"schema": SCHEMA, "differs": any(_differs(one, request) for one in report), "until": until, "modules": modules}, request)


def _pass(row: PassRow) -> dict[str, Any]:
    changed, inserted, deleted = row.compared.counts
    left = row.compared.left
    before, after = row.compared.instructions
    return {
        "number": None if row.name is None or not row.pipeline else row.name.number,
        "pipeline": row.pipeline,
        "pass": row.name.stage if row.name is not None else "",
        "left": {"file": None if left is None else left.file, "instructions": before},
        "right": {"file": row.file, "instructions": after},
        "categories": list(row.compared.categories),
        "summary": row.compared.sentence,
        "changed": changed,
        "inserted": inserted,
        "deleted": deleted,
        "diff": row.compared.shown,
    }


def _markdown(report: Sequence[_Report], request: ManyRequest) -> None:
    pieces = []
    for one in report:
        rows = [one.first] if one.first is not None else [] if request.until is not None else _rows_to_show(one, request)
        sentence = _until_sentence(one, request) if request.until is not None else pass_headline(one.rows)
        table = [("pass", "instructions", "changes"), *((visible(row.label), row.instructions, row.compared.sentence) for row in rows)]
        blocks = [(visible(row.label), row.compared.shown) for row in rows if row.compared.shown]
        pieces.append(listing(visible(one.sequence.title or "Passes"), sentence, table, blocks))
    write_text("\n".join(pieces), request)


_FORMATS = {"text": _text, "json": _json, "markdown": _markdown}
