"""Finds features of a module's text that the parsed module does not record, for style rules.

These are ROOT and ENTRY marks, percent signs, signatures, and attributes that XLA drops. Comments
and strings are read as the lexer and the grammar read them.
"""

from __future__ import annotations

import re

from lark.exceptions import UnexpectedInput

from hlotool.errors import Source
from hlotool.ir.model import Computation, Instruction
from hlotool.text.locate.instruction import SyntaxNode, locate, node_callback
from hlotool.text.parse.builder import ModuleBuilder
from hlotool.text.parse.driver import parse_with_callbacks
from hlotool.text.parse.session import ParseSession
from hlotool.text.source.part_names import PartName
from hlotool.text.source.trivia import skip_trivia

__all__ = ["computation_name_span", "has_attribute", "has_header", "has_percent_sign", "is_marked_entry", "is_marked_root", "signature_parameters"]

_MARK = re.compile(r"(?:ROOT|ENTRY)(?![A-Za-z0-9_.\-=])")
_OPCODE = PartName("opcode")


def has_header(text: str, computation: Computation) -> bool:
    """Returns whether the computation has a header in the text.

    Inline computations, and computations that are not in the text, have no header.

    >>> from hlotool.text.parse.parser import parse
    >>> text = "ENTRY e { p = f32[] parameter(0) ROOT c = f32[] call(p), to_apply={ q = f32[] parameter(0) ROOT r = f32[] abs(q) } }"
    >>> [has_header(text, computation) for computation in parse(text).computations]
    [False, True]
    """
    # An inline computation starts after its opening brace.
    return computation.start >= 0 and text[computation.start - 1 : computation.start] != "{"


def _mark_and_name(text: str, start: int) -> tuple[str, int]:
    """Returns the mark before the name that is declared at `start`, and the offset of the name."""
    start = skip_trivia(text, start)
    mark = _MARK.match(text, start)
    return ("", start) if mark is None else (mark[0], skip_trivia(text, mark.end()))


def is_marked_root(text: str, x: Instruction) -> bool:
    """Returns whether the instruction's line begins with ROOT.

    >>> from hlotool.text.parse.parser import parse
    >>> text = "ENTRY e { p = f32[] parameter(0) // ROOT\\n }"
    >>> is_marked_root(text, parse(text).entry.root)
    False
    """
    return x.start >= 0 and _mark_and_name(text, x.start)[0] == "ROOT"


def is_marked_entry(text: str, computation: Computation) -> bool:
    """Returns whether the computation's header begins with ENTRY.

    >>> from hlotool.text.parse.parser import parse
    >>> is_marked_entry("ENTRY e { ROOT p = f32[] parameter(0) }", parse("ENTRY e { ROOT p = f32[] parameter(0) }").entry)
    True
    """
    return computation.start >= 0 and _mark_and_name(text, computation.start)[0] == "ENTRY"


def computation_name_span(text: str, computation: Computation) -> tuple[int, int] | None:
    """Returns the offsets of a computation's name in its header, without the percent sign.

    Returns None if the computation has no header in the text.

    >>> from hlotool.text.parse.parser import parse
    >>> text = "ENTRY /* the */ %e { ROOT p = f32[] parameter(0) }"
    >>> computation_name_span(text, parse(text).entry)
    (17, 18)
    """
    if not has_header(text, computation):
        return None
    _, start = _mark_and_name(text, computation.start)
    start += text.startswith("%", start)
    end = start + len(computation.name)
    return (start, end) if text.startswith(computation.name, start) else None


def has_percent_sign(text: str, x: Instruction) -> bool | None:
    """Returns whether an instruction's name is written with a percent sign.

    Returns None if its name is not in the text.

    >>> from hlotool.text.parse.parser import parse
    >>> text = "ENTRY e { ROOT /* the */ %p = f32[] parameter(0) }"
    >>> has_percent_sign(text, parse(text).entry.root)
    True
    """
    if x.start < 0:
        return None
    _, start = _mark_and_name(text, x.start)
    has_sign = text.startswith("%", start)
    return has_sign if text.startswith(x.name, start + has_sign) else None


def has_attribute(text: str, x: Instruction, name: str) -> bool:
    """Returns whether the attribute is written on the instruction, even if XLA drops it.

    >>> from hlotool.text.parse.parser import parse
    >>> text = 'ENTRY e { ROOT p = f32[] parameter(0), metadata={op_name="sharding={}"} }'
    >>> has_attribute(text, parse(text).entry.root, "metadata"), has_attribute(text, parse(text).entry.root, "sharding")
    (True, False)
    """
    if x.start < 0:
        return False
    # For a part that is not in the text, `locate` returns the span of the opcode.
    return locate(text, x.start, x.end, PartName(name)) != locate(text, x.start, x.end, _OPCODE)


def signature_parameters(text: str, computation: Computation) -> list[tuple[int, str, str]] | None:
    """Returns the offset, the name and the shape, as written, of each parameter in a signature.

    Returns None if the computation has no signature.

    >>> from hlotool.text.parse.parser import parse
    >>> text = "ENTRY e (x: f32[3] /* or 4 */) -> f32[4] { ROOT p = f32[4] parameter(0) }"
    >>> signature_parameters(text, parse(text).entry)
    [(9, 'x', 'f32[3]')]
    """
    first = min((x.start for x in computation.instructions if x.start >= 0), default=-1)
    if first < 0 or "->" not in text[computation.start : first]:
        return None
    # The grammar accepts a header that is followed by an empty body.
    header = text[computation.start : first] + "}"
    try:
        tree = parse_with_callbacks(ParseSession(ModuleBuilder(Source(header)), None, header), "headerless", node_callback)
    except UnexpectedInput:
        return None
    node = tree.find("computation")
    node = node.find("computation_open") if node is not None else None
    signature = node.find("signature") if node is not None else None
    if signature is None:
        return None
    parameters = []
    for part in signature.parts:
        if isinstance(part, SyntaxNode) and part.rule == "signature_parameter":
            name, shape = part.parts[0], part.parts[1]
            bare_name = header[name.start_pos : name.end_pos].rstrip(":").removeprefix("%")
            parameters.append((computation.start + name.start_pos, bare_name, header[shape.start_pos : shape.end_pos]))
    return parameters
