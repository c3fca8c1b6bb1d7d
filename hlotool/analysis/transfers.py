"""Sends and receives between devices: their source-target pairs, stored in a frontend attribute."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hlotool.ir.model import Instruction

__all__ = ["PAIRS_ATTRIBUTE", "Pairs", "cycle_of", "is_between_devices", "pairs_in", "pairs_of", "repeated"]

PAIRS_ATTRIBUTE = "_xla_send_recv_source_target_pairs"
"""The frontend attribute with the source-target pairs of a collective-permute.

Compilers add it when they split the collective-permute into a send and a recv.
"""

_PIPELINED = "_xla_send_recv_pipeline"
_PAIR = re.compile(r"\{\s*([0-9]+)\s*,\s*([0-9]+)\s*\}")

Pairs = tuple[tuple[int, int], ...]


def pairs_of(x: Instruction) -> Pairs:
    """Returns the source and target of each transfer that the instruction is part of.

    The result is empty if the attribute is missing.

    >>> from hlotool.text.parse.parser import parse
    >>> text = 't = token[] after-all() ROOT r = (f32[], u32[], token[]) recv(t), frontend_attributes={_xla_send_recv_source_target_pairs={{0,1}}}'
    >>> pairs_of(parse(f"ENTRY e {{ {text} }}").entry.root)
    ((0, 1),)
    """
    return pairs_in((x.attributes.get("frontend_attributes") or {}).get(PAIRS_ATTRIBUTE, ""))


def pairs_in(text: str) -> Pairs:
    """Returns the pairs of numbers in an attribute's value."""
    return tuple((int(source), int(target)) for source, target in _PAIR.findall(text))


def is_between_devices(x: Instruction) -> bool:
    """Returns whether a send or recv is a transfer between devices and is not pipelined.

    A transfer that is not pipelined ends in the loop iteration in which it starts.
    """
    return not x.attributes.get("is_host_transfer", False) and _PIPELINED not in (x.attributes.get("frontend_attributes") or {})


def repeated(pairs: Sequence[tuple[int, int]]) -> str | None:
    """Returns a description of a device that sends or receives twice, or None.

    >>> repeated([(0, 1), (2, 1)])
    'device 1 receives twice'
    """
    for position, verb in ((0, "sends"), (1, "receives")):
        seen: set[int] = set()
        for pair in pairs:
            if pair[position] in seen:
                return f"device {pair[position]} {verb} twice"
            seen.add(pair[position])
    return None


def cycle_of(pairs: Sequence[tuple[int, int]]) -> list[int]:
    """Returns the devices of a cycle, with the first one repeated at the end.

    The list is empty if there is no cycle. No device may be a source more than once.

    >>> cycle_of([(0, 1), (1, 2), (2, 0)]), cycle_of([(0, 1), (1, 2)])
    ([0, 1, 2, 0], [])
    """
    next_of = dict(pairs)
    done: set[int] = set()
    for start in next_of:
        path: dict[int, None] = {}
        device = start
        while device in next_of and device not in done and device not in path:
            path[device] = None
            device = next_of[device]
        if device in path:
            devices = list(path)
            return [*devices[devices.index(device) :], device]
        done.update(path)
    return []
