"""Edits to finished random modules.

Edits add control dependencies, schedules, annotations and aliases, or change layouts and the
representation of constants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from hlotool.analysis.effects import has_effect, select_with_effects
from hlotool.ir.edit import Rewriter
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.ir.walk import fusion_computations
from hlotool.literals.literal import Literal
from hlotool.literals.print import literal_text
from hlotool.opdefs.traits import ACCUMULATED, COMMUNICATES, ELEMENTWISE, FORWARDS, LAYOUT_KEPT, MOVES, REDUCTION, VIEW
from hlotool.shapes.layout import Layout
from hlotool.shapes.shape import Shape
from hlotool.shapes.sharding import REPLICATED, Sharding
from hlotool.shapes.values import AliasPair

__all__ = ["EDITS", "shuffle"]

# The results and operands of opcodes with a trait in _ANY_LAYOUT may have any layout, unless a trait
# in _FIXED_LAYOUT restricts it.
_ANY_LAYOUT = frozenset({ACCUMULATED, ELEMENTWISE, MOVES, REDUCTION})
_FIXED_LAYOUT = frozenset({COMMUNICATES, FORWARDS, LAYOUT_KEPT, VIEW})


def _order_effects(module: Module, random: Random) -> None:
    """Orders the side effects of each computation.

    Adds control dependencies if operands do not already determine the order.
    """
    with_effects = select_with_effects((computation, computation.instructions) for computation in module.computations)
    with Rewriter(module) as rewriter:
        for computation in _computations(module):
            last: Instruction | None = None
            for x in list(computation.instructions):
                if not has_effect(x, with_effects):
                    continue
                if last is not None and not _reaches(last, x):
                    rewriter.update(x, attributes={"control-predecessors": (*x.control_predecessors, last)})
                last = x


def _reaches(first: Instruction, last: Instruction) -> bool:
    pending, seen = [last], {last}
    while pending:
        x = pending.pop()
        if x is first:
            return True
        new = {*x.operands, *x.control_predecessors} - seen
        seen |= new
        pending += new
    return False


def _computations(module: Module) -> Iterator[Computation]:
    """Yields the computations in which control dependencies and schedules are meaningful."""
    unordered = fusion_computations(module) | module.hidden
    return (computation for computation in list(module.computations) if computation not in unordered)


def _add_control(module: Module, random: Random) -> None:
    with Rewriter(module) as rewriter:
        for computation in _computations(module):
            order = [x for x in computation.instructions if x.opcode != "parameter" or random.random() < 0.1]
            for _ in range(random.randint(0, 2) if len(order) > 1 else 0):
                first, last = sorted(random.sample(range(len(order)), 2))
                x, y = order[last], order[first]
                if y not in x.control_predecessors and x.opcode != "parameter":
                    rewriter.update(x, attributes={"control-predecessors": (*x.control_predecessors, y)})


def _schedule(module: Module, random: Random) -> None:
    for computation in _computations(module):
        shuffle(computation, random)
    module.attributes["is_scheduled"] = True


def shuffle(computation: Computation, random: Random) -> None:
    """Shuffles the instructions of a computation.

    Each instruction still comes after its operands and control predecessors.
    """
    members = set(computation.instructions)
    users: dict[Instruction, list[Instruction]] = {}
    missing: dict[Instruction, int] = {}
    for x in computation.instructions:
        needed = dict.fromkeys(y for y in (*x.operands, *x.control_predecessors) if y in members)
        missing[x] = len(needed)
        for y in needed:
            users.setdefault(y, []).append(x)
    ready = [x for x in computation.instructions if not missing[x]]
    order: list[Instruction] = []
    while ready:
        k = random.randrange(len(ready))
        ready[k], ready[-1] = ready[-1], ready[k]
        x = ready.pop()
        order.append(x)
        for user in users.get(x, ()):
            missing[user] -= 1
            if not missing[user]:
                ready.append(user)
    computation.instructions[:] = order


def _hold_as_text(module: Module, random: Random) -> None:
    with Rewriter(module) as rewriter:
        for x in list(module.all_instructions()):
            literal = x.immediate
            if isinstance(literal, Literal) and not literal.elements and random.random() < 0.5:
                rewriter.update(x, immediate=Literal(literal.shape, literal_text(literal)))


def _change_layouts(module: Module, random: Random) -> None:
    """Changes the layouts of values whose producers and users all accept any layout.

    Elementwise operations, reductions, and operations that only move elements accept any layout.
    """
    with Rewriter(module) as rewriter:
        for computation in _computations(module):
            for x in list(computation.instructions):
                is_free = x.shape.is_array and x.shape.rank > 1 and computation.root is not x and all(map(_has_any_layout, (x, *rewriter.users(x))))
                if is_free and random.random() < 0.4:
                    order = random.sample(range(x.shape.rank), x.shape.rank)
                    rewriter.update(x, shape=x.shape.with_layout(Layout(tuple(order))))


def _has_any_layout(x: Instruction) -> bool:
    return not x.op.traits.isdisjoint(_ANY_LAYOUT) and x.op.traits.isdisjoint(_FIXED_LAYOUT)


def _annotate(module: Module, random: Random) -> None:
    # Roots keep their sharding, since a conditional has the sharding of its branches' results.
    roots = {computation.root for computation in module.computations}
    shardings = [REPLICATED, Sharding("maximal"), Sharding("manual")]
    with Rewriter(module) as rewriter:
        for x in list(module.all_instructions()):
            kind = random.randrange(12)
            if kind == 0:
                rewriter.update(x, metadata_text=f'{{op_name="jit(f)/{x.opcode}" source_file="f.py" source_line={random.randrange(1, 99)}}}')
            elif kind == 1 and x.shape.is_array and x not in roots:
                rewriter.update(x, attributes={"sharding": random.choice(shardings)})
            elif kind == 2 and "frontend_attributes" not in x.attributes:
                rewriter.update(x, attributes={"frontend_attributes": {"kept": str(random.randrange(3))}})
            elif kind == 3 and x.operands:
                rewriter.update(x, backend_config=f'{{"tile":{random.randrange(3)}}}')


def _alias(module: Module, random: Random) -> None:
    """Aliases some results with parameters of the same shape, each with a different parameter."""
    root = module.entry.root.shape
    outputs: list[tuple[tuple[int, ...], Shape]] = [((k,), part) for k, part in enumerate(root.elements)] if root.is_tuple else [((), root)]
    pairs: list[AliasPair] = []
    for p in module.entry.parameters:
        fitting = [index for index, shape in outputs if shape == p.shape and all(pair.output_index != index for pair in pairs)]
        if fitting and random.random() < 0.7:
            pairs.append(AliasPair(random.choice(fitting), p.immediate, (), random.choice(("may-alias", "must-alias"))))
    if pairs:
        module.attributes["input_output_alias"] = tuple(pairs)


EDITS: dict[str, Callable[[Module, Random], None]] = {
    "effects": _order_effects,
    "control": _add_control,
    "schedule": _schedule,
    "texts": _hold_as_text,
    "layouts": _change_layouts,
    "annotations": _annotate,
    "aliases": _alias,
}
"""The edits, by the feature that they add to a module."""
