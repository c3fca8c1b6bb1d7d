"""Calls to builder methods with random arguments: each succeeds or raises an expected error.

The expected errors are BuilderError and Python's own errors about arguments. The built module is
printed, and the printed text parses back to the same module.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hlotool
from hlotool.builder.builder import Builder
from hlotool.builder.dimension_numbers import (
    ConvolutionDimensionNumbers,
    DotDimensionNumbers,
    GatherDimensionNumbers,
    RaggedDotDimensionNumbers,
    ScatterDimensionNumbers,
)
from hlotool.builder.op import Op
from hlotool.ir.equal import differences

SHAPES = """f32[] f32[4] f32[2,3] f32[3,4] s32[] s32[4] pred[] pred[2,3] c64[2] u64[2] (f32[2],s32[]) token[] f32[<=4] f32[0,3] bf16[2,3]
    f32[1,1,5,5] f32[1,1,3,3]""".split()
NOT_CALLED = {"build", "finish", "sharding", "frontend_attributes", "metadata"}
METHODS = sorted(name for name, _ in inspect.getmembers(Builder, inspect.isfunction) if not name.startswith("_") and name not in NOT_CALLED)
DOT = DotDimensionNumbers([1], [0])
VALUES: list[Callable[[random.Random, list[Op]], Any]] = [
    *[lambda r, ops: r.choice(ops)] * 6,
    lambda r, ops: r.choice([None, "a", "f32", "s8", "SAME", "VALID", "EQ", "f32[2,3]", "(f32[2], s32[])", "b01f_01io->b01f", "{0,1}", ""]),
    lambda r, ops: r.choice([0, 1, 2, -1, -5, 1.5, True, 1j, 10**30]),
    lambda r, ops: [r.randrange(-2, 4) for _ in range(r.randrange(4))],
    lambda r, ops: [[r.randrange(-1, 4) for _ in range(2)] for _ in range(r.randrange(4))],
    lambda r, ops: [r.choice(ops) for _ in range(r.randrange(3))],
    lambda r, ops: r.choice([lambda *a: a[:1], lambda *a: sum(a), lambda a, b: a < b, lambda *a: None, abs, lambda *a: a]),
    lambda r, ops: r.choice([np.zeros((2, 3), np.float32), np.float32(1), object(), {}, {"a": 1}, ()]),
    lambda r, ops: r.choice([DOT, GatherDimensionNumbers([1], [0], [0], 1), ScatterDimensionNumbers([1], [0], [0], 1)]),
    lambda r, ops: r.choice([RaggedDotDimensionNumbers(DOT, [0], [0]), ConvolutionDimensionNumbers(0, 9, (1, 9), 2, 3, (0, 1), 0, 3, (1, 2))]),
]
# Parts of messages about wrong arguments or operands, and about values that are not known while the
# module is being built.
PYTHON_ERRORS = (
    "argument",
    "has no value while it is being built",
    "truth value of an array",
    "conditional() takes",
    "bad operand type",
    "unsupported operand",
)


def arguments(random_numbers: random.Random, method: Callable[..., Any], ops: list[Op]) -> tuple[list[Any], dict[str, Any]]:
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for parameter in inspect.signature(method).parameters.values():
        value = random_numbers.choice(VALUES)(random_numbers, ops)
        is_left_out = parameter.default is not parameter.empty and random_numbers.random() < 0.6
        if is_left_out or parameter.kind is parameter.VAR_KEYWORD:
            if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
                break
        elif parameter.kind is parameter.KEYWORD_ONLY:
            named[parameter.name] = value
        else:
            positional.append(value)
    return positional, named


def outcome(call: Callable[[], Any]) -> Any:
    """Returns the result of a call, or the error that it raises."""
    try:
        return call()
    except (hlotool.BuilderError, TypeError, ValueError) as error:
        return error


@pytest.mark.parametrize("seed", range(40))
def test_calls_return_or_raise_builder_errors(seed: int) -> None:
    random_numbers = random.Random(seed)
    b = hlotool.Builder("m", source_lines=False)
    ops = [b.parameter(k, shape) for k, shape in enumerate(SHAPES)]
    for name in random_numbers.sample(METHODS, 60):
        positional, named = arguments(random_numbers, getattr(b, name), ops)
        result = outcome(lambda name=name, positional=positional, named=named: getattr(b, name)(*positional, **named))
        if isinstance(result, hlotool.BuilderError):
            assert result.diagnostics[0].filename == __file__
        elif isinstance(result, Exception):
            assert any(words in str(result) for words in PYTHON_ERRORS), (name, positional, named)
        elif isinstance(result, Op):
            ops.append(result)
    try:
        module = b.build(ops[0])
    except hlotool.BuilderError:
        # Missing dones, invalid groups and similar errors are found only in the whole module.
        return
    assert list(differences(module, hlotool.parse(str(module)))) == []
