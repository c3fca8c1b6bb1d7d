"""The interface through which rules query the uses of instructions and insert new instructions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from hlotool.ir.edit import Rewriter
from hlotool.ir.make import as_shape
from hlotool.ir.model import Instruction
from hlotool.literals.literal import Literal
from hlotool.opdefs.algebra import Number
from hlotool.opdefs.base import OpDef
from hlotool.opdefs.table import OPS
from hlotool.opdefs.traits import ELEMENTWISE, REARRANGES
from hlotool.optimizer.constants import CannotBuildError, number_literal
from hlotool.shapes.shape import Shape, array_shape

__all__ = ["PatternRewriter", "depends_on"]

# The attributes of an instruction that `with_operands` leaves out.
_OWN_ATTRIBUTES = {"control-predecessors": None, "sharding": None}
# The number of levels of operands that `depends_on` excludes from its search.
_NEAR = 4


class PatternRewriter:
    """The state of applying a rule to one instruction, `x`, of a module.

    `inserted` lists the new instructions, in order; they are placed before the instruction to
    replace. A rule that returns None must not have inserted anything. An attempt to insert an
    instruction that cannot exist, such as a constant with a number that its type cannot represent,
    raises CannotBuildError: the rule does not match, and the instructions that it has inserted are
    erased.
    """

    __slots__ = ("inserted", "module_rewriter", "x")

    def __init__(self, rewriter: Rewriter, x: Instruction) -> None:
        self.module_rewriter = rewriter
        self.x = x
        self.inserted: list[Instruction] = []

    # ---- questions ------------------------------------------------------------------------------

    def users(self, x: Instruction) -> tuple[Instruction, ...]:
        """Returns the instructions that have `x` as an operand, each once."""
        return self.module_rewriter.users(x)

    def has_one_user(self, x: Instruction) -> bool:
        """Returns whether `x` has only one user, and disappears when that user is replaced."""
        return self.module_rewriter.user_count(x) == 1 and not self.module_rewriter.is_root(x)

    def have_one_user(self, instructions: Iterable[Instruction]) -> bool:
        """Returns whether each of the instructions has only one user."""
        return all(map(self.has_one_user, instructions))

    # ---- new instructions -----------------------------------------------------------------------

    def add(self, opcode: str, operands: Sequence[Instruction], shape: Shape | str | None = None, **attributes: Any) -> Instruction:
        """Inserts an instruction before the instruction to replace.

        `shape` is a shape or its text; if it is None, the shape is inferred.
        """
        shape = as_shape(shape) if shape is not None else None
        if shape is not None and shape.dynamic:
            _require_dynamic_operand(OPS[opcode], operands)
        new = self.module_rewriter.insert(opcode, operands, before=self.x, shape=shape, attributes=attributes, origin=self.x)
        self.inserted.append(new)
        return new

    def with_operands(self, x: Instruction, operands: Sequence[Instruction], shape: Shape | str | None = None, **changed: Any) -> Instruction:
        """Inserts an instruction like `x` with other operands.

        `shape` is a shape or its text; if it is None, it is the shape of `x`. `changed` contains
        new values of attributes; the value None removes an attribute.
        """
        shape = x.shape if shape is None else as_shape(shape)
        if shape.dynamic:
            _require_dynamic_operand(x.op, operands)
        attributes = x.attributes
        if changed or not _OWN_ATTRIBUTES.keys().isdisjoint(attributes):
            attributes = attributes.changed({**_OWN_ATTRIBUTES, **changed})
        new = self.module_rewriter.insert(
            x.op, operands, before=self.x, shape=shape, attributes=attributes, backend_config=x.backend_config, origin=x
        )
        self.inserted.append(new)
        return new

    def constant(self, literal: Literal) -> Instruction:
        """Inserts a constant."""
        new = self.module_rewriter.insert("constant", (), before=self.x, shape=literal.shape, immediate=literal, origin=self.x)
        self.inserted.append(new)
        return new

    def number(self, shape: Shape, number: Number) -> Instruction:
        """Inserts an array in which every element is the same number.

        The array is a scalar constant, or a broadcast of one.
        """
        scalar = self.constant(number_literal(shape.element_type, number))
        return scalar if not shape.dimensions else self.add("broadcast", [scalar], shape, dimensions=())

    def reshape(self, x: Instruction, dimensions: Sequence[int]) -> Instruction:
        """Inserts a reshape of `x`, unless `x` already has these dimensions. Returns the result."""
        if tuple(dimensions) == x.shape.dimensions:
            return x
        return self.add("reshape", [x], array_shape(x.shape.element_type, tuple(dimensions)))

    def undo(self) -> None:
        """Erases the new instructions."""
        for new in reversed(self.inserted):
            self.module_rewriter.erase(new)
        self.inserted = []


def _require_dynamic_operand(op: OpDef, operands: Sequence[Instruction]) -> None:
    """Raises CannotBuildError if a dynamic result would take its sizes from static operands."""
    if _takes_operand_sizes(op) and not any(operand.shape.dynamic for operand in operands):
        raise CannotBuildError(f"the result of '{op.name}' is dynamic, but no operand is")


@cache
def _takes_operand_sizes(op: OpDef) -> bool:
    return not op.arity or ELEMENTWISE in op.traits or (op.arity == 1 and REARRANGES in op.traits)


def depends_on(y: Instruction, x: Instruction) -> bool:
    """Returns whether `y` is `x`, or depends on it through operands.

    The search skips the nearest operands of `x`, so it takes little time if `y` is built from them.

    >>> import hlotool
    >>> p, a, b = hlotool.parse("ENTRY e { p = f32[] parameter(0) a = f32[] abs(p) ROOT b = f32[] add(p, a) }").entry.instructions
    >>> depends_on(b, a), depends_on(p, a)
    (True, False)
    """
    seen, level = set[Instruction](), {x}
    for _ in range(_NEAR):
        level = {operand for z in level for operand in z.operands}
        seen |= level
    stack = [y]
    while stack:
        z = stack.pop()
        if z is x:
            return True
        if z not in seen:
            seen.add(z)
            stack += z.operands
    return False
