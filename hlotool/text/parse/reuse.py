"""Incremental parsing: reuses computations from the parse of another version of the source.

After an edit, only the parts that changed are read again. A computation is reused if the fast path
has read it in one piece, its text is unchanged, and its callees have the same signatures. If the
computation has kept its offset, the two modules share it; if not, it is copied with new offsets,
and so are computations that call a copied one. The printer
writes a reused computation one instruction at a time, because the spelling of its attributes is not
recorded again.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple, cast

from hlotool.ir.clone import replace_nodes
from hlotool.ir.model import AttributeSet, Computation, Instruction, InstructionFields
from hlotool.ir.node import Node
from hlotool.text.parse.builder import ModuleBuilder

__all__ = ["EarlierParse", "WholeComputation"]


class WholeComputation(NamedTuple):
    """A computation that has been read in one piece and without errors.

    Also holds the offset of the closing brace, and the execution thread written after it.
    """

    computation: Computation
    brace: int
    thread: str


class EarlierParse:
    """Computations from another parse, for reuse in this one.

    `taken` maps each computation of the other parse to its counterpart in this one.
    """

    def __init__(self, known: ModuleBuilder, whole: Mapping[str, WholeComputation], builder: ModuleBuilder) -> None:
        self.builder = builder
        self.text = known.source.text
        self.notes = known.module.notes
        # If names clash, the computations are renamed after the whole module has been read.
        self.whole: Mapping[str, WholeComputation] = {} if known.has_clashes else whole
        self.taken: dict[Computation, Computation] = {}
        # An async start changes the computation that it calls, so the computation must not belong
        # to another module as well.
        self._may_share = "-start" not in builder.source.text
        # Keyed by the ids of the original sets, which live as long as the other parse.
        self._attribute_sets: dict[int, AttributeSet] = {}

    def candidate(self, name: str, start: int) -> WholeComputation | None:
        """Returns the computation with this name if its text is also at `start`, or None."""
        known = self.whole.get(name)
        if known is None:
            return None
        computation = known.computation
        # An async start may have changed the computation.
        if computation.execution_thread != known.thread or self.notes.written(computation.root) is not None:
            return None
        return known if self.builder.source.text.startswith(self.text[computation.start : computation.end], start) else None

    def take(self, known: Computation, start: int) -> Computation | None:
        """Returns the computation at the new offset `start`, or None if its callees differ."""
        for x in known.instructions:
            if x.op.calls and not all(map(self._is_called_here, x.called)):
                return None
        is_shared = self._may_share and start == known.start and not self._calls_others(known)
        computation = known if is_shared else self._copy(known, start - known.start)
        self.taken[known] = computation
        return computation

    def _is_called_here(self, called: Computation) -> bool:
        """Returns whether this module has a computation with the name and signature of `called`."""
        if called in self.taken:
            return True
        here = self.builder.computations.get(called.name)
        if here is None or here.program_shape != called.program_shape:
            return False
        self.taken[called] = here
        return True

    def _calls_others(self, known: Computation) -> bool:
        return any(self.taken[called] is not called for x in known.instructions if x.op.calls for called in x.called)

    def _copy(self, known: Computation, shift: int) -> Computation:
        computation = Computation(known.name, known.start + shift)
        computation.end, computation.execution_thread = known.end + shift, known.execution_thread
        copies: dict[Instruction, Instruction] = {}
        get, append = copies.__getitem__, computation.instructions.append
        make_fields, final_class = cast("type[Instruction]", InstructionFields), Instruction
        for x in known.instructions:
            attributes = x.attributes
            if x.op.calls or "control-predecessors" in attributes:
                attributes = self._attributes(x, copies)
            operands = tuple(map(get, x.operands))
            start, end = x.start + shift, x.end + shift
            copy = make_fields(x.name, x.op, x.shape, operands, attributes, x.immediate, x.metadata_text, x.backend_config, start, end)
            copy.__class__ = final_class
            copies[x] = copy
            append(copy)
        computation.root = copies[known.root]
        return computation

    def _attributes(self, x: Instruction, copies: Mapping[Instruction, Instruction]) -> AttributeSet:
        """Returns an instruction's attributes with callees and control predecessors replaced."""
        key = id(x.attributes)
        attributes = self._attribute_sets.get(key)
        if attributes is None:
            values = {name: replace_nodes(value, Node, partial(self._counterpart, copies)) for name, value in x.attributes.items()}
            attributes = AttributeSet(values)
            if "control-predecessors" not in attributes:
                # Control predecessors differ between computations.
                self._attribute_sets[key] = attributes
        return attributes

    def _counterpart(self, copies: Mapping[Instruction, Instruction], node: Computation | Instruction) -> Computation | Instruction:
        """Returns this module's counterpart of a computation or of a copied instruction."""
        return self.taken[node] if isinstance(node, Computation) else copies[node]
