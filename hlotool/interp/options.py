"""The options of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hlotool.interp.queues import HostQueues
from hlotool.record import Record

__all__ = ["ELIDED_FILLS", "RunOptions"]

ELIDED_FILLS = ("zeros", "ones", "iota", "random")
"""How constants that a text leaves out may be filled."""


class RunOptions(Record):
    """What a run may assume and how long it may take.

    `elided_fill`, one of ELIDED_FILLS, is used for the values of constants written `{...}`; None makes them errors. `seed` starts
    everything random. `max_iterations` limits the iterations of each while loop, `timeout_seconds` the whole run (checked between
    instructions), and `max_memory` the bytes that a run is estimated to need; None means no limit.

    `custom_calls` maps targets of custom-calls to functions. Each takes the values of the operands and returns the result, an array or
    a tuple; if it has a parameter named `call`, a CustomCall is passed, too. These functions take precedence over the targets that
    hlotool knows. `queues` are the queues between the host and the device, or a sequence of them for several devices.

    Plans compute blocks of large arrays in as many `threads`, with the same results. NumPy's library for matrix products has threads of its own.

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
