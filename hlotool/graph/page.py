"""Interactive pictures, each in a single HTML file that loads no other files.

The template is `page.html`. The embedded data includes the layout of each group, so
`page_layout.js` only adds space for open boxes; `page.js` draws on a canvas and implements the
controls.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from hlotool.errors import visible
from hlotool.graph.arrangements import Arrangements
from hlotool.graph.colors import DECADES, FAMILIES, HEAT, NO_SOURCE, family_of, source_color
from hlotool.graph.drawing import CHARACTER_WIDTH, HEADER, LINE_HEIGHT, PADDING, TEXT_MARGIN
from hlotool.graph.graph_options import COLORINGS, GraphOptions
from hlotool.graph.groups import Group
from hlotool.graph.labels import group_lines, instruction_lines
from hlotool.graph.outline import Outline
from hlotool.graph.painting import Facts
from hlotool.graph.picture import AUTO_BOXES, MAX_WITH_LAYERS, RANKS
from hlotool.graph.placing import GAP_X, GAP_Y
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.text.print.instruction import InstructionWriter
from hlotool.text.print.print_options import PrintOptions
from hlotool.text.source.trivia import skip_trivia

__all__ = ["page"]

_MAX_TEXT_LENGTH = 1_500
_MAX_BOXES = 60_000
"""The maximum number of closed boxes after "Open all"; larger pictures do not zoom smoothly."""
_METRICS = {
    "character": CHARACTER_WIDTH, "line": LINE_HEIGHT, "margin": TEXT_MARGIN, "padding": PADDING, "header": HEADER, "gapX": GAP_X, "gapY": GAP_Y,
}  # fmt: skip


def page(module: Module, group: Group, outline: Outline, options: GraphOptions, named: frozenset[Instruction]) -> str:
    """Returns an interactive HTML picture of a group; users can open and close groups and calls.

    Raises GraphError if igraph is not installed.
    """
    folder = files("hlotool.graph")
    template = Template(folder.joinpath("page.html").read_text(encoding="utf-8"))
    data = _Data(module, outline)
    document = data.document(group, options, named)
    return template.substitute(
        title=escape(visible(f"{module.name}: {group.title}")),
        colorings="".join(f'<option value="{name}">{name}</option>' for name in COLORINGS),
        data=json.dumps(document, separators=(",", ":")).replace("<", "\\u003c"),
        script="\n".join(folder.joinpath(name).read_text(encoding="utf-8") for name in ("page_layout.js", "page.js")),
    )


class _Table:
    """A table that numbers distinct values, so that each is written only once."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}

    def number(self, value: Any) -> int:
        return self.numbers.setdefault(value, len(self.numbers))


