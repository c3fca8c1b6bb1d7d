"""Division of long lists of instructions into repeated layers or, without layers, equal parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import pairwise

from hlotool.graph.groups import Group, instructions_of, is_leading, make_group
from hlotool.graph.scopes import mask_numbers
from hlotool.ir.model import Instruction
from hlotool.opdefs.traits import CONTROL_FLOW

__all__ = ["MAX_ITEMS", "divide"]

Item = Instruction | Group

MAX_ITEMS = 160
"""The maximum number of items in a group; larger groups are hard to view and slow to lay out."""
_MIN_LAYERS = 3
_MIN_REGULAR = 0.5
"""Minimum ratio of the shortest to the average layer; it rules out random repetitions."""
_MIN_COVERED = 0.3
_MIN_LAYER_LENGTH = 6
_MAX_LAYERS = 160
_MAX_RUN_LENGTH = 16
_MAX_SPLICED = 24
_OUTER_TITLES = ("before the layers", "after the layers")


def divide(items: Sequence[Item]) -> list[Item]:
    """Returns the items, divided into groups if there are too many.

    All layers begin with instructions of the same opcode and shape. These instructions occur at
    regular distances, and many other opcodes and shapes occur the same number of times.
    """
    given = {item for item in items if isinstance(item, Group)}
    # Instructions without operands, such as weights, are moved to just before their first users.
    root = make_group("", "part", _move_next_to_users(items))
    inner: dict[Group, list[Item]] = {}
    pending = [root]
    while pending:
        group = pending.pop()
        inner[group] = list(group.items) if len(group.items) <= MAX_ITEMS else _divide_once(group.items)
        pending += [item for item in inner[group] if isinstance(item, Group) and item not in given]
    final: dict[Group, Group] = {}
    # In reverse order, inner groups are final before the groups that contain them are built.
    for group, parts in reversed(inner.items()):
        final[group] = make_group(group.title, group.kind, _splice([final.get(p, p) if isinstance(p, Group) else p for p in parts]))
    return list(final[root].items)


def _splice(items: list[Item]) -> list[Item]:
    """Replaces small groups before and after the layers with their contents."""
    result: list[Item] = []
    for k, item in enumerate(items):
        is_short = isinstance(item, Group) and item.title in _OUTER_TITLES and len(result) + len(item.items) + len(items) - k <= _MAX_SPLICED
        result += item.items if is_short and isinstance(item, Group) else [item]
    return result


def _move_next_to_users(items: Sequence[Item]) -> list[Item]:
    home = {x: k for k, item in enumerate(items) for x in (instructions_of(item) if isinstance(item, Group) else (item,))}
    first_use: dict[int, int] = {}
    for x, k in home.items():
        for operand in x.operands:
            j = home.get(operand, k)
            if j != k:
                first_use[j] = min(first_use.get(j, k), k)
    # Half a position before the first user is after the item that precedes the user.
    positions = [first_use.get(k, k) - 0.5 if isinstance(item, Instruction) and not item.operands else k for k, item in enumerate(items)]
    return [items[k] for k in sorted(range(len(items)), key=positions.__getitem__)]


def _divide_once(items: Sequence[Item]) -> list[Item]:
    if any(isinstance(item, Group) for item in items):
        # The existing groups remain visible.
        runs = _group_runs(items)
        if len(runs) <= MAX_ITEMS:
            return runs
    starts = _layer_starts([_signature(item) for item in items])
    if not starts:
        return _parts(items)
    length = (starts[-1] - starts[0]) // (len(starts) - 1)
    end = min(len(items), starts[-1] + length)
    # Weights directly before the first instruction of a layer belong to the layer.
    bounds = [_first_weight(items, start) for start in (*starts, end)]
    count = len(starts)
    layers = [make_group(f"layer {k + 1} of {count}", "part", items[bounds[k] : bounds[k + 1]]) for k in range(count)]
    before, after = items[: bounds[0]], items[bounds[-1] :]
    return [*_remainder(_OUTER_TITLES[0], before), make_group(f"{count} layers", "layers", layers), *_remainder(_OUTER_TITLES[1], after)]


def _first_weight(items: Sequence[Item], start: int) -> int:
    """Returns the position of the first weight in the run of weights directly before `start`.

    Returns `start` if there are no such weights, or if `start` is the end or the position of a
    weight.
    """
    if start == len(items) or _is_weight(items[start]):
        return start
    while start > 0 and _is_weight(items[start - 1]):
        start -= 1
    return start


def _is_weight(item: Item) -> bool:
    return isinstance(item, Instruction) and not item.operands


def _group_runs(items: Sequence[Item]) -> list[Item]:
    """Returns the items, with each long run of instructions between groups put into a group."""
    result: list[Item] = []
    run: list[Instruction] = []
    for item in [*items, None]:
        if isinstance(item, Instruction):
            run.append(item)
            continue
        result += [make_group(_title(run), "part", run)] if len(run) > _MAX_RUN_LENGTH else run
        run = []
        if item is not None:
            result.append(item)
    return result


def _title(run: Sequence[Instruction]) -> str:
    if not any(x.operands for x in run):
        return "parameters and constants"
    lead = next((x for x in run if CONTROL_FLOW in x.op.traits), next((x for x in run if is_leading(x)), run[-1]))
    return f"{lead.name} and {len(run) - 1} more"


def _remainder(title: str, items: Sequence[Item]) -> list[Item]:
    if len(items) < MAX_ITEMS // 2:
        return list(items)
    return [make_group(title, "part", items)]


def _parts(items: Sequence[Item]) -> list[Item]:
    """Returns parts of nearly the same length.

    If there are very many items, the number of items per part grows, not the number of parts.
    """
    length = MAX_ITEMS if len(items) <= MAX_ITEMS**2 else -(-len(items) // MAX_ITEMS)
    count = -(-len(items) // length)
    length = -(-len(items) // count)
    return [make_group(f"part {k + 1} of {count}", "part", items[k * length : (k + 1) * length]) for k in range(count)]


def _signature(item: Item) -> Hashable:
    if isinstance(item, Group):
        return mask_numbers(item.title)
    return item.opcode, item.shape.text_without_layout, len(item.operands)


def _layer_starts(signatures: Sequence[Hashable]) -> list[int]:
    """Returns the positions where layers begin, or an empty list if nothing repeats regularly."""
    positions: dict[Hashable, list[int]] = {}
    for k, signature in enumerate(signatures):
        positions.setdefault(signature, []).append(k)
    weights: Counter[int] = Counter()
    for found in positions.values():
        weights[len(found)] += len(found)
    candidates = [number for number in weights if _MIN_LAYERS <= number <= _MAX_LAYERS]
    # Signatures that occur several times per layer also support this number of layers.
    totals = {number: sum(weight for other, weight in weights.items() if other % number == 0) for number in candidates}
    for number in sorted(candidates, key=lambda number: (-totals[number] * number**0.25, number)):
        regular = [found for found in positions.values() if len(found) == number and _is_regular(found, len(signatures))]
        if regular:
            return min(regular, key=lambda found: (_spread(found), found[0]))
    return []


def _gaps(found: Sequence[int]) -> list[int]:
    return [b - a for a, b in pairwise(found)]


def _is_regular(found: Sequence[int], count: int) -> bool:
    gaps = _gaps(found)
    average = sum(gaps) / len(gaps)
    is_long = average >= _MIN_LAYER_LENGTH and average * len(found) >= _MIN_COVERED * count
    return is_long and min(gaps) >= _MIN_REGULAR * average


def _spread(found: Sequence[int]) -> float:
    gaps = _gaps(found)
    return max(gaps) / (sum(gaps) / len(gaps))
