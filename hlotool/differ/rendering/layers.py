"""Finds added or removed layers; a layer is a part that occurs several times in a computation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hlotool.differ.difference import ModuleDifference
from hlotool.differ.matching.computation_exchanges import canonical_order

__all__ = ["Layers", "layers"]

# A shorter repeated part is an expression rather than a layer.
_MIN_LAYER_SIZE = 4


class Layers(NamedTuple):
    """Layers that only one module has: their number and size, and the number of layers before them.

    The size is the total number of instructions in these layers.
    """

    is_added: bool
    number: int
    size: int
    before: int


def layers(delta: ModuleDifference) -> Layers | None:
    """Returns the layers by which one of the modules is longer.

    Returns None unless these layers contain all instructions that only one module has. Instructions
    elsewhere that are consequences of a layer, such as its gradients, also belong to the layer if
    other layers have equal instructions.

    >>> import hlotool
    >>> opcodes = ["add", "subtract", "multiply", "divide", "maximum", "minimum"]
    >>> def model(count):
    ...     weights = [f"w{k} = f32[] parameter({k + 1})" for k in range(count)]
    ...     lines = [f"x{k + 1} = f32[] {opcodes[k % 6]}(x{k}, w{k // 6})" for k in range(6 * count)]
    ...     return hlotool.parse(" ".join(["ENTRY e { x0 = f32[] parameter(0)", *weights, *lines, f"ROOT r = f32[] tanh(x{6 * count})", "}"]))
    >>> layers(hlotool.diff(model(3), model(4)))
    Layers(is_added=True, number=1, size=7, before=2)
    """
    if bool(delta.inserted) == bool(delta.deleted):
        return None
    graph, counterpart = delta.graph, delta.pairs.computations
    nodes = set(delta.inserted or delta.deleted)
    homes = {graph.home[node] for node in nodes if graph.operands[node] and graph.home[node] in counterpart}
    if len(homes) != 1:
        return None
    (home,) = homes
    sequence = [node for node in canonical_order(graph, home) if graph.operands[node]]
    structures = [graph.structures[node] for node in sequence]
    runs = _runs([position for position, node in enumerate(sequence) if node in nodes])
    others = {graph.structures[node] for node in sequence if node not in nodes}
    if not others.issuperset(structures[position] for run in runs for position in run):
        return None
    first, length = runs[0].start, len(runs[0])
    part = structures[first : first + length]
    period = _period(part)
    starts = _occurrences(structures, part[:period])
    if period < _MIN_LAYER_SIZE or len(starts) <= length // period:
        return None
    repeated = sum(len(run) for run in runs if len(_occurrences(structures, structures[run.start : run.stop])) > 1 or run is runs[0])
    if 2 * repeated < sum(map(len, runs)):
        return None
    return Layers(bool(delta.inserted), length // period, len(nodes), sum(start + period <= first for start in starts))


def _runs(positions: Sequence[int]) -> list[range]:
    """Merges consecutive positions into ranges."""
    runs: list[range] = []
    for position in positions:
        if runs and runs[-1].stop == position:
            runs[-1] = range(runs[-1].start, position + 1)
        else:
            runs.append(range(position, position + 1))
    return runs


def _period(part: Sequence[int]) -> int:
    """Returns the length of the shortest sequence whose repetition yields `part`."""
    return next(n for n in range(1, len(part) + 1) if len(part) % n == 0 and part[n:] == part[:-n])


def _occurrences(sequence: Sequence[int], part: Sequence[int]) -> list[int]:
    """Returns the positions at which a part occurs in a sequence, without overlaps."""
    starts = []
    at = 0
    while at <= len(sequence) - len(part):
        if sequence[at : at + len(part)] == part:
            starts.append(at)
            at += len(part)
        else:
            at += 1
    return starts
