"""S007 and S009: roots and entry computations that are not marked."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.text.locate.declarations import has_header, is_marked_entry, is_marked_root
from hlotool.text.parse.parser import form_of
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []


@module_rule("S007", "S009", stage="lint")
def unmarked(facts: Facts) -> Iterator[Finding]:
    """The text marks the root of each computation and the entry computation.

    Checks: each computation has a ROOT (S007), and the module has an ENTRY (S009).
    """
    source, entry = facts.module.source, facts.module.entry
    if source is None or form_of(source.text) == "single_instruction":
        return
    text = source.text
    for computation in facts.module.computations:
        root = computation.root
        # Inline bodies need the marker, too; computations that are not in the text have no marker.
        if root.start >= 0 and not is_marked_root(text, root):
            message = f"computation '{computation.name}' has no ROOT, so XLA takes the last instruction, '{root.name}'"
            yield Finding("S007", computation, root, "instruction", message, "write ROOT before it")
    if has_header(text, entry) and not is_marked_entry(text, entry):
        message = f"no computation is marked ENTRY, so XLA takes the last one, '{entry.name}'"
        yield Finding("S009", entry, None, entry.start, message, "write ENTRY before it")
