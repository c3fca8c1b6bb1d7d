"""Removes operands of sorts and reductions if nothing needs the corresponding results."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from hlotool.ir.model import Computation, Instruction
from hlotool.optimizer.context import Context
from hlotool.optimizer.tuple_edits import is_only_unpacked, is_removable_root, keep_elements_of_tuple, taken_elements
from hlotool.shapes.shape import tuple_shape

__all__ = ["remove_unneeded_operands"]


def remove_unneeded_operands(context: Context) -> bool:
    """sort(a, b) -> sort(a), if neither the comparator nor anything else needs the sorted b

    Reductions are narrowed in the same way. Computations that have other callers are left alone.
    """
    # After sorts and reductions inside comparators and reducers lose operands, the outer sorts and
    # reductions may need fewer operands, too.
    return context.repeat(_remove_operands_of_each)


def _remove_operands_of_each(context: Context) -> None:
    # Users and callers come first, since they determine what is needed.
    for computation in reversed(context.computations()):
        for x in reversed(context.instructions(computation)):
            kind = _KINDS.get(x.op.name)
            if kind is None or x not in context.rewriter or not _has_usual_form(context, x):
                continue
            count = len(x.shape.elements)
            needed = kind.needed(context, x.called[0], count, taken_elements(context.rewriter, x))
            kept = [k for k in range(count) if k in needed]
            # If only one result is left, the get-tuple-elements that take it are replaced.
            if len(kept) == 1 and not all(map(context.is_movable, context.rewriter.users(x))):
                continue
            if 0 < len(kept) < count and context.allows("unneeded-operands", x):
                _keep_operands(context, x, kept)


def _has_usual_form(context: Context, x: Instruction) -> bool:
    rewriter = context.rewriter
    if not is_only_unpacked(rewriter, x) or not context.is_movable(x) or context.has_effect(x) or "sharding" in x.attributes:
        return False
    return context.is_owned(x.called[0], x)


def _needed_by_comparator(context: Context, comparator: Computation, count: int, taken: set[int]) -> set[int]:
    used = (p.immediate // 2 for p in context.instructions(comparator) if p.op.name == "parameter" and context.rewriter.is_used(p))
    return taken.union(used)


def _needed_by_reducer(context: Context, reducer: Computation, count: int, taken: set[int]) -> set[int]:
    root = reducer.root
    if not is_removable_root(context.rewriter, root):
        return set(range(count))
    # Dead instructions are left to the pass 'dce'.
    stack = [y for y in context.instructions(reducer) if y is not root and not context.rewriter.users(y) and y.op.name != "parameter"]
    stack += [*(root.operands[k] for k in taken), *root.control_predecessors]
    needed, visited = set(taken), set(stack)
    while stack:
        y = stack.pop()
        reached = [*y.operands, *y.control_predecessors]
        if y.op.name == "parameter" and y.immediate % count not in needed:
            needed.add(y.immediate % count)
            reached = [root.operands[y.immediate % count]]
        new = [z for z in reached if z not in visited]
        visited.update(new)
        stack += new
    return needed


class _Kind(NamedTuple):
    """The properties of an opcode.

    `needed` returns the numbers of the operands that are needed. `operand_of` returns the number of
    the operand to which a parameter of the called computation belongs.
    """

    needed: Callable[[Context, Computation, int, set[int]], set[int]]
    operand_of: Callable[[int, int], int]


_KINDS = {
    "sort": _Kind(_needed_by_comparator, lambda parameter, count: parameter // 2),
    "reduce": _Kind(_needed_by_reducer, lambda parameter, count: parameter % count),
}
"""The opcodes whose operands can be removed.

A comparator takes two elements of each operand in turn. A reducer takes all results so far, and
then one element of each operand.
"""


def _keep_operands(context: Context, x: Instruction, kept: list[int]) -> None:
    rewriter, called, count = context.rewriter, x.called[0], len(x.shape.elements)
    # The arrays that a reduction reduces are followed by as many initial values.
    groups = len(x.operands) // count
    operands = [x.operands[group * count + k] for group in range(groups) for k in kept]
    shapes = [x.shape.elements[k] for k in kept]
    narrowed = rewriter.clone_computation(called)
    copies = context.instructions(narrowed)
    _narrow(context, x, narrowed, kept)
    new = rewriter.insert(
        x.op,
        operands,
        before=x,
        shape=shapes[0] if len(kept) == 1 else tuple_shape(shapes),
        attributes=x.attributes.changed({"to_apply": narrowed, "origin": None}),
        backend_config=x.backend_config,
        origin=x,
    )
    for user in rewriter.users(x):
        if len(kept) == 1:
            rewriter.replace_all_uses(user, new)
            rewriter.erase(user)
        else:
            rewriter.update(user, operands=[new], attributes={"index": kept.index(user.attributes["index"])})
    lost = dict.fromkeys(x.operands)
    rewriter.erase(x)
    rewriter.take_name(new, x)
    context.erase_if_dead(lost)
    names = [y.name for y in context.instructions(called)]
    rewriter.erase_computation(called)
    rewriter.rename(narrowed, called.name)
    for y, name in zip(copies, names, strict=True):
        if y in rewriter and not rewriter.is_name_used(name):
            rewriter.rename(y, name)


def _narrow(context: Context, x: Instruction, computation: Computation, kept: list[int]) -> None:
    """Removes the parameters and results that belong to operands not in `kept`."""
    rewriter, count, root = context.rewriter, len(x.shape.elements), computation.root
    if root.op.name == "tuple":
        context.erase_if_dead(keep_elements_of_tuple(rewriter, root, kept))
        if len(kept) == 1:
            rewriter.set_root(root.operands[0])
            rewriter.erase(root)
    parameters = [p for p in context.instructions(computation) if p.op.name == "parameter"]
    rewriter.erase_parameters([p for p in parameters if _KINDS[x.op.name].operand_of(p.immediate, count) not in kept])
