"""Instructions with any opcode, built from attributes that are given by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hlotool.builder.arguments import Operands
from hlotool.builder.emitter import Emitter
from hlotool.builder.op import Op
from hlotool.builder.texts import ShapeLike
from hlotool.errors import nearest
from hlotool.ir.async_chain import producer
from hlotool.ir.model import Computation, Instruction
from hlotool.literals.literal import Literal
from hlotool.opdefs.base import CONTINUED
from hlotool.opdefs.codecs.enums import ENUMS
from hlotool.opdefs.table import OPS
from hlotool.shapes.values import (
    AliasPair,
    ConvolutionDimensions,
    DomainMetadata,
    PaddingDimension,
    ResultAccuracy,
    SliceRange,
    SparsityConfig,
    WindowDimension,
)

__all__ = ["GenericMethods"]

_ASYNC_START = "async-start"


class GenericMethods(Emitter):
    """A builder method for instructions with any HLO opcode."""

    def instruction(
        self,
        opcode: str,
        operands: Operands = (),
        shape: ShapeLike | None = None,
        attributes: Mapping[str, Any] | None = None,
        *,
        check: bool = True,
    ) -> Op:
        """Adds an instruction with any HLO opcode.

        The keys of `attributes` are names from HLO text; its values may be Python values or HLO
        text. The shape is inferred if it is not given. Raises BuilderError if the operands, the
        attributes or the shape do not fit the opcode. If `check` is False, a shape must be given,
        and the instruction is checked only by `build`.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> lifted = b.instruction("pad", [b.constant([1.0, 2.0]), b.constant(0.0)], "f32[4]", {"padding": "1_1"})
        >>> hlotool.evaluate(b.build(lifted), [])
        array([0., 1., 2., 0.], dtype=float32)
        """
        op = OPS.get(self._instance(opcode, str, "opcode"))
        if op is None:
            meant = nearest(opcode, OPS)
            self._fail("S012", "opcode", f"there is no opcode '{opcode}'", f"did you mean '{meant}'?" if meant else None)
        own_method = op.name in ("parameter", "constant")
        self._require(not own_method, "S012", "opcode", f"this method cannot add a {op.name}", f"use the method {op.name}")
        values = {}
        for name, value in self._attributes(attributes).items():
            spec = op.attributes.get(name)
            if spec is None:
                meant = nearest(name, op.attributes)
                hint = f"did you mean '{meant}'?" if meant else None
                self._fail("S015", "attributes", f"'{opcode}' has no attribute '{name}'", hint)
            if value is not None:
                values[name] = self._value(spec.kind, name, value)
        self._require(check or shape is not None, "S037", "shape", "a shape must be given if check is False")
        for name in op.required:
            self._require(name in values, "S014", "attributes", f"'{opcode}' needs the attribute '{name}'")
        parts = self._operands(operands, "operands")
        # In a loop, the start may be in another computation. The caller must then pass the
        # computation, unless the instruction is checked.
        for name in [spec.name for spec in op.attributes.values() if spec.kind == CONTINUED and spec.name not in values]:
            self._require(bool(parts), "S013", "operands", f"the first operand of '{opcode}' must be the operation that it continues")
            start_op = producer(parts[0], {})
            if check or (start_op is not None and start_op.called):
                values[name] = self._continued_call(parts[0], "operands")
        return self._emit(op, parts, values, None if shape is None else self._shape(shape), is_checked=check)

    def _continued_call(self, x: Instruction, argument: str) -> Computation:
        """Returns the computation of the asynchronous call that `x` starts or updates."""
        start_op = producer(x, {})
        if start_op is None or not start_op.called:
            self._fail("A003", argument, f"expected the result of an asynchronous start or update, got that of '{x.op.name}'")
        return start_op.called[0]

    def _value(self, kind: str, name: str, value: Any) -> Any:
        """Converts a value in any form that users may write to the value of an attribute."""
        if isinstance(value, str) and kind in _WRITTEN:
            value = self._text(name, value, kind)
        convert = _CONVERSIONS.get(kind)
        if convert is not None:
            return convert(self, value, name)
        if kind in ENUMS:
            return self._word(kind, value, name)
        if kind in _RECORDS:
            return self._instance(self._text(name, value, kind), _RECORDS[kind], name)
        return self._instances(self._text(name, value, kind), _LISTS[kind], name)


_RECORDS: dict[str, type] = {
    "DimLabels": ConvolutionDimensions,
    "Domain": DomainMetadata,
    "ResultAccuracy": ResultAccuracy,
    "SparsityConfig": SparsityConfig,
    "TypedLiteral": Literal,
}
_LISTS: dict[str, type] = {
    "OutputAliases": AliasPair,
    "Padding": PaddingDimension,
    "Replication": bool,
    "SliceRanges": SliceRange,
    "Window": WindowDimension,
}
"""The types of attributes (`_RECORDS`) or of their elements (`_LISTS`), by kind of attribute.

All of these attributes may also be given as text.
"""

_INTEGERS = ("Dims", "SingleDim", "FirstDim", "IgnoredDims", "SliceSizes")
_INTEGER_LISTS = ("Pairs", "SliceSizeLists")
# The kinds of values that are not text, but may be given as HLO text.
_WRITTEN = frozenset({"Int", "Int32", "Bool", "Number", "Shapes", *_INTEGERS, *_INTEGER_LISTS})

_CONVERSIONS: dict[str, Callable[[GenericMethods, Any, str], Any]] = {
    "Int": GenericMethods._integer,
    "Int32": GenericMethods._integer,
    "Bool": lambda generic, value, name: bool(value),
    "Number": GenericMethods._number,
    "Text": lambda generic, value, name: generic._instance(value, str, name),
    "OperandPrecision": lambda generic, value, name: generic._precision(value, any_length=True),
    "ReplicaGroups": lambda generic, value, name: generic._groups(value),
    "ShapeValue": lambda generic, value, name: generic._shape(value, name),
    "Shapes": lambda generic, value, name: tuple([generic._shape(part, name) for part in generic._list(value, name)]),
    "Computation": GenericMethods._closed,
    "Computations": lambda generic, value, name: tuple([generic._closed(part, name) for part in generic._list(value, name)]),
    CONTINUED: GenericMethods._closed,
    **dict.fromkeys(_INTEGERS, GenericMethods._integers),
    **dict.fromkeys(_INTEGER_LISTS, lambda generic, value, name: tuple([generic._integers(part, name) for part in generic._list(value, name)])),
}
