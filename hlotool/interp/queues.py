"""The queues between a host and one device.

They are used by infeed and outfeed, and by send and recv if the other end is the host. The kernels
of these opcodes are in `kernels.communication`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["HostQueues"]


class HostQueues:
    """The queues between a host and one device.

    `infeed` contains the values for the opcode `infeed`, oldest first. `received` contains, for
    each channel, the values for `recv` from the host. The values in both may be anything that
    `evaluate` accepts as an argument. A run appends the values of the opcode `outfeed` to
    `outfeed`, and the values of `send` to the host to `sent[channel]`. The appended values are
    arrays of the exact type, or tuples of such arrays.

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
