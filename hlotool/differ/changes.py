"""Classifies the changes in each pair of instructions, in computations and in the header."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hlotool.analysis.sequences import longest_increasing
from hlotool.differ.matching.costs import Costs
from hlotool.differ.matching.instruction_parts import ANNOTATIONS, attribute_differences, shape_kinds
from hlotool.differ.matching.node_graph import Graph
from hlotool.differ.matching.pairs import Pairs
from hlotool.ir.model import Instruction, Module
from hlotool.shapes.shape import ProgramShape
from hlotool.text.locate.instruction import locate
from hlotool.text.print.instruction import InstructionWriter
from hlotool.text.print.print_options import PrintOptions
from hlotool.text.print.printer import header_attributes
from hlotool.text.source.part_names import PartName

__all__ = ["Change", "Changes"]

Change = dict[str, Any]


class Changes:
    """Classifier of the differences between paired instructions and between module headers."""

    def __init__(self, left: Module, right: Module, graph: Graph, pairs: Pairs) -> None:
        self.left = left
        self.right = right
        self.graph = graph
        self.pairs = pairs
        self.costs = Costs(graph, pairs)
        self.writers = _Texts(left), _Texts(right)

    def of_pair(self, left: int, right: int) -> list[Change]:
        """Returns the changes from an instruction of the left module to its partner."""
        graph = self.graph
        changes: list[Change] = []
        if graph.contents[left] != graph.contents[right]:
            changes += self._of_parts(left, right)
        changes += self._of_operands(left, right)
        if left in graph.calls or right in graph.calls:
            changes += self._of_calls(left, right)
        if (graph.control[left] or graph.control[right]) and not self.costs.has_same_control(left, right):
            changes.append({"kind": "control"})
        if self.pairs.computations.get(graph.home[left]) != graph.home[right]:
            changes.append({"kind": "moved"})
        return changes

    # ---- parts ----------------------------------------------------------------------------------

    def _of_parts(self, left: int, right: int) -> Iterator[Change]:
        graph = self.graph
        x, y = graph.nodes[left], graph.nodes[right]
        a, b = graph.parts.rows[graph.contents[left]], graph.parts.rows[graph.contents[right]]
        has_same_opcode = x.op.name == y.op.name
        if not has_same_opcode:
            yield {"kind": "opcode", "old": x.op.name, "new": y.op.name}
        kinds = shape_kinds(x.shape, y.shape)
        for kind in kinds:
            yield self._of_shape(kind, x, y)
        if has_same_opcode:
            for name in attribute_differences(x, y):
                yield {"kind": "attributes", "key": name, "old": self.writers[0].attribute(x, name), "new": self.writers[1].attribute(y, name)}
            if a[3] != b[3] and kinds in ((), ("layout",)):
                yield {"kind": "constants"}
        for kind, old, new in zip(ANNOTATIONS, a[4:], b[4:], strict=True):
            if old != new:
                yield {"kind": kind, "old": self.writers[0].annotation(x, kind), "new": self.writers[1].annotation(y, kind)}

    @staticmethod
    def _of_shape(kind: str, x: Instruction, y: Instruction) -> Change:
        if kind == "element_type" and x.shape.is_array:
            return {"kind": kind, "old": x.shape.element_type, "new": y.shape.element_type}
        if kind == "layout":
            return {"kind": kind, "old": x.shape.text, "new": y.shape.text}
        return {"kind": kind, "old": x.shape.text_without_layout, "new": y.shape.text_without_layout}

    # ---- operands and calls ---------------------------------------------------------------------

    def _of_operands(self, left: int, right: int) -> list[Change]:
        graph, partner = self.graph, self.pairs.partner
        first, second = graph.operands[left], graph.operands[right]
        if len(first) != len(second):
            return [{"kind": "operands"}]
        slots = [k for k, (a, b) in enumerate(zip(first, second, strict=True)) if partner[a] != b and not self.costs.is_forwarded(a, b)]
        if not slots:
            return []
        has_same_opcode = graph.nodes[left].op.name == graph.nodes[right].op.name
        if has_same_opcode and graph.commutes[left] and len(first) == 2 and partner[first[0]] == second[1] and partner[first[1]] == second[0]:
            return [{"kind": "commuted"}]
        return [
            {"kind": "operands", "slots": [{"slot": k, "old": self.qualified_name(first[k]), "new": self.qualified_name(second[k])} for k in slots]}
        ]

    def _of_calls(self, left: int, right: int) -> Iterator[Change]:
        graph = self.graph
        if graph.nodes[left].op.name != graph.nodes[right].op.name:
            return
        first, second = graph.calls.get(left, {}), graph.calls.get(right, {})
        computations = self.pairs.computations
        for name in sorted(first.keys() | second.keys()):
            if [computations.get(c) for c in first.get(name, ())] != [*second.get(name, ())]:
                yield {"kind": "called", "key": name}

    def qualified_name(self, node: int) -> list[str]:
        """Returns the names of a node's computation and instruction, in this order."""
        graph = self.graph
        return [graph.computations[graph.home[node]].name, graph.nodes[node].name]

    # ---- order ----------------------------------------------------------------------------------

    def rescheduled(self) -> set[int]:
        """Returns the nodes of the left module that moved in the schedule.

        These are the paired nodes except for a longest sequence of pairs that are in the same order
        in both schedules.
        """
        if not (self.left.is_scheduled and self.right.is_scheduled):
            return set()
        graph, partner = self.graph, self.pairs.partner
        moved: set[int] = set()
        for left, right in self.pairs.computations.items():
            if left >= graph.computation_split:
                continue
            members = graph.members[right]
            nodes = [node for node in graph.members[left] if partner[node] in members]
            kept = longest_increasing([partner[node] for node in nodes])
            moved.update(node for number, node in enumerate(nodes) if number not in kept)
        return moved

    # ---- header ---------------------------------------------------------------------------------

    def of_header(self) -> list[Change]:
        """Returns the changes to the header attributes of the modules."""
        changes: list[Change] = []
        for name in sorted(self.left.attributes.keys() | self.right.attributes.keys()):
            first, second = getattr(self.left, name), getattr(self.right, name)
            if name == "entry_computation_layout":
                if first is not None and second is not None and _differs_in_layout(first, second):
                    changes.append({"kind": "layout", "key": name})
            elif first != second and repr(first) != repr(second) and self._prints_differently(name):
                changes.append({"kind": "header", "key": name})
        return changes

    def _prints_differently(self, name: str) -> bool:
        """Returns whether a header attribute is printed differently for the two modules.

        Values that print the same may still differ: some contain source text, in which spaces and
        explicit defaults may vary.
        """
        first, second = (dict(header_attributes(module, PrintOptions())).get(name) for module in (self.left, self.right))
        return first != second


