"""A033: instructions renamed after scheduling."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

# Parts of the names that passes give to copies of instructions.
_COPIED = (".clone", ".remat")
_FIELD = "scheduling_name="


@module_rule("A033", stage="lint")
def scheduling_names(facts: Facts) -> Iterator[Finding]:
    """An instruction has the name under which it was scheduled.

    Checks: `scheduling_name` in the metadata is the name of the instruction, unless the name
    contains .clone or .remat. A violation is an error in the mode `names_unchanged`, and a warning
    otherwise.
    """
    severity = "error" if facts.modes.names_unchanged else None
    for computation in facts.module.computations:
        for x in computation.instructions:
            text = x.metadata_text
            # The root of an asynchronous computation has the metadata of its start, which is
            # checked separately.
            if text is None or _FIELD not in text or x.start < 0 or facts.module.notes.written(x) is not None:
                continue
            metadata = x.metadata
            was = metadata.scheduling_name if metadata is not None else ""
            if was and was != x.name and not any(mark in x.name for mark in _COPIED):
                yield Finding(
                    "A033", computation, x, "metadata[scheduling_name]", f"'{x.name}' was named '{was}' when it was scheduled", severity=severity
                )
