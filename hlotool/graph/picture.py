"""A picture before it has a layout: boxes, open groups with boxes inside, and edges between boxes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hlotool.graph.groups import Group
from hlotool.graph.options import GraphError
from hlotool.graph.outline import Outline
from hlotool.ir.model import Computation, Instruction

__all__ = ["AUTO_BOXES", "FEWEST_WITHOUT_LAYERS", "MOST_BOXES", "RANKS", "Box", "Edge", "Picture", "make_picture"]

AUTO_BOXES = 100
"""Boxes of a picture in which groups are open as long as there is room."""
MOST_BOXES = 200_000
"""Boxes of any picture. A computation that is called often is shown as often."""


class Box:
    """An instruction or a group in a picture: closed, or open with the boxes in it. An instruction is open if it shows what it calls."""

    __slots__ = ("children", "is_open", "item", "number", "parent")

    def __init__(self, number: int, item: Instruction | Group, parent: Box | None) -> None:
        self.number = number
        self.item = item
        self.parent = parent
        self.children: list[Box] = []
        self.is_open = False


class Edge(NamedTuple):
    """From the box of an operand to that of its user. Control edges only say that one runs after the other."""

    source: int
    target: int
    is_control: bool = False


class Picture:
    """The boxes, of which the first contains all others, in an order in which boxes precede what they contain; and the edges."""

    def __init__(self, boxes: Sequence[Box], edges: Sequence[Edge], named: frozenset[Instruction]) -> None:
        self.boxes = boxes
        self.edges = edges
        self.named = named

    @property
    def closed_boxes(self) -> int:
        """The number of boxes that show nothing inside."""
        return sum(not box.is_open for box in self.boxes)


def make_picture(group: Group, outline: Outline, expand: str, named: frozenset[Instruction] = frozenset()) -> Picture:
    """The picture of a group, with those groups and calls open that `expand` says (EXPANSIONS).

    Raises GraphError if computations that are called many times make it too large.
    """
    boxes = [Box(0, group, None)]
    closed = 1
    # Layers are last, since they are many and alike, and after what has a name comes what has none.
    waiting: tuple[deque[Box], ...] = deque(boxes), deque(), deque()
    while any(waiting):
        box = next(found for found in waiting if found).popleft()
        inside: Sequence[Instruction | Group] = box.item.items if isinstance(box.item, Group) else outline.bodies(box.item)
        if not inside or (box.parent is not None and not _opens(box, closed + len(inside), expand)):
            continue
        box.is_open = True
        closed += len(inside) - 1
        if closed > MOST_BOXES:
            raise GraphError(f"the picture has more than {MOST_BOXES:,} boxes; leave groups closed, or choose a part")
        for item in inside:
            child = Box(len(boxes), item, box)
            box.children.append(child)
            boxes.append(child)
            waiting[_rank(child)].append(child)
    return Picture(boxes, list(dict.fromkeys(_Edges(boxes).all())), named)


RANKS = {"part": 1, "layers": 2}
"""Kinds of groups that are opened after others."""
FEWEST_WITHOUT_LAYERS = 30
"""Layers are opened if there are fewer boxes."""


def _rank(box: Box) -> int:
    return RANKS.get(box.item.kind, 0) if isinstance(box.item, Group) else 0


def _opens(box: Box, boxes: int, expand: str) -> bool:
    """Whether a group or call is open if the picture has so many boxes then."""
    if expand != "auto":
        return expand == "all"
    is_layer = box.parent is not None and isinstance(box.parent.item, Group) and box.parent.item.kind == "layers"
    return boxes <= (FEWEST_WITHOUT_LAYERS if is_layer or _rank(box) == 2 else AUTO_BOXES)


class _Edges:
    """Finds the edges between visible boxes. Operands of an open call lead to the parameters, and what it returns to the users."""

    def __init__(self, boxes: Sequence[Box]) -> None:
        self.frames = [box for box in boxes if box.is_open and isinstance(box.item, Group) and box.item.kind == "computation"]
        self.shown = {frame: _shown(frame) for frame in self.frames}
        self.parameters: dict[Computation, dict[int | None, Instruction]] = {}

    def all(self) -> Iterator[Edge]:
        """All edges; several of the same kind may join the same boxes."""
        for frame in self.frames:
            shown = self.shown[frame]
            for x, box in shown.items():
                for k, operand in enumerate(x.operands):
                    source = shown.get(operand)
                    if source is None or source is box:
                        continue
                    for start in self._exits(source, operand):
                        yield from (Edge(start.number, end.number) for end in self._entrances(box, x, k))
                for before in x.control_predecessors:
                    source = shown.get(before)
                    if source is not None and source is not box:
                        yield Edge(source.number, box.number, is_control=True)

    def _entrances(self, box: Box, x: Instruction, position: int) -> list[Box]:
        """Where operand `position` of an instruction enters its box."""
        if not (box.is_open and box.item is x):
            return [box]
        bodies = list(zip(box.children, x.called, strict=True))
        if len(bodies) == 1:
            return [self._parameter(*bodies[0], position)]
        if len(x.operands) == 1:
            return [self._parameter(*body, 0) for body in bodies]
        # The first operand of a conditional says which branch runs.
        return [self._parameter(*bodies[position - 1], 0)] if 0 < position <= len(bodies) else [box]

    def _parameter(self, body: Box, called: Computation, number: int) -> Box:
        """The box of a parameter, or that of the whole computation."""
        if called not in self.parameters:
            self.parameters[called] = {x.parameter_number: x for x in called.instructions if x.parameter_number is not None}
        x = self.parameters[called].get(number)
        return body if x is None or body not in self.shown else self.shown[body].get(x, body)

    def _exits(self, box: Box, x: Instruction) -> list[Box]:
        """Where the value of an instruction leaves its box: at the roots of what it calls, apart from the conditions of loops."""
        found: list[Box] = []
        stack = [(box, x)]
        while stack:
            box, x = stack.pop()
            if not (box.is_open and box.item is x):
                found.append(box)
                continue
            condition = x.attributes.get("condition")
            for body, called in zip(box.children, x.called, strict=True):
                if called is not condition:
                    stack.append((self.shown[body].get(called.root, body) if body in self.shown else body, called.root))
        return found


def _shown(frame: Box) -> dict[Instruction, Box]:
    """The box in which each instruction of a computation is seen: its own, or that of a closed group."""
    shown: dict[Instruction, Box] = {}
    stack: list[tuple[Instruction | Group, Box]] = [(child.item, child) for child in reversed(frame.children)]
    while stack:
        item, box = stack.pop()
        if isinstance(item, Instruction):
            shown[item] = box
        elif box.is_open:
            stack += [(child.item, child) for child in reversed(box.children)]
        else:
            stack += [(inner, box) for inner in reversed(item.items)]
    return shown
