"""The base class of builders, which creates instructions.

Its methods convert operands and attributes, infer and check shapes, and assign names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, NoReturn

from hlotool.builder.arguments import ArgumentMethods
from hlotool.builder.broadcasting import Expansion, expansions
from hlotool.builder.literals import as_literal
from hlotool.builder.op import Op
from hlotool.builder.state import ModuleState
from hlotool.errors import Violation
from hlotool.ir.edit import Rewriter
from hlotool.ir.model import NO_ATTRIBUTES, AttributeSet, Computation, Instruction, as_op_argument, set_field
from hlotool.ir.names import NameTable, is_legal_name
from hlotool.literals.literal import Literal
from hlotool.opdefs.base import OpDef, require_operand_count
from hlotool.opdefs.constraints import check_precision, check_result
from hlotool.opdefs.inference import bounds, kind_of
from hlotool.opdefs.table import OPS
from hlotool.opdefs.traits import SHAPE_GUESSED
from hlotool.shapes.layout import is_implicit_layout
from hlotool.shapes.shape import Shape, array_shape

__all__ = ["Emitter", "is_default"]

_BROADCAST = OPS["broadcast"]
_COMPARE = OPS["compare"]
_CONSTANT = OPS["constant"]
_RESHAPE = OPS["reshape"]
_NUMERIC_TYPES = (bool, int, float, complex, list, tuple)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]*")


class Emitter(ArgumentMethods):
    """A base class of builders, with the methods that create instructions."""

    def __init__(self, state: ModuleState, computation: Computation) -> None:
        super().__init__(state, computation)
        self._names = state.instruction_names if state.unique_names else NameTable()
        # Parameters by number; tokens that order accesses to the host's queues, by opcode.
        self._numbers: dict[int, Instruction] = {}
        self._tokens: dict[str, Instruction] = {}
        # True if each instruction comes after the instructions that it depends on.
        self._is_ordered = True
        # For an existing module: its Rewriter, and the instruction that new ones are inserted
        # before, or None to add them at the end.
        self._position: tuple[Rewriter, Instruction | None] | None = None
        self._inner: Emitter | None = None  # the builder of the function that is being traced

    def _innermost(self) -> Emitter:
        """Returns the builder whose computation receives new instructions.

        A traced function may also call the methods of an enclosing builder; these methods add
        instructions to the function's own computation.
        """
        builder = self
        while builder._inner is not None:
            builder = builder._inner
        return builder

    # ---- instructions ---------------------------------------------------------------------------

    def _emit(
        self,
        op: OpDef,
        operands: tuple[Instruction, ...],
        attributes: dict[str, Any] | None = None,
        shape: Shape | None = None,
        immediate: Any = None,
        name: str | None = None,
        *,
        is_checked: bool = True,
    ) -> Op:
        """Creates an instruction and adds it to the innermost computation.

        The shape is inferred unless it is given; if `is_checked` is False, it must be given. Raises
        BuilderError if the operands, the attributes and the shape do not match.
        """
        state = self._state
        given = attributes or {}
        arguments = {name: as_op_argument(value, state.program_shape) for name, value in given.items()} if op.calls else given
        shapes = tuple([x.shape for x in operands])
        key: tuple[Any, ...] = (op, tuple(arguments.items()), shape, shapes, is_checked)
        try:
            found = state.results.get(key)
        except TypeError:
            # Some values cannot be hashed, such as frontend attributes.
            key, found = (), None
        if found is None:
            result = shape if shape is not None and not is_checked else self._check(op, shapes, arguments, shape)
            attribute_set = _stored_attributes(op, given, shapes, result)
            if key:
                state.remember(key, result, attribute_set)
        else:
            result, attribute_set = found
            if op.calls:
                # The key contains only the shapes of the called computations, so the cached
                # attributes may refer to other computations of the same shapes.
                attribute_set = _stored_attributes(op, given, shapes, result)
        if state.common:
            attribute_set = AttributeSet({**attribute_set, **state.common})
        metadata = state.metadata_text()
        target = self._innermost()
        if not target._is_open:
            self._fail("S011", "", f"computation '{target._computation.name}' is finished, so nothing can be added to it")
        if target._position is not None:
            return Op(target, target._insert(op, operands, result, attribute_set, immediate, metadata, name))
        x = Instruction(target._names.take(name or op.name), op, result, operands, attribute_set, immediate, metadata)
        target._instructions.append(x)
        return Op(target, x)

    def _insert(
        self,
        op: OpDef,
        operands: tuple[Instruction, ...],
        shape: Shape,
        attributes: AttributeSet,
        immediate: Any,
        metadata: str | None,
        name: str | None,
    ) -> Instruction:
        assert self._position is not None
        rewriter, before = self._position
        into = self._computation if before is None else None
        return rewriter.insert(
            op, operands, before=before, into=into, name=name, shape=shape, attributes=attributes, immediate=immediate, metadata_text=metadata
        )

    def _check(self, op: OpDef, operands: tuple[Shape, ...], attributes: dict[str, Any], shape: Shape | None) -> Shape:
        """Returns the result shape; in `attributes`, ProgramShapes stand for called computations.

        Raises BuilderError for an instruction that shape inference or the verifier rejects.
        """
        try:
            return self._infer_and_check(op, operands, attributes, shape)
        except Violation as violation:
            self._reject(violation, op=op)

    def _infer_and_check(self, op: OpDef, operands: tuple[Shape, ...], attributes: dict[str, Any], shape: Shape | None) -> Shape:
        state, rules = self._state, self._state.rules[op]
        require_operand_count(op, len(operands))
        if op.check_parsed is not None:
            # The parser rejects some attributes even with default values, so defaults are omitted.
            attributes = {name: value for name, value in attributes.items() if not is_default(op, name, value, operands)}
            shape = op.check_parsed(shape, operands, attributes) or shape
        check = rules.expected
        if shape is None or op.shape_ignored:
            if (op.infers or op.shape_ignored) and SHAPE_GUESSED not in op.traits:
                shape, check = op.infer(*operands, **{name: attributes[name] for name in op.attributes if name in attributes}), rules.constrained
            else:
                shape = self._required_shape(op, operands, attributes)
                if _has_default_layout(shape) and _has_default_layout(operands[0]):
                    # The rules have just produced this shape, so a check could only find a wrong
                    # layout; but the layout is the default.
                    return shape
        try:
            expected = check(shape, operands, attributes, state.modes)
            check_precision(op, operands, state.modes)
            if expected is not None and expected is not shape:
                check_result(op, operands, expected, shape, state.modes)
        except Violation as violation:
            if violation.severity != "warning":
                raise
        return shape

    def _required_shape(self, op: OpDef, operands: tuple[Shape, ...], attributes: dict[str, Any]) -> Shape:
        """Returns the result shape that the verifier requires if none is given.

        Used for opcodes whose shape XLA's parser does not infer correctly.
        """
        required = self._state.rules[op].expected(operands[0], operands, attributes, self._state.modes) if operands else None
        if required is None:
            raise Violation("S037", "shape", f"the result shape of '{op.name}' cannot be inferred", "give the shape")
        check_precision(op, operands, self._state.modes)
        return required

    def _inferred_shape(self, op: OpDef, operands: tuple[Instruction, ...], attributes: dict[str, Any]) -> Shape:
        """Returns the result shape that XLA's parser infers.

        Used for opcodes for which the verifier takes the written shape into account.
        """
        arguments = {name: as_op_argument(value, self._state.program_shape) for name, value in attributes.items()}
        try:
            return op.infer(*[x.shape for x in operands], **arguments)
        except Violation as violation:
            self._reject(violation, op=op)

    def _expected_shape(self, op: OpDef, operands: tuple[Instruction, ...], attributes: dict[str, Any], result: Shape) -> Shape:
        """Returns the result shape that the verifier requires of an instruction.

        Only some properties of `result`, such as its element type, affect the shape.
        """
        try:
            shapes = tuple([x.shape for x in operands])
            return self._state.rules[op].expected(result, shapes, attributes, self._state.modes) or result
        except Violation as violation:
            self._reject(violation, op=op)

    def rename(self, op: Op, name: str) -> None:
        """Renames an instruction; a name already in use gets a number.

        `Op.named` does the same. Raises BuilderError for a name that XLA does not accept.
        """
        x = self._existing(op, "op")
        self._check_name(name)
        position = self._innermost()._position
        if position is not None:
            rewriter, others = position[0], count(1)
            free = name
            while rewriter.is_name_used(free) and free != x.name:
                free = f"{name}.{next(others)}"
            rewriter.rename(x, free)
            return
        names = self._innermost()._names
        names.release(x.name)
        set_field(x, "name", names.take(name))

    def _check_name(self, name: str) -> None:
        self._check_spelling(name)
        self._require(is_legal_name(name), "S046", "name", f"'{name}' is reserved, so it cannot be used as a name")

    def _check_spelling(self, name: str) -> None:
        legal = isinstance(name, str) and _NAME.fullmatch(name) is not None
        self._require(legal, "S048", "name", f"'{name}' is not a valid name: use letters, digits, '_', '.' and '-', and begin with a letter or '_'")

    # ---- operands -------------------------------------------------------------------------------

    def _operand(self, value: Any, argument: str, like: Shape | None = None) -> Instruction:
        """Returns the instruction of an operation, or a new constant for any other value.

        Numbers take the element type of `like`.
        """
        if isinstance(value, Op):
            target = self._innermost()
            if value.builder is target:
                return value.instruction
            other: Emitter = value.builder
            if other._computation is target._computation:
                return value.instruction
            target._fail_foreign(value, other, argument)
        weak = like is not None and like.is_array and isinstance(value, _NUMERIC_TYPES)
        try:
            literal = as_literal(value, like.element_type if weak and like is not None else None)
        except Violation as violation:
            self._reject(violation, argument)
        return self._constant(literal)

    def _existing(self, value: Any, argument: str) -> Instruction:
        """Returns the instruction of an operation; other values are rejected."""
        return self._operand(self._instance(value, Op, argument), argument)

    def _fail_foreign(self, value: Op, other: Emitter, argument: str) -> NoReturn:
        name, own = other._computation.name, self._computation.name
        if other._state is not self._state:
            self._fail("S026", argument, f"'{value.name}' belongs to another module, '{other._state.module.name}'")
        hint = "HLO has no captures: pass the value as an operand, for example as part of the loop's state"
        self._fail("S026", argument, f"'{value.name}' belongs to computation '{name}', but this operation is added to '{own}'", hint)

    def _constant(self, literal: Literal) -> Instruction:
        return self._emit(_CONSTANT, (), None, literal.shape, literal).instruction

    def _operands(self, values: Any, argument: str, like: Sequence[Instruction] = ()) -> tuple[Instruction, ...]:
        """Returns the instructions for a sequence of operands, or for a single operand.

        Numbers take the element type of the corresponding instruction of `like`.
        """
        parts = list(values) if isinstance(values, (list, tuple, Iterator)) else [values]
        shapes = [x.shape for x in like] + [None] * (len(parts) - len(like))
        return tuple([self._operand(part, argument, shape) for part, shape in zip(parts, shapes, strict=False)])

    # ---- broadcasting ---------------------------------------------------------------------------

    def _binary(self, op: OpDef, lhs: Any, rhs: Any, dimensions: Sequence[int] = (), attributes: dict[str, Any] | None = None) -> Op:
        """Adds an elementwise operation on two operands, broadcasting them to a common shape.

        Numbers take the type of the other operand.
        """
        if isinstance(rhs, Op) and not isinstance(lhs, Op):
            y = self._operand(rhs, "rhs")
            x = self._operand(lhs, "lhs", y.shape)
        else:
            x = self._operand(lhs, "lhs")
            y = self._operand(rhs, "rhs", x.shape)
        is_given = bool(dimensions) if isinstance(dimensions, (list, tuple)) else True
        if is_given or x.shape.dimensions != y.shape.dimensions:
            x, y = self._broadcast_pair(x, y, dimensions)
        return self._emit(op, (x, y), attributes)

    def _broadcast_pair(self, x: Instruction, y: Instruction, dimensions: Sequence[int]) -> tuple[Instruction, Instruction]:
        if not (x.shape.is_array and y.shape.is_array):
            return x, y
        numbers = self._dimensions(dimensions, max(x.shape.rank, y.shape.rank), "broadcast_dimensions")
        try:
            left, right = expansions(x.shape, y.shape, numbers)
        except Violation as violation:
            self._reject(violation)
        return self._expand(x, left), self._expand(y, right)

    def _expand(self, x: Instruction, expansion: Expansion) -> Instruction:
        if expansion.mapped is not None:
            x = self._emit(_BROADCAST, (x,), {"dimensions": expansion.dimensions}, expansion.mapped).instruction
        return x if expansion.result is None else self._repeat(x, expansion.kept, expansion.kept, expansion.result)

    def _broadcast_scalar(self, x: Instruction, like: Shape) -> Instruction:
        """Broadcasts a scalar to the dimensions of `like`; other arrays are returned unchanged."""
        if not x.shape.is_array or x.shape.dimensions or not like.dimensions:
            return x
        shape = array_shape(x.shape.element_type, like.dimensions, like.dynamic)
        return self._emit(_BROADCAST, (x,), {"dimensions": ()}, shape).instruction

    def _repeat(self, x: Instruction, kept: Sequence[int], positions: Sequence[int], result: Shape) -> Instruction:
        """Repeats an array along the dimensions that are not in `kept`; these must have size 1.

        `positions` lists the positions of the kept dimensions in the result.
        """
        if len(kept) != x.shape.rank:
            sizes = bounds(x.shape)
            shape = array_shape(x.shape.element_type, tuple(sizes[k][0] for k in kept), tuple(sizes[k][1] for k in kept))
            x = self._emit(_RESHAPE, (x,), None, shape).instruction
        return self._emit(_BROADCAST, (x,), {"dimensions": tuple(positions)}, result).instruction

    def _total_order(self, direction: str, lhs: Any, rhs: Any, dimensions: Sequence[int]) -> Op:
        """Adds a comparison in the total order of floats; other types have only one order."""
        element = next((value for value in (lhs, rhs) if isinstance(value, Op)), None)
        is_float = element is None or kind_of(element.element_type) == "float"
        attributes = {"direction": direction, "type": "TOTALORDER"} if is_float else {"direction": direction}
        return self._binary(_COMPARE, lhs, rhs, dimensions, attributes)


def _stored_attributes(op: OpDef, attributes: dict[str, Any], operands: tuple[Shape, ...], result: Shape) -> AttributeSet:
    """Returns the attributes that an instruction stores.

    Attributes with default values are left out; attributes that follow from the result are added.
    """
    stored = {name: value for name, value in attributes.items() if not is_default(op, name, value, operands)}
    for name, derive in op.derived.items():
        stored[name] = derive(result)
    return AttributeSet(stored) if stored else NO_ATTRIBUTES


def _has_default_layout(shape: Shape) -> bool:
    return is_implicit_layout(shape.layout, len(shape.dimensions))


def is_default(op: OpDef, name: str, value: Any, operands: tuple[Shape, ...]) -> bool:
    """Returns whether an attribute has its default value, so that the printer leaves it out."""
    spec = op.attributes.get(name)
    if spec is None or spec.always:
        return False
    if name in op.operand_defaults:
        return bool(value is None or value == op.operand_defaults[name](operands))
    return bool(value == spec.default) or value is None
