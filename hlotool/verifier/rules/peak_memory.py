"""A035: schedules that need more memory than there is."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.analysis.liveness import LiveBuffer
from hlotool.analysis.liveness import peak_memory as peak_of
from hlotool.shapes.memory import format_bytes
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

_SHOWN = 5


@module_rule("A035", stage="lint")
def peak_memory(facts: Facts) -> Iterator[Finding]:
    """What is live at one time fits the memory budget.

    Checks: the most bytes that the entry computation and what it calls have in use at once, in the default memory space, against
    `memory_budget`. Tiles count with their padding, results that overwrite parameters once. What a compiler shares beyond that is not known,
    so the estimate is rather too high.
    Why: a program that does not fit fails when it is loaded, long after it was compiled.
    Bad: a schedule that computes all layers' activations before it uses the first
    Good: one that uses them as they come
    """
    budget = facts.modes.memory_budget
    if budget is None:
        return
    peak = peak_of(facts.module)
    if peak.bytes <= budget:
        return
    guess = "" if facts.module.is_scheduled else "in textual order, since the module has no schedule, "
    message = f"{guess}peak {format_bytes(peak.bytes)} at '{peak.at.name}' exceeds {format_bytes(budget)}"
    notes = [_note(buffer) for buffer in peak.live[:_SHOWN]]
    if peak.saved:
        notes.append(f"input_output_alias saves {format_bytes(peak.saved)}")
    yield Finding("A035", facts.module.entry, peak.at, "name", message, "compute the largest of these later, or again", notes=tuple(notes))


def _note(buffer: LiveBuffer) -> str:
    size, x = format_bytes(buffer.bytes), buffer.instruction
    if buffer.temporary:
        return f"{size} are temporary in what '{x.name}' runs"
    metadata = x.metadata
    origin = f", from '{metadata.op_name}'" if metadata is not None and metadata.op_name else ""
    return f"{size} are held by '{x.name}'{origin}"
