"""The queues between a host and one device.

They serve infeed, outfeed, and send and recv with the host. The kernels of these opcodes are in
`kernels.communication`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["HostQueues"]


class HostQueues:
    """The queues between a host and one device.

    `infeed` holds the values for `infeed`, oldest first, and `received` those for `recv` from the
    host, by channel; items are anything that `evaluate` accepts as an argument. A run appends the
    values of `outfeed` to `outfeed`, and those of `send` to the host to `sent[channel]`; these are
    arrays of the exact type and tuples of arrays.

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