class _Data:
    """The data that the scripts read; `page_layout.js` describes it."""

    def __init__(self, module: Module, outline: Outline) -> None:
        self.module = module
        self.outline = outline
        self.groups: dict[Group, int] = {}
        self.instructions: dict[Instruction, int] = {}
        self.homes: dict[Instruction, Computation] = {}

    def document(self, root: Group, options: GraphOptions, named: frozenset[Instruction]) -> dict[str, Any]:
        """Returns all data for the scripts."""
        computations = self.module.computations
        is_whole = root is self.outline.group_of(self.module.entry)
        self._collect([root, *map(self.outline.group_of, computations)] if is_whole else [root])
        return {
            "module": self.module.name,
            "metrics": _METRICS,
            "families": list(FAMILIES.items()),
            "heat": HEAT,
            "decades": DECADES,
            "color": options.color_by,
            "expand": options.expand,
            "autoBoxes": AUTO_BOXES,
            "layerBoxes": MAX_WITH_LAYERS,
            "maxBoxes": _MAX_BOXES,
            "ranks": RANKS,
            "root": self.groups[root],
            "named": [self.instructions[x] for x in named if x in self.instructions],
            "computations": [k for group, k in self.groups.items() if group.kind == "computation"],
            "groups": self._groups(),
            **self._instructions(),
        }

    def _collect(self, groups: Sequence[Group]) -> None:
        """Numbers the groups, their instructions, and the computations called by instructions."""
        stack: list[Instruction | Group] = list(reversed(groups))
        while stack:
            item = stack.pop()
            if isinstance(item, Instruction):
                self.instructions[item] = len(self.instructions)
                stack += self.outline.bodies(item)
            elif item not in self.groups:
                self.groups[item] = len(self.groups)
                stack.extend(reversed(item.items))

    def _groups(self) -> dict[str, Any]:
        arrangements = Arrangements()
        rows = [arrangements.get(group) for group in self.groups]
        return {
            "title": [group.title for group in self.groups],
            "kind": [group.kind for group in self.groups],
            "lines": [group_lines(group) for group in self.groups],
            "items": [[self._number(item) for item in group.items] for group in self.groups],
            "rows": [row.rows for row in rows],
            "columns": [row.columns for row in rows],
            "bends": [[[a, b, *points] for (a, b), points in row.bends.items()] for row in rows],
        }

    def _number(self, item: Instruction | Group) -> int:
        """Returns the number of an instruction, or -1 minus the number of a group."""
        return -1 - self.groups[item] if isinstance(item, Group) else self.instructions[item]

    def _instructions(self) -> dict[str, Any]:
        facts = Facts(self.module)
        families = {name: k for k, name in enumerate(FAMILIES)}
        opcodes, sources, scopes = _Table(), _Table(), _Table()
        locations = [facts.source(x) for x in self.instructions]
        lines = [self._line_column(x) for x in self.instructions]
        columns = {
            "name": [x.name for x in self.instructions],
            "lines": [instruction_lines(x) for x in self.instructions],
            "text": self._texts(),
            "opcode": [opcodes.number(x.opcode) for x in self.instructions],
            "family": [families[family_of(x)] for x in self.instructions],
            "bytes": [facts.costs[x].bytes_accessed for x in self.instructions],
            "flops": [facts.costs[x].flops for x in self.instructions],
            "source": [sources.number(file) for file, _ in locations],
            "sourceLine": [line for _, line in locations],
            "line": [line for line, _ in lines],
            "column": [column for _, column in lines],
            "scope": [scopes.number(_scope(x)) for x in self.instructions],
            "operands": [self._numbers(x.operands) for x in self.instructions],
            "before": self._nonempty({x: self._numbers(x.control_predecessors) for x in self.instructions}),
            "bodies": self._nonempty({x: [self.groups[body] for body in self.outline.bodies(x)] for x in self.instructions}),
        }
        return {
            "instructions": columns,
            "opcodes": list(opcodes.numbers),
            "scopes": list(scopes.numbers),
            "sources": [[file, source_color(file) if file else NO_SOURCE] for file in sources.numbers],
        }

    def _line_column(self, x: Instruction) -> tuple[int, int]:
        """Returns the line and column of an instruction in the module's text, counted from 1.

        Both are 0 if the instruction is not in the text.
        """
        source = self.module.source
        return source.line_column(skip_trivia(source.text, x.start)) if source is not None and x.start >= 0 else (0, 0)

    def _numbers(self, instructions: Sequence[Instruction]) -> list[int]:
        return [self.instructions[x] for x in instructions if x in self.instructions]

    def _nonempty(self, lists: Mapping[Instruction, list[int]]) -> dict[int, list[int]]:
        return {self.instructions[x]: numbers for x, numbers in lists.items() if numbers}

    def _texts(self) -> list[str]:
        options = PrintOptions(
            lossless=False,
            print_large_constants=False,
            print_metadata=False,
            print_operand_index_annotation_interval=0,
            print_percent=False,
        )
        writer = InstructionWriter.with_own_names(self.module, options)
        roots = {computation.root for computation in self.module.computations}
        texts = (writer.write(x, is_root=x in roots, level=0) for x in self.instructions)
        return [text if len(text) <= _MAX_TEXT_LENGTH else f"{text[:_MAX_TEXT_LENGTH]}…" for text in texts]


def _scope(x: Instruction) -> str:
    metadata = x.metadata
    return "" if metadata is None else metadata.op_name
