"""P018: channel ids."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.opdefs.traits import COLLECTIVE
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []


@module_rule("P018", stage="module")
def channel_ids(facts: Facts) -> Iterator[Finding]:
    """The channel id of a collective is not negative; that of an all-reduce is positive.

    Checks: the `channel_id` of all-reduce is at least 1, and that of other collectives at least 0.
    """
    for computation, x in facts.instructions_with(COLLECTIVE):
        channel = x.attributes.get("channel_id")
        if channel is None or channel > 0:
            continue
        # XLA checks only all-reduces. Other collectives may have 0, which XLA treats as "no
        # channel" elsewhere.
        if x.op.name == "all-reduce":
            yield Finding("P018", computation, x, "channel_id", f"channel_id of 'all-reduce' must be positive, got {channel}")
        elif channel < 0:
            yield Finding("P018", computation, x, "channel_id", f"channel_id must not be negative, got {channel}")
