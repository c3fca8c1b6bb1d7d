"""Comparisons of plans with the reference executor.

Both executors must give the same bits, or both must fail.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from looped import compiled_loops, looped

import hlotool
from hlotool.errors import EvaluationError, HlotoolError
from hlotool.interp.arguments.inputs import random_arguments
from hlotool.interp.arrays.values import leaves
from hlotool.interp.plan import blocks, fusing, lowering
from hlotool.interp.run_options import RunOptions
from hlotool.ir.model import Module
from hlotool.optimizer.checking import same_bits, special_arguments

__all__ = ["LIMITS", "disagreement", "loop_disagreement", "outcome", "small_blocks"]

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


def disagreement(text: str, inputs: int = INPUTS, options: RunOptions = LIMITS, *, has_one_error: bool = False) -> str | None:
    """Returns the difference between the executors on a module.

    Returns None if they agree, or if the module does not parse. With `has_one_error`, they must
    report the same error.
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
        if message and other and not has_one_error:
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

    The source of the compiled loop is run by Python, not by LLVM.
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
