"""Finds the part of an instruction or of a computation's header at a position in a document.

`text.locate` finds the spans of the parts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lsprotocol import types

from hlotool.ir.model import Computation, Instruction
from hlotool.opdefs.inference import brief
from hlotool.server.documents import Document, ModuleText
from hlotool.text.locate.declarations import computation_name_span, signature_parameters
from hlotool.text.locate.instruction import locate
from hlotool.text.source.part_names import PartName

__all__ = ["Part", "Span", "Target", "name_span", "operand_span", "part_at", "references", "signature_text", "target_at", "written_attributes"]

Span = tuple[int, int]
Target = Instruction | Computation
_NAME, _SHAPE, _OPCODE = PartName("name"), PartName("shape"), PartName("opcode")
_PREDECESSORS = "control-predecessors"
# The maximum number of parameters to show in a signature.
_MAX_SHOWN = 8
# Attributes whose values are fields of an instruction.
_TEXTS = ("metadata", "backend_config")


class Part(NamedTuple):
    """A part of an instruction or of a computation's header.

    `kind` is "name", "opcode", "shape", "operand", "attribute", "called" (a name in the value of an
    attribute), "instruction" (any other part of an instruction), "computation" (a computation's
    name), or "parameter" (in a signature). `span` consists of offsets in the module's source.
    `target` is the instruction or computation that a name refers to, and `attribute` is the name of
    an attribute.
    """

    kind: str
    span: Span
    module: ModuleText
    computation: Computation
    instruction: Instruction | None = None
    target: Target | None = None
    attribute: str | None = None


def _is_in(offset: int, span: Span) -> bool:
    """Returns whether an offset is in a span, or directly after it.

    The cursor is directly after a word that has just been typed.
    """
    return span[0] <= offset <= span[1]


def part_at(document: Document, position: types.Position) -> Part | None:
    """Returns the part at a position; None outside of instructions and computation headers.

    >>> document = Document("file:///m.hlo", "ENTRY e { p = f32[] parameter(0) ROOT n = f32[] negate(p) }")
    >>> part = part_at(document, types.Position(0, 55))
    >>> part.kind, part.span, part.target
    ('operand', (55, 56), <p = f32[] parameter>)
    """
    at = document.lines.offset(position)
    module = document.module_at(at)
    if module is None:
        return None
    offset = at - module.start
    # A cursor directly after the last character of an instruction is still at the instruction.
    found = module.instruction_at(offset) or (module.instruction_at(offset - 1) if offset else None)
    if found is not None:
        return _part_of(module, *found, offset)
    computation = module.computation_at(offset)
    return _part_of_header(module, computation, offset) if computation is not None else None


def _part_of(module: ModuleText, computation: Computation, x: Instruction, offset: int) -> Part | None:
    text = module.source.text
    opcode, name = locate(text, x.start, x.end, _OPCODE), locate(text, x.start, x.end, _NAME)
    if _is_in(offset, name) and name != opcode:
        return Part("name", name, module, computation, x, x)
    if _is_in(offset, opcode):
        return Part("opcode", opcode, module, computation, x)
    shape = locate(text, x.start, x.end, _SHAPE)
    if _is_in(offset, shape):
        return Part("shape", shape, module, computation, x)
    number = _entry_at(text, x, "operand", len(x.operands), offset)
    if number is not None:
        span = operand_span(text, x, number)
        return Part("operand", span, module, computation, x, x.operands[number])
    for attribute in _attributes_of(x):
        span = locate(text, x.start, x.end, PartName(attribute))
        if span == opcode or not _is_in(offset, span):
            continue
        for target, reference in _references_in(text, x, attribute):
            if _is_in(offset, reference):
                return Part("called", reference, module, computation, x, target, attribute)
        return Part("attribute", span, module, computation, x, None, attribute)
    span = locate(text, x.start, x.end, PartName("instruction"))
    return Part("instruction", span, module, computation, x) if _is_in(offset, span) else None


def written_attributes(text: str, x: Instruction) -> list[str]:
    """Returns the names of an instruction's attributes, in the order in which they are written.

    >>> text = "ENTRY e { p = f32[] parameter(0) ROOT r = f32[2] broadcast(p), sharding={replicated}, dimensions={} }"
    >>> document = Document("file:///m.hlo", text)
    >>> written_attributes(text, document.modules[0].module.entry.root)
    ['sharding', 'dimensions']
    """
    opcode = locate(text, x.start, x.end, _OPCODE)
    spans = {name: locate(text, x.start, x.end, PartName(name)) for name in _attributes_of(x)}
    return sorted((name for name, span in spans.items() if span != opcode), key=lambda name: spans[name])


def _attributes_of(x: Instruction) -> Iterator[str]:
    yield from x.attributes
    yield from (name for name, text in zip(_TEXTS, (x.metadata_text, x.backend_config), strict=True) if text is not None)
    # An attribute may be written even if it has its default value.
    yield from (name for name in x.op.attributes if name not in x.attributes)


def _entry_at(text: str, x: Instruction, word: str, count: int, offset: int) -> int | None:
    """Returns the number of the operand at an offset; None if there is none.

    Searches by bisection, since tuples may have thousands of operands.
    """
    if not count:
        return None
    number = max(0, bisect_right(range(count), offset, key=lambda k: locate(text, x.start, x.end, PartName(word, number=k))[0]) - 1)
    return number if _is_in(offset, locate(text, x.start, x.end, PartName(word, number=number))) else None


def operand_span(text: str, x: Instruction, number: int) -> Span:
    """Returns the span of an operand's name, without the shape before it.

    If the operand is written as a nested instruction, the span covers all of it.
    """
    start, end = locate(text, x.start, x.end, PartName("operand", number=number))
    return _last_name(text, (start, end), x.operands[number].name)


def _last_name(text: str, span: Span, name: str) -> Span:
    """Returns the span of a name at the end of `span`; if the name is not there, `span` itself."""
    start, end = span
    return (end - len(name), end) if end - len(name) >= start and text.startswith(name, end - len(name)) else span


def _references_in(text: str, x: Instruction, attribute: str) -> Iterator[tuple[Target, Span]]:
    """Yields the computations or instructions in the value of an attribute, with their spans."""
    value = x.attributes.get(attribute)
    if isinstance(value, Computation):
        # An inline body is not a name.
        if value.start < 0 or text[value.start - 1 : value.start] != "{":
            yield value, _last_name(text, locate(text, x.start, x.end, PartName(attribute, is_value=True)), value.name)
    elif isinstance(value, tuple):
        for k, entry in enumerate(value):
            if isinstance(entry, Computation | Instruction):
                span = locate(text, x.start, x.end, PartName(attribute, path=(str(k),)))
                yield entry, _last_name(text, span, entry.name)


def _part_of_header(module: ModuleText, computation: Computation, offset: int) -> Part | None:
    text = module.source.text
    span = computation_name_span(text, computation)
    if span is None:
        return None
    if _is_in(offset, span):
        return Part("computation", span, module, computation, None, computation)
    for name, reference in _signature(text, computation):
        if _is_in(offset, reference):
            target = next((x for x in computation.parameters if x.name == name), None)
            return Part("parameter", reference, module, computation, target, target)
    return None


def _signature(text: str, computation: Computation) -> Sequence[tuple[str, Span]]:
    """Returns the names of parameters in the signature of a computation, and their spans."""
    found = []
    for start, name, _ in signature_parameters(text, computation) or ():
        first = start + text.startswith("%", start)
        found.append((name, (first, first + len(name))))
    return found


def name_span(module: ModuleText, target: Target) -> Span | None:
    """Returns the span of the name of an instruction or computation, without the percent sign.

    Returns None if the name is not in the source.
    """
    text = module.source.text
    if isinstance(target, Computation):
        return computation_name_span(text, target)
    if target.start < 0:
        return None
    start, end = locate(text, target.start, target.end, _NAME)
    return (end - len(target.name), end) if text[start:end].removeprefix("%") == target.name else None


def target_at(document: Document, position: types.Position) -> Part | None:
    """Returns the part at a position if it is a name that refers to something, else None."""
    part = part_at(document, position)
    return part if part is not None and part.target is not None else None


def references(module: ModuleText, target: Target) -> Iterator[Span]:
    """Yields the spans of all references to an instruction or a computation.

    References are operands, names in attributes, and names in signatures. The definition is not a
    reference.

    >>> document = Document("file:///m.hlo", "ENTRY e { p = f32[] parameter(0) ROOT n = f32[] add(p, p) }")
    >>> part = part_at(document, types.Position(0, 10))
    >>> list(references(part.module, part.target))
    [(52, 53), (55, 56)]
    """
    text = module.source.text
    if isinstance(target, Computation):
        for _, x in module.callers.get(target, ()):
            if x.start >= 0:
                for name in x.op.calls:
                    yield from (span for entry, span in _references_in(text, x, name) if entry is target and text[slice(*span)] == target.name)
        return
    computation = next((c for c in module.module.computations if c.start <= target.start < c.end and target in c.instructions), None)
    if computation is None:
        return
    if target.op.name == "parameter":
        yield from (span for name, span in _signature(text, computation) if name == target.name)
    for x in computation.instructions:
        if x.start < 0:
            continue
        if target in x.operands:
            spans = (operand_span(text, x, number) for number, operand in enumerate(x.operands) if operand is target)
            yield from (span for span in spans if text[slice(*span)] == target.name)
        if _PREDECESSORS in x.attributes and target in x.attributes[_PREDECESSORS]:
            yield from (span for entry, span in _references_in(text, x, _PREDECESSORS) if entry is target)


def signature_text(computation: Computation) -> str:
    """Returns the parameters and the result of a computation, shortened if there are many.

    >>> from hlotool.text.parse.parser import parse
    >>> signature_text(parse("ENTRY e { p = f32[2] parameter(0) ROOT n = f32[2] negate(p) }").entry)
    '(p: f32[2]) -> f32[2]'
    """
    parameters = computation.parameters
    shown = [f"{p.name}: {brief(p.shape)}" for p in parameters[:_MAX_SHOWN]]
    if len(parameters) > _MAX_SHOWN:
        shown.append(f"{len(parameters) - _MAX_SHOWN} more")
    return f"({', '.join(shown)}) -> {brief(computation.root.shape)}"
