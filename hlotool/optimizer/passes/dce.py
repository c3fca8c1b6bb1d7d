"""Dead code elimination: removes instructions, computations and parameters that nothing needs."""

from __future__ import annotations

from hlotool.ir.model import Computation
from hlotool.optimizer.context import Context

__all__ = ["remove_dead_code"]


def remove_dead_code(context: Context) -> bool:
    """Removes dead instructions, computations that nothing calls, and unused parameters.

    Instructions with side effects are kept. Only computations of calls and fusions lose parameters.
    The entry keeps its parameters, since callers of the module pass arguments for them.
    """
    before = context.report.count
    context.refresh()
    while _remove_instructions(context) | _remove_computations(context) | _remove_parameters(context):
        pass
    return context.report.count > before


def _remove_instructions(context: Context) -> bool:
    """Erases dead instructions in one pass from the end, since users come after their operands."""
    rewriter, changed, start = context.rewriter, False, context.rewriter.change_count
    for computation in context.changed_computations("dce", with_callers=False):
        for x in reversed(context.instructions(computation)):
            if rewriter.is_used(x) or x.op.name == "parameter" or context.has_effect(x):
                continue
            if not context.allows("dce", x):
                return changed
            rewriter.erase(x)
            changed = True
    context.mark_finished("dce", start)
    return changed


def _remove_computations(context: Context) -> bool:
    rewriter, module, changed = context.rewriter, context.module, False
    # Callers come after their callees, so the reversed order visits callers first.
    for computation in reversed(rewriter.computations()):
        if computation is module.entry or rewriter.caller_count(computation) or computation in module.hidden:
            continue
        if not context.allows_removal("dce", computation):
            return changed
        rewriter.erase_computation(computation)
        changed = True
    return changed


def _remove_parameters(context: Context) -> bool:
    # A sum visits all computations; `any` would stop at the first one that changes.
    return sum(_remove_parameters_of(context, computation) for computation in context.computations()) > 0


def _remove_parameters_of(context: Context, computation: Computation) -> bool:
    rewriter = context.rewriter
    parameters = [x for x in context.instructions(computation) if x.op.name == "parameter" and not rewriter.is_used(x)]
    callers = rewriter.callers(computation) if parameters else ()
    if not callers:
        return False
    unused = [x for x in parameters if context.can_lose_parameter(x, callers) and context.allows("dce", x)]
    context.erase_parameters(unused)
    return bool(unused)
