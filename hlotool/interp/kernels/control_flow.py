"""Kernels of opcodes that run computations: call, while, conditional, fusion and the async family.

The kernels yield an Invoke for each run of a computation.
"""

from __future__ import annotations

from math import prod

import numpy as np

from hlotool.errors import Violation
from hlotool.interp.arrays.bits import patterns
from hlotool.interp.arrays.dtypes import Array
from hlotool.interp.arrays.values import Value, leaves, with_leaves, zeros
from hlotool.interp.kernels.base import Invoke, Run, kernel
from hlotool.interp.run_options import RunOptions
from hlotool.ir.model import Computation
from hlotool.shapes.shape import Shape, compatible

__all__ = ["FIRST_COMPARED", "branch_of", "is_pure", "is_same", "next_iteration"]

Batch = tuple[int, ...]

# ---- calls --------------------------------------------------------------------------------------


def _call_batch(*operands: Value, to_apply: Computation, batch: Batch) -> Run:
    return (yield Invoke(to_apply, operands, batch))


@kernel("call", batch=_call_batch)
def call(*operands: Value, to_apply: Computation) -> Run:
    request = Invoke(to_apply, operands)
    del operands
    return (yield request)


def _fusion_batch(*operands: Value, calls: Computation, batch: Batch) -> Run:
    return (yield Invoke(calls, operands[: len(calls.parameters)], batch))


@kernel("fusion", batch=_fusion_batch)
def fusion(*operands: Value, calls: Computation) -> Run:
    """Runs the computation, which receives as many operands as it has parameters.

    A fusion may have more operands, because compilers may leave unused operands behind.
    """
    request = Invoke(calls, operands[: len(calls.parameters)])
    del operands
    return (yield request)


@kernel("async-start")
def async_start(*operands: Value, calls: Computation, result: Shape) -> Run:
    """Runs the computation if the shape contains all of its operands and its result.

    Otherwise, the computation is run by the async-update that completes the shape, or, if there is
    none, by the async-done. Contexts are not read.
    """
    value = (yield Invoke(calls, operands)) if _has_run(result, calls) else zeros(result.elements[1])
    return operands, value, *(zeros(shape) for shape in result.elements[2:])


@kernel("async-update")
def async_update(previous: Value, *operands: Value, calls: Computation, operand_shapes: tuple[Shape, ...], result: Shape) -> Run:
    bound = (*previous[0], *operands)
    if _has_run(operand_shapes[0], calls):
        value = previous[1]
    else:
        value = (yield Invoke(calls, bound)) if _has_run(result, calls) else zeros(result.elements[1])
    return bound, value, *(zeros(shape) for shape in result.elements[2:])


@kernel("async-done")
def async_done(previous: Value, *, calls: Computation, operand_shapes: tuple[Shape, ...]) -> Run:
    return previous[1] if _has_run(operand_shapes[0], calls) else (yield Invoke(calls, previous[0]))


def _has_run(in_flight: Shape, calls: Computation | None) -> bool:
    """Returns whether an operation has run by the time it has this shape.

    An operation runs as soon as its shape contains all operands and the result. Raises Violation if
    there is no async-start.
    """
    if calls is None:
        raise Violation("R004", "opcode", "the operand is not the value of an asynchronous operation")
    return len(in_flight.elements[0].elements) == len(calls.parameters) and compatible(in_flight.elements[1], calls.root.shape)


# ---- while -------------------------------------------------------------------------------------


FIRST_COMPARED = 64
"""The first iteration in which a loop's state is checked for changes."""


def next_iteration(iterations: int, options: RunOptions) -> int:
    """Returns `iterations + 1`; raises Violation if the maximum has been reached."""
    if iterations == options.max_iterations:
        raise Violation(
            "R005",
            "opcode",
            f"the loop did not end after {iterations} iteration{'s' if iterations != 1 else ''}",
            "if the loop should continue, raise the limit with --max-iterations, or RunOptions(max_iterations=...)",
        )
    return iterations + 1


def _while_batch(init: Value, *, condition: Computation, body: Computation, options: RunOptions, batch: Batch, result: Shape) -> Run:
    """Runs a loop for a batch: each instance continues as long as its own condition is true.

    Instances that have ended are no longer computed.
    """
    _require_lasting_state(body)
    state = [np.array(np.broadcast_to(leaf, batch)).reshape(-1) for leaf in leaves(init)]
    active = np.arange(prod(batch))
    iterations = 0
    while len(active):
        current = with_leaves(result, [leaf[active] for leaf in state])
        continues = yield Invoke(condition, (current,), (len(active),))
        active = active[continues]
        if not len(active):
            break
        iterations = next_iteration(iterations, options)
        current = with_leaves(result, [leaf[continues] for leaf in leaves(current)])
        advanced = yield Invoke(body, (current,), (len(active),))
        for leaf, changed in zip(state, leaves(advanced), strict=True):
            leaf[active] = changed
    return with_leaves(result, [leaf.reshape(batch) for leaf in state])


