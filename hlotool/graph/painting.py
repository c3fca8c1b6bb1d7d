"""The colors of the boxes of a picture, and their legend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hlotool.analysis.cost import Cost, instruction_costs
from hlotool.graph.colors import FAMILIES, HEAT, NO_SOURCE, family_of, heat_color, source_color
from hlotool.graph.groups import Group, instructions_of
from hlotool.graph.labels import cut
from hlotool.graph.picture import Box, Picture
from hlotool.ir.model import Instruction, Module
from hlotool.shapes.memory import format_bytes
from hlotool.text.print.stack_frames import source_line

__all__ = ["Facts", "Paint", "paint"]

_GROUP = "#eef1f5"
_MAX_SOURCES = 8


class Facts:
    """The costs and source locations of the instructions of a module."""

    def __init__(self, module: Module) -> None:
        self.costs: Mapping[Instruction, Cost] = instruction_costs(module)
        self._tables = module.stack_tables

    def source(self, x: Instruction) -> tuple[str, int]:
        """Returns the source file and line of an instruction; the file is empty if unknown."""
        return source_line(x.metadata, self._tables)

    def amount(self, item: Instruction | Group, measure: str) -> int:
        """Returns the bytes or flops of an instruction or of a group."""
        members = instructions_of(item) if isinstance(item, Group) else (item,)
        field = "bytes_accessed" if measure == "bytes" else "flops"
        return sum(getattr(self.costs[x], field) for x in members)


class Paint(NamedTuple):
    """The colors of boxes, by box number, and the legend: colors with their meanings."""

    colors: Sequence[str]
    legend: Sequence[tuple[str, str]]


def paint(picture: Picture, module: Module, color_by: str) -> Paint:
    """Returns the colors of a picture and their legend."""
    if color_by == "opcode":
        families = [family_of(box.item) if isinstance(box.item, Instruction) else "" for box in picture.boxes]
        present = {family for family, box in zip(families, picture.boxes, strict=True) if family and not box.is_open}
        return Paint([FAMILIES.get(family, _GROUP) for family in families], [(FAMILIES[name], name) for name in FAMILIES if name in present])
    facts = Facts(module)
    if color_by == "source":
        return _paint_by_source(picture, facts)
    amounts = [0 if box.is_open else facts.amount(box.item, color_by) for box in picture.boxes]
    largest = max([*amounts, 1])
    shown = format_bytes(largest) if color_by == "bytes" else f"{largest:,} flops"
    return Paint([heat_color(amount, largest) for amount in amounts], [(HEAT[0], "low"), (HEAT[-1], f"up to {shown}")])


def _paint_by_source(picture: Picture, facts: Facts) -> Paint:
    files = [_source(box, facts) for box in picture.boxes]
    present = list(dict.fromkeys(file for file in files if file))[:_MAX_SOURCES]
    legend = [(source_color(file), cut(file.rpartition("/")[2])) for file in present]
    return Paint([source_color(file) for file in files], [*legend, (NO_SOURCE, "unknown")])


def _source(box: Box, facts: Facts) -> str:
    """Returns the source file of an instruction, or the most frequent source file in a group."""
    if isinstance(box.item, Instruction):
        return facts.source(box.item)[0]
    counts: dict[str, int] = {}
    for x in instructions_of(box.item):
        file = facts.source(x)[0]
        counts[file] = counts.get(file, 0) + 1
    return max(counts, key=counts.__getitem__, default="")
