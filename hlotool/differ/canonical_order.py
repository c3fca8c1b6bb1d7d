"""Computes the order of instructions in the canonical form, which ignores their textual order."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from heapq import heappop, heappush
from typing import Any

from hlotool.ir.model import Computation, Instruction

__all__ = ["canonical_order", "digest"]

_MAX_ROUNDS = 4
_NOWHERE = 1 << 62
# Instructions that nothing else distinguishes are compared by their dependencies. For a group of
# such instructions, about this many dependencies are visited at first, and about as many again when
# positions change. However, up to `_MIN_INSPECTED` are visited for each instruction.
_MAX_INSPECTED = 1 << 18
_MIN_INSPECTED = 64


def canonical_order(computation: Computation, texts: dict[Instruction, str]) -> list[Instruction]:
    """Returns the parameters by number, then the dependencies of the root, then the rest.

    `texts` describes each instruction without its operands and control predecessors. Unused
    instructions are ordered by the values that they depend on, then by the other users of those
    values, then by the positions of their operands. If several instructions are equal by all of
    these criteria, automorphisms of the computation exchange them, so the form is the
    same for any order of them.
    """
    parameters = sorted((x for x in computation.instructions if x.op.name == "parameter"), key=lambda x: x.immediate)
    order = {x: number for number, x in enumerate(parameters)}
    used: set[Instruction] = set()
    for x in computation.instructions:
        used.update(x.operands)
    ends = [x for x in computation.instructions if x not in used]
    needs_digests = len(ends) > 1 or any("control-predecessors" in x.attributes for x in computation.instructions)
    digests = _digests_by_operands(computation.instructions, texts, {}) if needs_digests else dict.fromkeys(computation.instructions, "")
    _visit(computation.root, order, digests)
    _visit_ends([x for x in ends if x not in order], computation, order, digests)
    return list(order)


def _visit_ends(ends: Iterable[Instruction], computation: Computation, order: dict[Instruction, int], digests: dict[Instruction, str]) -> None:
    """Adds the unused instructions and all their dependencies to the order."""
    groups: dict[str, list[Instruction]] = {}
    for x in ends:
        groups.setdefault(digests[x], []).append(x)
    colors: dict[Instruction, str] | None = None
    for _, members in sorted(groups.items()):
        # Some of the members may already have been added through control dependencies.
        group = [x for x in members if x not in order]
        if len(group) < 2:
            for x in group:
                _visit(x, order, digests)
            continue
        if colors is None:
            colors = _colors([x for x in computation.instructions if x not in order], order, digests)
        similar: dict[str, list[Instruction]] = {}
        for x in group:
            similar.setdefault(colors[x], []).append(x)
        for _, same in sorted(similar.items()):
            _visit_similar(same, order, digests)


def _visit_similar(members: Sequence[Instruction], order: dict[Instruction, int], digests: dict[Instruction, str]) -> None:
    """Adds instructions that differ only in their operands, ordered by the operands' positions."""
    # In a large group, only some of the dependencies are visited: if the members share all of them,
    # visiting all of them for each member would take quadratic time.
    limit = max(_MIN_INSPECTED, _MAX_INSPECTED // len(members))
    positions = [_position(x, order, limit) for x in members]
    remaining = _MAX_INSPECTED
    # For each instruction that is not in the order yet, the members that depend on it.
    dependents: dict[Instruction, list[int]] = {}
    heap: list[tuple[list[int], int]] = []
    for number, (position, missing) in enumerate(positions):
        for x in missing:
            dependents.setdefault(x, []).append(number)
        heappush(heap, (position, number))
    done: set[int] = set()
    while heap:
        position, number = heappop(heap)
        if number in done or position != positions[number][0]:
            continue
        done.add(number)
        missing = positions[number][1]
        _visit(members[number], order, digests)
        others = {other for x in missing for other in dependents.pop(x, ()) if other not in done}
        for other in sorted(others) if remaining > 0 else ():
            positions[other] = _position(members[other], order, limit)
            remaining -= len(positions[other][0])
            heappush(heap, (positions[other][0], other))


def _position(start: Instruction, order: dict[Instruction, int], limit: int) -> tuple[list[int], list[Instruction]]:
    """Returns the dependencies' positions, as a sort key, and the dependencies without a position.

    At most `limit` dependencies are visited.
    """
    position: list[int] = []
    missing: dict[Instruction, int] = {}
    stack = [start]
    while stack and len(position) < limit:
        x = stack.pop()
        at = order.get(x)
        if at is not None:
            position.append(at)
        elif x in missing:
            position.append(_NOWHERE + 1 + missing[x])
        else:
            missing[x] = len(missing)
            position.append(_NOWHERE)
            stack += reversed((*x.operands, *sorted(x.control_predecessors, key=lambda y: order.get(y, _NOWHERE))))
    return position, [*missing]


# ---- digests -----------------------------------------------------------------------------------


def digest(parts: Iterable[Any]) -> str:
    """Returns a digest of parts: strings, numbers, and lists of them."""
    # JSON keeps adjacent parts separate.
    return sha256(json.dumps([*parts]).encode()).hexdigest()


def _digests_by_operands(
    instructions: Iterable[Instruction], texts: Mapping[Instruction, str], known: Mapping[Instruction, str]
) -> dict[Instruction, str]:
    """Returns digests that cover each instruction and all its direct and indirect dependencies.

    `known` holds the digests of other instructions, which may be among the operands.
    """
    digests: dict[Instruction, str] = {}
    for x in instructions:
        operands = [digests[y] if y in digests else known[y] for y in x.operands]
        before = sorted(digests[y] if y in digests else known.get(y, "") for y in x.control_predecessors)
        digests[x] = digest([texts[x], operands, before])
    return digests


def _digests_by_users(instructions: Sequence[Instruction], texts: Mapping[Instruction, str]) -> dict[Instruction, str]:
    """Returns digests that cover each instruction and all its direct and indirect users."""
    digests: dict[Instruction, str] = {}
    uses: dict[Instruction, list[str]] = {}
    for x in reversed(instructions):
        text = digests[x] = digest([texts[x], sorted(uses.pop(x, ()))])
        for position, y in enumerate(x.operands):
            uses.setdefault(y, []).append(f"{text}:{position}")
        for y in x.control_predecessors:
            uses.setdefault(y, []).append(f"{text}:after")
    return digests


def _colors(rest: Sequence[Instruction], order: Mapping[Instruction, int], digests: Mapping[Instruction, str]) -> dict[Instruction, str]:
    """Returns digests that cover each remaining instruction and the instructions connected to it.

    Users and operands are followed in turn, as long as each round distinguishes more instructions.
    """
    positions = {x: str(number) for x, number in order.items()}
    colors = {x: digests[x] for x in rest}
    count = 0
    for _ in range(_MAX_ROUNDS):
        colors = _digests_by_operands(rest, _digests_by_users(rest, colors), positions)
        last, count = count, len({*colors.values()})
        if count == last:
            break
    return colors


def _visit(start: Instruction, order: dict[Instruction, int], digests: dict[Instruction, str]) -> None:
    """Adds an instruction to an order, after everything that must come before it."""
    stack = [start]
    while stack:
        x = stack[-1]
        if x in order:
            stack.pop()
            continue
        needed = [*x.operands, *sorted(x.control_predecessors, key=lambda y: digests.get(y, ""))]
        missing = [y for y in needed if y not in order and y in digests]
        if missing:
            stack += reversed(missing)
        else:
            order[stack.pop()] = len(order)
