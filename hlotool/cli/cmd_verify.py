"""`hlotool verify`: reports errors and suspicious code in HLO files.

`workspace.checking` runs the verifier, `cli.render` writes its findings, and `cli.rewriting`
changes files.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from hlotool.cli.command import HloCommand
from hlotool.cli.completions import complete_subjects
from hlotool.cli.inputs import Outcome, choose_files
from hlotool.cli.options import (
    click_option,
    color_option,
    file_choice_options,
    files_argument,
    input_form_options,
    input_size_option,
    stdin_filename_option,
)
from hlotool.cli.output import bug_message, complain, counted, flush_out, write_out
from hlotool.cli.progress import progress
from hlotool.cli.rendering.render import FORMATS, Style, style_for
from hlotool.cli.rule_options import rule_options, settings_lines
from hlotool.cli.similar import collapse
from hlotool.workspace.files import FileChoice
from hlotool.workspace.findings import Checked, FileFinding
from hlotool.workspace.keys import BASELINE_OPTIONS
from hlotool.workspace.reading import STDIN, InputForm, read_input
from hlotool.workspace.writing import check_outputs, replace_file

if TYPE_CHECKING:
    from hlotool.workspace.baseline import Baselines
    from hlotool.workspace.rules import Checks, RuleChoice
    from hlotool.workspace.settings import Settings

__all__ = ["command"]

_HELP = """Report errors and suspicious code in HLO files.

FILE may be compressed (.gz, .xz, .zst), `-` is standard input, and a folder stands for the *.hlo files in it and the *.txt files that begin
with HloModule. All modules of a file are checked.

CODES is a comma-separated list of codes (T003), prefixes of codes (T) and names of rules (result-shape); ALL means every rule. Without
--select, all errors and a few warnings are reported. If options disagree about a rule, the longest match decides. Among matches of the same
length, options override the settings file, the settings file overrides its preset, and --ignore overrides --select. Syntax errors are
always reported.

\b
Examples:
  hlotool verify module.hlo
  hlotool verify --select T,C --ignore T085 module.hlo
  hlotool verify --output-format concise dumps/
  hlotool verify --explain T003
  hlotool print module.hlo | hlotool verify

\b
Comments that suppress findings, here those of T003:
  // hlotool: ignore[T003] reason     in this instruction
  // hlotool: ignore-next[T003]       in the next instruction
  // hlotool: ignore-file[T003]       in this module
  // hlotool: off[T003]               from here
  // hlotool: on[T003]                up to here

\b
Settings, in the nearest hlotool.toml (in pyproject.toml: [tool.hlotool]):
  [lint]
  preset = "after-opt"
  extend-select = ["W012"]
  [lint.per-file-ignores]
  "*before_opt*" = ["W001"]

\b
Exit codes:
  0 no findings; 1 findings; 2 a file cannot be read; 3 a bug in hlotool
