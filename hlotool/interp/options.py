"""The options of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hlotool.interp.queues import HostQueues
from hlotool.record import Record

__all__ = ["ELIDED_FILLS", "RunOptions"]

ELIDED_FILLS = ("zeros", "ones", "iota", "random")
"""Ways to fill constants that a text elides."""


class RunOptions(Record):
    """Assumptions and limits of a run.

    `elided_fill`, one of ELIDED_FILLS, provides the values of constants written as `{...}`; with
    None, they are errors. `seed` is the seed of everything random. `max_iterations` limits the
    iterations of each while loop, `timeout_seconds` the whole run (checked between instructions),
    and `max_memory` the estimated number of bytes that a run needs; None means no limit.

    `custom_calls` maps targets of custom-calls to functions. Each takes the values of the operands
    and returns the result, an array or a tuple. If it has a parameter named `call`, it also
    receives a CustomCall. These functions take precedence over hlotool's own. `queues` are the
    queues between the host and the device, or a sequence of them for several devices.

    Plans compute blocks of large arrays in this number of `threads`, with the same results. NumPy's
    library for matrix products has its own threads.

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
