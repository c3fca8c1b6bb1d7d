"""`hlotool opt`: optimizes modules, and shows which rewrite did what.

This module defines the options; `opt_request` reads them, and `opt_session` does the work.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar

import click

from hlotool.cli.command import GROUPS, HloCommand
from hlotool.cli.completions import complete_computations, complete_flags, complete_instructions, complete_passes
from hlotool.cli.inputs import Outcome, choose_files
from hlotool.cli.interruption import PromptEnd
from hlotool.cli.options import color_option, file_choice_options, files_argument, input_form_options, input_size_option, seconds_type, size_type
from hlotool.cli.output import write_out
from hlotool.cli.print_flags import PRINT_OPTIONS, print_options
from hlotool.cli.progress import progress
from hlotool.cli.run.run_deadline import Deadline
from hlotool.optimizer.opt_options import FAST, FAST_MATH, FAST_MATH_GROUPS, OptimizeOptions
from hlotool.workspace.files import FileChoice, names_from
from hlotool.workspace.reading import STDIN
from hlotool.workspace.workers import map_in_order
from hlotool.workspace.writing import check_outputs

__all__ = ["command"]


_HELP = """Optimize HLO modules: make them smaller without changing their results.

The modules of all files are printed to standard output, with `// -----` between them. FILE may be
compressed (.gz, .xz, .zst); `-`, or no FILE in a pipe, means standard input. A folder stands for the
HLO files in it. Modules are verified first. Every rewrite keeps results equal bit for bit, except for
the payloads of NaNs, unless --fast-math allows more.

\b
Examples:
  hlotool opt module.hlo -o small.hlo
  hlotool opt module.hlo --passes 'fold,algsimp{max=3},dce' --diff
  hlotool opt module.hlo --explain --stats -o small.hlo
  hlotool opt module.hlo --explain-why-not add.7
  hlotool opt --in-place -j 4 dumps/
  hlotool opt module.hlo --verify-each --check 10
  hlotool opt --extract build.log | hlotool run
  hlotool opt module.hlo --load my_rules.py --passes my_rules --explain

\b
Passes:
  PASSES is a comma-separated list of passes and of groups of rewrite rules;
  --list-passes lists them. They run in rounds until nothing changes; the
  maximum number of rounds can follow a pass in braces: algsimp{max=3}.

\b
Your own rules:
  --load FILE.py runs a Python file, which can do anything that you can.
  It registers rules with @rule and passes with @named_pass; see
  docs/writing-a-rewrite.md.

\b
Exit codes:
  0  success, whether anything changed or not
  1  with --diff: something changed
  2  a file cannot be read, parsed, verified, checked or written
  3  a bug in hlotool, or a wrong rewrite (found by --verify-each or --check)
