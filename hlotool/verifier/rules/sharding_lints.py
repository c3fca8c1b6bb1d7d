"""W051 and P035 to P037: shardings and ids without effect, and late or uneven shardings."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.ir.model import Instruction
from hlotool.opdefs.traits import COLLECTIVE
from hlotool.shapes.sharding import Sharding
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

_MARKERS = frozenset({"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape"})


@module_rule("W051", stage="lint")
def repeated_annotations(facts: Facts) -> Iterator[Finding]:
    """A sharding annotation changes the sharding.

    Checks: no custom call to `Sharding` has the same sharding as its operand.
    """
    for computation, x in facts.instructions_of("custom-call"):
        if x.attributes["custom_call_target"] == "Sharding" and len(x.operands) == 1:
            sharding = x.attributes.get("sharding")
            if sharding is not None and sharding == x.operands[0].attributes.get("sharding"):
                yield Finding("W051", computation, x, "opcode", f"this annotation repeats the sharding of '{x.operands[0].name}'")


@module_rule("P035", stage="lint")
def constant_ids(facts: Facts) -> Iterator[Finding]:
    """partition-id and replica-id are used only with several partitions or replicas.

    Checks: partition-id does not occur in modules with one partition, and replica-id does not occur
    in modules with one replica.
    """
    for opcode, field in (("partition-id", "num_partitions"), ("replica-id", "replica_count")):
        if int(getattr(facts.module, field)) == 1:
            for computation, x in facts.instructions_of(opcode):
                yield Finding("P035", computation, x, "opcode", f"{field} is 1, so the value is always 0")


@module_rule("P036", stage="lint")
def late_shardings(facts: Facts) -> Iterator[Finding]:
    """A partitioned module has no shardings left.

    Checks: if a collective with a channel shows that the module is partitioned, there are no
    partitioning custom calls, and only the parameters and the root of the entry computation have
    shardings. Each computation is reported once. Modules are not checked if the mode `stage` is
    before-opt, since the author of the program may have written some collectives.
    """
    if facts.modes.stage == "before-opt":
        return
    if not any(x.attributes.get("channel_id") is not None for _, x in facts.instructions_with(COLLECTIVE)):
        return
    entry = facts.module.entry
    for computation in facts.module.computations:
        for x in computation.instructions:
            is_boundary = computation is entry and (x.op.name == "parameter" or x is entry.root)
            is_marker = x.op.name == "custom-call" and x.attributes["custom_call_target"] in _MARKERS
            if is_marker or ("sharding" in x.attributes and not is_boundary):
                at = "opcode" if is_marker else "sharding"
                yield Finding("P036", computation, x, at, f"'{x.name}' has a sharding, but the module is already partitioned")
                break


@module_rule("P037", stage="lint")
def uneven_shardings(facts: Facts) -> Iterator[Finding]:
    """Dimensions divide evenly among devices.

    Checks: the size of each sharded dimension is a multiple of its number of tiles.
    """
    for computation in facts.module.computations:
        for x in computation.instructions:
            sharding = x.attributes.get("sharding")
            if isinstance(sharding, Sharding) and x.shape.is_array:
                fault = _uneven(x, sharding)
                if fault is not None:
                    yield Finding("P037", computation, x, "sharding[devices]", fault)


def _uneven(x: Instruction, sharding: Sharding) -> str | None:
    tiles = sharding.tile.dimensions if sharding.tile is not None else ()
    for k, (size, count) in enumerate(zip(x.shape.dimensions, tiles, strict=False)):
        if size > 0 and count > 1 and size % count:
            return f"dimension {k} of size {size} is split over {count} devices, and padded to {-(-size // count) * count}"
    return None
