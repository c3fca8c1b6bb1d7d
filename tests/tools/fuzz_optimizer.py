"""Runs the optimizer on many modules; not run by pytest.

Usage: `python tests/tools/fuzz_optimizer.py --count 10000 --seed 1 [FILE ...]`.

Random modules must stay valid, and a second run must change nothing. For every ten such modules,
one more is built from arbitrary opcodes; most of these additional modules are invalid, but none may
cause an exception. After optimization, modules of random operations with some constant operands
must compute the same results bit for bit, and so must the modules in the given files, which contain
HLO or, like the files of the corpus, JSON lines. With `--xla` and HLOTOOL_XLA_PYTHON, XLA also
parses and runs the modules of the last two kinds before and after optimization, and the results are
compared up to rounding.
"""

from __future__ import annotations

import argparse
import json
import lzma
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from random import Random

import numpy as np
from instances import module_of, random_instance
from random_texts import random_text
from xla_oracle import Xla, XlaError

import hlotool
from hlotool.errors import HlotoolError
from hlotool.interp.inputs import random_arguments
from hlotool.interp.options import RunOptions
from hlotool.interp.values import leaves
from hlotool.ir.model import Module
from hlotool.optimizer.checking import difference
from hlotool.optimizer.constants import literal_of
from hlotool.testing import random_module

INPUTS = 4
# Loops whose bounds are inputs might run for hours.
LIMITS = RunOptions(elided_fill="iota", max_iterations=100_000, timeout_seconds=20)
RELATIVE = 1e-3


def generated(count: int, seed: int) -> Iterator[str]:
    for k in range(count):
        yield str(random_module(seed * 1_000_000 + k, size=Random(k).randint(3, 40)))


def with_errors(count: int, seed: int) -> Iterator[str]:
    """Yields modules that parse, although most of them are invalid."""
    for k in range(count):
        yield random_text(seed * 1_000_000 + k, instructions=Random(k).randint(3, 40))


def operations(count: int, seed: int) -> Iterator[str]:
    """Yields modules of a few random operations on constants and parameters."""
    random = Random(seed)
    for _ in range(count):
        instances = [random_instance(random) for _ in range(random.randint(1, 4))]
        yield with_constants(hlotool.parse(module_of(instances)), [array for x in instances for array in x.arrays], random)


def with_constants(module: Module, arrays: list[np.ndarray], random: Random) -> str:
    """Returns the module with about half of its parameters replaced with constants."""
    with hlotool.Rewriter(module) as rewriter:
        for parameter, array in zip(reversed(module.entry.parameters), reversed(arrays), strict=True):
            if random.random() < 0.5 and parameter.shape.is_array and array.size < 1000:
                literal = literal_of(array, parameter.shape)
                constant = rewriter.insert("constant", after=parameter, shape=parameter.shape, immediate=literal)
                rewriter.replace_all_uses(parameter, constant)
                if not rewriter.is_used(parameter):
                    rewriter.erase_parameter(parameter)
    return hlotool.to_text(module)


def texts_of(path: Path) -> Iterator[str]:
    """Yields the text of a file or, from a file of JSON lines, the `text` field of valid cases."""
    data = (lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()).decode("utf-8", "surrogateescape")
    if ".jsonl" not in path.name:
        yield data
        return
    for line in data.splitlines():
        row = json.loads(line)
        if row.get("label", "ok") == "ok":
            yield row["text"]


def fault(text: str, *, runs: bool, xla: Xla | None, outcomes: Counter[str]) -> str | None:
    """Optimizes a module, and returns a description of the first fault, or None."""
    try:
        module = hlotool.parse(text)
    except HlotoolError:
        outcomes["does not parse"] += 1
        return None
    is_valid = not any(d.severity == "error" for d in hlotool.verify(module))
    outcomes["valid" if is_valid else "not valid"] += 1
    printed = hlotool.to_text(module)
    after = hlotool.optimize(module)
    if hlotool.to_text(module) != printed:
        return "the original module was changed"
    if is_valid and (errors := [d for d in hlotool.verify(after) if d.severity == "error"]):
        return f"no longer valid: {errors[0]}"
    again = hlotool.to_text(after)
    if hlotool.to_text(hlotool.parse(again)) != again:
        return "the printed text does not parse back to the same module"
    if not is_valid:
        # Once an invalid instruction has been removed as dead code, more rules may apply to its
        # neighbors.
        return None
    if hlotool.to_text(hlotool.optimize(after)) != again:
        return "a second run changes the module"
    if not runs:
        return None
    found = difference(module, after, INPUTS, options=LIMITS)
    if found is None and xla is not None:
        return by_xla(module, again, xla, outcomes)
    return found


def by_xla(module: Module, after: str, xla: Xla, outcomes: Counter[str]) -> str | None:
    """Returns the difference between XLA's results before and after optimization, or None.

    Also returns None if XLA cannot run the original module.
    """
    arguments = list(leaves(random_arguments(module, 0)))
    try:
        expected = xla.run(hlotool.to_text(module), arguments)
    except XlaError:
        outcomes["not run by XLA"] += 1
        return None
    try:
        actual = xla.run(after, arguments)
    except XlaError as error:
        if not any(line.strip() in after for line in str(error).splitlines() if " = " in line):
            # XLA rejects a line of its own printed text, which may place computations after their
            # callers.
            outcomes["rejected by XLA after XLA printed it"] += 1
            return None
        return f"XLA no longer runs the module: {error}"
    outcomes["run by XLA"] += 1
    for k, (a, b) in enumerate(zip(expected, actual, strict=True)):
        if not close(np.asarray(a), np.asarray(b)):
            return f"XLA's result {k} differs: {a!r} before and {b!r} after"
    return None


@np.errstate(all="ignore")
def close(a: np.ndarray, b: np.ndarray) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind in "biu" or "int" in a.dtype.name:
        return bool((a == b).all())
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    return bool(np.allclose(a.astype(wide), b.astype(wide), rtol=RELATIVE, atol=1e-5, equal_nan=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="HLO files, or files of JSON lines with a `text` field")
    parser.add_argument("--count", type=int, default=1000, help="number of random modules")
    parser.add_argument("--operations", type=int, help="number of modules of random operations; default: a tenth of --count")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, help="use only this many modules from each file, chosen at random")
    parser.add_argument("--xla", action="store_true", help="also compare with XLA")
    options = parser.parse_args()
    of_operations = options.count // 10 if options.operations is None else options.operations
    outcomes: Counter[str] = Counter()
    faults = 0
    sources = [
        (generated(options.count, options.seed), False),
        (with_errors(options.count // 10, options.seed), False),
        (operations(of_operations, options.seed), True),
    ]
    for path in options.files:
        texts = list(texts_of(path))
        sources.append((iter(Random(options.seed).sample(texts, min(len(texts), options.first)) if options.first else texts), True))
    with Xla() if options.xla else nullcontext() as xla:
        for texts, runs in sources:
            for text in texts:
                found = fault(text, runs=runs, xla=xla, outcomes=outcomes)
                if found is not None:
                    faults += 1
                    print(f"{found}\n{text}\n", flush=True)
    print(f"{dict(outcomes)}, faults: {faults}")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
