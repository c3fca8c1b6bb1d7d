"""`hlotool diff --semantic`: checks that both modules can be run, and runs them."""

from __future__ import annotations

from typing import NamedTuple

import hlotool
from hlotool.cli.output import complain
from hlotool.cli.run.run_deadline import Deadline
from hlotool.cli.run.run_progress import RunProgress, is_wanted
from hlotool.differ.delta import Delta
from hlotool.differ.semantic import SemanticDifference, semantic_difference
from hlotool.differ.values.causes import DEFAULT_OPTIONS
from hlotool.differ.values.runs import devices_of
from hlotool.errors import EvaluationError, HlotoolError
from hlotool.interp.engine.memory_estimate import memory_diagnostics
from hlotool.interp.engine.preparation import prepare
from hlotool.ir.model import Module
from hlotool.record import replace

__all__ = ["RunChoice", "run_both"]

_MAX_DEVICES = 1024


class RunChoice(NamedTuple):
    """The options of --semantic: the number of random inputs, their seed, and the tolerances."""

    n: int = 1
    seed: int = 0
    rtol: float | None = None
    atol: float | None = None
    elided: str = "iota"


def run_both(delta: Delta, choice: RunChoice, max_memory: int | None, deadline: Deadline, *, quiet: bool) -> SemanticDifference:
    """Runs both modules of a difference.

    Raises EvaluationError if either module is not valid or would need too much memory.
    """
    devices = max(devices_of(delta.left), devices_of(delta.right))
    if devices > _MAX_DEVICES:
        raise HlotoolError(f"the modules are for {devices} devices; at most {_MAX_DEVICES} can be run in this process")
    options = replace(DEFAULT_OPTIONS, elided_fill=choice.elided, seed=choice.seed, max_memory=max_memory, timeout_seconds=deadline.seconds)
    held = 0
    for side, module in (("left", delta.left), ("right", delta.right)):
        _check(side, module)
        needed = prepare(module, options).estimate
        if diagnostics := memory_diagnostics(module, needed, max_memory, devices, held=held):
            raise EvaluationError(diagnostics)
        # The results stay in memory, and so do copies of values until they are compared.
        held = 2 * devices * needed.bytes
        deadline.check()
    progress = RunProgress() if is_wanted(quiet=quiet) else None
    try:
        return semantic_difference(
            delta.left, delta.right, delta, runs=choice.n, seed=choice.seed, relative=choice.rtol, absolute=choice.atol,
            options=options, observers=[progress] if progress is not None else [],
        )  # fmt: skip
    finally:
        if progress is not None:
            progress.clear()


def _check(side: str, module: Module) -> None:
    errors = [diagnostic for diagnostic in hlotool.verify(module) if diagnostic.severity == "error"]
    if errors:
        complain(f"the {side} module is not valid HLO, so it is not run")
        raise EvaluationError(errors)
