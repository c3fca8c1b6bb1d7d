"""`hlotool run`: runs a module on given or random arguments, and shows the results.

This module defines the options; `run_session` does the work.
"""

from __future__ import annotations

import os
from typing import Any

import click

from hlotool.cli.command import HloCommand
from hlotool.cli.completions import complete_parameters
from hlotool.cli.inputs import Outcome, files_or_stdin
from hlotool.cli.interruption import PromptEnd
from hlotool.cli.options import color_option, input_form_options, input_size_option, number_type, seconds_type, stdin_filename_option
from hlotool.cli.run.run_deadline import Deadline
from hlotool.cli.run.run_request import RunRequest
from hlotool.workspace.reading import STDIN, read_input
from hlotool.workspace.writing import check_outputs

__all__ = ["command"]

_HELP = """Run an HLO module.

FILE may be compressed (.gz, .xz, .zst); `-`, or no FILE in a pipe, means standard input. The module is
verified, and its entry computation runs once on each device. Parameters without an argument get
random values that suit their uses: indices in range, positive numbers under a root, weights that keep
sums small. The same seed gives the same values, and -v lists the assumptions about them.

\b
Examples:
  hlotool run module.hlo
  hlotool run module.hlo --input x=2.5 --input weights=w.npy --input 2=zeros
  hlotool run module.hlo --inputs arguments.npz --output results.npz
  hlotool run before.hlo --against after.hlo --rtol 1e-3
  hlotool run module.hlo --check-nans --trace 'softmax|loss'
  hlotool print module.hlo --preset lossless | hlotool run --seed 7 --json
  hlotool run module.hlo --show-plan
  hlotool run module.hlo --threads 4
  hlotool run module.hlo --replicas 2 --partitions 4
  hlotool run module.hlo --custom-call my_kernel=my_package.kernels:my_kernel

\b
Arguments:
  NAME is the name or number of a parameter, followed by an index for an
  element of a tuple: state.0, 2.1.0. If only one parameter matches, x
  stands for x.1, and JAX's name in the metadata is accepted, too.
  --input NAME=VALUE takes an .npy file, a literal such as {{1,2},{3,4}}, a
  number for all elements, or one of zeros, ones, iota and random.
  --inputs takes an .npz file with an entry for each parameter: by name, or
  in order, as numpy.savez(FILE, a, b) stores them. Entries whose names
  begin with `output` are ignored.

\b
Results:
  --output writes an .npz file with an entry `output`, or `output.0`,
  `output.1.2` for a tuple, and `device1.output` with several devices.
  Types that NumPy lacks are stored as raw bytes:
    numpy.load(FILE)["output"].view(ml_dtypes.bfloat16)
  If such an array is used as an argument, it gets the parameter's type.

\b
Comparing:
  An element agrees if |ours - theirs| <= atol + rtol * |theirs|. The
  defaults of rtol and atol are 1e-9 and 1e-12 for f64, 1e-4 and 1e-5 for
  f32, and a few steps for narrower floats. Integers and pred must be
  equal. NaN equals NaN.

\b
Devices:
  All devices run in this process, in lockstep; the module's header gives
  their number. They share the arguments of --input and --inputs. Random
  arguments differ: device k draws them with seed N + k, except that devices
  to which the sharding assigns the same part get the same numbers. A module
  that is not partitioned yet runs once if all its devices would compute the
  same values.

\b
Exit codes:
  0 success; 1 results differ, or a check found a NaN or an infinity;
  2 a file cannot be read, parsed or run, or an argument does not fit;
  3 a bug in hlotool
"""

_MODES = click.Choice(["zeros", "ones", "iota", "random"])


