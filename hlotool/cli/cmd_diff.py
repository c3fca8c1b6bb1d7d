"""`hlotool diff`: shows the changes from one module to another.

This module defines the options; `diff_session` compares and renders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import click

from hlotool.cli.command import GROUPS, HloCommand
from hlotool.cli.completions import complete_categories
from hlotool.cli.diff.diff_options import FOLDER_OPTIONS, FolderChoice, folder_options
from hlotool.cli.inputs import Outcome, files_or_stdin
from hlotool.cli.interruption import PromptEnd
from hlotool.cli.options import color_option, input_form_options, input_size_option, number_type, stdin_filename_option
from hlotool.cli.run.run_deadline import Deadline
from hlotool.differ.categories import CATEGORIES, check_categories
from hlotool.workspace.writing import check_outputs

__all__ = ["command"]

_HELP = """Show what changed from module A to module B.

Instructions are compared by what they compute, not by names and lines: a module that was only
renumbered is "equal except for names". A and B may be compressed (.gz, .xz, .zst), and one of them
may be `-`, standard input. Identical changes are shown once, with a count.

A and B may also be folders. Their modules are paired by content, and each pair that differs is
summarized on one line. With --passes, the files are the dumps of one module after each pass, and each
pass that changed the module is summarized on one line.

With --semantic, both modules run on the same random inputs. The report shows the first instruction
whose values differ, and the exit code is 1 if the results differ. Constants written {...} get the same
values on both sides.

\b
Examples:
  hlotool diff before.hlo after.hlo
  hlotool diff before.hlo after.hlo --ignore names,metadata
  hlotool diff before.hlo after.hlo --only opcode,operands --show-all
  hlotool diff before.hlo after.hlo --stat
  hlotool diff before.hlo after.hlo --side-by-side -U 3
  hlotool diff before.hlo after.hlo --semantic --n 5 --rtol 1e-3
  hlotool diff before.hlo after.hlo --output-format html -o diff.html
  hlotool diff --patch before.hlo after.hlo > change.patch
  hlotool diff before/ after/ --ignore names,metadata --details
  hlotool diff --passes dumps/
  hlotool diff --passes dumps/ --module jit_step --until opcode=all-gather
  zcat new.hlo.gz | hlotool diff old.hlo - --output-format json

\b
Categories, for --ignore and --only:
CATEGORIES

\b
Exit codes:
  0  no differences, apart from ignored ones; with --semantic: equal results
  1  differences; with --semantic: different results
  2  bad usage, or a file cannot be read, parsed or run
  3  a bug in hlotool
