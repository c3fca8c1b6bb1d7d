"""What a host and one device hand to each other while a program runs.

Only keeps it; the opcodes that take and give are in `kernels.communication`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["HostQueues"]


class HostQueues:
    """The queues between a host and one device.

    `infeed` holds what `infeed` takes, oldest first, and `received` the same for each channel of a `recv` from the host; items are
    anything that `evaluate` takes as arguments, tuples for tuples. A run appends to `outfeed` what `outfeed` puts out, and to
    `sent[channel]` what a `send` to the host sends; these are arrays of the exact type, tuples of such for tuples.

    >>> queues = HostQueues(infeed=[[1.0, 2.0]], received={3: [5]})
    >>> len(queues.infeed), len(queues.received[3]), queues.outfeed, queues.sent
    (1, 1, [], {})
    """

    __slots__ = ("infeed", "outfeed", "received", "sent")

    def __init__(self, infeed: Iterable[Any] = (), received: Mapping[int, Iterable[Any]] | None = None) -> None:
        self.infeed: deque[Any] = deque(infeed)
        self.received: dict[int, deque[Any]] = {channel: deque(items) for channel, items in (received or {}).items()}
        self.outfeed: list[Any] = []
        self.sent: dict[int, list[Any]] = {}
