"""The work of `hlotool diff`: reads two modules, compares them, and writes the difference.

This module imports the differ, and with it NumPy, so the command imports this module
only when it compares modules.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from hlotool.cli.diff.diff_output import row_line, write_difference
from hlotool.cli.diff.text_diff import color_patch, header_name
from hlotool.cli.inputs import Outcome, read_module
from hlotool.cli.rendering.render import style_for
from hlotool.cli.run.run_deadline import Deadline
from hlotool.differ.categories import CATEGORIES
from hlotool.differ.compare import diff
from hlotool.differ.delta import Delta
from hlotool.differ.rendering.difference_report import report_of
from hlotool.differ.rendering.html_page import page
from hlotool.differ.rendering.markdown_report import markdown
from hlotool.differ.rendering.rows import Layout
from hlotool.differ.rendering.text_report import name_rows, statistic_rows, text_rows
from hlotool.interp.engine.allocation import memory_limit
from hlotool.workspace.reading import InputForm

__all__ = ["DiffRequest", "compare"]

_Names = tuple[str, str]


class DiffRequest(NamedTuple):
    """The modules to compare, the differences that count, and the form of the output."""

    left: str
    right: str
    ignore: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    semantic: Mapping[str, Any] | None = None
    stat: bool = False
    name_only: bool = False
    unified: int = 0
    side_by_side: bool = False
    width: int | None = None
    show_all: bool = False
    output_format: str = "text"
    output: str | None = None
    color: str = "auto"
    quiet: bool = False
    no_pager: bool = False
    max_memory: int | None = None
    stdin_filename: str = "<stdin>"
    form: InputForm = InputForm()

    @property
    def ignored(self) -> frozenset[str]:
        """All ignored categories."""
        return frozenset(self.ignore) | (CATEGORIES.keys() - set(self.only) if self.only else frozenset())


def compare(request: DiffRequest, outcome: Outcome, deadline: Deadline) -> None:
    """Compares two files, and sets the exit code: 1 if they differ, 2 if one cannot be read."""
    sides = []
    for file in (request.left, request.right):
        with outcome.file(file), memory_limit(request.max_memory):
            side = read_module(file, outcome, request.form, request.color, request.stdin_filename, "diff takes one module on each side")
            if side is not None:
                sides.append(side)
        deadline.check()
    if len(sides) < 2:
        return
    left, right = sides
    with outcome.file(right.name), memory_limit(request.max_memory):
        delta = diff(left.module, right.module, ignore=request.ignored)
        deadline.check()
        names = left.name, right.name
        if request.semantic is not None:
            _compare_runs(delta, request, names, outcome, deadline)
            return
        outcome.at_least(1 if delta else 0)
        if not request.quiet:
            _write(_RENDERERS[request.output_format](delta, request, names), request, deadline)


def _compare_runs(delta: Delta, request: DiffRequest, names: _Names, outcome: Outcome, deadline: Deadline) -> None:
    """Runs both modules.

    A module that cannot be run is bad input. But if only the right module fails, that failure is
    the difference.
    """
    # Imported on use, since most comparisons run nothing.
    from hlotool.cli.diff.diff_runs import RunChoice, run_both  # noqa: PLC0415
    from hlotool.differ.rendering.run_report import run_rows  # noqa: PLC0415

    result = run_both(delta, RunChoice(**request.semantic or {}), request.max_memory, deadline, quiet=request.quiet)
    outcome.at_least(1 if result else 2 if result.failure is not None else 0)
    if request.quiet:
        return
    if request.output_format == "json":
        _write(_json(delta, request, names, semantic=result.to_dict()), request, deadline)
        return
    style = style_for(request.color, sys.stdout if request.output is None else None)
    rows = run_rows(result, report_of(delta), Layout(style.width if request.width is None else request.width))
    _write((row_line(row, has_color=style.color) for row in rows), request, deadline)


# ---- formats -----------------------------------------------------------------------------------


def _text(delta: Delta, request: DiffRequest, names: _Names) -> Iterator[str]:
    style = style_for(request.color, sys.stdout if request.output is None else None)
    width = style.width if request.width is None else request.width
    layout = Layout(width, request.unified, request.show_all, request.side_by_side)
    report = report_of(delta)
    rows = name_rows(report) if request.name_only else statistic_rows(report, layout) if request.stat else text_rows(report, layout)
    for row in rows:
        yield row_line(row, has_color=style.color)


def _json(delta: Delta, request: DiffRequest, names: _Names, **more: Any) -> Iterator[str]:
    document = {**delta.to_dict(), **more}
    for side, name in zip(("left", "right"), names, strict=True):
        document[side] = {"file": name, **document[side]}
    yield json.dumps(document) + "\n"


def _markdown(delta: Delta, request: DiffRequest, names: _Names) -> Iterator[str]:
    yield markdown(report_of(delta), *names)


def _html(delta: Delta, request: DiffRequest, names: _Names) -> Iterator[str]:
    yield page(report_of(delta), *names)


def _patch(delta: Delta, request: DiffRequest, names: _Names) -> Iterator[str]:
    left, right = (header_name(f"{side}/{name.lstrip('/')}") for side, name in zip("ab", names, strict=True))
    patch = delta.to_patch(left, right)
    yield from color_patch(patch) if _is_colored(request) else [patch]


_RENDERERS: dict[str, Callable[[Delta, DiffRequest, _Names], Iterator[str]]] = {
    "text": _text,
    "json": _json,
    "markdown": _markdown,
    "html": _html,
    "patch": _patch,
}


def _write(rendered: Iterable[str], request: DiffRequest, deadline: Deadline) -> None:
    pieces = list(rendered)
    deadline.check()
    # The time limit does not apply while the user reads the output.
    deadline.stop()
    is_text = request.output_format == "text"
    is_escaped = is_text or (request.output_format == "patch" and _is_colored(request))
    write_difference(pieces, request.output, has_pager=is_text and not request.no_pager, is_escaped=is_escaped)


def _is_colored(request: DiffRequest) -> bool:
    return style_for(request.color, sys.stdout if request.output is None else None).color
