"""`hlotool run`: runs a module on given or made-up arguments and shows what it computes.

Computing, reading arguments and showing arrays are the interpreter's work; this module connects them.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

import hlotool
from hlotool.cli.inputs import Outcome, files_or_stdin, read_input
from hlotool.cli.options import color_option, stdin_filename_option
from hlotool.cli.output import complain, replace_file, write_out
from hlotool.cli.render import render_to_stderr, style_for
from hlotool.errors import EvaluationError, HlotoolError, ParseError, Source
from hlotool.shapes.shape import tuple_shape

__all__ = ["command"]

_HELP = """Run an HLO module.

FILE may be compressed (.gz, .xz, .zst); `-`, or nothing in a pipe, is standard input. The entry computation runs once on each device.
Parameters that are given nothing get random values, the same for the same seed: floats normally distributed, integers from -8 to 8.

\b
Examples:
  hlotool run module.hlo
  hlotool run module.hlo --input x=2.5 --input weights=w.npy --input 2=zeros
  hlotool run module.hlo --inputs arguments.npz --output results.npz
  hlotool print module.hlo --preset lossless | hlotool run --seed 7 --json
  hlotool run module.hlo --replicas 2 --partitions 4
  hlotool run module.hlo --custom-call my_kernel=my_package.kernels:my_kernel

\b
Arguments:
  A parameter is called by its name or number, an element of a tuple by its
  index behind that: state.0, 2.1.0.
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
Devices:
  All run in this process, in lockstep. Given arguments go to every device,
  random ones differ: device k draws them with seed N + k. The results of
  several devices are shown and written as a tuple, replica by replica.

\b
Exit codes:
  0 run; 2 a file cannot be read, parsed or run, or an argument does not
  fit; 3 a bug in hlotool
"""

_MODES = click.Choice(["zeros", "ones", "iota", "random"])


def _split(given: tuple[str, ...]) -> list[tuple[str, str]]:
    pairs = []
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise click.UsageError(f"--input '{text}' is not of the form NAME=VALUE")
        pairs.append((name.strip().removeprefix("%"), value.strip()))
    return pairs


def _arguments(module: Any, inputs: str | None, given: list[tuple[str, str]], seed: int | None, quiet: bool, devices: int) -> list[Any]:
    """The values of all parameters for each device; what is made up is said on standard error."""
    from hlotool.interp.files import Arguments, read_npz  # noqa: PLC0415  # NumPy comes with the interpreter, for this command only

    arguments = Arguments(module)
    if inputs is not None:
        arguments.give_all(read_npz(inputs), inputs)
    for name, text in given:
        arguments.give(name, text)
    missing = arguments.missing()
    if missing and inputs is not None and seed is None:
        raise HlotoolError(f"'{inputs}' has no value for parameter '{missing[0]}'; give it with --input, or --seed N for random values")
    if missing and not quiet:
        complain(f"random values (seed {seed or 0}) for {', '.join(missing[:8])}{f' and {len(missing) - 8} more' if len(missing) > 8 else ''}")
    return [arguments.values_or_random((seed or 0) + device) for device in range(devices)]


def _together(values: list[Any], shape: Any) -> tuple[Any, Any]:
    """The value of the one device, or a tuple of those of all, with its shape."""
    return (values[0], shape) if len(values) == 1 else (tuple(values), tuple_shape([shape] * len(values)))


def _options(elided: str | None, seed: int | None, max_iterations: int | None, timeout: float | None, custom_calls: tuple[str, ...]) -> Any:
    from hlotool.interp.custom_calls import load_handler  # noqa: PLC0415  # as above

    handlers = {}
    for given in custom_calls:
        # Targets may hold anything, functions have names.
        target, equals, place = given.rpartition("=")
        if not equals or not target:
            raise click.UsageError(f"--custom-call '{given}' is not of the form TARGET=MODULE:FUNCTION")
        # As for `python -m`, modules beside the user come first.
        sys.path.insert(0, str(Path.cwd()))
        handlers[target] = load_handler(place)
    return hlotool.RunOptions(elided, seed or 0, max_iterations, timeout, handlers)


def _module(text: str, name: str) -> Any:
    modules = hlotool.parse_all(text, name)
    if len(modules) != 1:
        raise HlotoolError(f"'{name}' holds {len(modules)} modules; run takes one at a time")
    return modules[0]


@click.command("run", help=_HELP, short_help="Run a module and show its results.")
@click.argument("file", required=False, metavar="[FILE|-]", type=click.Path())
@click.option("--seed", type=click.IntRange(min=0), metavar="N", help="Seed of random values; 0 unless given.")
@click.option("--inputs", metavar="FILE", type=click.Path(), help="Arguments from an .npz file.")
@click.option("--input", "given", multiple=True, metavar="NAME=VALUE", help="One argument; may be repeated.")
@click.option("-o", "--output", metavar="FILE", type=click.Path(), help="Write the results to FILE as .npz.")
@click.option("--elided", type=_MODES, help="Values for constants written {...}, which are errors otherwise.")
@click.option("--max-iterations", type=click.IntRange(min=1), metavar="N", help="Give up when a loop takes more than N rounds.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="Give up after SECONDS.")
@click.option("--json", "as_json", is_flag=True, help="Show results as JSON.")
@click.option("--replicas", type=click.IntRange(min=1), default=1, metavar="N", help="Run on N replicas.")
@click.option("--partitions", type=click.IntRange(min=1), default=1, metavar="N", help="Run on N partitions of each replica.")
@click.option("--custom-call", "custom_calls", multiple=True, metavar="TARGET=MODULE:FUNCTION", help="Who computes a custom-call's target.")
@color_option
@click.option("-q", "--quiet", is_flag=True, help="Show no results and no remarks; errors only.")
@stdin_filename_option
def command(
    file: str | None,
    seed: int | None,
    inputs: str | None,
    given: tuple[str, ...],
    output: str | None,
    elided: str | None,
    max_iterations: int | None,
    timeout: float | None,
    as_json: bool,
    replicas: int,
    partitions: int,
    custom_calls: tuple[str, ...],
    color: str,
    quiet: bool,
    stdin_filename: str,
) -> None:
    pairs = _split(given)
    (path,) = files_or_stdin((file,) if file is not None else ())
    # OpenBLAS's own threads spin: beside other work, as on a build machine, they cost more than they bring.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    outcome = Outcome()
    with outcome.file(path):
        name, text = read_input(path, stdin_filename)
        try:
            module = _module(text, name)
            options = _options(elided, seed, max_iterations, timeout, custom_calls)
            arguments = _arguments(module, inputs, pairs, seed, quiet, replicas * partitions)
            values = hlotool.evaluate_replicas(module, arguments, num_partitions=partitions, options=options)
            _show(*_together(values, module.entry.root.shape), output, as_json=as_json, quiet=quiet)
        except (ParseError, EvaluationError) as error:
            outcome.at_least(error.exit_code)
            render_to_stderr(error.diagnostics, Source(text, name).line_text, color)
    outcome.finish()


def _show(value: Any, shape: Any, output: str | None, *, as_json: bool, quiet: bool) -> None:
    from hlotool.interp import files, report  # noqa: PLC0415  # as above

    if output is not None:
        replace_file(output, files.npz_bytes(value, shape))
    if as_json:
        write_out(report.as_json(value, shape))
    elif not quiet:
        for line in report.as_text(value, shape, style_for("never", sys.stdout).width):
            write_out(line + "\n")
