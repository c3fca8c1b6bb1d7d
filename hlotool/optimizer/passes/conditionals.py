"""Simplifies conditionals.

Removes results and operands that nothing needs. If both branches are small, both are computed, and
selects choose between their results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hlotool.ir.model import Computation, Instruction
from hlotool.opdefs.traits import CHEAP, COMMUNICATES, ELEMENTWISE, MOVES, NONDETERMINISTIC, STRUCTURAL
from hlotool.optimizer.context import Context
from hlotool.optimizer.inlining import can_take_sharding
from hlotool.optimizer.tuple_edits import (
    is_only_unpacked,
    is_removable_root,
    keep_elements_of_operand,
    keep_elements_of_result,
    keep_elements_of_tuple,
    taken_elements,
)
from hlotool.shapes.shape import Shape, array_shape

__all__ = ["simplify_conditionals"]

# The maximum length of a branch, in instructions. Selects require that both branches are computed.
_MAX_BRANCH_LENGTH = 32


def simplify_conditionals(context: Context) -> bool:
    """conditional(p, a, b) -> select(p, f(a), g(b)), if the branches f and g are short

    The change must make the module smaller. Elements of the result and of operands are removed if
    nothing needs them. Branches that have other callers are left alone.
    """
    # After inner conditionals lose operands, outer conditionals may need fewer, too.
    return context.repeat(_simplify_each_conditional)


def _simplify_each_conditional(context: Context) -> None:
    # Here, outer conditionals come first, since they determine which results of inner conditionals
    # are needed. In the second loop, inner conditionals come first, since an outer conditional can
    # become a select only after the inner ones have.
    for computation in reversed(context.computations()):
        for x in _conditionals(context, computation):
            _remove_unneeded_results(context, x)
            _remove_unneeded_operands(context, x)
    for computation in context.computations():
        for x in _conditionals(context, computation):
            _to_select(context, x)


def _conditionals(context: Context, computation: Computation) -> Iterator[Instruction]:
    for x in context.instructions(computation):
        if x.op.name == "conditional" and _owns_branches(context, x):
            yield x


def _owns_branches(context: Context, x: Instruction) -> bool:
    """Returns whether only this conditional calls its branches, each of them once."""
    branches = x.called
    return len(set(branches)) == len(branches) and all(context.is_owned(branch, x) for branch in branches)


def _remove_unneeded_results(context: Context, x: Instruction) -> None:
    rewriter = context.rewriter
    roots = [branch.root for branch in x.called]
    if not is_only_unpacked(rewriter, x) or not all(is_removable_root(rewriter, root) for root in roots):
        return
    needed = taken_elements(rewriter, x)
    kept = [k for k in range(len(x.shape.elements)) if k in needed]
    if len(kept) == len(x.shape.elements) or not context.allows("unneeded-branch-results", x):
        return
    for root in roots:
        context.erase_if_dead(keep_elements_of_tuple(rewriter, root, kept))
    keep_elements_of_result(rewriter, x, kept)


def _remove_unneeded_operands(context: Context, x: Instruction) -> None:
    rewriter = context.rewriter
    for number, branch in enumerate(x.called, 1):
        parameter = _parameter(context, branch)
        operand = x.operands[number]
        # Other users of the operand need the whole tuple.
        if operand.op.name != "tuple" or rewriter.use_count(operand) > 1 or not is_only_unpacked(rewriter, parameter):
            continue
        needed = taken_elements(rewriter, parameter)
        kept = [k for k in range(len(parameter.shape.elements)) if k in needed]
        if len(kept) == len(parameter.shape.elements) or not context.allows("unneeded-branch-operands", x):
            continue
        keep_elements_of_result(rewriter, parameter, kept)
        context.erase_if_dead(keep_elements_of_operand(rewriter, x, number, kept))


def _parameter(context: Context, branch: Computation) -> Instruction:
    return next(y for y in context.instructions(branch) if y.op.name == "parameter")


# ---- both branches -----------------------------------------------------------------------------


def _to_select(context: Context, x: Instruction) -> None:
    if x.operands[0].shape.element_type != "pred" or context.keeps_layouts or not context.is_movable(x) or x.attributes.get("sharding"):
        return
    branches = [_Branch(context, branch, operand) for branch, operand in zip(x.called, x.operands[1:], strict=True)]
    if not all(branch.is_short() and (branch.root.op.name == "tuple" or not x.shape.is_tuple) for branch in branches):
        return
    is_unpacked = is_only_unpacked(context.rewriter, x) and all(map(context.is_movable, context.rewriter.users(x)))
    indices = sorted(taken_elements(context.rewriter, x)) if is_unpacked else range(len(_results(branches[0].root)))
    plan = _Selects(x, branches, indices)
    if not plan.is_possible or not plan.keeps_shardings(context, is_unpacked=is_unpacked):
        return
    if plan.added + (x.shape.is_tuple and not is_unpacked) >= plan.removed(context):
        return
    if context.allows("conditional-to-select", x):
        plan.carry_out(context, is_unpacked=is_unpacked)


def _results(root: Instruction) -> Sequence[Instruction]:
    return root.operands if root.op.name == "tuple" else (root,)


class _Branch:
    """A branch of a conditional, with its operand.

    `copied` lists the instructions to copy. `outside` maps the parameter and its elements to
    instructions outside the branch that have the same values.
    """

    def __init__(self, context: Context, branch: Computation, operand: Instruction) -> None:
        self.root = branch.root
        self.operand = operand
        self.all = context.instructions(branch)
        self.outside: dict[Instruction, Instruction] = {}
        for y in self.all:
            if y.op.name == "parameter":
                self.outside[y] = operand
            elif y.op.name == "get-tuple-element" and y.operands[0].op.name == "parameter" and operand.op.name == "tuple":
                self.outside[y] = operand.operands[y.attributes["index"]]
        skipped = self.root if self.root.op.name == "tuple" else None
        self.copied = [y for y in self.all if y not in self.outside and y is not skipped]

    def is_short(self) -> bool:
        return len(self.copied) <= _MAX_BRANCH_LENGTH and all(map(_is_short, self.copied))

    def outer(self, x: Instruction) -> Instruction:
        """Returns the instruction outside the branch that has the value of `x`, or `x` itself."""
        return self.outside.get(x, x)


def _is_short(x: Instruction) -> bool:
    """Returns whether an instruction calls nothing and costs about as much as copying its value."""
    if x.called or x.control_predecessors or not x.op.traits.isdisjoint({NONDETERMINISTIC, COMMUNICATES}):
        return False
    return not x.op.traits.isdisjoint({ELEMENTWISE, CHEAP, MOVES, STRUCTURAL})


class _Selects:
    """The selects that replace a conditional, and their cost."""

    def __init__(self, x: Instruction, branches: list[_Branch], indices: Sequence[int]) -> None:
        self.x = x
        self.branches = branches
        results = [_results(branch.root) for branch in branches]
        self.pairs = {k: (results[0][k], results[1][k]) for k in indices}
        # The results that are the same in both branches, as instructions outside the branches.
        self.common = {k: branches[0].outer(a) for k, (a, b) in self.pairs.items() if branches[0].outer(a) is branches[1].outer(b)}
        self.selected = {k: pair for k, pair in self.pairs.items() if k not in self.common}
        shapes = [result.shape for pair in self.selected.values() for result in pair]
        self.is_possible = all(shape.is_array and not any(shape.dynamic) for shape in shapes)
        self.is_possible = self.is_possible and all(a.shape == b.shape for a, b in self.selected.values())
        broadcasts = {shape.dimensions for shape in shapes if shape.dimensions}
        self.added = len(self.selected) + len(broadcasts) + sum(len(branch.copied) for branch in branches)

    def keeps_shardings(self, context: Context, *, is_unpacked: bool) -> bool:
        """Returns whether common results may replace the conditional or its get-tuple-elements."""
        rewriter, x = context.rewriter, self.x
        if x.shape.is_tuple and not is_unpacked:
            return True
        replaced = {y: y.attributes["index"] for y in rewriter.users(x)} if is_unpacked else {x: 0}
        return all(can_take_sharding(rewriter, y, self.common[k]) for y, k in replaced.items() if k in self.common)

    def removed(self, context: Context) -> int:
        """Returns the number of instructions that the selects make unnecessary.

        These are the conditional, the branches, tuples that are used only as operands of the
        conditional, and the get-tuple-elements of the result.
        """
        rewriter = context.rewriter
        inside = sum(y.op.name != "parameter" for branch in self.branches for y in branch.all)
        operands = {branch.operand for branch in self.branches if branch.operand.op.name == "tuple"}
        tuples = sum(rewriter.users(operand) == (self.x,) and not rewriter.is_root(operand) for operand in operands)
        users = len(rewriter.users(self.x)) if is_only_unpacked(rewriter, self.x) else 0
        return 1 + inside + tuples + users

    def carry_out(self, context: Context, *, is_unpacked: bool) -> None:
        rewriter, x = context.rewriter, self.x
        values = [self._inline(context, branch) for branch in self.branches]
        predicates: dict[tuple[int, ...], Instruction] = {(): x.operands[0]}
        selected: dict[int, Instruction] = {}
        for k, pair in self.pairs.items():
            on_true, on_false = values[0][pair[0]], values[1][pair[1]]
            selected[k] = on_true if on_true is on_false else self._select(context, predicates, on_true, on_false)
        if is_unpacked:
            for user in rewriter.users(x):
                rewriter.replace_all_uses(user, selected[user.attributes["index"]])
                rewriter.erase(user)
        else:
            new = rewriter.insert("tuple", list(selected.values()), before=x, shape=x.shape, origin=x) if x.shape.is_tuple else selected[0]
            rewriter.replace_all_uses(x, new)
        operands = dict.fromkeys(x.operands)
        rewriter.erase(x)
        context.erase_if_dead(operands)

    def _select(self, context: Context, predicates: dict[tuple[int, ...], Instruction], a: Instruction, b: Instruction) -> Instruction:
        shape: Shape = a.shape
        predicate = predicates.get(shape.dimensions)
        if predicate is None:
            wide = array_shape("pred", shape.dimensions)
            predicate = context.rewriter.insert(
                "broadcast", [predicates[()]], before=self.x, shape=wide, attributes={"dimensions": ()}, origin=self.x
            )
            predicates[shape.dimensions] = predicate
        return context.rewriter.insert("select", [predicate, a, b], before=self.x, shape=shape, origin=self.x)

    def _inline(self, context: Context, branch: _Branch) -> dict[Instruction, Instruction]:
        values = dict(branch.outside)
        for y in branch.copied:
            values[y] = context.rewriter.insert_copy(y, [values[operand] for operand in y.operands], before=self.x)
        return values
