"""What is known of a module's text beyond the module itself: how the parser read it, and where new instructions come from.

Printing and messages are faster and better with it, and right without. A Rewriter drops what its changes make untrue.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hlotool.record import Record

if TYPE_CHECKING:
    from hlotool.ir.model import AttributeSet, Computation, Instruction

__all__ = ["Annotations", "PrintedSpan", "SourceNotes"]


class PrintedSpan(Record):
    """Where the source has all instructions of a computation as the lossless print would write them, attributes aside."""

    start: int
    end: int
    root: Instruction
    count: int


class Annotations(Record):
    """Attributes, metadata and backend configuration of one instruction."""

    attributes: AttributeSet
    metadata_text: str | None
    backend_config: str | None

    def are_of(self, x: Instruction) -> bool:
        """Whether these are, still, what the instruction has."""
        return x.attributes is self.attributes and x.metadata_text == self.metadata_text and x.backend_config == self.backend_config


class SourceNotes:
    """Notes about one module.

    `spans` holds the PrintedSpan of computations; `fast_count` is the number of instructions that the fast path read. `origin_of`
    leads from instructions that a Rewriter inserted to those that they were made from, for messages.
    """

    __slots__ = ("_spellings", "_written", "fast_count", "origin_of", "spans")

    def __init__(self) -> None:
        self.spans: dict[Computation, PrintedSpan] = {}
        self.origin_of: dict[Instruction, Instruction] = {}
        self.fast_count = 0
        # By identity, with the attributes, which must live as long as their number means them.
        self._spellings: dict[int, tuple[AttributeSet, str]] = {}
        # What the text gave an instruction and what XLA put in its place.
        self._written: dict[Instruction, tuple[Annotations, Annotations]] = {}

    def set_spelling(self, attributes: AttributeSet, text: str) -> None:
        """Notes the source text of a set of attributes, from the comma before the first."""
        self._spellings[id(attributes)] = attributes, text

    def spelling(self, attributes: AttributeSet) -> str | None:
        """The source text of a set of attributes, where the fast path read it."""
        entry = self._spellings.get(id(attributes))
        return entry[1] if entry is not None else None

    def set_written(self, x: Instruction, written: Annotations, replaced_by: Annotations) -> None:
        """Notes what the text annotates an instruction with, before XLA's own annotations took its place."""
        first = self._written.get(x)
        self._written[x] = first[0] if first is not None else written, replaced_by

    def written(self, x: Instruction) -> Annotations | None:
        """The annotations of the text, where XLA has replaced them and nobody has changed them since."""
        entry = self._written.get(x)
        return entry[0] if entry is not None and entry[1].are_of(x) else None

    def mapped(self, node: Callable[[Any], Any], attributes: Callable[[Any], Any]) -> SourceNotes:
        """The notes for a copy of the module, given the copy of each node and attribute set; those without one are left out."""
        notes = SourceNotes()
        notes.fast_count = self.fast_count
        for computation, span in self.spans.items():
            if node(computation) is not None:
                notes.spans[node(computation)] = PrintedSpan(span.start, span.end, node(span.root), span.count)
        for original, text in self._spellings.values():
            copy = attributes(original)
            if copy is not None:
                notes._spellings[id(copy)] = copy, text
        for x, pair in self._written.items():
            if node(x) is not None:
                first, second = (Annotations(attributes(a.attributes), a.metadata_text, a.backend_config) for a in pair)
                notes._written[node(x)] = first, second
        for x, origin in self.origin_of.items():
            if node(x) is not None and node(origin) is not None:
                notes.origin_of[node(x)] = node(origin)
        return notes
