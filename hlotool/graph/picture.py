"""Pictures without a layout: boxes, open groups with boxes inside, and edges between boxes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hlotool.graph.graph_options import GraphError
from hlotool.graph.groups import Group
from hlotool.graph.outline import Outline
from hlotool.ir.model import Computation, Instruction

__all__ = ["AUTO_BOXES", "MAX_BOXES", "MAX_WITH_LAYERS", "RANKS", "Box", "Edge", "Picture", "make_picture"]

AUTO_BOXES = 100
"""With the expansion "auto", a group is opened only if at most this many closed boxes result."""
MAX_BOXES = 200_000
"""The maximum number of closed boxes in a picture. A computation is shown once per call."""


class Box:
    """An instruction or a group in a picture.

    An open group contains the boxes of its items; an open instruction contains the boxes of the
    computations that it calls.
    """

    __slots__ = ("children", "is_open", "item", "number", "parent")

    def __init__(self, number: int, item: Instruction | Group, parent: Box | None) -> None:
        self.number = number
        self.item = item
        self.parent = parent
        self.children: list[Box] = []
        self.is_open = False


class Edge(NamedTuple):
    """An edge from the box of an operand to the box of a user.

    A control edge only means that the target runs after the source.
    """

    source: int
    target: int
    is_control: bool = False


class Picture:
    """The boxes and edges of a picture.

    The first box contains all other boxes, and each box precedes the boxes in it.
    """

    def __init__(self, boxes: Sequence[Box], edges: Sequence[Edge], named: frozenset[Instruction]) -> None:
        self.boxes = boxes
        self.edges = edges
        self.named = named

    @property
    def closed_boxes(self) -> int:
        """The number of closed boxes."""
        return sum(not box.is_open for box in self.boxes)


def make_picture(group: Group, outline: Outline, expand: str, named: frozenset[Instruction] = frozenset()) -> Picture:
    """Returns the picture of a group, with boxes opened as `expand` requires (see EXPANSIONS).

    Raises GraphError if the picture is too large, which can happen if computations are called many
    times.
    """
    boxes = [Box(0, group, None)]
    closed = 1
    # One queue per rank: first named groups and calls, then unnamed parts, and finally layers, which
    # are numerous and similar.
    waiting: tuple[deque[Box], ...] = deque(boxes), deque(), deque()
    while any(waiting):
        box = next(found for found in waiting if found).popleft()
        inside: Sequence[Instruction | Group] = box.item.items if isinstance(box.item, Group) else outline.bodies(box.item)
        if not inside or (box.parent is not None and not _opens(box, closed + len(inside), expand)):
            continue
        box.is_open = True
        closed += len(inside) - 1
        if closed > MAX_BOXES:
            raise GraphError(f"the picture has more than {MAX_BOXES:,} boxes; show less with --expand auto, --computation, --around or --path")
        for item in inside:
            child = Box(len(boxes), item, box)
            box.children.append(child)
            boxes.append(child)
            waiting[_rank(child)].append(child)
    return Picture(boxes, list(dict.fromkeys(_Edges(boxes).all())), named)


RANKS = {"part": 1, "layers": 2}
"""The ranks of groups by kind. Groups of higher rank are opened later; other boxes have rank 0."""
MAX_WITH_LAYERS = 30
"""With the expansion "auto", layers are opened only if at most this many closed boxes result."""


def _rank(box: Box) -> int:
    return RANKS.get(box.item.kind, 0) if isinstance(box.item, Group) else 0


def _opens(box: Box, boxes: int, expand: str) -> bool:
    """Returns whether to open a box; `boxes` is the resulting number of closed boxes."""
    if expand != "auto":
        return expand == "all"
    is_layer = box.parent is not None and isinstance(box.parent.item, Group) and box.parent.item.kind == "layers"
    return boxes <= (MAX_WITH_LAYERS if is_layer or _rank(box) == 2 else AUTO_BOXES)


class _Edges:
    """The edges between visible boxes.

    Edges to an open call end at its parameters, and edges from it start at its roots.
    """

    def __init__(self, boxes: Sequence[Box]) -> None:
        self.frames = [box for box in boxes if box.is_open and isinstance(box.item, Group) and box.item.kind == "computation"]
        self.shown = {frame: _visible_boxes(frame) for frame in self.frames}
        self.parameters: dict[Computation, dict[int | None, Instruction]] = {}

    def all(self) -> Iterator[Edge]:
        """Yields all edges, possibly with several equal edges between two boxes."""
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
        """Returns the boxes at which edges from operand `position` of an instruction end."""
        if not (box.is_open and box.item is x):
            return [box]
        bodies = list(zip(box.children, x.called, strict=True))
        if len(bodies) == 1:
            return [self._parameter(*bodies[0], position)]
        if len(x.operands) == 1:
            return [self._parameter(*body, 0) for body in bodies]
        # The first operand of a conditional selects the branch.
        return [self._parameter(*bodies[position - 1], 0)] if 0 < position <= len(bodies) else [box]

    def _parameter(self, body: Box, called: Computation, number: int) -> Box:
        """Returns the box of a parameter, or of the computation if the parameter is not shown."""
        if called not in self.parameters:
            self.parameters[called] = {x.parameter_number: x for x in called.instructions if x.parameter_number is not None}
        x = self.parameters[called].get(number)
        return body if x is None or body not in self.shown else self.shown[body].get(x, body)

    def _exits(self, box: Box, x: Instruction) -> list[Box]:
        """Returns the boxes at which edges from an instruction to its users start.

        If the instruction's box is open, these are the boxes of the roots of the called
        computations, except the conditions of loops.
        """
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


def _visible_boxes(frame: Box) -> dict[Instruction, Box]:
    """Returns the box that shows each instruction: its own box or the box of a closed group."""
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
