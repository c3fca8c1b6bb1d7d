"""Simplifies the arguments and results of calls and fusions.

An argument is unnecessary if it equals another argument in each call, or if all calls pass the same
constant. Results are removed if no caller needs them.
"""

from __future__ import annotations

from hlotool.ir.model import Computation, Instruction
from hlotool.optimizer.context import Context
from hlotool.optimizer.inlining import has_changeable_signature
from hlotool.optimizer.tuple_edits import (
    is_only_unpacked,
    is_removable_root,
    keep_elements_of_result,
    keep_elements_of_tuple,
    taken_elements,
)

__all__ = ["simplify_arguments"]

# Constants with more elements remain arguments of computations instead of being copied into them.
_MAX_COPY_SIZE = 64


def simplify_arguments(context: Context) -> bool:
    """call(a, a, 1), to_apply=f -> call(a), to_apply=g, where g reads one parameter twice

    The two arguments must be equal in all calls to f. Constants that all callers pass are copied
    into the computation, and elements of the result that no caller takes are removed. Parameters
    that are no longer used are left to the pass 'dce', except those of fusions, which are removed
    at once.
    """
    before = context.report.count
    # Callers come first, since the arguments that they pass and the results that they need
    # determine how their callees can be simplified.
    for computation in reversed(context.computations()):
        callers = context.rewriter.callers(computation)
        if not callers or not all(map(_is_changeable, callers)):
            continue
        parameters = [x for x in context.instructions(computation) if x.op.name == "parameter" and context.rewriter.is_used(x)]
        parameters = [x for x in parameters if context.is_movable(x)]
        _use_equal_arguments(context, computation, parameters, callers)
        _use_constants(context, computation, parameters, callers)
        _remove_unneeded_results(context, computation, callers)
    return context.report.count > before


def _is_changeable(caller: Instruction) -> bool:
    """Returns whether a caller's operands and results may change.

    A caller with a backend_config is left alone, since the configuration may refer to them by
    number.
    """
    return has_changeable_signature(caller) and not caller.backend_config


def _use_equal_arguments(context: Context, computation: Computation, parameters: list[Instruction], callers: tuple[Instruction, ...]) -> None:
    rewriter = context.rewriter
    known: dict[tuple[Instruction, ...], Instruction] = {}
    top = context.instructions(computation)[0]
    for x in parameters:
        first = known.setdefault(tuple([caller.operands[x.immediate] for caller in callers]), x)
        # The first parameter is moved to the top, so that it is defined before all of its new
        # users.
        if first is x or first.shape != x.shape or rewriter.is_root(x) or not context.allows("equal-arguments", x, (first,)):
            continue
        rewriter.move(first, before=top)
        rewriter.replace_all_uses(x, first)


def _use_constants(context: Context, computation: Computation, parameters: list[Instruction], callers: tuple[Instruction, ...]) -> None:
    rewriter = context.rewriter
    for x in parameters:
        arguments = [caller.operands[x.immediate] for caller in callers]
        literal = arguments[0].literal
        if literal is None or literal.elided or literal.shape != x.shape or literal.element_count > _MAX_COPY_SIZE:
            continue
        if any(y.literal != literal or y.shape != x.shape for y in arguments) or not rewriter.is_used(x):
            continue
        # Fusions do not share computations, so looking at the first caller is enough.
        if callers[0].op.name != "call" or not context.allows("constant-argument", x, (arguments[0],)):
            continue
        new = rewriter.insert("constant", after=x, shape=x.shape, immediate=literal, origin=arguments[0])
        rewriter.replace_all_uses(x, new)


def _remove_unneeded_results(context: Context, computation: Computation, callers: tuple[Instruction, ...]) -> None:
    rewriter = context.rewriter
    if not is_removable_root(rewriter, computation.root) or not all(is_only_unpacked(rewriter, caller) for caller in callers):
        return
    # Only fusions have this attribute.
    if "output_to_operand_aliasing" in callers[0].attributes:
        return
    needed = {index for caller in callers for index in taken_elements(rewriter, caller)}
    count = len(computation.root.operands)
    kept = [k for k in range(count) if k in needed]
    if len(kept) == count or not kept or not context.allows("unneeded-results", computation.root):
        return
    context.erase_if_dead(keep_elements_of_tuple(rewriter, computation.root, kept))
    for caller in callers:
        keep_elements_of_result(rewriter, caller, kept)