With -o, nothing is written if any input fails.
"""

_NAMES = ("passes", "level", "fast_math", "only", "max_constant_size", "max_unrolled_iterations", "bisect_limit", "load")


class OptCommand(HloCommand):
    """The `opt` command, with its own groups of options.

    `--fast-math` may be used with or without a value.
    """

    groups: ClassVar[Mapping[str, Sequence[str]]] = {
        "Passes and rules": _NAMES,
        "Reports, on standard error": ("stats", "explain", "explain_why_not", "print_after", "print_changed"),
        "Checks": ("verify", "verify_each", "check", "seed"),
        "Limits": GROUPS["Limits"],
        "Output": ("output", "in_place", "diff", "as_json", "color", "quiet", "verbose"),
        "Files": GROUPS["Files"],
        "Printing": ("base", *PRINT_OPTIONS),
        "Information": ("list_passes", "list_rules"),
    }

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # click would take the next word as the optional value.
        end = args.index("--") if "--" in args else len(args)
        for word, following in pairwise(args[:end]):
            if word == "--fast-math" and {*FAST_MATH, *FAST_MATH_GROUPS}.issuperset(following.split(",")):
                raise click.UsageError(f"--fast-math takes its flags after an equals sign: --fast-math={following}", ctx)
        words = [f"--fast-math={FAST}" if word == "--fast-math" else word for word in args[:end]]
        return super().parse_args(ctx, words + args[end:])


def _words(ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> tuple[str, ...]:
    """Splits the comma-separated lists of a repeatable option into words.

    Raises BadParameter for an empty word.
    """
    words = tuple(word.strip() for value in values for word in value.split(","))
    if "" in words:
        raise click.BadParameter("expected a list of names, separated by commas; a name is missing", ctx, param)
    return words


@click.command("opt", cls=OptCommand, help=_HELP, short_help="Make modules smaller without changing their results.")
@files_argument
@click.option("--passes", metavar="PASSES", shell_complete=complete_passes, help="Passes to run, such as 'fold,algsimp{max=3},dce'.")
@click.option("-O", "level", type=click.Choice(["0", "1", "2"]), help="Optimization level: -O0 runs no passes, -O1 only fast ones; default: -O2.")
@click.option(
    "--fast-math", multiple=True, metavar="[=FLAGS]", callback=_words, shell_complete=complete_flags,
    help="Also run rules that may change rounding, NaNs, infinities or signs of zeros, if they require only these flags, as in "
    "--fast-math=nnan,nsz. Without a value, all flags are set except 'precision', which allows removing conversions to narrower types and back.",
)  # fmt: skip
@click.option(
    "--only", multiple=True, metavar="COMPUTATION", shell_complete=complete_computations, help="Optimize only this computation; may be repeated."
)
@click.option("--max-constant-size", type=size_type, metavar="SIZE", help="Largest constant to compute ahead of time; default: 1M.")
@click.option(
    "--max-unrolled-iterations", type=click.IntRange(min=0), metavar="N",
    help=f"Unroll loops with at most N iterations (pass 'unroll'); default: {OptimizeOptions().max_unrolled_iterations}.",
)  # fmt: skip
@click.option("--bisect-limit", type=click.IntRange(min=0), metavar="N", help="Stop after N rewrites.")
@click.option("--load", multiple=True, metavar="FILE.py", type=click.Path(), help="Run this Python file, which registers rules or passes.")
@click.option("--stats", is_flag=True, help="Show the rewrites and the time of each pass and rule, and the number of instructions before and after.")
@click.option("--explain", is_flag=True, help="Show each rewrite: its rule and location, the original instruction, and the replacement.")
@click.option(
    "--explain-why-not",
    metavar="NAME",
    shell_complete=complete_instructions,
    help="Show why passes and matching rules do not change the instruction NAME.",
)
@click.option(
    "--print-after", multiple=True, metavar="PASS", callback=_words, shell_complete=complete_passes,
    help="Show the module after each run of PASS that changed it.",
)  # fmt: skip
@click.option("--print-changed", is_flag=True, help="Show the module after each run of a pass that changed it.")
@click.option("--verify/--no-verify", default=True, help="Verify modules first, and optimize those that are valid (default).")
@click.option("--verify-each", is_flag=True, help="Verify the module after each pass that changed it; on an error, name the pass and the rewrite.")
@click.option(
    "--check", type=click.IntRange(min=1), metavar="N",
    help="Run the module before and after optimization on N random inputs, on one device; if the results differ, name the first wrong rewrite. "
    "To compare on several devices, use hlotool run --against.",
)  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, metavar="N", help="Seed of the random inputs; default: 0.")
@click.option("-o", "--output", metavar="FILE", type=click.Path(), help="Write to FILE, unless an input fails; - is standard output, the default.")
@click.option("--in-place", is_flag=True, help="Rewrite the files in place; files with comments are errors, since the comments would be lost.")
@click.option("--diff", is_flag=True, help="Write nothing; show the changes of the printed text, and exit with code 1 if there are any.")
@click.option("--json", "as_json", is_flag=True, help="Print the reports as JSON instead of the modules.")
@click.option(
    "-j", "--jobs", type=click.IntRange(min=0), default=0, metavar="N", help="Number of processes; 0, the default, chooses by the size of the files."
)
@click.option("--max-memory", metavar="SIZE", help="Memory limit, such as 500M or 2GiB, or none; default: 80% of the available memory.")
@click.option("--timeout", type=seconds_type, metavar="SECONDS", help="Stop after SECONDS, even in the middle of an operation.")
@click.option("--files-from", metavar="FILE", type=click.Path(), help="Also optimize the files that FILE lists, one per line; - is standard input.")
@click.option("--stdin-filename", metavar="NAME", default="<stdin>", help="File name to use for standard input.")
@input_size_option
@input_form_options
@file_choice_options
@color_option
@click.option("-q", "--quiet", is_flag=True, help="Show only errors and the requested reports.")
@click.option("-v", "--verbose", is_flag=True, help="With --stats and --explain-why-not, also show rules that did not match.")
@print_options("lossless")
@click.option("--list-passes", is_flag=True, help="List passes and pipelines, and exit; with --json, as JSON.")
@click.option("--list-rules", is_flag=True, help="List rewrite rules with their flags, and exit; with --json, as JSON.")
def command(files: tuple[str, ...], choice: FileChoice, files_from: str | None, jobs: int, output: str | None, **options: Any) -> None:
    # Idle threads of OpenBLAS spin, which costs more time on a busy machine than the threads save.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _check_usage(options, output)
    with PromptEnd(), Deadline(options["timeout"], "optimization") as deadline:
        # Imported on use, since --help does not need NumPy.
        from hlotool.cli.opt.opt_request import job_of, listing  # noqa: PLC0415
        from hlotool.cli.opt.opt_session import OptReport, load, lost_file, optimize_file  # noqa: PLC0415

        load(options["load"])
        if options["list_passes"] or options["list_rules"]:
            write_out(listing(options))
            return
        outcome = Outcome()
        names = choose_files(choice, (*files, *(names_from(files_from) if files_from is not None else ())), outcome, files_from).names
        check_outputs([output], names)
        job = job_of(options)
        report = OptReport(job, outcome, output, quiet=options["quiet"], verbose=options["verbose"])
        work = [(name, None) for name in names]
        with progress(len(work), "Optimizing", quiet=options["quiet"]) as advance:
            for result in map_in_order(partial(optimize_file, job=job), work, jobs, lost_file):
                advance(result.name)
                report.take(result)
                deadline.check()
        report.finish()
    outcome.finish()


def _check_usage(options: Mapping[str, Any], output: str | None) -> None:
    """Raises UsageError for options that contradict each other."""
    writes = "--in-place" if options["in_place"] else "-o" if output is not None else None
    if options["in_place"] and output is not None:
        raise click.UsageError("--in-place rewrites each file, and -o writes one file; use one of the two")
    if options["diff"] and writes:
        raise click.UsageError(f"--diff writes nothing; it cannot be combined with {writes}")
    if options["in_place"] and options["form"].extract:
        raise click.UsageError("--extract reads modules inside other text; it cannot be combined with --in-place")
    if options["as_json"] and (options["diff"] or output == STDIN):
        raise click.UsageError(f"--json writes to standard output, and so does {'--diff' if options['diff'] else '-o -'}; use one of the two")
    if options["as_json"] and options["list_passes"] and options["list_rules"]:
        raise click.UsageError("--json prints one document; use one of --list-passes and --list-rules")
    if options["passes"] is not None and options["level"] is not None:
        raise click.UsageError("--passes and -O both choose the passes; use one of the two")
