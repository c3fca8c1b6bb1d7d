"""A035: programs that need more memory than allowed."""

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
    """The values that are live at the same time fit into the memory budget.

    Checks: the peak number of bytes used at once by the entry computation and the computations that
    it calls, in the default memory space, does not exceed `memory_budget`. Padding of tiles is
    counted, and results that overwrite parameters are counted once. Compilers may share more
    memory, so the estimate is an upper bound.
    """
    budget = facts.modes.memory_budget
    if budget is None:
        return
    peak = peak_of(facts.module)
    if peak.bytes <= budget:
        return
    message = f"the peak of {format_bytes(peak.bytes)} at '{peak.at.name}' exceeds the memory_budget of {format_bytes(budget)}"
    notes = [_note(buffer) for buffer in peak.live[:_SHOWN]]
    if peak.saved:
        notes.append(f"input_output_alias saves {format_bytes(peak.saved)}")
    if not facts.module.is_scheduled:
        notes.append("estimated in textual order, since the module has no schedule")
    yield Finding(
        "A035", facts.module.entry, peak.at, "name", message, "compute the largest of these values later, or recompute it", notes=tuple(notes)
    )


def _note(buffer: LiveBuffer) -> str:
    size, x = format_bytes(buffer.bytes), buffer.instruction
    if buffer.temporary:
        return f"{size} in temporaries of the computation that '{x.name}' runs"
    metadata = x.metadata
    origin = f", from '{metadata.op_name}'" if metadata is not None and metadata.op_name else ""
    return f"{size} in '{x.name}'{origin}"
