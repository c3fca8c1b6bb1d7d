"""The options of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hlotool.interp.queues import HostQueues
from hlotool.record import Record

__all__ = ["ELIDED_FILLS", "RunOptions"]

ELIDED_FILLS = ("zeros", "ones", "iota", "random")
"""Fills for constants whose values are elided."""


class RunOptions(Record):
    """Assumptions and limits of a run.

    `elided_fill`, one of ELIDED_FILLS, determines the values of constants written as `{...}`; if it
    is None, such constants are errors. `seed` is the seed of all random numbers. `max_iterations`
    limits the iterations of each while loop, `timeout_seconds` limits the duration of the run
    (checked between instructions), and `max_memory` limits the estimated number of bytes that the
    run needs. For all three, None means no limit.

    `custom_calls` maps targets of custom-calls to functions. Each function takes the values of the
    operands and returns the result, which is an array or a tuple. A function with a parameter named
    `call` also receives a CustomCall. These functions take precedence over hlotool's own.
    `queues` contains the queues between the host and the device; for several devices, it is a
    sequence with an entry for each device.

    `threads` is the number of threads in which plans compute blocks of large arrays; it does not
    affect the results. NumPy's library for matrix products has its own threads.

    >>> RunOptions(elided_fill="zeros").seed
    0
    """

    elided_fill: str | None = None
    seed: int = 0
    max_iterations: int | None = None
    timeout_seconds: float | None = None
    max_memory: int | None = None
    custom_calls: Mapping[str, Callable[..., Any]] | None = None
    queues: HostQueues | Sequence[HostQueues] | None = None
    threads: int = 1
