"""Kernels of opcodes that run computations: call, while, conditional, fusion and the async family.

They ask for each run by yielding it; none calls another computation itself.
"""

from __future__ import annotations

import numpy as np

from hlotool.errors import Violation
from hlotool.interp.bits import patterns
from hlotool.interp.dtypes import Array
from hlotool.interp.kernels.base import Invoke, Run, kernel
from hlotool.interp.options import RunOptions
from hlotool.interp.values import Value, leaves, with_leaves, zeros
from hlotool.ir.model import Computation
from hlotool.shapes.shape import Shape

__all__: list[str] = []

Lanes = tuple[int, ...]

# ---- calls ------------------------------------------------------------------------------------------------------------


def _call_lanes(*operands: Value, to_apply: Computation, lanes: Lanes) -> Run:
    return (yield Invoke(to_apply, operands, lanes))


@kernel("call", lanes=_call_lanes)
def call(*operands: Value, to_apply: Computation) -> Run:
    request = Invoke(to_apply, operands)
    del operands
    return (yield request)


def _fusion_lanes(*operands: Value, calls: Computation, lanes: Lanes) -> Run:
    return (yield Invoke(calls, operands, lanes))


@kernel("fusion", lanes=_fusion_lanes)
def fusion(*operands: Value, calls: Computation) -> Run:
    request = Invoke(calls, operands)
    del operands
    return (yield request)


@kernel("async-start")
def async_start(*operands: Value, calls: Computation, result: Shape) -> Run:
    """Everything is done at the start; the result holds operands, result, and contexts that nobody reads."""
    value = yield Invoke(calls, operands)
    return operands, value, *(zeros(shape) for shape in result.elements[2:])


@kernel("async-update")
def async_update(previous: Value) -> Value:
    return previous


@kernel("async-done")
def async_done(previous: Value) -> Value:
    return previous[1]


# ---- while ------------------------------------------------------------------------------------------------------------


# Rounds after which a loop is suspected of never ending.
_PATIENCE = 64


def _count_round(done: int, options: RunOptions) -> int:
    if done == options.max_iterations:
        raise Violation("R005", "opcode", f"the loop did not end after {done} iterations", "raise max_iterations if it should go on")
    return done + 1


def _while_lanes(init: Value, *, condition: Computation, body: Computation, options: RunOptions, lanes: Lanes, result: Shape) -> Run:
    """Each lane goes on for as long as its own condition holds; those that have ended are not computed any more."""
    state = [np.array(np.broadcast_to(leaf, lanes)).reshape(-1) for leaf in leaves(init)]
    active = np.arange(int(np.prod(lanes)))
    rounds = 0
    while len(active):
        alive = (len(active),)
        current = with_leaves(result, [leaf[active] for leaf in state])
        goes_on = yield Invoke(condition, (current,), alive)
        active = active[goes_on]
        if not len(active):
            break
        rounds = _count_round(rounds, options)
        current = with_leaves(result, [leaf[goes_on] for leaf in leaves(current)])
        advanced = yield Invoke(body, (current,), (len(active),))
        for leaf, changed in zip(state, leaves(advanced), strict=True):
            leaf[active] = changed
    return with_leaves(result, [leaf.reshape(lanes) for leaf in state])


@kernel("while", lanes=_while_lanes)
def while_(init: Value, *, condition: Computation, body: Computation, options: RunOptions) -> Run:
    """The loop; one whose state does not change any more could never end, and is left with that state.

    HLO takes loops to end, so XLA, too, keeps what a loop does not change and drops the loop. Whether the state has changed is asked after
    64, 128, 256, ... rounds.
    """
    state, rounds = init, 0
    del init
    while bool((yield Invoke(condition, (state,)))):
        rounds = _count_round(rounds, options)
        request = Invoke(body, (state,))
        # Held only where it is compared: what is held is not updated in place.
        before = state if rounds >= _PATIENCE and rounds & (rounds - 1) == 0 else None
        del state
        state = yield request
        if before is not None and _is_same(before, state) and _is_pure(condition) and _is_pure(body):
            break
        del before
    return state


def _is_same(before: Value, after: Value) -> bool:
    pairs = zip(leaves(before), leaves(after), strict=True)
    return all(a is b or (isinstance(a, np.ndarray) and np.array_equal(patterns(a), patterns(b))) for a, b in pairs)


def _is_pure(computation: Computation) -> bool:
    """Whether nothing in a computation or below depends on anything but its arguments."""
    seen, stack = {computation}, [computation]
    while stack:
        for x in stack.pop().instructions:
            if x.opcode == "custom-call" or (x.op.kernel is not None and "device" in x.op.kernel.wanted):
                return False
            fresh = [called for called in x.called if called not in seen]
            seen.update(fresh)
            stack += fresh
    return True


# ---- conditional ------------------------------------------------------------------------------------------------------


def _branches(true_computation: Computation | None, false_computation: Computation | None, listed: tuple[Computation, ...]) -> list[Computation]:
    """The branches by index; of a pred selector, true is the first and false the second."""
    named = [branch for branch in (true_computation, false_computation) if branch is not None]
    return named or list(listed)


def _branch_of(selector: Array, count: int) -> Array:
    """Which branch each selector picks; the last one takes every index outside."""
    if selector.dtype == np.bool_:
        return np.where(selector, 0, 1)
    return np.where((selector < 0) | (selector >= count), count - 1, selector)


def _conditional_lanes(
    selector: Array,
    *operands: Value,
    true_computation: Computation | None,
    false_computation: Computation | None,
    branch_computations: tuple[Computation, ...],
    lanes: Lanes,
    result: Shape,
) -> Run:
    """Each branch runs for those lanes alone that pick it."""
    branches = _branches(true_computation, false_computation, branch_computations)
    picked = np.broadcast_to(_branch_of(selector, len(branches)), lanes).reshape(-1)
    made: list[Array] = []
    for k, branch in enumerate(branches):
        here = np.flatnonzero(picked == k)
        if not len(here):
            continue
        shape = branch.parameters[0].shape
        argument = with_leaves(shape, [np.broadcast_to(leaf, lanes).reshape(-1)[here] for leaf in leaves(operands[k])])
        found = list(leaves((yield Invoke(branch, (argument,), (len(here),)))))
        made = made or [np.zeros(len(picked), leaf.dtype) for leaf in found]
        for leaf, values in zip(made, found, strict=True):
            leaf[here] = values
    if not made:
        return _zeros_of_lanes(result, lanes)
    return with_leaves(result, [leaf.reshape(lanes) for leaf in made])


def _zeros_of_lanes(shape: Shape, lanes: Lanes) -> Value:
    """The value of an instruction of scalars for no lanes, or where its content does not matter."""
    return with_leaves(shape, [np.broadcast_to(leaf, lanes) for leaf in leaves(zeros(shape))])


@kernel("conditional", lanes=_conditional_lanes)
def conditional(
    selector: Array,
    *operands: Value,
    true_computation: Computation | None,
    false_computation: Computation | None,
    branch_computations: tuple[Computation, ...],
) -> Run:
    branches = _branches(true_computation, false_computation, branch_computations)
    index = int(_branch_of(selector, len(branches)))
    request = Invoke(branches[index], (operands[index],))
    del operands
    return (yield request)
