"""Prints the instructions of both modules, each as one short line."""

from __future__ import annotations

from collections.abc import Collection

from hlotool.differ.difference import ModuleDifference
from hlotool.ir.model import Module
from hlotool.text.print.instruction import InstructionWriter
from hlotool.text.print.print_options import PrintOptions

__all__ = ["Lines"]


class Lines:
    """Printer of the instructions of a graph, without metadata and backend configurations.

    Layouts and frontend attributes are printed only if they have changed.
    """

    def __init__(self, delta: ModuleDifference) -> None:
        self._graph = delta.graph
        self._modules = delta.left, delta.right
        self._writers: dict[tuple[bool, bool, bool], InstructionWriter] = {}

    def of(self, node: int, kinds: Collection[str] = ()) -> str:
        """Returns the line of an instruction; `kinds` lists the kinds of its changes."""
        graph = self._graph
        x = graph.nodes[node]
        is_right = node >= graph.split
        writer = self._writer(is_right, "layout" in kinds, "frontend_attributes" in kinds)
        return writer.write(x, is_root=graph.roots[graph.home[node]] == node, level=0)

    def _writer(self, is_right: bool, with_layouts: bool, with_frontend: bool) -> InstructionWriter:
        key = is_right, with_layouts, with_frontend
        if key not in self._writers:
            self._writers[key] = _writer(self._modules[is_right], with_layouts, with_frontend)
        return self._writers[key]


def _writer(module: Module, with_layouts: bool, with_frontend: bool) -> InstructionWriter:
    options = PrintOptions(
        lossless=False,
        print_large_constants=False,
        print_metadata=False,
        print_backend_config=False,
        print_operand_index_annotation_interval=0,
        print_percent=False,
        print_frontend_attributes=with_frontend,
        include_layout_in_shapes=with_layouts,
    )
    return InstructionWriter.with_own_names(module, options)
