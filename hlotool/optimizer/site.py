"""The place where a rule is applied: it answers questions about uses, and inserts new instructions before the one to replace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from hlotool.ir.edit import Rewriter
from hlotool.ir.model import Instruction
from hlotool.literals.literal import Literal
from hlotool.opdefs.algebra import Number
from hlotool.opdefs.base import OpDef
from hlotool.opdefs.table import OPS
from hlotool.opdefs.traits import ELEMENTWISE, REARRANGES
from hlotool.optimizer.constants import CannotBuildError, number_literal
from hlotool.shapes.shape import Shape, array_shape

__all__ = ["Site", "depends_on"]

# How many levels of operands are known not to depend on their users without a search.
_NEAR = 4


class Site:
    """One instruction of a module that is being optimized. `inserted` are the new instructions, in order.

    A rule that returns None must not have inserted anything. New instructions that there cannot be, such as a constant with a number that its
    type does not have, raise CannotBuildError: the rule does not match, and what it has inserted is erased again.
    """

    __slots__ = ("inserted", "rewriter", "x")

    def __init__(self, rewriter: Rewriter, x: Instruction) -> None:
        self.rewriter = rewriter
        self.x = x
        self.inserted: list[Instruction] = []

    # ---- questions ----------------------------------------------------------------------------------------------------

    def users(self, x: Instruction) -> tuple[Instruction, ...]:
        """The instructions that take `x` as an operand, each once."""
        return self.rewriter.users(x)

    def has_one_user(self, x: Instruction) -> bool:
        """Whether only one instruction uses `x`, so that it disappears when that is replaced."""
        return self.rewriter.user_count(x) == 1 and not self.rewriter.is_root(x)

    def have_one_user(self, instructions: Iterable[Instruction]) -> bool:
        """Whether each of the instructions has only one user."""
        return all(map(self.has_one_user, instructions))

    # ---- new instructions ---------------------------------------------------------------------------------------------

    def add(self, opcode: str, operands: Sequence[Instruction], shape: Shape | None = None, **attributes: Any) -> Instruction:
        """Inserts an instruction before the one to replace. Without `shape`, the shape is inferred."""
        if shape is not None and shape.dynamic:
            _require_dynamic_operand(OPS[opcode], operands)
        new = self.rewriter.insert(opcode, operands, before=self.x, shape=shape, attributes=attributes, origin=self.x)
        self.inserted.append(new)
        return new

    def with_operands(self, x: Instruction, operands: Sequence[Instruction], shape: Shape | None = None, **changed: Any) -> Instruction:
        """Inserts an instruction like `x` with other operands and, if named, other attributes; the value None removes an attribute."""
        shape = shape or x.shape
        if shape.dynamic:
            _require_dynamic_operand(x.op, operands)
        attributes = x.attributes.changed({"control-predecessors": None, "sharding": None, **changed})
        new = self.rewriter.insert(x.op, operands, before=self.x, shape=shape, attributes=attributes, backend_config=x.backend_config, origin=x)
        self.inserted.append(new)
        return new

    def constant(self, literal: Literal) -> Instruction:
        """Inserts a constant."""
        new = self.rewriter.insert("constant", (), before=self.x, shape=literal.shape, immediate=literal, origin=self.x)
        self.inserted.append(new)
        return new

    def number(self, shape: Shape, number: Number) -> Instruction:
        """Inserts an array all of whose elements are a number: a scalar constant, and a broadcast of it unless the array is a scalar."""
        scalar = self.constant(number_literal(shape.element_type, number))
        return scalar if not shape.dimensions else self.add("broadcast", [scalar], shape, dimensions=())

    def reshape(self, x: Instruction, dimensions: Sequence[int]) -> Instruction:
        """`x` with other dimensions: itself if they are the same."""
        if tuple(dimensions) == x.shape.dimensions:
            return x
        return self.add("reshape", [x], array_shape(x.shape.element_type, tuple(dimensions)))

    def undo(self) -> None:
        """Erases the new instructions."""
        for new in reversed(self.inserted):
            self.rewriter.erase(new)
        self.inserted = []


def _require_dynamic_operand(op: OpDef, operands: Sequence[Instruction]) -> None:
    """Raises CannotBuildError if a result would be dynamic, but its sizes are those of operands that are static."""
    if _has_sizes_of_operands(op) and not any(operand.shape.dynamic for operand in operands):
        raise CannotBuildError(f"the result of '{op.name}' is dynamic, but no operand is")


@cache
def _has_sizes_of_operands(op: OpDef) -> bool:
    return not op.arity or ELEMENTWISE in op.traits or (op.arity == 1 and REARRANGES in op.traits)


def depends_on(y: Instruction, x: Instruction) -> bool:
    """Whether `y` is `x`, or depends on it through operands.

    What `y` shares with the near operands of `x` is not searched, so that it takes little time where `y` is made of them.

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
