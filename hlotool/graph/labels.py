"""The text in boxes."""

from __future__ import annotations

from hlotool.graph.groups import Group, leading_opcodes
from hlotool.ir.model import Instruction
from hlotool.literals.print import literal_text
from hlotool.opdefs.inference import brief, count

__all__ = ["cut", "group_lines", "instruction_lines"]

_MAX_LENGTH = 34
_ELLIPSIS = "…"


def cut(text: str, length: int = _MAX_LENGTH) -> str:
    """Returns the text without control characters, and without its middle if it is too long.

    >>> cut("decoder_block_12.attention", 11)
    'decod…ntion'
    """
    if not text.isprintable():
        text = "".join(c if c.isprintable() else " " for c in text)
    if len(text) <= length:
        return text
    head = length // 2
    return text[:head] + _ELLIPSIS + text[len(text) - (length - head - 1) :]


def instruction_lines(x: Instruction) -> tuple[str, ...]:
    """Returns the lines for an instruction: its name and its shape.

    The opcode precedes the shape unless the name begins with the opcode. For a scalar constant, the
    second line is the shape and the value.

    >>> from hlotool.text.parse.parser import parse
    >>> instruction_lines(parse("ENTRY e { p = f32[2,3] parameter(0) ROOT negate.1 = f32[2,3] negate(p) }").entry.root)
    ('negate.1', 'f32[2,3]')
    """
    shape = brief(x.shape)
    if x.literal is not None and not x.shape.dimensions and x.shape.is_array:
        return cut(x.name), cut(f"{shape} {literal_text(x.literal)}")
    return cut(x.name), cut(shape if x.name.startswith(x.opcode) else f"{x.opcode} {shape}")


def group_lines(group: Group) -> tuple[str, ...]:
    """Returns the lines for a group: its title, its size and the opcodes that characterize it."""
    return cut(group.title), cut(count(group.size, "instruction")), cut(leading_opcodes(group, 2))
