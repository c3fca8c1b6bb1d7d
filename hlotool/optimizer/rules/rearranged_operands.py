"""Elementwise operations whose operands are all rearranged in the same way.

The rules rearrange the result instead. Rearrangements move toward the users, where they may meet
other rearrangements and cancel out. Broadcasts move because operations then compute fewer elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hlotool.analysis.simplify import CONSTANT_LIKE, constant_value
from hlotool.ir.model import Instruction
from hlotool.literals.literal import decode, literal_from_bytes
from hlotool.opdefs.table import OPS
from hlotool.opdefs.traits import ELEMENTWISE
from hlotool.optimizer.dimensions import broadcast_after_reshape, dimensions_of, element_count, is_empty, is_plain
from hlotool.optimizer.pattern_rewriter import PatternRewriter
from hlotool.optimizer.registry import rule
from hlotool.shapes.shape import Shape, array_shape

__all__: list[str] = []

_ELEMENTWISE = tuple(op.name for op in OPS.values() if ELEMENTWISE in op.traits)
_MOVABLE = frozenset(OPS[name] for name in CONSTANT_LIKE)
# Constants with more elements are not decoded just to give them other dimensions.
_MAX_CONSTANT_SIZE = 1000
_MAX_USERS = 4

# A function that inserts an operand as it was before the rearrangement.
Before = Callable[[], Instruction]


def _rearranged(x: Instruction, opcode: str) -> Instruction | None:
    """Returns the first operand with this opcode that has the dimensions of the result.

    Returns None if there is no such operand, or if the result is a scalar or empty.
    """
    dimensions = x.shape.dimensions
    # Any other operand is computed element by element, so it is not rearranged.
    if not all(y.op in _MOVABLE or not y.shape.dimensions for y in x.operands):
        return None
    if not dimensions or is_empty(x.shape) or not is_plain(x.shape):
        return None
    return next((y for y in x.operands if y.op.name == opcode and y.shape.dimensions == dimensions), None)


def _before(x: Instruction, one: Callable[[Instruction], Before | None]) -> list[Before] | None:
    """Returns functions that insert the operands as they were before the rearrangement.

    Scalars are used unchanged. Returns None if `one` returns None for any other operand.
    """
    result: list[Before] = []
    for y in x.operands:
        insert = one(y) if y.shape.dimensions else _unchanged(y)
        if insert is None or not is_plain(y.shape):
            return None
        result.append(insert)
    return result


def _apply(x: Instruction, rewriter: PatternRewriter, before: Sequence[Before], sizes: tuple[int, ...]) -> Instruction:
    """Inserts the operation on the operands as they were before the rearrangement."""
    operands: dict[Instruction, Instruction] = {}
    for y, insert in zip(x.operands, before, strict=True):
        if y not in operands:
            operands[y] = insert()
    return rewriter.with_operands(x, [operands[y] for y in x.operands], array_shape(x.shape.element_type, sizes))


def _disappears(x: Instruction, rewriter: PatternRewriter, opcode: str, sizes: tuple[int, ...]) -> bool:
    """Returns whether `x` is the only user of a rearrangement of an array with these sizes."""
    return any(y.op.name == opcode and y.operands[0].shape.dimensions == sizes and rewriter.has_one_user(y) for y in x.operands)


def _unchanged(y: Instruction) -> Before:
    return lambda: y


def _smaller_number(y: Instruction, sizes: tuple[int, ...], rewriter: PatternRewriter) -> Before | None:
    """Returns a function that inserts an array like `y`, but with other dimensions.

    Returns None if the elements of `y` are not known to be equal.
    """
    name = y.shape.element_type
    if y.op.name == "broadcast" and not y.operands[0].shape.dimensions:
        scalar = y.operands[0]
        return lambda: rewriter.add("broadcast", [scalar], array_shape(name, sizes), dimensions=()) if sizes else scalar
    value = constant_value(y)
    return None if value is None else lambda: rewriter.number(array_shape(name, sizes), value)


# ---- reshapes ----------------------------------------------------------------------------------


@rule(*_ELEMENTWISE, of=("reshape",), both=CONSTANT_LIKE)
def elementwise_of_reshapes(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """add(reshape(a), reshape(b)) -> reshape(add(a, b)), for all elementwise operations

    Other operands may be constants, or broadcasts that are still broadcasts in the new shape.
    """
    first = _rearranged(x, "reshape")
    if first is None:
        return None
    source = first.operands[0].shape
    if not _disappears(x, rewriter, "reshape", source.dimensions) and not _all_move(first, rewriter):
        return None
    before = _before(x, lambda y: _before_reshape(y, source, rewriter))
    return None if before is None else rewriter.reshape(_apply(x, rewriter, before, source.dimensions), x.shape.dimensions)


def _all_move(y: Instruction, rewriter: PatternRewriter) -> bool:
    """Returns whether a reshape can move past each of its users.

    All users must be elementwise operations on reshapes and numbers. The move creates additional
    reshapes at first, so the users of these operations must absorb reshapes or be elementwise, too.
    """
    users = rewriter.users(y)
    if len(users) > _MAX_USERS or rewriter.module_rewriter.is_root(y):
        return False
    sizes = y.operands[0].shape.dimensions
    for user in users:
        if ELEMENTWISE not in user.op.traits or not all(_is_neutral(z, sizes) for z in user.operands) or rewriter.module_rewriter.is_root(user):
            return False
        if not all(_absorbs(z) or ELEMENTWISE in z.op.traits for z in rewriter.users(user)):
            return False
    return True


def _absorbs(x: Instruction) -> bool:
    """Returns whether a rule merges a reshape into its user `x`."""
    return x.op.name in ("reshape", "broadcast") or x.op.name == "reduce"


def _is_neutral(y: Instruction, sizes: tuple[int, ...]) -> bool:
    if y.op.name == "reshape":
        return y.operands[0].shape.dimensions == sizes
    if y.op.name == "broadcast":
        return not y.operands[0].shape.dimensions
    return not y.shape.dimensions or constant_value(y) is not None


def _before_reshape(y: Instruction, source: Shape, rewriter: PatternRewriter) -> Before | None:
    if y.op.name == "reshape":
        return _unshaped(y, source, rewriter)
    number = _smaller_number(y, source.dimensions, rewriter)
    if number is not None:
        return number
    shape = array_shape(y.shape.element_type, source.dimensions)
    if y.op.name == "broadcast":
        dimensions = broadcast_after_reshape(y, source.dimensions)
        return None if dimensions is None else lambda: rewriter.add("broadcast", y.operands, shape, dimensions=dimensions)
    literal = y.literal
    if literal is None or literal.elided or not rewriter.has_one_user(y) or element_count(y.shape) > _MAX_CONSTANT_SIZE:
        return None
    return lambda: rewriter.constant(literal_from_bytes(shape, decode(literal)))


def _unshaped(y: Instruction, source: Shape, rewriter: PatternRewriter) -> Before | None:
    """Returns a function that inserts the operand of a reshape.

    An operand of one element is reshaped if its dimensions differ.
    """
    operand = y.operands[0]
    if not is_plain(operand.shape):
        return None
    if operand.shape.dimensions == source.dimensions:
        return _unchanged(operand)
    return (lambda: rewriter.reshape(operand, source.dimensions)) if element_count(source) == 1 and rewriter.has_one_user(y) else None


# ---- transposes and reversals ------------------------------------------------------------------


@rule(*_ELEMENTWISE, of=("transpose",), both=CONSTANT_LIKE)
def elementwise_of_transposes(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """add(transpose(a), transpose(b)) -> transpose(add(a, b)), for all elementwise operations

    Other operands may be scalars and broadcasts.
    """
    first = _rearranged(x, "transpose")
    if first is None:
        return None
    permutation, sizes = dimensions_of(first), first.operands[0].shape.dimensions
    if not _disappears(x, rewriter, "transpose", sizes):
        return None
    before = _before(x, lambda y: _before_transpose(y, permutation, sizes, rewriter))
    return None if before is None else rewriter.add("transpose", [_apply(x, rewriter, before, sizes)], x.shape, dimensions=permutation)


def _before_transpose(y: Instruction, permutation: tuple[int, ...], sizes: tuple[int, ...], rewriter: PatternRewriter) -> Before | None:
    if y.op.name == "transpose":
        return _unchanged(y.operands[0]) if dimensions_of(y) == permutation and is_plain(y.operands[0].shape) else None
    if y.op.name != "broadcast":
        return _smaller_number(y, sizes, rewriter)
    dimensions = tuple(permutation[k] for k in dimensions_of(y))
    return lambda: rewriter.add("broadcast", y.operands, array_shape(y.shape.element_type, sizes), dimensions=dimensions)


@rule(*_ELEMENTWISE, of=("reverse",), both=CONSTANT_LIKE)
def elementwise_of_reversals(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """add(reverse(a), reverse(b)) -> reverse(add(a, b)), for all elementwise operations

    Other operands may be scalars, and constants whose elements are all equal.
    """
    first = _rearranged(x, "reverse")
    sizes = x.shape.dimensions
    if first is None or not _disappears(x, rewriter, "reverse", sizes):
        return None
    reversed_dimensions = dimensions_of(first)
    before = _before(x, lambda y: _before_reverse(y, reversed_dimensions))
    return None if before is None else rewriter.add("reverse", [_apply(x, rewriter, before, sizes)], x.shape, dimensions=reversed_dimensions)


def _before_reverse(y: Instruction, dimensions: tuple[int, ...]) -> Before | None:
    if y.op.name == "reverse" and dimensions_of(y) == dimensions:
        return _unchanged(y.operands[0])
    return None if constant_value(y) is None else _unchanged(y)


# ---- broadcasts --------------------------------------------------------------------------------


@rule(*_ELEMENTWISE, of=("broadcast",), both=CONSTANT_LIKE)
def elementwise_of_broadcasts(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """add(broadcast(a), broadcast(b)) -> broadcast(add(a, b)), if both repeat the same dimensions

    The same holds for all elementwise operations. Other operands may be scalars, and constants
    whose elements are all equal. Broadcasts of scalars may have other users, since operations on
    scalars cost little.
    """
    if _rearranged(x, "broadcast") is None:
        return None
    # Broadcasts of scalars are compatible with every other broadcast.
    first = max((y for y in x.operands if y.op.name == "broadcast"), key=lambda y: len(y.operands[0].shape.dimensions))
    mapped, sizes = dimensions_of(first), first.operands[0].shape.dimensions
    if sizes and not rewriter.has_one_user(first):
        return None
    before = _before(x, lambda y: _before_broadcast(y, mapped, sizes, rewriter))
    return None if before is None else rewriter.add("broadcast", [_apply(x, rewriter, before, sizes)], x.shape, dimensions=mapped)


def _before_broadcast(y: Instruction, mapped: tuple[int, ...], sizes: tuple[int, ...], rewriter: PatternRewriter) -> Before | None:
    if y.op.name == "broadcast" and dimensions_of(y) == mapped:
        return _unchanged(y.operands[0]) if is_plain(y.operands[0].shape) else None
    return _smaller_number(y, sizes, rewriter)
