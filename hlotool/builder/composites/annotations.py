"""What is written to all instructions that are made inside of a `with` block: shardings, metadata, frontend attributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from hlotool.builder.emitter import Emitter
from hlotool.builder.op import Op
from hlotool.ir.model import set_field

__all__ = ["AnnotationMethods"]


class AnnotationMethods(Emitter):
    """Annotations of instructions, which do not change what they compute."""

    @contextmanager
    def sharding(self, sharding: Any) -> Iterator[None]:
        """Gives a sharding, a Sharding or its text, to all instructions of the block. Raises BuilderError for text that is not a sharding.

        >>> from hlotool.builder.builder import Builder
        >>> b = Builder("demo", num_partitions=2)
        >>> with b.sharding("{devices=[2]0,1}"):
        ...     x = b.parameter(0, "f32[4]", "x")
        >>> x.instruction.attributes["sharding"].text
        '{devices=[2]0,1}'
        """
        with self._common("sharding", self._text("sharding", sharding)):
            yield

    @contextmanager
    def frontend_attributes(self, attributes: Mapping[str, str]) -> Iterator[None]:
        """Gives frontend attributes to all instructions of the block, in addition to those of blocks around it.

        >>> from hlotool.builder.builder import Builder
        >>> b = Builder("demo")
        >>> with b.frontend_attributes({"layer": "one"}):
        ...     x = b.parameter(0, "f32[4]", "x")
        >>> x.instruction.attributes["frontend_attributes"]
        {'layer': 'one'}
        """
        outer = self._state.common.get("frontend_attributes", {})
        with self._common("frontend_attributes", {**outer, **attributes}):
            yield

    @contextmanager
    def _common(self, name: str, value: Any) -> Iterator[None]:
        common = self._state.common
        self._state.common = {**common, name: value}
        try:
            yield
        finally:
            self._state.common = common

    @contextmanager
    def metadata(self, op_name: str = "", op_type: str = "") -> Iterator[None]:
        """Gives op_name and op_type to the metadata of all instructions of the block.

        >>> from hlotool.builder.builder import Builder
        >>> b = Builder("demo", source_lines=False)
        >>> with b.metadata(op_name="layer/one"):
        ...     x = b.parameter(0, "f32[4]", "x")
        >>> x.instruction.metadata_text
        '{op_name="layer/one"}'
        """
        state = self._state
        outer = state.op_name, state.op_type
        state.op_name, state.op_type = op_name, op_type
        try:
            yield
        finally:
            state.op_name, state.op_type = outer

    def after(self, op: Op, predecessors: Sequence[Op]) -> Op:
        """Requires an operation to run after others of its computation that are no operands, by control-predecessors; returns it.

        >>> from hlotool.builder.builder import Builder
        >>> b = Builder("demo")
        >>> x = b.parameter(0, "f32[4]", "x")
        >>> first, second = b.neg(x), b.exp(x)
        >>> b.after(second, [first]).instruction.control_predecessors
        (<negate = f32[4]{0} negate>,)
        """
        x = self._operand(op, "op")
        before = [self._operand(predecessor, "predecessors") for predecessor in self._list(predecessors, "predecessors")]
        value = tuple(dict.fromkeys((*x.control_predecessors, *before))) or None
        self._is_ordered = False
        place = self._innermost()._place
        if place is not None:
            place[0].update(x, attributes={"control-predecessors": value})
        else:
            set_field(x, "attributes", x.attributes.changed({"control-predecessors": value}))
        return op
