"""P019 to P024, P026 and P029: shardings that do not fit the shape or the devices."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod

from hlotool.ir.model import Instruction
from hlotool.opdefs.inference import bare, count
from hlotool.shapes.shape import Shape
from hlotool.shapes.sharding import Sharding
from hlotool.shapes.tiles import IotaDevices, TileAssignment
from hlotool.text.locate.instruction import locate
from hlotool.text.source.part_names import parse_part_name
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

_VALUE = parse_part_name("sharding value")
_TUPLE = re.compile(r"\{\s*\{")

Fault = tuple[str, str, str, str | None]
"""The code, position, message and hint of a finding."""

# The positions of a tile assignment and of its devices, relative to the position of the sharding.
_TILE, _DEVICES = "[devices]", "[devices][1][1]"


@module_rule("P019", "P020", "P021", "P022", "P023", "P024", "P026", "P029", stage="module")
def shardings(facts: Facts) -> Iterator[Finding]:
    """A sharding fits the dimensions of its array and the devices of the module.

    Checks: a tuple has a tuple sharding (P024; for instructions other than parameters, only a
    warning if XLA's parser repeats a single sharding for all arrays), with an entry for each of its
    arrays (P023); there are as many tile dimensions as array dimensions (P020) and as many tiles as
    devices (P019, in the iota form P026); each device is listed once (P021). If the header or the
    mode `devices` specifies the number of partitions, each device is below that number (P022), and
    all partitions are used (P029).
    """
    partitions = facts.modes.devices or int(facts.module.num_partitions)
    # Keys are identities of objects that the module keeps alive; hashing long tuples would take
    # longer.
    faults: dict[tuple[int, int], Fault | None] = {}
    for computation in facts.module.computations:
        for x in computation.instructions:
            sharding = x.attributes.get("sharding")
            if sharding is None:
                continue
            key = id(sharding), id(x.shape)
            if key not in faults:
                faults[key] = _fault(sharding, x.shape, partitions) or _repetition_fault(facts, x, sharding)
            fault = faults[key]
            if fault is not None:
                is_repeated = fault[0] == "P024" and sharding.is_tuple and x.shape.is_tuple and x.op.name != "parameter"
                yield Finding(fault[0], computation, x, *fault[1:], severity="warning" if is_repeated else None)


def _fault(sharding: Sharding, shape: Shape, partitions: int) -> Fault | None:
    if shape.element_type == "token":
        return None
    if not sharding.is_tuple:
        if shape.is_tuple:
            return _tuple_fault(shape)
        return _leaf_fault(sharding, bare(shape), partitions, "sharding")
    if not shape.is_tuple:
        return "P024", "sharding value", f"the sharding is a tuple, but the shape is {shape.text_without_layout}", None
    leaves = list(shape.leaves())
    if len(sharding.elements) != max(len(leaves), 1):
        return (
            "P023",
            "sharding value",
            f"the tuple must have {count(max(len(leaves), 1), 'sharding')} (one per array), got {len(sharding.elements)}",
            None,
        )
    checked: dict[tuple[int, int], Fault | None] = {}
    for k, (element, leaf) in enumerate(zip(sharding.elements, leaves, strict=False)):
        # Equal entries of a tuple are often the same object.
        key = id(element), id(leaf)
        if key not in checked:
            checked[key] = None if leaf.element_type == "token" else _leaf_fault(element, bare(leaf), partitions, f"sharding[{k}]")
        if checked[key] is not None:
            return checked[key]
    return None


def _repetition_fault(facts: Facts, x: Instruction, sharding: Sharding) -> Fault | None:
    """Returns the fault if the parser has repeated a single tiled sharding for a tuple, or None.

    XLA's parser does the same for old modules.
    """
    elements, source = sharding.elements, facts.module.source
    # XLA's tests accept a single sharding for a tuple that contains one array.
    if source is None or x.start < 0 or len(elements) < 2 or elements[0].tile is None or any(element is not elements[0] for element in elements):
        return None
    start, end = locate(source.text, x.start, x.end, _VALUE)
    return None if _TUPLE.match(source.text, start, end) else _tuple_fault(x.shape)


def _tuple_fault(shape: Shape) -> Fault:
    message = f"the shape is a tuple of {count(len(shape.elements), 'element')}, but the sharding is not a tuple"
    return "P024", "sharding[0]", message, "write one sharding for each array"


def _leaf_fault(sharding: Sharding, shape: Shape, partitions: int, at: str) -> Fault | None:
    if sharding.kind in ("maximal", "maximal_mesh"):
        if sharding.device >= 0 and (partitions <= 1 or sharding.device < partitions):
            return None
        return "P022", f"{at}[device]", f"device {sharding.device} does not exist; the module has {count(partitions, 'partition')}", None
    if sharding.named is not None:
        sharded = len(sharding.named.dimensions)
        # A keyword for the whole mesh does not split dimensions.
        if sharded in (0, shape.rank):
            return None
        part_name = at if at.endswith("]") else f"{at} value"
        return "P020", part_name, f"the sharding has {count(sharded, 'dimension')}, but the array has rank {shape.rank}", None
    tile, counts = sharding.tile, sharding.tile_counts
    if tile is None or counts is None:
        return None
    fault = _count_fault(tile, at) or _device_fault(tile, partitions, at)
    if fault is None and shape.is_array and len(counts) != shape.rank:
        fault = "P020", at + _TILE, f"the tile assignment has rank {len(counts)}, but the array has rank {shape.rank}", None
    if fault is None and partitions > 1 and tile.device_count != partitions:
        message = f"the sharding uses {count(tile.device_count, 'device')}, but the module has {partitions} partitions"
        fault = "P029", at + _TILE, message, "use last_tile_dim_replicate for partial replication"
    return fault


def _count_fault(tile: TileAssignment, at: str) -> Fault | None:
    if not tile.is_permuted:
        return "P026", at + _DEVICES, f"the transposition of {tile.text} is not a permutation of its dimensions", None
    needed = prod(tile.dimensions)
    if tile.device_count == needed:
        return None
    tiling = f"tiling [{','.join(map(str, tile.dimensions))}] requires {count(needed, 'device')}"
    if isinstance(tile.devices, IotaDevices):
        return "P026", at + _DEVICES, f"{tiling}, but <={tile.devices.text} has {tile.device_count}", None
    return "P019", at + _TILE, f"{tiling}, got {tile.device_count}", None


def _device_fault(tile: TileAssignment, partitions: int, at: str) -> Fault | None:
    if isinstance(tile.devices, IotaDevices):
        return None
    seen: set[int] = set()
    for device in tile.devices:
        if device in seen:
            return "P021", at + _DEVICES, f"device {device} is listed twice", None
        if device < 0 or (partitions > 1 and device >= partitions):
            return "P022", at + _DEVICES, f"device {device} does not exist; the module has {count(partitions, 'partition')}", None
        seen.add(device)
    return None
