"""Dead code: instructions, computations and parameters that nothing needs."""

from __future__ import annotations

from hlotool.ir.model import Computation
from hlotool.opdefs.traits import ANY_SIGNATURE
from hlotool.optimizer.context import Context

__all__ = ["remove_dead_code"]


def remove_dead_code(context: Context) -> bool:
    """Removes unused instructions without effects, computations that nothing calls, and unused parameters of calls and fusions.

    Parameters of the entry stay, since callers of the module pass them.
    """
    before = context.report.count
    while _remove_instructions(context) | _remove_computations(context) | _remove_parameters(context):
        pass
    return context.report.count > before


def _remove_instructions(context: Context) -> bool:
    """Users come after their operands, so one pass from the end is enough."""
    rewriter, changed = context.rewriter, False
    for computation in context.computations():
        for x in reversed(context.instructions(computation)):
            if rewriter.is_used(x) or x.op.name == "parameter" or context.has_effect(x):
                continue
            if not context.allows("dce", x):
                return changed
            rewriter.erase(x)
            changed = True
    return changed


def _remove_computations(context: Context) -> bool:
    rewriter, module, changed = context.rewriter, context.module, False
    # Callers come after the computations that they call.
    for computation in reversed(module.computations[:]):
        if computation is module.entry or rewriter.callers(computation) or computation in module.hidden:
            continue
        if context.report.is_exhausted:
            return changed
        context.report.add("dce")
        rewriter.erase_computation(computation)
        changed = True
    return changed


def _remove_parameters(context: Context) -> bool:
    # Of all computations, not only up to the first.
    return sum(_remove_parameters_of(context, computation) for computation in context.computations() if computation is not context.module.entry) > 0


def _remove_parameters_of(context: Context, computation: Computation) -> bool:
    rewriter = context.rewriter
    callers = rewriter.callers(computation)
    if not callers or any(ANY_SIGNATURE not in x.op.traits or x.op.is_asynchronous or not context.is_valid_before(x) for x in callers):
        return False
    parameters = [x for x in context.instructions(computation) if x.op.name == "parameter" and not rewriter.is_used(x)]
    unused = [x for x in parameters if context.allows("dce", x)]
    rewriter.erase_parameters(unused)
    return bool(unused)
