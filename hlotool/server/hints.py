"""Inlay hints: shapes, names of operands, numbers of iterations, and sizes.

The hints appear inside a line, and show what the line leaves out.
"""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types

from hlotool.analysis.loops import known_trip_count
from hlotool.analysis.sizes import bytes_of
from hlotool.ir.model import Instruction
from hlotool.opdefs.inference import brief, count
from hlotool.server.documents import Document, ModuleText
from hlotool.server.parts import name_span, operand_span
from hlotool.shapes.memory import format_bytes
from hlotool.text.locate.instruction import locate
from hlotool.text.source.part_names import PartName

__all__ = ["hints"]

# Sizes of smaller results are rarely of interest.
_MIN_BYTES = 1 << 20
# More names of operands than this would hide the instruction.
_MAX_OPERANDS = 8
_PLAIN_NAMES = frozenset({"lhs", "rhs", "operand", "input"})
_SHAPE, _OPCODE = PartName("shape"), PartName("opcode")


def hints(document: Document, area: types.Range) -> list[types.InlayHint]:
    """Returns the hints in a range of a document.

    >>> document = Document("file:///m.hlo", "ENTRY e { p = f32[4] parameter(0) ROOT n = negate(p) }")
    >>> [(hint.label, str(hint.position)) for hint in hints(document, document.lines.range(0, 60))]
    [('f32[4]', '0:43')]
    """
    start, end = document.lines.span(area)
    found = []
    for module in document.modules:
        for _, x in module.instructions_between(start - module.start, end - module.start):
            for at, label, kind, is_before in _instruction_hints(module, x):
                position = document.lines.position(module.start + at)
                found.append(types.InlayHint(position, label, kind, padding_left=not is_before, padding_right=is_before))
    return found


def _instruction_hints(module: ModuleText, x: Instruction) -> Iterator[tuple[int, str, types.InlayHintKind, bool]]:
    """Yields the hints for an instruction.

    Each hint consists of an offset, a label, a kind, and whether the label belongs to the word
    after it.
    """
    text, kinds = module.source.text, types.InlayHintKind
    opcode = locate(text, x.start, x.end, _OPCODE)
    shape = locate(text, x.start, x.end, _SHAPE)
    if name_span(module, x) is None:
        # The instruction is written inside an operand list, or not at all.
        return
    if shape == opcode:
        yield opcode[0], brief(x.shape), kinds.Type, True
    elif (size := bytes_of(x.shape)) >= _MIN_BYTES:
        yield shape[1], format_bytes(size), kinds.Type, False
    names = x.op.operands
    if not x.op.variadic and 1 < len(names) <= _MAX_OPERANDS and not _PLAIN_NAMES.issuperset(names):
        for number, name in enumerate(names[: len(x.operands)]):
            start, _ = operand_span(text, x, number)
            yield start - text.startswith("%", start - 1), f"{name}:", kinds.Parameter, True
    if x.op.name == "while" and x.op.required and set(x.op.required) <= x.attributes.keys():
        trips = known_trip_count(x)
        if trips is not None:
            yield opcode[1], count(trips, "iteration"), kinds.Type, False