@kernel("while", batch=_while_batch)
def while_(init: Value, *, condition: Computation, body: Computation, options: RunOptions) -> Run:
    """Runs the loop until its condition is false or its state no longer changes.

    In the latter case, the loop would never end. HLO assumes that loops end, so XLA, too, drops a
    loop that changes nothing. The state is checked for changes in iterations 64, 128, 256, ...
    """
    _require_lasting_state(body)
    state, iterations = init, 0
    del init
    while bool((yield Invoke(condition, (state,)))):
        iterations = next_iteration(iterations, options)
        request = Invoke(body, (state,))
        # Keep the old state only for a comparison: a referenced state cannot be updated in place.
        before = state if iterations >= FIRST_COMPARED and iterations & (iterations - 1) == 0 else None
        del state
        state = yield request
        if before is not None and is_same(before, state) and is_pure(condition) and is_pure(body):
            break
        del before
    return state


def _require_lasting_state(body: Computation) -> None:
    """Raises Violation unless the body takes and returns one value of the same shape.

    XLA's verifier accepts a body that returns another shape.
    """
    if len(body.parameters) != 1:
        raise Violation("R004", "body", f"the body '{body.name}' must take one value, the state, but has {len(body.parameters)} parameters")
    taken, returned = body.parameters[0].shape, body.root.shape
    if not compatible(taken, returned):
        message = f"the body '{body.name}' takes {taken.text_without_layout}, but returns {returned.text_without_layout}"
        raise Violation("R004", "body", message, "return a value of the shape that the body takes")


def is_same(before: Value, after: Value) -> bool:
    """Returns whether the arrays of both values have the same bits."""
    pairs = zip(leaves(before), leaves(after), strict=True)
    return all(a is b or (isinstance(a, np.ndarray) and np.array_equal(patterns(a), patterns(b))) for a, b in pairs)


def is_pure(computation: Computation) -> bool:
    """Returns whether the value of a computation depends only on its arguments."""
    seen, stack = {computation}, [computation]
    while stack:
        for x in stack.pop().instructions:
            if x.opcode == "custom-call" or (x.op.kernel is not None and "device" in x.op.kernel.facts):
                return False
            fresh = [called for called in x.called if called not in seen]
            seen.update(fresh)
            stack += fresh
    return True


# ---- conditional -------------------------------------------------------------------------------


def _branches(true_computation: Computation | None, false_computation: Computation | None, listed: tuple[Computation, ...]) -> list[Computation]:
    """Returns the branches by index; for a pred selector, the branch for true comes first."""
    named = [branch for branch in (true_computation, false_computation) if branch is not None]
    return named or list(listed)


def branch_of(selector: Array, count: int) -> Array:
    """Returns the index of the branch that each selector picks.

    An index out of range picks the last branch.
    """
    if selector.dtype == np.bool_:
        return np.where(selector, 0, 1)
    return np.where((selector < 0) | (selector >= count), count - 1, selector)


def _conditional_batch(
    selector: Array,
    *operands: Value,
    true_computation: Computation | None,
    false_computation: Computation | None,
    branch_computations: tuple[Computation, ...],
    batch: Batch,
    result: Shape,
) -> Run:
    """Runs each branch for the instances that pick it."""
    branches = _branches(true_computation, false_computation, branch_computations)
    picked = np.broadcast_to(branch_of(selector, len(branches)), batch).reshape(-1)
    merged: list[Array] = []
    for k, branch in enumerate(branches):
        here = np.flatnonzero(picked == k)
        if not len(here):
            continue
        shape = branch.parameters[0].shape
        argument = with_leaves(shape, [np.broadcast_to(leaf, batch).reshape(-1)[here] for leaf in leaves(operands[k])])
        results = list(leaves((yield Invoke(branch, (argument,), (len(here),)))))
        merged = merged or [np.zeros(len(picked), leaf.dtype) for leaf in results]
        for leaf, values in zip(merged, results, strict=True):
            leaf[here] = values
    if not merged:
        # The batch is empty.
        return with_leaves(result, [np.broadcast_to(leaf, batch) for leaf in leaves(zeros(result))])
    return with_leaves(result, [leaf.reshape(batch) for leaf in merged])


@kernel("conditional", batch=_conditional_batch)
def conditional(
    selector: Array,
    *operands: Value,
    true_computation: Computation | None,
    false_computation: Computation | None,
    branch_computations: tuple[Computation, ...],
) -> Run:
    branches = _branches(true_computation, false_computation, branch_computations)
    index = int(branch_of(selector, len(branches)))
    request = Invoke(branches[index], (operands[index],))
    del operands
    return (yield request)
