"""Measures how time and memory grow with the size of modules.

Usage: `python tests/tools/scaling.py [NAME ...] [--operations parse,run] [--memory]`.

A module of each family in `families.py` is generated at one size and at four times that size. Work
that grows with the power 1.3 of the size then takes six times as long. Work that grows linearly
takes four times as long, or less if most of the time is start-up.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import math
import signal
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from random import Random
from types import FrameType
from typing import NamedTuple

from edit_modules import edit_module, renamed
from families import FAMILIES, Family

import hlotool
from hlotool.errors import HlotoolError
from hlotool.interp.arguments.argument_files import Arguments
from hlotool.text.print.print_options import PrintOptions

__all__ = ["MAX_EXPONENT", "OPERATIONS", "Overdue", "Scaling", "memory_scaling", "processor_seconds", "slowdown", "time_scaling"]

FACTOR = 4
"""The ratio of the sizes of the two modules of a family."""
MAX_EXPONENT = 1.3
MEASURABLE = 0.03
"""The minimum time for the larger module in seconds; shorter times are not compared."""
MEASURABLE_BYTES = 4_000_000

Operation = Callable[[], object]


class Overdue(BaseException):
    """Raised when an operation takes too long.

    It is not an Exception, so that no handler mistakes it for an error in the module.
    """


class Scaling(NamedTuple):
    """The costs of an operation for a small and a large module, in seconds or bytes.

    `output` is the ratio of the sizes of the two outputs, if it matters for the operation.
    """

    small: float
    large: float
    output: float = FACTOR

    @property
    def exponent(self) -> float:
        """The exponent with which the cost grows, relative to the growth of the output."""
        return math.log(self.large / max(self.small, 1e-9) / max(1.0, self.output / FACTOR), FACTOR)


# ---- operations -------------------------------------------------------------------------------------------------------
# Each function takes the text of a module and returns the function to measure.


def parse(text: str) -> Operation:
    return lambda: hlotool.parse_all(text)


def fmt(text: str) -> Operation:
    return lambda: len(hlotool.format_text(text))


def verify(text: str) -> Operation:
    module = hlotool.parse_all(text, strict=False)[0]
    return lambda: hlotool.verify(module, select=["ALL"])


def print_lossless(text: str) -> Operation:
    modules = hlotool.parse_all(text)
    return lambda: sum(len(hlotool.to_text(module)) for module in modules)


def print_as_xla(text: str) -> Operation:
    modules = hlotool.parse_all(text)
    return lambda: sum(len(hlotool.to_text(module, PrintOptions.xla_default())) for module in modules)


def run(text: str) -> Operation:
    module = hlotool.parse(text)

    def evaluate() -> None:
        arguments = Arguments(module)
        arguments.missing()
        arguments.assumed()
        hlotool.evaluate(module, arguments.values_or_random(0), options=hlotool.RunOptions(max_memory=1 << 30))

    return evaluate


def opt(text: str) -> Operation:
    modules = hlotool.parse_all(text)
    return lambda: sum(len(hlotool.to_text(hlotool.optimize(module))) for module in modules)


def diff(text: str) -> Operation:
    """Compares a module with a copy that has ten edits and other names."""
    module = hlotool.parse(text)
    edited = edit_module(module, 10, Random(0))
    other = renamed(module if edited is None else edited.module, Random(1))
    return lambda: hlotool.diff(module, other).to_dict()


OPERATIONS: dict[str, Callable[[str], Operation]] = {
    "parse": parse,
    "print": print_lossless,
    "print as XLA": print_as_xla,
    "fmt": fmt,
    "verify": verify,
    "run": run,
    "opt": opt,
    "diff": diff,
}


# ---- measuring --------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Raises Overdue if the `with` block takes more than `seconds` of processor time."""

    def ended(number: int, frame: FrameType | None) -> None:
        raise Overdue

    before = signal.signal(signal.SIGPROF, ended)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def attempt(operation: str, text: str) -> tuple[float, float]:
    """Returns the processor time in seconds, and the length of the output or 0.

    Modules with errors are measured, too.
    """
    start = time.process_time()
    result: object = None
    with contextlib.suppress(HlotoolError):
        work = OPERATIONS[operation](text)
        gc.collect()
        start = time.process_time()
        result = work()
    return time.process_time() - start, float(result) if isinstance(result, int) else 0.0


