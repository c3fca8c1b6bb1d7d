"""`hlotool run`: runs a module on given or made-up arguments and shows what it computes.

This module knows the options; what they come to is `run_session`'s work.
"""

from __future__ import annotations

import os
from typing import Any

import click

from hlotool.cli.inputs import Outcome, files_or_stdin
from hlotool.cli.options import color_option, stdin_filename_option
from hlotool.workspace.reading import read_input

__all__ = ["command"]

_HELP = """Run an HLO module.

FILE may be compressed (.gz, .xz, .zst); `-`, or nothing in a pipe, is standard input. The module is verified, and its entry computation
runs once on each device. Parameters that are given nothing get random values, the same for the same seed, that suit their uses: indices in
range, positive numbers under a root, weights that keep sums small. Standard error says what was assumed.

\b
Examples:
  hlotool run module.hlo
  hlotool run module.hlo --input x=2.5 --input weights=w.npy --input 2=zeros
  hlotool run module.hlo --inputs arguments.npz --output results.npz
  hlotool run before.hlo --against after.hlo --rtol 1e-3
  hlotool run module.hlo --check-nans --trace 'softmax|loss'
  hlotool print module.hlo --preset lossless | hlotool run --seed 7 --json
  hlotool run module.hlo --replicas 2 --partitions 4
  hlotool run module.hlo --custom-call my_kernel=my_package.kernels:my_kernel

\b
Arguments:
  A parameter is called by its name or number, an element of a tuple by its
  index after that: state.0, 2.1.0.
  --input NAME=VALUE takes a .npy file, a literal such as {{1,2},{3,4}}, or
  zeros, ones, iota, random.
  --inputs takes an .npz file with an entry for each parameter; entries
  called output... are passed over.

\b
Results:
  --output writes an .npz file with an entry `output`, or `output.0`,
  `output.1.2` for a tuple. Types that NumPy lacks are stored as raw bytes:
    numpy.load(FILE)["output"].view(ml_dtypes.bfloat16)
  They regain their type when they are given to a parameter.

\b
Comparing:
  An element agrees if |ours - theirs| <= atol + rtol * |theirs|. Without
  --rtol and --atol they are 1e-9 and 1e-12 for f64, 1e-4 and 1e-5 for f32,
  a few steps for narrower floats. Integers and pred must be equal; NaN
  equals NaN.

\b
Devices:
  All run in this process, in lockstep. Given arguments go to every device,
  random ones differ: device k draws them with seed N + k. The results of
  several devices are shown and written as a tuple, replica by replica.

\b
Exit codes:
  0 run; 1 results differ, or --check-nans found something; 2 a file cannot
  be read, parsed or run, or an argument does not fit; 3 a bug in hlotool
"""

_MODES = click.Choice(["zeros", "ones", "iota", "random"])


class _Number(click.FloatRange):
    """A number in a range; ranges alone let NaN through."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if number != number:
            self.fail("NaN is not in any range", param, ctx)
        return number


_TOLERANCE, _SECONDS = _Number(min=0), _Number(min=0, min_open=True)


def _split(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> list[tuple[str, str]]:
    """The names and values of --input."""
    pairs = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise click.UsageError(f"--input '{text}' is not of the form NAME=VALUE")
        pairs.append((name.strip().removeprefix("%"), value.strip()))
    return pairs


@click.command("run", help=_HELP, short_help="Run a module and show its results.")
@click.argument("file", required=False, metavar="[FILE|-]", type=click.Path())
@click.option("--seed", type=click.IntRange(min=0), metavar="N", help="Seed of random values; 0 unless given.")
@click.option("--inputs", metavar="FILE", type=click.Path(), help="Arguments from an .npz file.")
@click.option("--input", "arguments", multiple=True, callback=_split, metavar="NAME=VALUE", help="One argument; may be repeated.")
@click.option("-o", "--output", metavar="FILE", type=click.Path(), help="Write the results to FILE as .npz.")
@click.option("--compare", metavar="FILE", type=click.Path(), help="Compare the results with those in an .npz file.")
@click.option("--against", metavar="FILE", type=click.Path(), help="Compare the results with those of another module for the same arguments.")
@click.option("--rtol", type=_TOLERANCE, metavar="X", help="Relative tolerance of floats.")
@click.option("--atol", type=_TOLERANCE, metavar="X", help="Absolute tolerance of floats.")
@click.option("--trace", metavar="REGEX", help="Show shape and range of the values of instructions or computations with such a name.")
@click.option("--trace-out", metavar="FILE", type=click.Path(), help="Write the traced arrays to FILE as .npz.")
@click.option("--check-nans", is_flag=True, help="Stop at the first instruction that computes a NaN or an infinity.")
@click.option("--profile", is_flag=True, help="Show where the time goes, by opcode and instruction, and the peak memory.")
@click.option("--elided", type=_MODES, help="Values for constants written {...}, which are errors otherwise.")
@click.option("--max-iterations", type=click.IntRange(min=1), metavar="N", help="Give up when a loop takes more than N iterations.")
@click.option("--max-memory", metavar="SIZE", help="Do not start what needs more, such as 500M or 2GiB; this machine's memory unless given, or none.")
@click.option("--timeout", type=_SECONDS, metavar="SECONDS", help="Give up after SECONDS.")
@click.option("--verify/--no-verify", default=True, help="Whether to run only what is valid; the default is yes.")
@click.option("--json", "as_json", is_flag=True, help="Show results as JSON.")
@click.option("--replicas", type=click.IntRange(min=1), default=1, metavar="N", help="Run on N replicas.")
@click.option("--partitions", type=click.IntRange(min=1), default=1, metavar="N", help="Run on N partitions of each replica.")
@click.option(
    "--custom-call", "custom_calls", multiple=True, metavar="TARGET=MODULE:FUNCTION", help="The function that computes a custom-call's target."
)
@color_option
@click.option("-q", "--quiet", is_flag=True, help="Show no results and no remarks; errors and findings only.")
@stdin_filename_option
def command(file: str | None, stdin_filename: str, **options: Any) -> None:
    (path,) = files_or_stdin((file,) if file is not None else ())
    # OpenBLAS's own threads spin: beside other work, as on a build machine, they cost more than they bring.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    outcome = Outcome()
    with outcome.file(path):
        # NumPy comes with the interpreter, for this command only, and not for its --help.
        from hlotool.cli.run_request import RunRequest  # noqa: PLC0415
        from hlotool.cli.run_session import Session  # noqa: PLC0415
        from hlotool.interp.allocation import keep_freed_memory  # noqa: PLC0415

        keep_freed_memory()
        session = Session(RunRequest(**options), outcome)
        name, text = read_input(path, stdin_filename)
        session.run(name, text)
    outcome.finish()
