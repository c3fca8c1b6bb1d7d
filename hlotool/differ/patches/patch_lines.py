"""The print options of patches, and the first and last lines of computations in them."""

from __future__ import annotations

from hlotool.ir.model import Computation
from hlotool.text.print.print_options import PrintOptions

__all__ = ["PATCH_PRINT", "closing_line", "opening_line"]

PATCH_PRINT = PrintOptions(print_operand_index_annotation_interval=0)
"""The print options for instructions: lossless, without operand indices."""


def opening_line(name: str, *, is_entry: bool) -> str:
    """Returns the first line of a computation."""
    return f"{'ENTRY ' if is_entry else ''}%{name} {{"


def closing_line(computation: Computation) -> str:
    """Returns the last line of a computation."""
    thread = computation.execution_thread
    return "}" if thread == "main" else f'}}, execution_thread="{thread}"'
