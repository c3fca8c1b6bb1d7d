"""Assertions about modules, with messages that show the differences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any, ParamSpec

import numpy as np

from hlotool.differ.compare import diff
from hlotool.differ.rendering.difference_report import report_of
from hlotool.differ.rendering.rows import Layout
from hlotool.differ.rendering.text_report import text_rows
from hlotool.errors import HlotoolError
from hlotool.interp.arguments.argument_files import output_names
from hlotool.interp.arguments.inputs import random_arguments
from hlotool.interp.arrays.dtypes import Array, number_type
from hlotool.interp.arrays.values import Value, leaves
from hlotool.interp.evaluator import evaluate
from hlotool.interp.reports.comparison import Comparison, compare_values
from hlotool.interp.run_options import RunOptions
from hlotool.ir.model import Module
from hlotool.opdefs.inference import count
from hlotool.text.parse.parser import parse

__all__ = ["assert_runs_equal", "assert_same_module"]

# Because of these variables, pytest and unittest omit the frames of this module, so that tracebacks
# end in the test.
__tracebackhide__ = True
__unittest = True

_OPTIONS = RunOptions(elided_fill="iota", max_iterations=1_000_000)


Arguments = ParamSpec("Arguments")


def _with_short_traceback(function: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Wraps an assertion, so that hlotool's errors appear to originate in this module.

    As a result, their tracebacks do not contain frames of other modules of hlotool.
    """

    @wraps(function)
    def wrapper(*arguments: Arguments.args, **options: Arguments.kwargs) -> None:
        try:
            function(*arguments, **options)
        except HlotoolError as error:
            raise error.with_traceback(None) from None

    return wrapper


@_with_short_traceback
def assert_same_module(actual: Module | str, expected: Module | str, *, ignore: Iterable[str] = ()) -> None:
    """Raises AssertionError with the differences if two modules differ.

    Modules can also be given as text. `ignore` lists the kinds of differences to ignore, as for
    `hlotool.diff`: "names", "metadata", "layout" and so on.

    >>> one = "ENTRY e { p = f32[2] parameter(0) ROOT n = f32[2] negate(p) }"
    >>> assert_same_module(one, one.replace("n =", "m ="), ignore=["names"])
    >>> assert_same_module(one, one.replace("negate", "abs"))
    Traceback (most recent call last):
    AssertionError: the module is not the expected one: 1 instruction changed (abs -> negate)
    <BLANKLINE>
    e (ENTRY)
      - ROOT n = f32[2] abs(p)
      + ROOT n = f32[2] negate(p)
          opcode: abs -> negate
    """
    delta = diff(_module(expected), _module(actual), ignore=ignore)
    if delta:
        rows = "\n".join(row.text for row in text_rows(report_of(delta), Layout()))
        raise AssertionError(f"the module is not the expected one: {rows}")


@_with_short_traceback
def assert_runs_equal(
    actual: Module | str,
    expected: Module | str,
    arguments: Sequence[Any] | None = None,
    *,
    seeds: Iterable[int] = range(3),
    rtol: float | None = None,
    atol: float | None = None,
    options: RunOptions = _OPTIONS,
) -> None:
    """Raises AssertionError if two modules do not compute the same results.

    The modules run on `arguments` or, by default, on random arguments for each seed. Without `rtol`
    and `atol`, floats may differ by as much as rounding in their type explains; if both are 0,
    floats must be equal. Raises EvaluationError if a module cannot be run.

    >>> double = "ENTRY e { p = f32[2] parameter(0) ROOT r = f32[2] add(p, p) }"
    >>> assert_runs_equal(double, "ENTRY e { p = f32[2] parameter(0) t = f32[] constant(2) b = f32[2] broadcast(t), dimensions={} "
    ...                   "ROOT r = f32[2] multiply(p, b) }", rtol=0, atol=0)
    """
    ours, theirs = _module(actual), _module(expected)
    trials = [(f"seed {seed}", random_arguments(theirs, seed)) for seed in seeds] if arguments is None else [("these arguments", arguments)]
    for name, values in trials:
        wanted = evaluate(theirs, values, options=options)
        message = _disagreement(ours, evaluate(ours, values, options=options), wanted, rtol, atol)
        if message is not None:
            raise AssertionError(f"for {name}, {message}")


def _module(value: Module | str) -> Module:
    return parse(value) if isinstance(value, str) else value


def _disagreement(module: Module, actual: Value, expected: Value, rtol: float | None, atol: float | None) -> str | None:
    """Describes the first difference between two results; returns None if there is none."""
    shape = module.entry.root.shape
    names = [name for name, _ in output_names(shape)]
    wanted = list(leaves(expected))
    if len(wanted) != len(names):
        return f"the result has {count(len(names), 'part')}, expected {len(wanted)}"
    for name, one, other in zip(names, leaves(actual), wanted, strict=True):
        if isinstance(one, np.ndarray) != isinstance(other, np.ndarray):
            return f"{name} is {type(one).__name__}, expected {type(other).__name__}"
        if isinstance(one, np.ndarray) and (one.dtype, one.shape) != (other.dtype, other.shape):
            return f"{name} is {_type(one)}, expected {_type(other)}"
    pairs = [(name, leaf) for name, leaf in zip(names, wanted, strict=True) if isinstance(leaf, np.ndarray)]
    wrong = next((row for row in compare_values(shape, actual, pairs, rtol, atol) if not row.agrees), None)
    return None if wrong is None else _describe(wrong)


def _type(array: Array) -> str:
    return f"{number_type(array).element.name}[{','.join(map(str, array.shape))}]"


def _describe(row: Comparison) -> str:
    if row.reason:
        return f"{row.name}: {row.reason}"
    positions = "; ".join(f"{list(position.index)} is {position.ours}, expected {position.theirs}" for position in row.worst[:3])
    return f"{row.mismatches} of {row.elements} elements of {row.name} ({row.type}) {'differs' if row.mismatches == 1 else 'differ'}: {positions}"
