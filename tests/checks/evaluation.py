"""Cases of the interpreter: modules that compute what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from case_files import Case, ExpectedValue, expected_errors, expected_values

import hlotool
from checks.common import Mismatch, parsed
from hlotool.errors import EvaluationError
from hlotool.interp.literal import literal_array
from hlotool.interp.values import leaves
from hlotool.shapes.shape import Shape
from hlotool.text.literal import parse_literal

__all__ = ["evaluated"]


def evaluated(path: Path, case: Case) -> None:
    wanted = expected_errors(case.text)
    module = parsed(case.text)
    try:
        value = hlotool.evaluate(module, [])
    except EvaluationError as error:
        found = [(d.line, d.code) for d in error.diagnostics]
        if found != [(e.line, e.code) for e in wanted]:
            raise Mismatch(f"cannot be evaluated: {'; '.join(map(str, error.diagnostics))}") from None
        return
    if wanted:
        raise Mismatch("was evaluated, an error was expected")
    shapes, found_values, expected = list(module.entry.root.shape.leaves()), list(leaves(value)), expected_values(case.text)
    if len(expected) != len(shapes):
        raise Mismatch(f"the result has {len(shapes)} leaves, the case expects {len(expected)}")
    for shape, found_value, line in zip(shapes, found_values, expected, strict=True):
        _same_values(shape, found_value, line)


def _same_values(shape: Shape, found: Any, line: ExpectedValue) -> None:
    # A dynamic result is the array of its actual size.
    wanted = literal_array(parse_literal(shape.with_dimensions(found.shape), line.literal))
    if found.dtype != wanted.dtype or found.shape != wanted.shape:
        raise Mismatch(f"the value is {found.dtype}{list(found.shape)}, not {shape}")
    wide = np.result_type(found.dtype, np.int8) if found.dtype.kind in "biufc" else np.dtype(np.float64)
    a, b = found.astype(wide), wanted.astype(wide)
    if wide.kind == "c":
        a, b = (np.stack([x.real, x.imag]) for x in (a, b))
    same = (a == b) & (np.signbit(a) == np.signbit(b)) if line.exact and wide.kind == "f" else a == b
    if not line.exact:
        tolerance = {8: 1e-12, 4: 1e-5}.get(found.dtype.itemsize // (2 if wide.kind == "c" else 1), 1e-2)
        same |= np.isclose(a, b, rtol=tolerance, atol=1e-6)
    if not (same | ((a != a) & (b != b))).all():
        raise Mismatch(f"the value is\n  {found.tolist()}, wanted\n  {wanted.tolist()}")
