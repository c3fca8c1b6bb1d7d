"""Run-time support for generated code: access to the current run, and periodic checks in loops."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from math import prod
from typing import Any

import numpy as np

from hlotool.errors import InternalError, Violation
from hlotool.interp.arrays.dtypes import Array
from hlotool.interp.arrays.values import Value, leaves, with_leaves
from hlotool.interp.devices import Device, Wait
from hlotool.interp.engine.ownership import can_alias
from hlotool.interp.kernels.base import Invoke, Run
from hlotool.interp.kernels.control_flow import FIRST_COMPARED, branch_of, is_same, next_iteration
from hlotool.interp.plan.errors import Mismatch
from hlotool.interp.plan.threads import run_in_parallel
from hlotool.interp.run_options import RunOptions
from hlotool.ir.model import Instruction

__all__ = ["GLOBALS", "PlanRun", "first_check"]


class PlanRun:
    """One run of a plan on one device, with its limits and callbacks.

    `invoke` is a generator function that returns the value for an Invoke request, and yields when
    the device has to wait. `reached` is called before instructions of the entry computation if the
    code was compiled with such calls.
    """

    __slots__ = ("deadline", "device", "invoke", "options", "reached")

    def __init__(
        self,
        options: RunOptions,
        device: Device,
        invoke: Callable[[Invoke], Generator[Wait, None, Value]],
        reached: Callable[[Instruction], None],
    ) -> None:
        self.options = options
        self.device = device
        self.invoke = invoke
        self.reached = reached
        self.deadline = None if options.timeout_seconds is None else time.monotonic() + options.timeout_seconds

    def drive(self, run: Run) -> Generator[Wait, None, Value]:
        """Returns the value of a kernel that suspends. Yields when the device has to wait."""
        value: Value = None
        while True:
            try:
                wanted = run.send(value)
            except StopIteration as end:
                return end.value
            if isinstance(wanted, Invoke):
                value = yield from self.invoke(wanted)
                continue
            value = None
            try:
                yield wanted
            except Violation as violation:
                # The wait will never end; the kernel may be able to explain why.
                run.throw(violation)

    def check_time(self) -> None:
        """Raises Violation if the run takes too long."""
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise Violation("R005", "opcode", f"the run took longer than {self.options.timeout_seconds:g} s")


def finish(run: Generator[Wait, None, Value]) -> Value:
    """Returns the value of a run in which nothing waits."""
    try:
        next(run)
    except StopIteration as end:
        return end.value
    raise InternalError("a device waits in code that must not wait")


def first_check(options: RunOptions, is_finite: bool) -> int | None:
    """Returns the first iteration at which a loop is checked.

    Returns None if it is never checked, which requires that the loop is known to end (`is_finite`).
    """
    limit = None if options.max_iterations is None else options.max_iterations + 1
    if is_finite:
        return limit
    return FIRST_COMPARED if limit is None else min(FIRST_COMPARED, limit)


def next_check(iteration: int, options: RunOptions) -> int:
    """Returns the next iteration at which a loop is checked.

    Raises Violation if the loop has reached its maximum number of iterations.
    """
    next_iteration(iteration - 1, options)
    return iteration * 2 if options.max_iterations is None else min(iteration * 2, options.max_iterations + 1)


def require_dtype(array: Any, dtype: np.dtype[Any], dimensions: tuple[int, ...]) -> None:
    """Raises Mismatch if an element of a tuple does not match its declared shape."""
    if type(array) is np.ndarray and (array.dtype != dtype or array.shape != dimensions):
        raise Mismatch


def aligned(dimensions: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Returns a new array that begins at the start of a cache line."""
    memory = np.empty(prod(dimensions) * dtype.itemsize + _LINE, np.uint8)
    return np.ndarray(dimensions, dtype, memory, -memory.ctypes.data % _LINE)


_LINE = 64

GLOBALS: dict[str, Any] = {
    "Invoke": Invoke,
    "aligned": aligned,
    "asarray": np.asarray,
    "branch_of": branch_of,
    "can_alias": can_alias,
    "empty": np.empty,
    "finish": finish,
    "run_in_parallel": run_in_parallel,
    "is_same": is_same,
    "leaves": leaves,
    "ndarray": np.ndarray,
    "next_check": next_check,
    "require_dtype": require_dtype,
    "with_leaves": with_leaves,
}
"""The names that generated code may use without binding them."""
