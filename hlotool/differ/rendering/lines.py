"""The instructions of both modules, each as one short line."""

from __future__ import annotations

from collections.abc import Collection

from hlotool.differ.delta import Delta
from hlotool.ir.model import Module
from hlotool.text.print.instruction import InstructionWriter
from hlotool.text.print.options import PrintOptions

__all__ = ["Lines", "cut", "cut_pair"]

_CUT = "..."


class Lines:
    """Prints instructions of a graph without metadata, configurations and layouts, except for those that have changed."""

    def __init__(self, delta: Delta) -> None:
        self._graph = delta.graph
        self._modules = delta.left, delta.right
        self._writers: dict[tuple[bool, bool, bool], InstructionWriter] = {}

    def of(self, node: int, kinds: Collection[str] = ()) -> str:
        """The line of an instruction that has changes of these kinds."""
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


def cut(text: str, room: int) -> str:
    """A text in at most `room` characters; 0 is as many as it takes.

    >>> cut("a long line of text", 10)
    'a long ...'
    """
    return text if not room or len(text) <= room else text[: max(0, room - len(_CUT))] + _CUT


def cut_pair(old: str, new: str, room: int) -> tuple[str, str]:
    """Two lines in at most `room` characters each, so that the first difference is not cut off.

    >>> cut_pair("r = f32[] f(a, b, c, d, e, x)", "r = f32[] f(a, b, c, d, e, y)", 24)
    ('r = f32[..., c, d, e, x)', 'r = f32[..., c, d, e, y)')
    """
    if not room or max(len(old), len(new)) <= room:
        return old, new
    # Names come first and differ often; what follows says more.
    start_old, start_new = (max(0, text.find(" = ")) for text in (old, new))
    same = 0
    for a, b in zip(old[start_old:], new[start_new:], strict=False):
        if a != b:
            break
        same += 1
    return _around(old, start_old + same, room), _around(new, start_new + same, room)


def _around(text: str, position: int, room: int) -> str:
    """The beginning of a text, and the part around a position."""
    if len(text) <= room or position < room * 2 // 3:
        return cut(text, room)
    head = room // 3
    start = max(head, min(position - room // 3, len(text) - (room - head - len(_CUT))))
    return cut(text[:head] + _CUT + text[start:], room)
