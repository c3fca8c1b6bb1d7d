"""Derives printer options from the style of existing text, so that new lines match it."""

from __future__ import annotations

from hlotool.ir.model import Instruction
from hlotool.text.locate.instruction import locate
from hlotool.text.print.print_options import PrintOptions
from hlotool.text.source.marks import INDEX_MARK
from hlotool.text.source.part_names import PartName

__all__ = ["infer_options"]


def infer_options(text: str, x: Instruction, *, print_result_shape: bool = True) -> PrintOptions:
    """Returns options that print instructions in the style in which `text` writes `x`.

    The options turn percent signs, layouts, operand shapes and index marks on or off.

    >>> from hlotool.text.parse.parser import parse
    >>> text = "ENTRY e { ROOT p = f32[2] parameter(0) }"
    >>> options = infer_options(text, parse(text).entry.root)
    >>> options.print_percent, options.include_layout_in_shapes
    (False, False)
    """
    name, shape = (locate(text, x.start, x.end, PartName(word)) for word in ("name", "shape"))
    operand = locate(text, x.start, x.end, PartName("operand", number=0)) if x.operands else (0, 0)
    return PrintOptions(
        print_percent=text.startswith("%", name[0]),
        include_layout_in_shapes="{" in text[slice(*shape)],
        print_operand_shape=" " in text[slice(*operand)],
        print_operand_index_annotation_interval=5 if INDEX_MARK in text else 0,
        print_result_shape=print_result_shape,
    )
