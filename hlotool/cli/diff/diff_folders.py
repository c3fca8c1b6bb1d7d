"""`hlotool diff` of two folders: pairs their modules by content, and shows the pairs that differ.

Each pair that differs is shown on one line. This module imports the differ, and with it NumPy, so
the command imports this module only to compare folders.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from typing import Any

import click

from hlotool.cli.diff.diff_many import ManyRequest, choose_files, report_failure, write_document, write_rows, write_text
from hlotool.cli.diff.diff_tables import MAX_PAIRS, FolderComparison, PairRow, headline, only_rows, pair_groups, similar_line
from hlotool.cli.inputs import Outcome
from hlotool.cli.output import counted, visible
from hlotool.cli.progress import progress
from hlotool.cli.run.run_deadline import Deadline
from hlotool.differ.categories import MINOR
from hlotool.differ.folders.module_pairing import Sketch, pair_up
from hlotool.differ.rendering.markdown_report import listing
from hlotool.differ.rendering.rows import EMPTY, Row, bar_rows
from hlotool.workspace.comparing import Compared, ModuleLocation, compare_pairs, forget_modules, sketch_files
from hlotool.workspace.files import is_folder
from hlotool.workspace.reading import file_status
from hlotool.workspace.writing import check_outputs

__all__ = ["SCHEMA", "compare_folders"]

SCHEMA = "hlotool.diff-folders/1"
"""The name and version of the format of `--output-format json` for folders."""


def compare_folders(request: ManyRequest, outcome: Outcome, deadline: Deadline) -> None:
    """Compares the modules of two folders, and sets the exit code.

    The exit code is 1 if something differs, and 2 if a file cannot be read.
    """
    base = request.base
    for name, other in ((base.left, base.right), (base.right, base.left)):
        if not is_folder(name) and os.devnull not in (name, other):
            inside = str(Path(other, Path(name).name))
            hint = f", such as '{name}' and '{inside}'" if file_status(inside) is not None else ""
            raise click.UsageError(f"'{other}' is a folder and '{name}' is not; compare two files{hint}, or two folders")
    try:
        result = _compare(request, outcome, deadline)
    finally:
        forget_modules()
    # The time limit does not apply while the user reads the output.
    deadline.stop()
    outcome.at_least(1 if result.differs else 0)
    if not base.quiet:
        _FORMATS[base.output_format](result, request)


def _compare(request: ManyRequest, outcome: Outcome, deadline: Deadline) -> FolderComparison:
    base = request.base
    left, left_locations = _sketch(base.left, request, outcome, deadline)
    right, right_locations = _sketch(base.right, request, outcome, deadline)
    pairing = pair_up(left, right)
    # If the hashes are equal, only names and metadata can differ.
    same = {b for a, b in pairing.pairs if left[a].text == right[b].text or (base.ignored >= MINOR and left[a].hash == right[b].hash)}
    locations = [(left_locations[a], right_locations[b]) for a, b in pairing.pairs if b not in same]
    comparison = request.comparison(shows=request.choice.details or base.output_format == "json")
    compared: dict[ModuleLocation, Compared] = {}
    with progress(len(locations), "Comparing", quiet=base.quiet) as advance:
        for result in compare_pairs(locations, comparison, request.choice.jobs):
            deadline.check()
            advance(result.right.file)
            if result.failure is not None:
                report_failure(result.failure, outcome, base.color)
            else:
                compared[result.right] = result
    compared.update({right_locations[b]: Compared(None, right_locations[b]) for b in same})
    rows = [_row(left[a], right[b], compared[right_locations[b]]) for a, b in pairing.pairs if right_locations[b] in compared]
    names = (_side_name(base.left), _side_name(base.right))
    return FolderComparison(names, rows, [left[a] for a in pairing.left_only], [right[b] for b in pairing.right_only])


def _row(left: Sketch, right: Sketch, compared: Compared) -> PairRow:
    return PairRow(left, right, compared, MINOR.issuperset(compared.categories))


def _side_name(name: str) -> str:
    return name if name == os.devnull else name.rstrip("/\\") or name


def _sketch(name: str, request: ManyRequest, outcome: Outcome, deadline: Deadline) -> tuple[list[Sketch], list[ModuleLocation]]:
    """Returns sketches of the modules in a folder, and the locations of the modules."""
    base = request.base
    files = choose_files(request, [name], outcome)
    check_outputs([base.output], files)
    # `git difftool --dir-diff` compares temporary folders, whose names mean nothing to the user.
    labels = [os.path.relpath(file, name) if is_folder(name) else Path(file).name for file in files]
    sketches: list[Sketch] = []
    locations: list[ModuleLocation] = []
    with progress(len(files), f"Reading {name}", quiet=base.quiet) as advance:
        for result in sketch_files(list(zip(files, labels, strict=True)), request.comparison(shows=False), request.choice.jobs):
            deadline.check()
            advance(result.file)
            if result.failure is not None:
                report_failure(result.failure, outcome, base.color)
            for number, sketch in enumerate(result.sketches):
                sketches.append(sketch)
                locations.append(ModuleLocation(result.file, number))
    return sketches, locations


# ---- formats -----------------------------------------------------------------------------------


def _text(result: FolderComparison, request: ManyRequest) -> None:
    write_rows(_name_rows(result) if request.base.name_only else _text_rows(result, request), request)


def _name_rows(result: FolderComparison) -> Iterator[Row]:
    for row in result.pairs:
        if row.differs:
            yield Row("~", f"~ {row.label}")
    yield from (Row("-", f"- {sketch.label}") for sketch in result.left_only)
    yield from (Row("+", f"+ {sketch.label}") for sketch in result.right_only)


def _text_rows(result: FolderComparison, request: ManyRequest) -> Iterator[Row]:
    sentence = headline(result)
    if not sentence:
        return
    yield Row("=", sentence)
    show_all = request.base.show_all
    groups = pair_groups(result.pairs, show_all=show_all or request.choice.details)
    if groups or result.left_only or result.right_only:
        yield EMPTY
    if request.base.stat:
        yield from bar_rows([(row.label, row.compared.counts) for row in result.pairs if row.differs and (show_all or not row.is_minor)])
    else:
        number = len(groups) if show_all or len(groups) <= MAX_PAIRS + 1 else MAX_PAIRS
        for group in groups[:number]:
            yield from _pair_rows(group, request)
        if len(groups) > number:
            more = counted(sum(map(len, groups[number:])), "more module that differs", "more modules that differ")
            yield Row(".", f"... {more} not shown (--show-all)")
    yield from only_rows(result, show_all=show_all)


def _wrap(sentence: str, request: ManyRequest) -> list[str]:
    """Returns at most two lines of a sentence; with --details or --show-all, one full line."""
    if not request.style.width or request.choice.details or request.base.show_all:
        return [f"    {sentence}"]
    return wrap(
        sentence, request.style.width, initial_indent="    ", subsequent_indent="    ", max_lines=2, placeholder=" ...", break_on_hyphens=False
    )


def _pair_rows(group: list[PairRow], request: ManyRequest) -> Iterator[Row]:
    first = group[0]
    yield Row("~", f"~ {first.label}")
    yield from (Row(" ", line) for line in _wrap(first.compared.sentence, request))
    yield from similar_line(group, request.style.width)
    if request.choice.details and first.compared.shown:
        yield from (row.indented(4) for row in first.compared.shown)
        yield EMPTY


def _json(result: FolderComparison, request: ManyRequest) -> None:
    document = {
        "schema": SCHEMA,
        "differs": result.differs,
        "left": _side(request.base.left, len(result.pairs) + len(result.left_only)),
        "right": _side(request.base.right, len(result.pairs) + len(result.right_only)),
        "equal": [[row.left.label, row.right.label] for row in result.pairs if not row.differs],
        "changed": [
            {"left": row.left.label, "right": row.right.label, "summary": row.compared.sentence, "diff": row.compared.shown}
            for row in result.pairs
            if row.differs
        ],
        "left_only": [_module(sketch) for sketch in result.left_only],
        "right_only": [_module(sketch) for sketch in result.right_only],
    }
    write_document(document, request)


def _side(folder: str, modules: int) -> dict[str, Any]:
    return {"folder": folder, "modules": modules}


def _module(sketch: Sketch) -> dict[str, Any]:
    return {"file": sketch.label, "module": sketch.module, "instructions": sketch.instructions}


def _markdown(result: FolderComparison, request: ManyRequest) -> None:
    groups = pair_groups(result.pairs, show_all=request.base.show_all or request.choice.details)
    table = [("module", "instructions", "changes")]
    for group in groups:
        more = "".join(row.text.strip().replace("...", " ...", 1) for row in similar_line(group, 0))
        counts = " -> ".join(dict.fromkeys(str(count) for count in group[0].compared.instructions))
        table.append((visible(f"{group[0].label}{more}"), counts, group[0].compared.sentence))
    for sketches, name in ((result.left_only, result.names[0]), (result.right_only, result.names[1])):
        table += [(visible(sketch.label), str(sketch.instructions), f"only in {name}") for sketch in sketches]
    blocks = [(visible(group[0].label), group[0].compared.shown) for group in groups if group[0].compared.shown]
    write_text(listing(visible(" → ".join(result.names)), headline(result), table, blocks), request)


_FORMATS = {"text": _text, "json": _json, "markdown": _markdown}
