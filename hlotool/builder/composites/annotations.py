"""Methods that annotate instructions with shardings, metadata and attributes.

They annotate a single instruction, or all instructions built in a `with` block.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from hlotool.builder.emitter import Emitter
from hlotool.builder.op import Op
from hlotool.builder.texts import ShapeLike
from hlotool.ir.model import Instruction, set_field
from hlotool.ir.notes import Annotations
from hlotool.shapes.metadata import Metadata, decode_metadata
from hlotool.shapes.sharding import Sharding
from hlotool.shapes.values import Origin, StatisticsViz
from hlotool.text.parse.async_ops import annotate_root, set_annotations
from hlotool.text.parse.attributes import backend_config_text

__all__ = ["AnnotationMethods"]

_ASYNC_START = "async-start"
_NO_METADATA = "{}"
_ANNOTATIONS: dict[str, type] = {"sharding": Sharding, "frontend_attributes": dict, "statistics": StatisticsViz, "origin": Origin}


class AnnotationMethods(Emitter):
    """Methods for annotations, which do not change what instructions compute."""

    @contextmanager
    def sharding(self, sharding: Any) -> Iterator[None]:
        """Applies a sharding to all instructions built in a `with` block.

        The sharding is given as a Sharding or as text. Raises BuilderError for text that is not a
        sharding.

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
        """Applies frontend attributes to all instructions built in a `with` block.

        The attributes are added to those of the enclosing blocks.

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
        """Writes op_name and op_type to the metadata of all instructions built in a `with` block.

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

    def annotate(
        self,
        op: Op,
        *,
        sharding: Any = None,
        frontend_attributes: Any = None,
        statistics: Any = None,
        origin: Any = None,
        metadata: str | None = None,
        backend_config: str | None = None,
    ) -> Op:
        """Replaces annotations of an operation, and returns the operation.

        `Op.annotated` does the same. Every annotation may be given as HLO text; frontend attributes
        may also be given as a dictionary. None leaves an annotation unchanged. As in HLO text, the
        annotations of an asynchronous operation are also copied to the root of the computation that
        it runs. Raises BuilderError for text that cannot be read.

        >>> from hlotool.builder.builder import Builder
        >>> b = Builder("demo")
        >>> b.annotate(b.constant(1.0), backend_config='{"a":1}', frontend_attributes={"k": "v"}).instruction.backend_config
        '{"a":1}'
        """
        x = self._existing(op, "op")
        given = {"sharding": sharding, "frontend_attributes": frontend_attributes, "statistics": statistics, "origin": origin}
        changes = {name: self._annotation(name, value, x) for name, value in given.items() if value is not None}
        metadata_text = x.metadata_text if metadata is None else self._metadata_text(metadata)
        configuration = x.backend_config if backend_config is None else self._configuration(backend_config)
        position = self._innermost()._position
        if position is not None:
            position[0].update(x, attributes=changes, metadata_text=metadata_text, backend_config=configuration)
        else:
            set_annotations(x, Annotations(x.attributes.changed(changes) if changes else x.attributes, metadata_text, configuration))
        if _ASYNC_START in (x.op.name, x.op.update_of, x.op.done_of) and x.called:
            annotate_root(self._state.module.notes, x.called[0], x.attributes, x.metadata_text, x.backend_config)
        return op

    def _annotation(self, name: str, value: Any, x: Instruction) -> Any:
        result: Any = self._instance(self._text(name, value, None, x.shape.text), _ANNOTATIONS[name], name)
        if isinstance(result, dict):
            for part in (*result, *result.values()):
                self._instance(part, str, name)
        return result

    def _metadata_text(self, value: Any) -> str | None:
        text: str = self._instance(value, str, "metadata")
        if text == _NO_METADATA:
            return None
        with suppress(TypeError, ValueError):
            # This is much faster than the parser, and every instruction in a dump has metadata.
            if decode_metadata(text).text == text:
                return text
        metadata: Metadata = self._text("metadata", text)
        return metadata.text

    def _configuration(self, value: Any) -> str | None:
        text: str = self._instance(value, str, "backend_config")
        return backend_config_text(text)

    def set_layout(self, op: Op, shape: ShapeLike) -> Op:
        """Sets the layout of an operation's result to that of `shape`, and returns the operation.

        `Op.with_layout` does the same. Raises BuilderError if the shapes differ in anything but the
        layout.

        >>> from hlotool.builder.builder import Builder
        >>> b = Builder("demo")
        >>> b.set_layout(b.parameter(0, "f32[4,2]", "x"), "f32[4,2]{0,1:T(8,128)}").shape.text
        'f32[4,2]{0,1:T(8,128)}'
        """
        x, result = self._existing(op, "op"), self._shape(shape)
        same = x.shape.text_without_layout == result.text_without_layout
        self._require(
            same, "T003", "shape", f"only the layout may change: the result is {x.shape.text_without_layout}, not {result.text_without_layout}"
        )
        position = self._innermost()._position
        if position is not None:
            position[0].update(x, shape=result)
        else:
            set_field(x, "shape", result)
        return op

    def after(self, op: Op, predecessors: Sequence[Op]) -> Op:
        """Makes an operation run after `predecessors`, and returns the operation.

        An operation always runs after its operands. The predecessors must belong to the same
        computation; they become its control predecessors.

        >>> from hlotool.builder.builder import Builder
        >>> b = Builder("demo")
        >>> x = b.parameter(0, "f32[4]", "x")
        >>> first, second = b.neg(x), b.exp(x)
        >>> b.after(second, [first]).instruction.control_predecessors
        (<negate = f32[4]{0} negate>,)
        """
        x = self._existing(op, "op")
        before = [self._existing(predecessor, "predecessors") for predecessor in self._list(predecessors, "predecessors")]
        value = tuple(dict.fromkeys((*x.control_predecessors, *before))) or None
        self._is_ordered = False
        position = self._innermost()._position
        if position is not None:
            position[0].update(x, attributes={"control-predecessors": value})
        else:
            set_field(x, "attributes", x.attributes.changed({"control-predecessors": value}))
        return op
