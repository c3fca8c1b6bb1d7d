"""The options of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hlotool.interp.queues import HostQueues
from hlotool.record import Record

__all__ = ["ELIDED_MODES", "RunOptions"]

ELIDED_MODES = ("zeros", "ones", "iota", "random")
"""What may stand in for constants that a text leaves out."""


class RunOptions(Record):
    """What a run may assume and how long it may take.

    `elided`, one of ELIDED_MODES, is put in place of constants written `{...}`; None makes them errors. `seed` is for whatever is
    random. `max_iterations` limits the rounds of each while loop, `timeout_seconds` the whole run, which is
    asked between instructions, `max_memory` the bytes that it is
    estimated to need; None means no limit.

    `custom_calls` maps targets of custom-calls to functions: each takes the operands and gives the result, arrays and tuples of arrays,
    and also takes a CustomCall if it has a parameter named `call`. They come before the targets that hlotool knows. `queues` are those
    between the host and the device, or a sequence of such for several devices.

    >>> RunOptions(elided="zeros").seed
    0
    """

    elided: str | None = None
    seed: int = 0
    max_iterations: int | None = None
    timeout_seconds: float | None = None
    max_memory: int | None = None
    custom_calls: Mapping[str, Callable[..., Any]] | None = None
    queues: HostQueues | Sequence[HostQueues] | None = None