def _differs_in_layout(first: ProgramShape, second: ProgramShape) -> bool:
    """Returns whether two program shapes differ, but only in layouts.

    Differences other than layouts are reported for the parameters and the result instead.
    """
    if len(first.parameters) != len(second.parameters):
        return False
    shapes = zip((*first.parameters, first.result), (*second.parameters, second.result), strict=True)
    kinds = {kind for a, b in shapes for kind in shape_kinds(a, b)}
    return kinds == {"layout"}


class _Texts:
    """The texts of attributes and annotations in one module."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._writer = InstructionWriter.with_own_names(module, PrintOptions(lossless=True))

    def attribute(self, x: Instruction, name: str) -> str | None:
        """Returns the text of an attribute's value, or None if the instruction does not have it."""
        if name == "parameter_number":
            return str(x.immediate)
        if name not in x.attributes:
            return None
        parts = self._writer.attributes_of(x)
        prefix = f", {name}="
        text = next((part.removeprefix(prefix) for part in parts if part.startswith(prefix)), None)
        return self._as_written(x, name, text)

    def _as_written(self, x: Instruction, name: str, text: str | None) -> str | None:
        """Returns the value as the source spells it, or `text` if the source lacks the attribute."""
        source = self._module.source
        if source is None or x.start < 0 or (text is not None and text in source.text[x.start : x.end]):
            return text
        start, end = locate(source.text, x.start, x.end, PartName(name))
        written = source.text[start:end]
        return written.partition("=")[2].strip() if written.startswith(name) else text

    def annotation(self, x: Instruction, kind: str) -> str | None:
        if kind == "metadata":
            return x.metadata_text
        if kind == "backend_config":
            return x.backend_config
        return self.attribute(x, kind)
