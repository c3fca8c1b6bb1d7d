"""P018: numbers of channels."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.opdefs.traits import COLLECTIVE
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []


@module_rule("P018", stage="module")
def channel_ids(facts: Facts) -> Iterator[Finding]:
    """The channel of a collective has a positive number.

    Checks: `channel_id` of collectives.
    Why: XLA takes 0 and less for "no channel", which changes what replica groups count.
    Bad: `r = f32[4] all-reduce(a), channel_id=-3, replica_groups={}, to_apply=add`
    Good: `r = f32[4] all-reduce(a), channel_id=3, replica_groups={}, to_apply=add`
    """
    for computation, x in facts.instructions_with(COLLECTIVE):
        channel = x.attributes.get("channel_id")
        if channel is not None and channel <= 0:
            yield Finding("P018", computation, x, "channel_id", f"channel id must be positive, got {channel}")
