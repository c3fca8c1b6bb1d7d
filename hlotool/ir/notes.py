"""Notes about the source text of a module: spellings, annotations, and origins of new instructions.

The notes make printing faster and messages better, but correct results do not depend on them. A
Rewriter removes the notes that its edits invalidate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from hlotool.ir.attributes import AttributeSet
from hlotool.ir.node import Node
from hlotool.opdefs.base import OpDef
from hlotool.record import Record

__all__ = ["Annotations", "Assignments", "PrintedSpan", "SourceNotes"]


# The classes of computations and instructions are in `ir.model`, which imports this module.
ComputationType = TypeVar("ComputationType", bound=Node)
InstructionType = TypeVar("InstructionType", bound=Node)


class PrintedSpan:
    """The range of the source that holds a computation's instructions.

    Its text is spelled as in losslessly printed text, except perhaps for attributes. `root`,
    `parameters` (by number) and `instructions` record what the source contains.
    """

    # Not a Record, because Records are slower to create and most computations of a dump have a
    # span.
    __slots__ = ("end", "instructions", "parameters", "root", "start")

    def __init__(self, start: int, end: int, root: Node, parameters: Sequence[Any], instructions: Sequence[Any]) -> None:
        self.start = start
        self.end = end
        self.root = root
        self.parameters = parameters
        self.instructions = instructions


class Assignments:
    """The most recent assignment to a field of any instruction of any module.

    `last` is compared by identity. As long as it is the same object, no instruction parsed earlier
    differs from its source, unless a Rewriter has recorded a change.
    """

    last: ClassVar[object] = object()


class Annotations(Record):
    """The attributes, metadata and backend configuration of an instruction."""

    attributes: AttributeSet
    metadata_text: str | None
    backend_config: str | None

    def belong_to(self, x: Any) -> bool:
        """Returns whether an instruction has these annotations."""
        return x.attributes is self.attributes and x.metadata_text == self.metadata_text and x.backend_config == self.backend_config


class SourceNotes(Generic[ComputationType, InstructionType]):
    """Notes about a module.

    `spans` holds the PrintedSpan of each computation that has one. `fast_count` is the number of
    instructions that were built by the parser's fast path. For messages, `origin_of` maps each
    instruction inserted by a Rewriter to the instruction that it is derived from. `edit_count` is
    the number of edits by Rewriters.
    """

    __slots__ = ("_last_assignment", "_spellings", "_written", "edit_count", "fast_count", "origin_of", "spans")

    def __init__(self) -> None:
        self.spans: dict[ComputationType, PrintedSpan] = {}
        self.origin_of: dict[InstructionType, InstructionType] = {}
        self.fast_count = 0
        self.edit_count = 0
        self._last_assignment = Assignments.last
        # Keyed by the id of the attribute set. The set is stored, too, because an id is valid only
        # while its object lives.
        self._spellings: dict[int, tuple[AttributeSet, OpDef, str]] = {}
        # The annotations in the text, and the annotations that replaced them.
        self._written: dict[InstructionType, tuple[Annotations, Annotations]] = {}

    def set_spelling(self, op: OpDef, attributes: AttributeSet, text: str) -> None:
        """Records the source text of an opcode's attribute set.

        The text begins at the comma before the first attribute.
        """
        self._spellings[id(attributes)] = attributes, op, text

    def spellings(self) -> Iterable[tuple[AttributeSet, OpDef, str]]:
        """Returns the attribute sets read by the fast path, each with its opcode and text."""
        return self._spellings.values()

    def are_current(self) -> bool:
        """Returns whether no field of any instruction has been assigned since the text was parsed.

        Assignments to instructions of other modules count as well.
        """
        return self._last_assignment is Assignments.last

    def set_written(self, x: InstructionType, written: Annotations, replaced_by: Annotations) -> None:
        """Records an instruction's annotations in the text, and those that replaced them.

        The parser replaces annotations as XLA does.
        """
        first = self._written.get(x)
        self._written[x] = first[0] if first is not None else written, replaced_by

    def written(self, x: InstructionType) -> Annotations | None:
        """Returns an instruction's annotations in the text if the parser replaced them.

        Returns None if the parser did not replace them, or if they have changed since.
        """
        entry = self._written.get(x)
        return entry[0] if entry is not None and entry[1].belong_to(x) else None

    def forget_written(self, x: InstructionType) -> None:
        """Discards an instruction's annotations in the text, so that the current ones are printed."""
        self._written.pop(x, None)

    def mapped(self, node: Callable[[Any], Any], attributes: Callable[[Any], Any]) -> SourceNotes[Any, Any]:
        """Returns the notes for a copy of the module.

        `node` and `attributes` return the copy of a node or attribute set, or None to omit notes.
        """
        notes: SourceNotes[Any, Any] = SourceNotes()
        notes.fast_count = self.fast_count
        notes._last_assignment = self._last_assignment
        for computation, span in self.spans.items():
            instructions = list(map(node, span.instructions))
            if None not in instructions:
                notes.spans[node(computation)] = PrintedSpan(span.start, span.end, node(span.root), list(map(node, span.parameters)), instructions)
        for original, op, text in self._spellings.values():
            copy = attributes(original)
            if copy is not None:
                notes._spellings[id(copy)] = copy, op, text
        for x, pair in self._written.items():
            first, second = (Annotations(attributes(a.attributes), a.metadata_text, a.backend_config) for a in pair)
            if node(x) is not None and first.attributes is not None:
                notes._written[node(x)] = first, second
        for x, origin in self.origin_of.items():
            if node(x) is not None and node(origin) is not None:
                notes.origin_of[node(x)] = node(origin)
        return notes
