"""Constant folding: replaces instructions whose operands are constants with their values."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from hlotool.errors import EvaluationError
from hlotool.interp.arrays.values import leaves
from hlotool.interp.evaluator import compute
from hlotool.interp.run_options import RunOptions
from hlotool.ir.model import Computation, Instruction
from hlotool.literals.literal import Literal
from hlotool.optimizer.constants import is_short_as_text, is_writable, literal_of
from hlotool.optimizer.context import Context
from hlotool.optimizer.work import FixedValues, WorkLimit
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.shapes.shape import Shape

__all__ = ["fold_constants"]

# The limit is low, since a loop that cannot be folded is run again in each round of the pipeline.
_OPTIONS = RunOptions(max_iterations=1000)
# The maximum work for each instruction to fold, in elements. This much work takes a few tenths of a
# second.
_MAX_WORK = 1 << 26
# A result with at most this many elements may have more elements than the constants that it depends
# on. The second limit is for broadcasts.
_MAX_NEW_ELEMENTS, _MAX_BROADCAST_ELEMENTS = 256, 64
# Broadcasts and iotas with more elements are not computed just to fold their users.
_MAX_OPERAND_ELEMENTS = 1 << 16


def fold_constants(context: Context) -> bool:
    """op(constant, ...) -> constant, computed by the interpreter

    Operands may also be iotas, and broadcasts or tuples of constants. Instructions whose results
    are much larger than the constants are left alone.
    """
    before, start, fixed, results = context.report.count, context.rewriter.change_count, FixedValues(), _Results()
    for computation in context.changed_computations("fold"):
        while _fold_all(context, computation, fixed, results):
            # Erasing a folded instruction may remove control dependencies that kept other
            # instructions from being folded.
            pass
    context.mark_finished("fold", start)
    return context.report.count > before


def _fold_all(context: Context, computation: Computation, fixed: FixedValues, results: _Results) -> bool:
    """Folds the instructions of a computation.

    Returns whether this may have released other instructions from control dependencies.
    """
    # The interpreter reads the called computations, so they must be up to date.
    context.rewriter.flush()
    before, is_kept = context.report.count, False
    # Instructions with known values, each with the number of elements of the constants that it
    # depends on.
    known: dict[Instruction, int] = {}
    for x in context.instructions(computation):
        if not x.operands:
            if x.literal is not None and not x.literal.elided:
                known[x] = _elements(x.shape)
            elif _is_compact(x) and _elements(x.shape) <= _MAX_OPERAND_ELEMENTS:
                known[x] = 0
            continue
        # The first operand is tested separately for speed, since it is not constant in most
        # instructions.
        if x.operands[0] not in known or not all(operand in known for operand in x.operands):
            continue
        if context.report.is_exhausted:
            return False
        if _is_foldable(context, x, known) and fixed.has_fixed_value(x):
            known |= {new: _elements(new.shape) for new in _fold(context, x, results)}
        elif _is_compact(x) and _elements(x.shape) <= _MAX_OPERAND_ELEMENTS:
            known[x] = sum(known[operand] for operand in x.operands)
        is_kept |= context.rewriter.has_control_edges(x)
    return is_kept and context.report.count > before


def _is_foldable(context: Context, x: Instruction, known: Mapping[Instruction, int]) -> bool:
    """Returns whether an instruction whose operands are known may become a constant."""
    if x.op.kernel is None or context.has_effect(x) or not context.is_movable(x):
        return False
    parts = x.shape.elements if x.shape.is_tuple else (x.shape,)
    if x.op.name == "tuple" or not all(map(_can_be_literal, parts)):
        return False
    size = sum(prod(leaf.dimensions) * max(ELEMENT_TYPES[leaf.element_type].bits, 8) // 8 for leaf in x.shape.leaves())
    given = sum(known[operand] for operand in x.operands)
    most = max(given, _MAX_BROADCAST_ELEMENTS if _is_compact(x) else _MAX_NEW_ELEMENTS)
    return size <= context.options.max_constant_bytes and _elements(x.shape) <= most


def _is_compact(x: Instruction) -> bool:
    """Returns whether an instruction with known operands is a short notation for its value."""
    return x.op.name == "tuple" or x.op.name in ("broadcast", "iota")


def _elements(shape: Shape) -> int:
    return sum(prod(leaf.dimensions) for leaf in shape.leaves())


def _can_be_literal(shape: Shape) -> bool:
    return shape.is_array and not any(shape.dynamic) and (shape.layout is None or not shape.layout.tiles) and is_short_as_text(shape)


def _fold(context: Context, x: Instruction, results: _Results) -> list[Instruction]:
    """Replaces an instruction with constants. Returns the new instructions."""
    rewriter, literals = context.rewriter, results.of(x)
    if literals is None:
        return []
    parts: list[Instruction] = []
    if x.shape.is_tuple:
        parts = [
            rewriter.insert("constant", before=x, shape=shape, immediate=literal, origin=x)
            for literal, shape in zip(literals, x.shape.elements, strict=True)
        ]
        new = rewriter.insert("tuple", parts, before=x, shape=x.shape, origin=x)
    else:
        new = rewriter.insert("constant", before=x, shape=x.shape, immediate=literals[0], origin=x)
    if "sharding" in x.attributes:
        rewriter.update(new, attributes={"sharding": x.attributes["sharding"]})
    context.allows("fold", x, (new,))
    rewriter.replace_all_uses(x, new)
    operands = dict.fromkeys(x.operands)
    rewriter.erase(x)
    context.erase_if_dead(operands)
    return [*parts, new]


class _Results:
    """The results of instructions, as literals. Equal instructions are computed only once."""

    def __init__(self) -> None:
        self._known: dict[Any, list[Literal] | None] = {}

    def of(self, x: Instruction) -> list[Literal] | None:
        """Returns the literals of an array or of the elements of a tuple.

        Returns None if the result cannot be computed or written.
        """
        operands = [(operand.shape, operand.literal or operand) for operand in x.operands]
        key = (x.op, x.shape, tuple(x.attributes.items()), x.backend_config, *operands)
        try:
            return self._known[key]
        except KeyError:
            literals = self._known[key] = _literals(x)
            return literals
        except TypeError:
            # Some attributes are dictionaries.
            return _literals(x)


def _literals(x: Instruction) -> list[Literal] | None:
    try:
        value = _value(x)
    except EvaluationError:
        # For example, an endless loop is left in place, and fails when the module runs.
        return None
    if not is_writable(value):
        return None
    return [literal_of(part, shape) for part, shape in zip(leaves(value), x.shape.leaves(), strict=True)]


def _value(x: Instruction) -> Any:
    """Returns the value of an instruction whose operands are known."""
    # The other elements of the tuple are not needed, and there may be many.
    while x.op.name == "get-tuple-element" and x.operands[0].op.name == "tuple":
        x = x.operands[0].operands[x.attributes["index"]]
    values: dict[Instruction, Any] = {}
    limit = WorkLimit(_MAX_WORK)
    stack = [x]
    while stack:
        y = stack[-1]
        missing = [operand for operand in y.operands if operand not in values]
        if missing:
            stack += missing
        else:
            values[stack.pop()] = compute(y, [values[operand] for operand in y.operands], options=_OPTIONS, observers=[limit])
    return values[x]
