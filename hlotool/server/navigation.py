"""Navigation: definitions, references, highlights, calls, and links to source files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from lsprotocol import types

from hlotool.analysis.callgraph import calling
from hlotool.ir.model import Computation, Instruction
from hlotool.server.documents import Document, ModuleText
from hlotool.server.parts import Part, Span, name_span, part_at, references, signature_text, target_at
from hlotool.text.locate.instruction import locate
from hlotool.text.print.stack_frames import innermost_location
from hlotool.text.source.part_names import PartName

__all__ = [
    "call_item",
    "definition",
    "highlights",
    "incoming_calls",
    "links",
    "outgoing_calls",
    "reference_locations",
    "source_location",
]

_CHANNEL = "channel_id"
# The maximum number of links. No one would follow more in one document.
_MAX_LINKS = 2000


def definition(document: Document, position: types.Position) -> types.Location | None:
    """Returns the location of the definition of the name at a position.

    >>> document = Document("file:///m.hlo", "ENTRY e { p = f32[] parameter(0) ROOT n = f32[] negate(p) }")
    >>> definition(document, types.Position(0, 55)).range
    0:10-0:11
    """
    part = target_at(document, position)
    if part is None or part.target is None:
        return None
    span = name_span(part.module, part.target) or (_start_span(part.target))
    return types.Location(document.uri, document.range(part.module, *span)) if span is not None else None


def _start_span(target: Instruction | Computation) -> Span | None:
    return (target.start, target.start) if target.start >= 0 else None


def _spans(part: Part, *, with_definition: bool) -> list[tuple[Span, bool]]:
    """Returns the spans of the names of a part's target, and whether each is the definition.

    For a channel, these are all `channel_id` attributes with its number.
    """
    if part.target is None:
        return [(span, False) for span in _channel(part)]
    spans = [(span, False) for span in references(part.module, part.target)]
    own = name_span(part.module, part.target) if with_definition else None
    return sorted([(own, True), *spans]) if own is not None else spans


def _channel(part: Part) -> Iterator[Span]:
    if part.attribute != _CHANNEL or part.instruction is None:
        return
    number, text = part.instruction.attributes.get(_CHANNEL), part.module.source.text
    for x in part.module.module.all_instructions():
        if x.start >= 0 and x.attributes.get(_CHANNEL, None) == number and number is not None:
            yield locate(text, x.start, x.end, PartName(_CHANNEL))


def reference_locations(document: Document, position: types.Position, *, include_declaration: bool = True) -> list[types.Location]:
    """Returns the references to the instruction, computation or channel at a position."""
    part = part_at(document, position)
    if part is None:
        return []
    spans = _spans(part, with_definition=include_declaration)
    return [types.Location(document.uri, document.range(part.module, *span)) for span, _ in spans]


def highlights(document: Document, position: types.Position) -> list[types.DocumentHighlight]:
    """Returns the names with the same target as the name at a position.

    The definition is marked as a write access, and all other names as read accesses.
    """
    part = part_at(document, position)
    if part is None:
        return []
    kinds = types.DocumentHighlightKind
    spans = _spans(part, with_definition=True)
    return [types.DocumentHighlight(document.range(part.module, *span), kinds.Write if own else kinds.Read) for span, own in spans]


# ---- calls -------------------------------------------------------------------------------------


def call_item(document: Document, position: types.Position) -> types.CallHierarchyItem | None:
    """Returns the computation named at a position, or else the computation around it."""
    part = part_at(document, position)
    if part is None:
        return None
    return _item(document, part.module, part.target if isinstance(part.target, Computation) else part.computation)


def _item(document: Document, module: ModuleText, computation: Computation) -> types.CallHierarchyItem | None:
    if computation.start < 0:
        return None
    span = name_span(module, computation) or (computation.start, computation.start)
    area = document.range(module, computation.start, computation.end)
    return types.CallHierarchyItem(
        name=computation.name,
        kind=types.SymbolKind.Function,
        uri=document.uri,
        range=area,
        selection_range=document.range(module, *span),
        detail=signature_text(computation),
    )


def _find_computation(document: Document, item: types.CallHierarchyItem) -> tuple[ModuleText, Computation] | None:
    module = document.module_at(document.lines.offset(item.range.start))
    if module is None:
        return None
    found = (c for c in module.module.computations if c.name == item.name and c.start >= 0)
    computation = next(found, None)
    return (module, computation) if computation is not None else None


def incoming_calls(document: Document, item: types.CallHierarchyItem) -> list[types.CallHierarchyIncomingCall]:
    """Returns the callers of a computation, with the ranges of the calls."""
    found = _find_computation(document, item)
    if found is None:
        return []
    module, computation = found
    by_caller: dict[Computation, list[Instruction]] = {}
    for caller, x in module.callers.get(computation, ()):
        by_caller.setdefault(caller, []).append(x)
    calls = []
    for caller, instructions in by_caller.items():
        item_of_caller = _item(document, module, caller)
        if item_of_caller is not None:
            calls.append(types.CallHierarchyIncomingCall(item_of_caller, _names(document, module, instructions)))
    return calls


def outgoing_calls(document: Document, item: types.CallHierarchyItem) -> list[types.CallHierarchyOutgoingCall]:
    """Returns the callees of a computation, with the ranges of the calls."""
    found = _find_computation(document, item)
    if found is None:
        return []
    module, computation = found
    by_called: dict[Computation, list[Instruction]] = {}
    for x in calling(computation):
        for called in x.called:
            by_called.setdefault(called, []).append(x)
    calls = []
    for called, instructions in by_called.items():
        item_of_called = _item(document, module, called)
        if item_of_called is not None:
            calls.append(types.CallHierarchyOutgoingCall(item_of_called, _names(document, module, instructions)))
    return calls


def _names(document: Document, module: ModuleText, instructions: Iterable[Instruction]) -> list[types.Range]:
    spans = (name_span(module, x) for x in instructions)
    return [document.range(module, *span) for span in spans if span is not None]


# ---- source files ------------------------------------------------------------------------------


def source_location(module: ModuleText, x: Instruction) -> tuple[str, int] | None:
    """Returns the source file and line of an instruction; 0 stands for an unknown line.

    Both come from its metadata, or from the stack frame that the metadata refers to.
    """
    metadata = x.metadata
    if metadata is None:
        return None
    if metadata.source_file:
        return metadata.source_file, metadata.source_line
    location = innermost_location(module.stack_tables, metadata.stack_frame_id) if metadata.stack_frame_id else None
    return (location[0], location[1].line) if location is not None else None


# Beginnings of network paths. On Windows, a mere check for such a file would send the user's name
# and a hash of the password to the computer named in the path.
_REMOTE = ("//", "\\\\", "/\\", "\\/")


def source_uri(document: Document, file: str, line: int) -> str | None:
    """Returns the URI of a source file; None if there is no such file.

    The path may be relative to the folder of the document.
    """
    if file.startswith(_REMOTE):
        return None
    try:
        path = Path(document.name).parent / file
        return f"{path.absolute().as_uri()}#L{line}" if path.is_file() else None
    except (OSError, ValueError):
        return None


def links(document: Document) -> list[types.DocumentLink]:
    """Returns links from metadata to existing source files."""
    found: list[types.DocumentLink] = []
    uris: dict[tuple[str, int], str | None] = {}
    for module in document.modules:
        text = module.source.text
        for x in module.module.all_instructions():
            if x.start < 0 or x.metadata_text is None:
                continue
            location = source_location(module, x)
            if location is None:
                continue
            if location not in uris:
                uris[location] = source_uri(document, *location)
            uri = uris[location]
            if uri is not None:
                span = locate(text, x.start, x.end, PartName("metadata", is_value=True))
                found.append(types.DocumentLink(document.range(module, *span), uri, f"{location[0]}:{location[1]}"))
            if len(found) == _MAX_LINKS:
                return found
    return found