def time_scaling(operation: str, family: Family, *, attempts: int = 8, seconds: float = 5.0) -> Scaling | None:
    """Returns the growth of the time, or None if the time is too short to measure.

    Raises Overdue if an attempt takes longer than `seconds`.

    Repeats the measurement until the growth is linear. The minimum of several times is least
    disturbed by other processes. However, the processor may run faster for only a few seconds, so
    the growth is also computed for each pair of consecutive measurements.
    """
    small_text, large_text = family.make(family.size), family.make(FACTOR * family.size)
    small = large = math.inf
    measured = Scaling(0, 0)
    for k in range(attempts):
        time.sleep(0.05 * k)
        with limit(seconds):
            (small_time, small_output), (large_time, large_output) = attempt(operation, small_text), attempt(operation, large_text)
        small, large = min(small, small_time), min(large, large_time)
        output = large_output / small_output if small_output else FACTOR
        if large < MEASURABLE:
            return None
        measured = min(Scaling(small, large, output), Scaling(small_time, large_time, output), key=lambda pair: pair.exponent)
        if measured.exponent < MAX_EXPONENT:
            break
    return measured


def slowdown(work: Callable[[str], object], small: str, large: str, most: float, *, negligible: float = 0.05, attempts: int = 12) -> float:
    """Returns the time that `work` takes for the large text, divided by that for the small text.

    Returns 0 if the large text takes less than `negligible` seconds.

    Repeats the measurement until the ratio is at most `most`. The pauses between measurements
    become longer and longer, to outlast other work on the machine. As in `time_scaling`, the ratio is
    also computed for each pair of consecutive measurements.
    """
    least_small = least_large = least = math.inf
    for k in range(attempts):
        time.sleep(0.1 * k)
        small_time, large_time = processor_seconds(work, small), processor_seconds(work, large)
        least_small, least_large = min(least_small, small_time), min(least_large, large_time)
        if least_large < negligible:
            return 0
        least = min(least, large_time / small_time, least_large / least_small)
        if least <= most:
            break
    return least


def processor_seconds(work: Callable[[str], object], text: str) -> float:
    """Returns the processor time that `work` takes for a text."""
    gc.collect()
    start = time.process_time()
    work(text)
    return time.process_time() - start


def memory_scaling(operation: str, family: Family) -> Scaling | None:
    """Returns the growth of the peak of allocated memory, or None if the peak is small."""
    small, large = (peak_memory(operation, family.make(size)) for size in (family.size, FACTOR * family.size))
    return Scaling(small, large) if large >= MEASURABLE_BYTES else None


def peak_memory(operation: str, text: str) -> float:
    tracemalloc.start()
    try:
        with contextlib.suppress(HlotoolError):
            work = OPERATIONS[operation](text)
            tracemalloc.reset_peak()
            work()
        return float(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()


# ---- command line -----------------------------------------------------------------------------------------------------


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of the names of families; default: all")
    parser.add_argument("--operations", default=",".join(OPERATIONS), help="operations to measure, separated by commas; default: all")
    parser.add_argument("--sample", type=int, help="number of families to measure, drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="seed for --sample")
    parser.add_argument("--memory", action="store_true", help="measure memory instead of time")
    parser.add_argument("--all", action="store_true", help="also list linear growth")
    options = parser.parse_args()
    failed = 0
    names = [name for name in FAMILIES if not options.names or any(part in name for part in options.names)]
    if options.sample is not None:
        names = Random(options.seed).sample(names, min(options.sample, len(names)))
    for name in names:
        family = FAMILIES[name]
        for operation in options.operations.split(","):
            try:
                measured = memory_scaling(operation, family) if options.memory else time_scaling(operation, family, attempts=3)
            except Overdue:
                print(f"{name:50} {operation:12} takes too long", flush=True)
                failed += 1
                continue
            if measured is None:
                continue
            is_bad = measured.exponent >= MAX_EXPONENT
            failed += is_bad
            if is_bad or options.all:
                print(f"{name:50} {operation:12} {measured.exponent:5.2f} {measured.small:10.3f} {measured.large:10.3f}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
