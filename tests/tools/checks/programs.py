"""Checks cases of whole programs: modules from JAX and XLA, with JAX's results.

It must also be possible to verify, format and optimize these modules.
"""

from __future__ import annotations

from pathlib import Path

from case_files import Case

import hlotool
from checks.common import Mismatch
from hlotool.errors import EvaluationError
from hlotool.interp.arguments.argument_files import Arguments, read_npz
from hlotool.interp.arrays.dtypes import Array
from hlotool.interp.arrays.values import Value
from hlotool.interp.engine.batching import can_batch
from hlotool.interp.reports.comparison import compare_values, expected_leaves
from hlotool.ir.equal import differences
from hlotool.ir.model import Module
from hlotool.text.formatting.formatter import format_text

__all__ = ["equal_to_jax"]

_ON_SCALARS = {"map", "reduce", "reduce-window", "scatter", "select-and-scatter", "sort"}


def equal_to_jax(path: Path, case: Case) -> None:
    """Compares the results of each executor and of the optimized program with JAX's results.

    The tolerances are those of `--compare`; for f32, they allow for a different order of summation
    and for different polynomials. NAME.npz contains the arrays for NAME.hlo and NAME.optimized.hlo.
    If there are several devices, the first dimension of each array is the device.
    """
    module = hlotool.parse(case.text)
    errors = [d for d in hlotool.verify(module) if d.severity == "error"]
    if errors:
        raise Mismatch(f"the verifier reports\n  {errors[0]}")
    for difference in differences(module, hlotool.parse(format_text(case.text))):
        raise Mismatch(f"formatting changes the module: {difference}")
    for x in (x for computation in module.computations for x in computation.instructions if x.opcode in _ON_SCALARS):
        if not all(can_batch(called) for called in x.called):
            raise Mismatch(f"the computation of '{x.name}' cannot be batched, so it would run slowly, element by element")
    archive = path.with_name(f"{path.name.partition('.')[0]}.npz")
    _require_results(module, archive, "reference")
    _require_results(module, archive, "plan")
    _require_results(hlotool.optimize(module), archive, "plan")


def _require_results(module: Module, archive: Path, executor: str) -> None:
    for device, (value, stored) in enumerate(_run(module, read_npz(str(archive)), archive.name, executor)):
        compared = compare_values(module.entry.root.shape, value, expected_leaves(module.entry.root.shape, stored, archive.name), None, None)
        for found in compared:
            if not found.agrees:
                elements = "\n  ".join(f"{w.index}: {w.ours}, wanted {w.theirs}" for w in found.worst)
                raise Mismatch(f"{found.name} on device {device} differs in {found.mismatches} elements {found.reason}\n  {elements}")


def _run(module: Module, stored: dict[str, Array], source: str, executor: str) -> list[tuple[Value, dict[str, Array]]]:
    """Returns each device's value together with the arrays stored for that device."""
    count = int(module.num_partitions)
    parts = [{name: array[k] for name, array in stored.items()} for k in range(count)] if count > 1 else [stored]
    given = []
    for part in parts:
        arguments = Arguments(module)
        arguments.give_all(part, source)
        if arguments.missing():
            raise Mismatch(f"'{source}' has no values for {', '.join(arguments.missing())}")
        given.append(arguments.values_or_random(0))
    try:
        values = hlotool.evaluate_replicas(module, given, num_partitions=count, executor=executor)
    except EvaluationError as error:
        raise Mismatch(f"cannot be evaluated: {error}") from None
    return list(zip(values, parts, strict=True))
