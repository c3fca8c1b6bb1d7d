"""The work of `hlotool opt`: optimizes each file, and writes the results and the reports.

Files are optimized in this process or in worker processes.

This module imports the optimizer, and with it NumPy, so the command imports this module
only when it optimizes modules.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from typing import Any, NamedTuple

from hlotool.cli.diff.text_diff import unified_diff
from hlotool.cli.inputs import Outcome
from hlotool.cli.opt.opt_tables import explanation_lines, module_json, reason_lines, statistics_lines
from hlotool.cli.output import SEPARATOR, bug_message, complain, counted, escape, flush_out, write_out
from hlotool.cli.rendering.render import render_to_stderr, wants_color
from hlotool.errors import EvaluationError, HlotoolError, InternalError, ParseError, Source
from hlotool.interp.engine.allocation import memory_limit
from hlotool.optimizer.loading import load_rules
from hlotool.workspace.in_place import check_comments, write_back
from hlotool.workspace.optimizing import ModuleRecord, Optimized, OptimizeRequest, optimized_text
from hlotool.workspace.reading import STDIN, read_input
from hlotool.workspace.writing import replace_file

__all__ = ["Job", "OptReport", "load", "lost_file", "optimize_file"]

# The maximum number of errors shown for a file that does not parse or is not valid.
_MAX_ERRORS = 3


class Job(NamedTuple):
    """The options that apply to every file."""

    request: OptimizeRequest
    in_place: bool
    diff: bool
    stats: bool
    explain: bool
    as_json: bool
    color: str
    load: tuple[str, ...]
    stdin_filename: str


class Result(NamedTuple):
    """The result for one file.

    It contains the text, the intermediate output, the records of the modules, and an error if there
    was one.
    """

    name: str
    out: str = ""
    shown: str = ""
    is_changed: bool = False
    modules: tuple[ModuleRecord, ...] = ()
    error: HlotoolError | None = None
    source: str = ""


def load(paths: Iterable[str]) -> None:
    """Runs each file given by --load, once per process.

    The output of these files goes to standard error, since standard output is for modules.
    """
    for path in paths:
        with redirect_stdout(sys.stderr):
            load_rules(path)


def lost_file(file: str, reason: str) -> Result:
    """Returns the result for a file whose worker process died."""
    return Result(file, error=HlotoolError(f"cannot optimize '{file}': {reason}"))


def optimize_file(file: str, setting: None, job: Job) -> Result:
    """Optimizes one file.

    Failures are returned as a Result, so that they can be sent between processes and do not stop
    other files.
    """
    name, text = job.stdin_filename if file == STDIN else file, ""
    shown: list[str] = []
    try:
        # A worker process may not have loaded these files yet.
        load(job.load)
        name, text = read_input(file, job.stdin_filename)
        # User-defined rules may print.
        with memory_limit(job.request.max_memory), redirect_stdout(sys.stderr):
            result = optimized_text(text, name, job.request, shown.append)
        out = _output(file, name, text, result, job)
        return Result(name, out, "".join(shown), result.is_changed, tuple(result.modules), result.error, text)
    except HlotoolError as error:
        has_locations = isinstance(error, ParseError | EvaluationError)
        return Result(name, shown="".join(shown), error=error, source=text if has_locations else "")
    except BrokenPipeError:
        raise
    except MemoryError:
        return Result(name, shown="".join(shown), error=HlotoolError(f"not enough memory for '{name}'"))
    except Exception as error:
        message = bug_message(f"{type(error).__name__}: {error}", "".join(traceback.format_exception(error)), name)
        return Result(name, shown="".join(shown), error=InternalError(message))


def _output(file: str, name: str, text: str, result: Optimized, job: Job) -> str:
    """Returns the text for standard output or the -o file; with --in-place, rewrites the file."""
    after = SEPARATOR.join(result.after)
    if job.in_place and file != STDIN and result.is_changed:
        check_comments(name, text, action="optimize")
        write_back(file, text, after, action="optimize", instead="write the result elsewhere with -o")
    if job.diff:
        return "".join(unified_diff(SEPARATOR.join(result.before), after, name, color=wants_color(job.color, sys.stdout)))
    return "" if job.in_place and file != STDIN else after


class OptReport:
    """The report of a run, built from the results for the files.

    It writes the optimized modules to standard output, or keeps them for -o, and reports to
    standard error.
    """

    def __init__(self, job: Job, outcome: Outcome, output: str | None, *, quiet: bool, verbose: bool) -> None:
        self.job = job
        self.outcome = outcome
        self.output = None if output == STDIN else output
        self.quiet = quiet
        self.verbose = verbose
        self.texts: list[str] = []
        self.has_written = False
        self.records: list[dict[str, Any]] = []
        self.changed = 0
        self.unchanged = 0

    def take(self, result: Result) -> None:
        """Writes and reports the result for one file."""
        _show(result.shown)
        self._write(result.out)
        for module in result.modules:
            self._report(result.name, module)
        if result.error is not None:
            self._report_failure(result)
            return
        self.changed += result.is_changed
        self.unchanged += not result.is_changed
        if result.is_changed and self.job.diff:
            self.outcome.at_least(1)
        if result.is_changed and self.job.in_place and not self.quiet and result.name != self.job.stdin_filename:
            before, after = (sum(getattr(m.report, name) for m in result.modules) for name in ("instructions_before", "instructions_after"))
            complain(f"optimized '{result.name}': {counted(before, 'instruction')} before, {after} after")

    def _write(self, out: str) -> None:
        if not out:
            return
        if self.output is not None:
            self.texts.append(out)
        elif not self.job.as_json:
            is_colored = self.job.diff and wants_color(self.job.color, sys.stdout)
            write_out((SEPARATOR if self.has_written and not self.job.diff else "") + out, is_escaped=is_colored)
            self.has_written = True

    def _report(self, file: str, module: ModuleRecord) -> None:
        job, report = self.job, module.report
        if not self.quiet:
            for remark in report.remarks:
                complain(f"'{file}': {remark}")
            if module.compared:
                rounded = " up to rounding" if job.request.options.fast_math else ""
                complain(f"'{file}': results agree{rounded} on {counted(module.compared, 'random input')}")
        if job.as_json:
            self.records.append(module_json(file, module))
            return
        color = wants_color(job.color, sys.stderr)
        if job.explain:
            _show_lines(explanation_lines(file, report.rewrites, color=color))
        _show_lines(reason_lines(file, report.reasons, verbose=self.verbose))
        if job.stats:
            _show_lines(statistics_lines(file, module, verbose=self.verbose))

    def _report_failure(self, result: Result) -> None:
        error = result.error
        assert error is not None
        if not isinstance(error, ParseError | EvaluationError):
            self.outcome.failed(str(error), max(error.exit_code, 2))
            return
        self.outcome.unreadable += 1
        self.outcome.at_least(error.exit_code)
        diagnostics = error.diagnostics
        render_to_stderr(diagnostics[:_MAX_ERRORS], Source(result.source, result.name).line_text, self.job.color)
        more = f" ({counted(len(diagnostics) - _MAX_ERRORS, 'more error')}; see hlotool verify)" if len(diagnostics) > _MAX_ERRORS else ""
        if isinstance(error, ParseError):
            complain(f"cannot optimize '{result.name}': it does not parse{more}")
        else:
            complain(f"'{result.name}' is not valid HLO{more}; use --no-verify to optimize it anyway")

    def finish(self) -> None:
        """Writes the final output: JSON, the -o file unless an input failed, and file counts."""
        if self.job.as_json:
            write_out(json.dumps(self.records, indent=1) + "\n")
        if self.output is not None and self.outcome.exit_code < 2:
            replace_file(self.output, SEPARATOR.join(self.texts))
        if self.job.in_place and not self.quiet and (self.changed, self.unchanged) != (0, 0):
            complain(f"{counted(self.changed, 'file')} optimized, {counted(self.unchanged, 'file')} unchanged")


def _show(text: str) -> None:
    """Writes modules to standard error, with control characters escaped."""
    if text and sys.stderr is not None:
        _show_lines(iter(escape(text).split("\n")[: None if not text.endswith("\n") else -1]))


def _show_lines(lines: Iterator[str]) -> None:
    if sys.stderr is None:
        return
    flush_out()
    for line in lines:
        sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