"""

_RUN_OPTIONS = ("n", "seed", "rtol", "atol", "elided")
_FILLS = ("zeros", "ones", "iota", "random")
_FORMATS = ("text", "json", "markdown", "html", "patch")


class DiffCommand(HloCommand):
    """The `diff` command, with its own groups of options."""

    groups: ClassVar[Mapping[str, Sequence[str]]] = {
        "Differences": ("ignore", "only"),
        "Values": ("semantic", "n", "seed", "rtol", "atol", "elided"),
        "Folders and passes": FOLDER_OPTIONS,
        "Amount of output": ("stat", "name_only", "side_by_side", "unified", "width", "show_all"),
        "Limits": GROUPS["Limits"],
        "Output": ("patch", "output_format", "output", "color", "no_pager", "quiet"),
        "Files": GROUPS["Files"],
        "Information": GROUPS["Information"],
    }


def _words(ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> tuple[str, ...]:
    """Splits the comma-separated lists of a repeatable option into words."""
    return tuple(word.strip() for value in values for word in value.split(",") if word.strip())


@click.command(
    "diff",
    cls=DiffCommand,
    help=_HELP.replace("CATEGORIES", "\n".join(f"  {name:<19}  {text}" for name, text in CATEGORIES.items())),
    short_help="Show what changed between modules, folders or passes.",
)
@click.argument("files", metavar="A B", nargs=-1, type=click.Path())
@click.option(
    "--ignore", multiple=True, metavar="CATEGORY,...", callback=_words, shell_complete=complete_categories,
    help="Categories of differences to ignore; may be repeated.",
)  # fmt: skip
@click.option(
    "--only", multiple=True, metavar="CATEGORY,...", callback=_words, shell_complete=complete_categories,
    help="Categories of differences to report, instead of all; may be repeated.",
)  # fmt: skip
@click.option(
    "--semantic",
    is_flag=True,
    help="Run the modules on the same inputs, and show the first instruction whose values differ; with --passes, the pass that changed the results.",
)
@click.option("--n", type=click.IntRange(min=1), metavar="N", help="With --semantic: number of random inputs; default: 1, or 3 with --passes.")
@click.option("--seed", type=click.IntRange(min=0), metavar="N", help="With --semantic: seed of the inputs; default: 0.")
@click.option("--rtol", type=number_type, metavar="X", help="With --semantic: relative tolerance of floats, as in run --against.")
@click.option("--atol", type=number_type, metavar="X", help="With --semantic: absolute tolerance of floats.")
@click.option("--elided", type=click.Choice(_FILLS), metavar="FILL",
    help=f"With --semantic: values for constants written {{...}}: {', '.join(_FILLS)}; default: iota.",
)  # fmt: skip
@click.option("--stat", is_flag=True, help="Show only the number of changes in each computation, and the statistics that changed.")
@click.option(
    "--name-only", is_flag=True, help="Show only `~ COMPUTATION/INSTRUCTION` for changed instructions, with + for inserted and - for deleted ones."
)
@click.option("-y", "--side-by-side", is_flag=True, help="Show both sides in two columns, as wide as the terminal.")
@click.option(
    "-U", "--unified", type=click.IntRange(min=0), default=0, metavar="N", help="Show N instructions before and after each difference; default: 0."
)
@click.option(
    "--width", type=click.IntRange(min=0), metavar="N", help="Maximum length of a line, 0 for no limit; default: the width of the terminal, or 120."
)
@click.option("--show-all", is_flag=True, help="Show every difference, including those that repeat others.")
@click.option("-p", "--patch", is_flag=True, help="Write a patch that `hlotool apply` can apply, even to a renumbered module.")
@click.option("--output-format", type=click.Choice(_FORMATS), metavar="FORMAT", help=f"Output format: {', '.join(_FORMATS)}; default: text.")
@click.option("-o", "--output", metavar="FILE", type=click.Path(), help="Write to FILE; - is standard output, the default.")
@color_option
@click.option("--no-pager", is_flag=True, help="Do not use a pager ($HLOTOOL_PAGER, $PAGER or less) on a terminal.")
@click.option("-q", "--quiet", is_flag=True, help="Show nothing; exit with code 0 if nothing differs, and with 1 if something does.")
@click.option("--max-memory", metavar="SIZE", help="Memory limit, such as 500M or 2GiB, or none; default: 80% of the available memory.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="Stop after SECONDS.")
@input_size_option
@stdin_filename_option
@input_form_options
@folder_options
def command(files: tuple[str, ...], choice: FolderChoice, output: str | None, timeout: float | None, max_memory: str | None, **options: Any) -> None:
    if options.pop("patch"):
        if options["output_format"] not in (None, "patch"):
            raise click.UsageError(f"--patch is --output-format patch; it cannot be combined with --output-format {options['output_format']}")
        options["output_format"] = "patch"
    options["output_format"] = options["output_format"] or "text"
    _check_usage(options)
    compares_many = choice.compares_many(files)
    if compares_many:
        choice.check(options)
    files_or_stdin(files)
    check_outputs([output], files)
    outcome = Outcome()
    with PromptEnd(), Deadline(timeout, "comparison") as deadline:
        # Imported on use, since --help does not need NumPy.
        from hlotool.cli.diff.diff_session import DiffRequest, compare  # noqa: PLC0415
        from hlotool.cli.run.memory_option import memory_limit_of  # noqa: PLC0415

        values = {name: options[name] for name in DiffRequest._fields if name in options}
        values["semantic"] = _run_choice(options)
        request = DiffRequest(files[0], files[-1], output=None if output == "-" else output, max_memory=memory_limit_of(max_memory), **values)
        if compares_many:
            from hlotool.cli.diff.diff_folders import compare_folders  # noqa: PLC0415
            from hlotool.cli.diff.diff_many import ManyRequest  # noqa: PLC0415
            from hlotool.cli.diff.diff_passes import compare_passes  # noqa: PLC0415

            many = ManyRequest.of(request, choice)
            if not choice.passes:
                compare_folders(many, outcome, deadline)
            elif options["semantic"]:
                from hlotool.cli.diff.diff_pass_results import compare_pass_results  # noqa: PLC0415

                compare_pass_results(files, many, outcome, deadline)
            else:
                compare_passes(files, many, outcome, deadline)
        else:
            compare(request, outcome, deadline)
    outcome.finish()


def _run_choice(options: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns the options of --semantic that are set, or None without --semantic."""
    return {name: options[name] for name in _RUN_OPTIONS if options[name] is not None} if options["semantic"] else None


def _check_usage(options: Mapping[str, Any]) -> None:
    """Raises UsageError for contradictory options and for unknown categories."""
    for name in ("ignore", "only"):
        try:
            check_categories(options[name])
        except ValueError as error:
            raise click.UsageError(f"--{name}: {error}") from error
    if options["stat"] and options["name_only"]:
        raise click.UsageError("--stat and --name-only both choose what is shown; use one of the two")
    if options["side_by_side"] and (options["stat"] or options["name_only"]):
        raise click.UsageError(
            f"--side-by-side cannot be combined with {'--stat' if options['stat'] else '--name-only'}, which shows no instructions"
        )
    shown = next((f"--{name.replace('_', '-')}" for name in ("stat", "name_only", "side_by_side") if options[name]), None)
    if shown is not None and options["output_format"] != "text":
        raise click.UsageError(f"{shown} applies to text only; it cannot be combined with --output-format {options['output_format']}")
    if not options["semantic"]:
        useless = next((name for name in _RUN_OPTIONS if options[name] is not None), None)
        if useless is not None:
            raise click.UsageError(f"--{useless} requires --semantic")
    elif shown is not None or options["output_format"] not in ("text", "json"):
        raise click.UsageError(f"--semantic shows values; it cannot be combined with {shown or '--output-format ' + options['output_format']}")
