"""Runs several devices in one process, one at a time: each device runs until it must wait.

It is an error if no device can continue.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence

from hlotool.errors import Diagnostic, EvaluationError, Violation
from hlotool.interp.arrays.values import Value
from hlotool.interp.devices import Wait

__all__ = ["run_in_lockstep"]


def run_in_lockstep(runs: Sequence[Generator[Wait, None, Value]]) -> list[Value]:
    """Returns the value of each run.

    If no run can continue, raises EvaluationError with all locations at which runs wait.
    """
    results: list[Value] = [None] * len(runs)
    waiting: dict[int, Wait | None] = dict.fromkeys(range(len(runs)))
    while waiting:
        moved = False
        for number, wait in list(waiting.items()):
            if wait is not None and not wait.ready():
                continue
            moved = True
            try:
                waiting[number] = next(runs[number])
            except StopIteration as end:
                results[number] = end.value
                del waiting[number]
        if not moved:
            raise EvaluationError(_positions(runs, {number: wait for number, wait in waiting.items() if wait is not None}))
    return results


def _positions(runs: Sequence[Generator[Wait, None, Value]], waiting: dict[int, Wait]) -> list[Diagnostic]:
    """Returns a diagnostic for each instruction at which devices wait."""
    by_position: dict[tuple[int, int], Diagnostic] = {}
    for number, wait in waiting.items():
        try:
            # The run knows the instruction at which it waits.
            runs[number].throw(Violation("R007", "opcode", _reason(number, wait.missing(), waiting)))
        except EvaluationError as error:
            for diagnostic in error.diagnostics:
                by_position.setdefault((diagnostic.line, diagnostic.column), diagnostic)
    return list(by_position.values())


def _reason(number: int, missing: list[int], waiting: Collection[int]) -> str:
    """Explains a deadlock.

    The devices in `missing` never arrived; if they are in `waiting`, they are blocked elsewhere.
    """
    if not missing:
        return f"device {number} waits here for a value that is never sent"
    ended = [str(k) for k in missing if k not in waiting]
    elsewhere = [str(k) for k in missing if k in waiting]
    parts = []
    if ended:
        parts.append(f"{_device_list(ended)}, which ended without taking part")
    if elsewhere:
        parts.append(f"{_device_list(elsewhere)}, blocked at another instruction")
    return f"device {number} waits here for {', and for '.join(parts)}"


def _device_list(devices: Sequence[str]) -> str:
    *first, last = devices
    return f"devices {', '.join(first)} and {last}" if first else f"device {last}"
