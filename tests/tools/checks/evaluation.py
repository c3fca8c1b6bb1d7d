"""Checks cases of the interpreter: modules with their expected results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from case_files import Case, ExpectedValue, case_devices, device_values, expected_errors, expected_values

import hlotool
from checks.common import Mismatch, parsed
from hlotool.errors import EvaluationError
from hlotool.interp.arrays.literal_values import literal_array
from hlotool.interp.arrays.values import leaves
from hlotool.ir.model import Module
from hlotool.literals.parse import parse_literal
from hlotool.shapes.shape import Shape

__all__ = ["evaluated", "evaluated_on_devices"]


def evaluated(path: Path, case: Case) -> None:
    module = parsed(case.text)
    for executor in ("reference", "plan"):
        values = _values_unless_refused(case, module, lambda executor=executor: [hlotool.evaluate(module, [], executor=executor)])
        if values is not None:
            _same_leaves(module.entry.root.shape, values[0], expected_values(case.text))


def evaluated_on_devices(path: Path, case: Case) -> None:
    module = parsed(case.text)
    replicas, partitions = case_devices(case.text)
    devices = range(replicas * partitions)
    arguments = [_arguments(module, device_values(case.text, "input", k)) for k in devices]
    for executor in ("reference", "plan"):
        _evaluated_on_devices(case, module, arguments, partitions, executor)


def _evaluated_on_devices(case: Case, module: Module, arguments: list[list[Any]], partitions: int, executor: str) -> None:
    devices = range(len(arguments))
    queues = [hlotool.HostQueues(infeed=[_array(text, "infeed", module) for text in device_values(case.text, "infeed", k)]) for k in devices]
    options = hlotool.RunOptions(queues=queues)
    values = _values_unless_refused(
        case, module, lambda: hlotool.evaluate_replicas(module, arguments, num_partitions=partitions, executor=executor, options=options)
    )
    for k in devices if values is not None else ():
        assert values is not None
        _same_leaves(module.entry.root.shape, values[k], [ExpectedValue(text, exact=True) for text in device_values(case.text, "expect", k)])
        found = [x.tolist() for x in queues[k].outfeed]
        if found != [_array(text, "outfeed", module).tolist() for text in device_values(case.text, "outfeed", k)]:
            raise Mismatch(f"the outfeed of device {k} contains {found}")


def _values_unless_refused(case: Case, module: Module, run: Callable[[], list[Any]]) -> list[Any] | None:
    """Returns the values of a run, or None if the run fails as the case expects.

    Checks the positions and the wording of the errors.
    """
    wanted = expected_errors(case.text)
    try:
        values = run()
    except EvaluationError as error:
        found = sorted(error.diagnostics, key=lambda d: (d.line, d.code))
        same = [(d.line, d.code) for d in found] == [(e.line, e.code) for e in wanted]
        if not same or not all(e.words in d.message for d, e in zip(found, wanted, strict=True)):
            raise Mismatch(f"cannot be evaluated: {'; '.join(map(str, error.diagnostics))}") from None
        return None
    if wanted:
        raise Mismatch("was evaluated, but an error was expected")
    return values


def _arguments(module: Module, literals: list[str]) -> list[Any]:
    shapes = [leaf for parameter in module.entry.parameters for leaf in parameter.shape.leaves()]
    if len(literals) != len(shapes):
        raise Mismatch(f"wrong number of inputs in the case: expected {len(shapes)}, got {len(literals)}")
    return [literal_array(parse_literal(shape, text)) for shape, text in zip(shapes, literals, strict=True)]


def _array(literal: str, opcode: str, module: Module) -> Any:
    """Returns an array of the shape that the first instruction with this opcode reads or writes."""
    x = next(x for x in module.entry.instructions if x.opcode == opcode)
    return literal_array(parse_literal(x.shape.elements[0] if opcode == "infeed" else x.operands[0].shape, literal))


def _same_leaves(shape: Shape, value: Any, expected: list[ExpectedValue]) -> None:
    shapes, found_values = list(shape.leaves()), list(leaves(value))
    if len(expected) != len(shapes):
        raise Mismatch(f"wrong number of expected arrays in the case: the result has {len(shapes)}, the case lists {len(expected)}")
    for leaf, found_value, line in zip(shapes, found_values, expected, strict=True):
        _same_values(leaf, found_value, line)


def _same_values(shape: Shape, found: Any, line: ExpectedValue) -> None:
    # The array of a dynamic result has the actual sizes, not the bounds.
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