"""
_RECORDS = ("json", "jsonl")
_SEVERITIES = ("error", "warning", "info")
# The maximum number of rows in the job summary on GitHub.
_MAX_ROWS = 50


class Options(NamedTuple):
    """The options except those that choose files and rules."""

    output_format: str
    output: str | None
    max_findings: int | None
    show_all: bool
    fail_on: str
    exit_zero: bool
    statistics: bool
    fix: bool
    unsafe_fixes: bool
    show_diff: bool
    add_ignore: bool
    baseline: str | None
    no_baseline: bool
    write_baseline: bool
    jobs: int
    color: str
    quiet: int
    form: InputForm

    @property
    def rewrites(self) -> bool:
        return self.fix or self.unsafe_fixes or self.show_diff or self.add_ignore

    def validate(self) -> None:
        """Raises UsageError for options that contradict each other."""
        if self.unsafe_fixes and not (self.fix or self.show_diff):
            raise click.UsageError("--unsafe-fixes requires --fix or --diff")
        if self.rewrites and self.form.extract:
            raise click.UsageError("--extract cannot be combined with --fix, --diff or --add-ignore: extract the modules with hlotool print first")
        if self.form.legacy and self.add_ignore and not self.fix:
            raise click.UsageError("--add-ignore with --legacy requires --fix, which writes today's spellings")
        if self.write_baseline and self.rewrites:
            raise click.UsageError("--write-baseline cannot be combined with --fix, --diff or --add-ignore")
        if self.no_baseline and (self.write_baseline or self.baseline is not None):
            raise click.UsageError("--no-baseline cannot be combined with --baseline or --write-baseline")

    def baseline_for(self, settings: Settings) -> str | None:
        """Returns the baseline of a file with these settings."""
        if self.no_baseline:
            return None
        return self.baseline if self.baseline is not None else settings.path("lint", "baseline")


class VerifyReport:
    """The report of a run, which counts the findings while they are written."""

    def __init__(self, outcome: Outcome, options: Options, baseline_of: Mapping[str, str | None]) -> None:
        self.outcome = outcome
        self.options = options
        self.files: list[str] = []
        self.files_with_findings = 0
        self.severities: Counter[str] = Counter()
        self.left_out = 0
        self.shown = 0
        self.first: list[FileFinding] = []
        self.baselines: Baselines | None = None
        if not options.write_baseline and any(baseline_of.values()):
            # Imported on use, since most projects have no baseline.
            self.baselines = import_module("hlotool.workspace.baseline").Baselines(baseline_of)

    def findings(self, results: Iterable[Checked]) -> Iterator[FileFinding]:
        """Yields the findings to show, file by file."""
        limit = self.options.max_findings
        for checked in results:
            result = checked if self.baselines is None else self.baselines.without_known(checked)
            self.take(result)
            findings = result.findings
            if self.options.output_format == "text" and not self.options.show_all and not self.options.statistics:
                findings = list(collapse(findings))
            remaining = len(findings) if limit is None or self.options.statistics else max(0, limit - self.shown)
            self.left_out += max(0, len(findings) - remaining)
            self.shown += min(remaining, len(findings))
            self.first += islice(result.findings, max(0, _MAX_ROWS - len(self.first)))
            yield from islice(findings, remaining)

    def take(self, result: Checked) -> None:
        """Counts the findings of a file, and reports an error if the file could not be checked."""
        if result.traceback is not None:
            self.outcome.unreadable += 1
            self.outcome.at_least(3)
            message = bug_message(result.failure or "", result.traceback, result.name)
            if not self.outcome.silent:
                complain(message)
            return
        if result.failure is not None:
            self.outcome.failed(result.failure, result.exit_code)
            return
        self.files.append(result.name)
        severities = Counter(finding.diagnostic.severity for finding in result.findings)
        self.severities += severities
        self.files_with_findings += bool(result.findings)
        failing = {"error": ("error",), "warning": ("error", "warning")}.get(self.options.fail_on, ())
        if any(severities[severity] for severity in failing):
            self.outcome.at_least(1)

    def summary(self) -> str:
        """Returns a summary such as `3 files checked, 2 errors in 1 file`."""
        parts = [f"{counted(len(self.files), 'file')} checked"]
        if self.severities:
            kinds = ", ".join(counted(self.severities[s], s, "info" if s == "info" else None) for s in _SEVERITIES if self.severities[s])
            parts.append(f"{kinds} in {counted(self.files_with_findings, 'file')}")
        elif self.files:
            parts.append("no findings")
        if self.baselines is not None and self.baselines.hidden:
            parts.append(f"{self.baselines.hidden} in the baseline")
        if self.baselines is not None and self.baselines.gone:
            parts.append(f"{self.baselines.gone} of the baseline no longer found (--write-baseline)")
        if self.left_out:
            parts.append(f"{self.left_out} more not shown (--max-findings)")
        if self.outcome.unreadable:
            parts.append(f"{self.outcome.unreadable} failed")
        return ", ".join(parts)


def _write(pieces: Iterable[str], options: Options, *, to_stdout: bool) -> None:
    """Writes findings to the -o file, atomically at the end, or to standard output or error."""
    if options.output is not None:
        text = "".join(pieces)
        if options.quiet < 2:
            replace_file(options.output, text)
        return
    for piece in pieces:
        if options.quiet > 1:
            continue
        if to_stdout:
            # Formats for people are escaped already, and formats for programs contain no control
            # characters.
            write_out(piece, is_escaped=True)
        else:
            flush_out()
            sys.stderr.write(piece)


def _pieces(findings: Iterable[FileFinding], options: Options, style: Style) -> Iterator[str]:
    if options.statistics:
        statistics = import_module("hlotool.cli.rendering.rule_statistics").statistics
        return statistics(findings, as_json=options.output_format in _RECORDS)  # type: ignore[no-any-return]
    return FORMATS[options.output_format](findings, style)


def _summarize_for_github(report: VerifyReport) -> None:
    """Adds a table to the job summary, since GitHub shows only ten annotations."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path or report.options.output_format != "github":
        return
    table = "".join(FORMATS["markdown"](report.first, Style()))
    more = sum(report.severities.values()) - len(report.first)
    rest = f"\nand {more} more\n" if more > 0 else ""
    try:
        with open(path, "a", encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123  # faster than Path.open
            file.write(f"### hlotool verify: {report.summary()}\n\n{table}{rest}\n")
    except OSError as error:
        complain(f"cannot write '{path}': {error.strerror}")


def _write_baselines(results: Iterable[Checked], report: VerifyReport, baseline_of: Mapping[str, str | None]) -> None:
    """Writes all findings to the baselines of their files.

    If a file cannot be read, the baselines do not change.
    """
    options, outcome = report.options, report.outcome
    writer_for = import_module("hlotool.workspace.baseline").BaselineWriter
    # --baseline is written even if there are no files.
    writers = {path: writer_for(path) for path in dict.fromkeys([options.baseline, *baseline_of.values()]) if path is not None}
    files: Counter[str] = Counter()
    for result in results:
        report.take(result)
        path = str(baseline_of[result.name])
        writers[path].take(result.findings)
        files[path] += 1
    # Findings that are written to a baseline are not failures, but unreadable files are.
    outcome.exit_code = outcome.exit_code if outcome.unreadable else 0
    for path, writer in writers.items():
        if outcome.unreadable:
            complain(f"'{path}' was not written, since {counted(outcome.unreadable, 'file')} failed")
            continue
        writer.write()
        if not options.quiet:
            complain(f"{counted(writer.known.total(), 'finding')} in {counted(files[path], 'file')} written to '{path}'")


def _verify(
    work: Sequence[tuple[str, Checks]], baseline_of: Mapping[str, str | None], options: Options, outcome: Outcome, stdin_filename: str, *,
    to_stdout: bool,
) -> None:  # fmt: skip
    report = VerifyReport(outcome, options, baseline_of)
    with progress(len(work), "Verifying", quiet=bool(options.quiet)) as advance:
        if options.rewrites:
            results = import_module("hlotool.cli.rewriting").rewrite_files(work, options, outcome, stdin_filename)
        else:
            # Imported on use, since --help does not need the verifier.
            from hlotool.workspace.checking import CheckRequest, check_files  # noqa: PLC0415

            request = CheckRequest(stdin_filename, options.output_format != "concise", options.form)
            results = check_files(work, request, options.jobs)

        def advance_through() -> Iterator[Checked]:
            for result in results:
                advance(result.name)
                yield result

        if options.show_diff:
            for _ in advance_through():
                pass
        elif options.write_baseline:
            _write_baselines(advance_through(), report, baseline_of)
            return
        else:
            stream = sys.stdout if to_stdout and options.output is None else None
            _write(
                _pieces(report.findings(advance_through()), options, style_for(options.color, stream)._replace(files=report.files)),
                options,
                to_stdout=to_stdout,
            )
    _summarize_for_github(report)
    if options.quiet or options.show_diff:
        return
    if options.output_format == "text" and to_stdout and options.output is None and not options.statistics:
        write_out(report.summary() + "\n")
    else:
        complain(report.summary())


def _check_outputs(options: Options, inputs: Sequence[str | None], baseline_of: Mapping[str, str | None]) -> None:
    """Raises WriteError if an output would overwrite an input.

    Raises UsageError if there is no baseline to write.
    """
    baselines = list(dict.fromkeys([options.baseline, *baseline_of.values()]))
    if not options.write_baseline:
        check_outputs([options.output], [*inputs, *baselines])
        return
    if options.baseline is None and not all(baseline_of.values()):
        raise click.UsageError("--write-baseline requires --baseline FILE, or the key baseline in the settings")
    check_outputs([options.output, *baselines], inputs)


@click.command("verify", cls=HloCommand, help=_HELP, short_help="Report errors and suspicious code in HLO files.")
@files_argument
@click.option(
    "--output-format", type=click.Choice(list(FORMATS)), default="text", metavar="FORMAT", help=f"Output format: {', '.join(FORMATS)}; default: text."
)
@click.option("-o", "--output", metavar="FILE", type=click.Path(), help="Write the findings to FILE; - is standard output, the default.")
@rule_options
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "never"]),
    default="warning",
    help="Lowest severity that causes exit code 1; default: warning.",
)
@click.option("--exit-zero", is_flag=True, help="Exit with code 0 even if there are findings.")
@click.option("--max-findings", type=click.IntRange(min=0), metavar="N", help="Show at most N findings; the summary counts all of them.")
@click.option("--show-all", is_flag=True, help="Show all similar findings in text output, not only the first of each group.")
@click.option("--statistics", is_flag=True, help="Show the number of findings for each rule instead of the findings.")
@click.option("--fix", is_flag=True, help="Apply fixes that leave the results of modules unchanged.")
@click.option("--unsafe-fixes", is_flag=True, help="Also apply fixes that may change results; requires --fix or --diff.")
@click.option("--diff", "show_diff", is_flag=True, help="Write nothing; show the changes of --fix or --add-ignore as a diff.")
@click.option("--add-ignore", is_flag=True, help="Suppress all findings by adding comments to the files.")
@click_option("baseline", BASELINE_OPTIONS["baseline"])
@click.option("--no-baseline", is_flag=True, help="Use no baseline, not even the one in the settings.")
@click.option("--write-baseline", is_flag=True, help="Write all findings to the baseline instead of showing them.")
@click.option("--list-rules", is_flag=True, help="List all rules, and mark those that are selected.")
@click.option("--explain", metavar="CODE", shell_complete=complete_subjects, help="Explain a rule.")
@click.option("--show-settings", is_flag=True, help="Show the settings file, the settings and the selected rules for each FILE.")
@click.option(
    "-j", "--jobs", type=click.IntRange(min=0), default=0, metavar="N", help="Number of processes; 0, the default, chooses by the size of the files."
)
@color_option
@click.option("-q", "--quiet", count=True, help="Show no summary; -qq shows no findings either.")
@input_size_option
@stdin_filename_option
@input_form_options
@file_choice_options
def command(
    files: tuple[str, ...], choice: FileChoice, rules: RuleChoice, list_rules: bool, explain: str | None, show_settings: bool, stdin_filename: str,
    **values: Any,
) -> None:  # fmt: skip
    options = Options(**values)
    if options.output == "-":
        options = options._replace(output=None)
    outcome = Outcome(silent=options.quiet > 1)
    if explain is not None:
        with outcome.file(explain):
            write_out(import_module("hlotool.cli.explain").explain(explain, "json" if options.output_format in _RECORDS else "text"))
    elif list_rules:
        settings = choice.settings_of(files[0] if files else stdin_filename)
        write_out(import_module("hlotool.cli.explain").list_rules(rules.checks_for("", settings).selection, options.output_format in _RECORDS))
    elif show_settings:
        for name in files or ("module.hlo",):
            settings = choice.settings_of(name)
            write_out("".join(f"{line}\n" for line in settings_lines(rules, name, settings, options.baseline_for(settings))))
    else:
        options.validate()
        names, excludes_stdin = choose_files(choice, files, outcome)
        work, baseline_of = [], {}
        settings_files: dict[str, None] = {}
        for name in names:
            shown, settings = stdin_filename if name == STDIN else name, choice.settings_of(name)
            work.append((name, rules.checks_for(shown, settings)))
            # A file that cannot be read is reported under its argument, not under the name shown.
            baseline_of[name] = baseline_of[shown] = options.baseline_for(settings)
            if settings.origin is not None:
                settings_files[str(settings.origin)] = None
        _check_outputs(options, [*names, *settings_files], baseline_of)
        # If the rewritten text of standard input goes to standard output, findings go to standard
        # error.
        to_stdout = not (options.rewrites and (excludes_stdin or STDIN in names))
        _verify(work, baseline_of, options, outcome, stdin_filename, to_stdout=to_stdout)
        if excludes_stdin and options.rewrites and not options.show_diff:
            # An editor replaces its buffer with the output, so an excluded file is written
            # unchanged.
            write_out(read_input(STDIN, stdin_filename)[1])
    if options.exit_zero and outcome.exit_code == 1:
        outcome.exit_code = 0
    outcome.finish()
