"""How the lines of a patch are printed."""

from __future__ import annotations

from hlotool.ir.model import Computation
from hlotool.text.print.options import PrintOptions

__all__ = ["PATCH_PRINT", "closing_line", "opening_line"]

PATCH_PRINT = PrintOptions(print_operand_index_annotation_interval=0)
"""How instructions are printed: losslessly, without the numbers of operands."""


def opening_line(name: str, *, is_entry: bool) -> str:
    """The first line of a computation."""
    return f"{'ENTRY ' if is_entry else ''}%{name} {{"


def closing_line(computation: Computation) -> str:
    """The last line of a computation."""
    thread = computation.execution_thread
    return "}" if thread == "main" else f'}}, execution_thread="{thread}"'
