"""A020 and A021: the written shapes of transfers, which XLA's parser does not use."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hlotool.analysis.transfers import pairs_of
from hlotool.text.locate.instruction import locate
from hlotool.text.source.part_names import PartName
from hlotool.text.source.tokens import entries
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

_RESULTS = {"send": "(data, u32[], token[])", "recv": "(data, u32[], token[])", "recv-done": "(data, token[])"}
_SHAPE = PartName("shape")
# Layouts, comments and whitespace, which are not compared here.
_IGNORED = re.compile(r"/\*.*?\*/|//[^\n]*|\{[^{}]*\}|\s+", re.DOTALL)


@module_rule("A020", "A021", stage="module")
def transfer_shapes(facts: Facts) -> Iterator[Finding]:
    """The written shape of a send, recv or recv-done matches its actual shape.

    Checks: the written shape has as many elements as the result of the op, and its elements follow
    from the operand. A tuple of a different length is an error. Other differences are warnings. For
    transfers between pairs of devices or without a channel, all differences are warnings,
    because XLA's parser ignores the written shape, and existing programs contain other shapes.
    """
    source = facts.module.source
    if source is None:
        return
    for computation, x in facts.instructions_of(*_RESULTS):
        if x.start < 0:
            continue
        start, end = locate(source.text, x.start, x.end, _SHAPE)
        written, true = _normalize(source.text[start:end]), _normalize(x.shape.text_without_layout)
        # If no shape is written, the position is that of the opcode.
        if written in (true, x.op.name):
            continue
        code, width = x.op.result_code, _width(written)
        is_tolerated = width in (0, len(x.shape.elements)) or "channel_id" not in x.attributes or bool(pairs_of(x))
        message = f"'{x.op.name}' returns {_RESULTS[x.op.name]}: expected {x.shape.text_without_layout}, found {source.text[start:end]}"
        yield Finding(code, computation, x, "shape", message, f"write {x.shape.text_without_layout}", severity="warning" if is_tolerated else None)


def _normalize(text: str) -> str:
    return _IGNORED.sub("", text)


def _width(plain: str) -> int:
    """Returns the number of elements of a written tuple, or 0 if it is not a tuple."""
    return len(entries(plain, 1)) if plain.startswith("(") else 0
