"""Compares plans with the reference executor; not run by pytest.

Usage: `python tests/tools/fuzz_plans.py --count 20000 --seed 1 [FILE ...]`.

Random operations and the modules in files run on random and on special numbers. Both executors must
give the same bits, or both must fail. Each module runs once with the default sizes of plans, and
once with blocks of a few elements, so that small arrays take the code paths of large ones. Valid
modules also run in a loop.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from fuzz_optimizer import operations, texts_of
from looped import compiled_loops, looped
from random_texts import random_text

import hlotool
from hlotool.errors import EvaluationError, HlotoolError
from hlotool.interp.arguments.inputs import random_arguments
from hlotool.interp.arrays.values import leaves
from hlotool.interp.plan import blocks, fusing, lowering
from hlotool.interp.run_options import RunOptions
from hlotool.ir.model import Module
from hlotool.optimizer.checking import same_bits, special_arguments
from hlotool.testing import random_module

INPUTS = 2
LIMITS = RunOptions(elided_fill="iota", max_iterations=100_000)


@contextmanager
def small_blocks() -> Iterator[None]:
    """Makes plans use small blocks inside the `with` statement.

    Arrays of two or more elements are computed in blocks, blocks have five elements, and computable
    arrays are not folded into constants.
    """
    before = fusing.MIN_DOMAIN_SIZE, blocks.BLOCK_ELEMENTS, lowering.MAX_FOLDED_ELEMENTS
    fusing.MIN_DOMAIN_SIZE, blocks.BLOCK_ELEMENTS, lowering.MAX_FOLDED_ELEMENTS = 2, 5, 1
    try:
        yield
    finally:
        fusing.MIN_DOMAIN_SIZE, blocks.BLOCK_ELEMENTS, lowering.MAX_FOLDED_ELEMENTS = before


def outcome(module: Module, arguments: Any, executor: str, options: RunOptions) -> tuple[list[Any], str]:
    """Returns the arrays of the result and no message, or no arrays and the error message."""
    try:
        return list(leaves(hlotool.evaluate(module, arguments, executor=executor, options=options))), ""
    except EvaluationError as error:
        return [], str(error)


def disagreement(text: str, inputs: int = INPUTS, options: RunOptions = LIMITS) -> str | None:
    """Returns the difference between the executors on a module.

    Returns None if they agree, or if the module does not parse.
    """
    try:
        module = hlotool.parse(text)
    except HlotoolError:
        return None
    for k in range(inputs):
        try:
            arguments = random_arguments(module, k) if k % 2 == 0 else special_arguments(module, k)
        except (HlotoolError, KeyError, ValueError, MemoryError):
            # Parameters of invalid modules may have shapes that no array can have.
            return None
        expected, message = outcome(module, arguments, "reference", options)
        actual, other = outcome(module, arguments, "plan", options)
        if message and other:
            # If a module has several errors, any of them may be found first.
            continue
        if message != other:
            return f"input {k}: {message or 'no error'!r} without a plan, {other or 'no error'!r} with one"
        arrays = [(np.asarray(a), np.asarray(b)) for a, b in zip(expected, actual, strict=True) if isinstance(a, np.ndarray)]
        for number, (a, b) in enumerate(arrays):
            if not same_bits(a, b):
                return f"input {k}: result {number} is {a} without a plan, {b} with one"
    return None


def loop_disagreement(text: str) -> str | None:
    """Returns the difference between the executors on a valid module in a loop, or None.

    The source of the compiled loop is run by Python, not by Numba.
    """
    try:
        module = hlotool.parse(text)
    except HlotoolError:
        return None
    if any(diagnostic.severity == "error" for diagnostic in hlotool.verify(module)):
        return None
    loop = looped(module)
    if loop is None:
        return None
    with compiled_loops(with_llvm=False):
        return disagreement(str(loop), inputs=1)


def texts(count: int, seed: int, files: list[Path]) -> Iterator[str]:
    yield from operations(count, seed)
    for number in range(count):
        yield str(random_module(seed * 1_000_000 + number))
        yield random_text(seed * 1_000_000 + number, instructions=20)
    for path in files:
        yield from texts_of(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="number of random modules of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_args()
    outcomes: Counter[str] = Counter()
    for text in texts(options.count, options.seed, options.files):
        found = disagreement(text)
        if found is None:
            with small_blocks():
                found = disagreement(text) or loop_disagreement(text)
        outcomes["agree" if found is None else "differ"] += 1
        if found is not None:
            print(text, found, sep="\n", flush=True)
    print(dict(outcomes))
    return int(bool(outcomes["differ"]))


if __name__ == "__main__":
    sys.exit(main())
