"""Unrolls or annotates loops whose number of iterations follows from constants."""

from __future__ import annotations

import json

from hlotool.analysis.loops import TRIP_COUNT, exact_trip_count
from hlotool.ir.model import Instruction
from hlotool.opdefs.traits import COMMUNICATES
from hlotool.optimizer.context import Context
from hlotool.optimizer.inlining import can_replace_caller, copy_body, replace_caller

__all__ = ["annotate_trip_counts", "unroll_loops"]

# The maximum number of instructions that unrolling a loop may produce. Inner loops are unrolled
# before outer ones, so the instructions of inner loops are copied again.
_MAX_COPIES = 4096


def annotate_trip_counts(context: Context) -> bool:
    """while(a) -> while(a), backend_config={"known_trip_count":{"n":"5"}}, if it has 5 iterations

    The number of iterations must follow from constants.
    """
    before = context.report.count
    for computation in context.computations():
        for x in context.instructions(computation):
            if x.op.name != "while":
                continue
            count = exact_trip_count(x)
            text = None if count is None else _with_count(x.backend_config or "{}", count)
            if text is not None and context.allows("annotate", x):
                context.rewriter.update(x, backend_config=text)
    return context.report.count > before


def _with_count(config: str, count: int) -> str | None:
    """Returns a configuration with the number of iterations as its first field.

    Returns None if the configuration already has the number, or is not a JSON object.

    >>> _with_count('{"a":1.50}', 3), _with_count("{}", 3)
    ('{"known_trip_count":{"n":"3"},"a":1.50}', '{"known_trip_count":{"n":"3"}}')
    """
    try:
        decoded = json.loads(config)
    except (ValueError, RecursionError):
        return None
    if not isinstance(decoded, dict) or TRIP_COUNT in decoded:
        return None
    # The other fields keep their spelling.
    fields = config.strip()[1:].lstrip()
    separator = "," if decoded else ""
    return f'{{"{TRIP_COUNT}":{{"n":"{count}"}}{separator}{fields}'


def unroll_loops(context: Context) -> bool:
    """while(a), body=f -> f(f(f(a))), inlined, if constants show that there are 3 iterations

    Loops with more iterations than `max_unrolled_iterations` allows are left alone. So are
    loops whose body has side effects, since the loop orders them, and loops whose body communicates
    with other devices, since a channel must have only one use.
    """
    before = context.report.count
    for computation in context.computations():
        for x in context.instructions(computation):
            if x.op.name == "while" and _is_unrollable(context, x) and context.allows("unroll", x):
                _unroll(context, x)
    return context.report.count > before


def _is_unrollable(context: Context, x: Instruction) -> bool:
    count, condition, body = exact_trip_count(x), x.attributes["condition"], x.attributes["body"]
    if count is None or not 0 < count <= context.options.max_unrolled_iterations or not context.is_movable(x):
        return False
    if not can_replace_caller(context.rewriter, x, body):
        return False
    if any(context.has_effect(y) for y in context.instructions(condition)):
        return False
    instructions = context.instructions(body)
    if len(instructions) * count > _MAX_COPIES:
        return False
    return not any(context.has_effect(y) or COMMUNICATES in y.op.traits for y in instructions)


def _unroll(context: Context, x: Instruction) -> None:
    rewriter, body, count = context.rewriter, x.attributes["body"], exact_trip_count(x) or 0
    operands = dict.fromkeys(x.operands)
    state = x.operands[0]
    copies: dict[Instruction, Instruction] = {}
    for k in range(count):
        copies = copy_body(rewriter, body, [state], x, is_last=k == count - 1)
        state = copies[body.root]
    replace_caller(rewriter, x, body, copies)
    context.erase_if_dead(operands)