def _split(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> list[tuple[str, str]]:
    """Returns the names and values of --input."""
    pairs = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            hint = f"; to read several arrays from a file, use --inputs {text}" if text.endswith(".npz") else ""
            raise click.UsageError(f"--input '{text}' is not of the form NAME=VALUE{hint}")
        pairs.append((name.strip().removeprefix("%"), value.strip()))
    return pairs


@click.command("run", cls=HloCommand, help=_HELP, short_help="Run a module and show its results.")
@click.argument("files", nargs=-1, metavar="[FILE|-]", type=click.Path())
@click.option("--seed", type=click.IntRange(min=0), metavar="N", help="Seed of random values; default: 0.")
@click.option("--inputs", metavar="FILE", type=click.Path(), help="Arguments from an .npz file.")
@click.option(
    "--input", "arguments", multiple=True, callback=_split, metavar="NAME=VALUE", shell_complete=complete_parameters,
    help="Argument for one parameter; may be repeated.",
)  # fmt: skip
@click.option("-o", "--output", metavar="FILE", type=click.Path(), help="Write the results to an .npz file.")
@click.option("--compare", metavar="FILE", type=click.Path(), help="Compare the results with those in an .npz file.")
@click.option("--against", metavar="FILE", type=click.Path(), help="Compare the results with those of another module on the same arguments.")
@click.option("--rtol", type=number_type, metavar="X", help="Relative tolerance of floats.")
@click.option("--atol", type=number_type, metavar="X", help="Absolute tolerance of floats.")
@click.option("--trace", metavar="REGEX", help="Show the type and the range of values, for instructions and computations whose names match.")
@click.option("--trace-out", metavar="FILE", type=click.Path(), help="Write the traced arrays to an .npz file.")
@click.option("--check-nans", is_flag=True, help="Stop at the first instruction that computes a NaN from operands without one.")
@click.option("--check-infs", is_flag=True, help="Stop at the first instruction that computes an infinity from finite operands.")
@click.option("--profile", is_flag=True, help="Show the time by opcode and by instruction, and the peak memory.")
@click.option(
    "--executor", type=click.Choice(["auto", "plan", "reference"]), default="auto", show_default=True,
    help="Run as compiled Python code (plan), instruction by instruction (reference), or with the faster of the two (auto).",
)  # fmt: skip
@click.option("--show-plan", is_flag=True, help="Print the Python code that the module is compiled to, instead of running it.")
@click.option(
    "--threads", type=click.IntRange(min=1), default=1, metavar="N",
    help="Number of threads for large arrays and matrix products; default: 1. With more threads, matrix products may add terms in a different order.",
)  # fmt: skip
@click.option("--elided", type=_MODES, help="Values to use for constants written {...}; without this option, they are errors.")
@click.option("--max-iterations", type=click.IntRange(min=1), metavar="N", help="Stop if a loop takes more than N iterations.")
@click.option("--max-memory", metavar="SIZE", help="Memory limit, such as 500M or 2GiB, or none; default: 80% of the available memory.")
@click.option("--timeout", type=seconds_type, metavar="SECONDS", help="Stop after SECONDS, even in the middle of an operation.")
@click.option("--verify/--no-verify", default=True, help="Verify the module first, and run it only if it is valid (default).")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@click.option("--replicas", type=click.IntRange(min=1), metavar="N", help="Number of replicas; default: the module's replica_count.")
@click.option("--partitions", type=click.IntRange(min=1), metavar="N", help="Number of partitions per replica; default: the module's num_partitions.")
@click.option(
    "--custom-call", "custom_calls", multiple=True, metavar="TARGET=MODULE:FUNCTION", help="Python function that implements a custom-call target."
)
@color_option
@click.option("-q", "--quiet", is_flag=True, help="Show only errors and findings.")
@click.option("-v", "--verbose", is_flag=True, help="List the assumptions about random values.")
@input_size_option
@stdin_filename_option
@input_form_options
def command(files: tuple[str, ...], stdin_filename: str, **options: Any) -> None:
    if len(files) > 1:
        first, second, *_ = files
        raise click.UsageError(f"run takes one FILE; to compare two, use hlotool run {first} --against {second}")
    (path,) = files_or_stdin(files, options["against"])
    if STDIN in (options["output"], options["trace_out"]):
        raise click.UsageError("arrays are written to a file, not to standard output; --json prints them")
    # Idle threads of OpenBLAS spin, which slows down a busy machine more than the threads help
    # here, unless --threads requests them.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", str(options["threads"]))
    outcome = Outcome()
    with outcome.file(path):
        # Imported on use, since --help does not need NumPy.
        from hlotool.cli.run.run_session import Session  # noqa: PLC0415
        from hlotool.interp.arguments.argument_files import is_array_file  # noqa: PLC0415
        from hlotool.interp.engine.allocation import keep_freed_memory, memory_limit  # noqa: PLC0415

        arrays = [value for _, value in options["arguments"] if is_array_file(value)]
        check_outputs([options["output"], options["trace_out"]], [path, options["inputs"], options["compare"], options["against"], *arrays])
        keep_freed_memory()
        deadline = Deadline(options["timeout"])
        with PromptEnd(), deadline:
            # Imports the modules of --custom-call, which may take arbitrarily long.
            session = Session(RunRequest(**options), outcome, deadline)
            with memory_limit(session.limit):
                name, text = read_input(path, stdin_filename)
                session.run(name, text)
    outcome.finish()
