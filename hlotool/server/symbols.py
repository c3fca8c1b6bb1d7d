"""The outline of a document: symbols, folding ranges, and selection ranges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lsprotocol import types

from hlotool.ir.model import Computation, Instruction
from hlotool.server.documents import Document, ModuleText
from hlotool.server.parts import Span, name_span, part_at
from hlotool.text.locate.instruction import first_word, locate
from hlotool.text.source.part_names import PartName
from hlotool.text.source.trivia import comment_spans

__all__ = ["document_symbols", "folding_ranges", "selection_ranges", "workspace_symbols"]

# Outlines of larger documents list computations only; searches still find instructions.
_MAX_INSTRUCTIONS = 3000
_MAX_FOUND = 200
_KINDS = {"parameter": types.SymbolKind.Variable, "constant": types.SymbolKind.Constant}


def document_symbols(document: Document) -> list[types.DocumentSymbol]:
    """Returns the modules of a document, with their computations and instructions.

    If there is only one module, its computations are returned directly.

    >>> document = Document("file:///m.hlo", "ENTRY e { p = f32[] parameter(0) ROOT n = f32[] negate(p) }")
    >>> [(symbol.name, [child.name for child in symbol.children]) for symbol in document_symbols(document)]
    [('e', ['p', 'n'])]
    """
    modules = document.modules
    count = sum(len(c.instructions) for module in modules for c in module.module.computations)
    outlines = [list(_computations(document, module, with_instructions=count <= _MAX_INSTRUCTIONS)) for module in modules]
    if len(modules) == 1:
        return outlines[0]
    return [_module(document, module, children) for module, children in zip(modules, outlines, strict=True)]


def _module(document: Document, module: ModuleText, children: list[types.DocumentSymbol]) -> types.DocumentSymbol:
    text = module.source.text
    start = len(text) - len(text.lstrip())
    area = document.range(module, start, len(text.rstrip()))
    first = document.range(module, *first_word(text, start))
    return types.DocumentSymbol(module.module.name, types.SymbolKind.Module, area, first, children=children)


def _computations(document: Document, module: ModuleText, *, with_instructions: bool) -> Iterator[types.DocumentSymbol]:
    for computation in module.module.computations:
        if computation.start < 0:
            continue
        span = name_span(module, computation) or (computation.start, computation.start + 1)
        children = [_instruction(document, module, computation, x) for x in computation.instructions if x.start >= 0] if with_instructions else None
        yield types.DocumentSymbol(
            name=computation.name,
            kind=types.SymbolKind.Function,
            range=document.range(module, computation.start, max(computation.end, span[1])),
            selection_range=document.range(module, *span),
            detail="ENTRY" if computation is module.module.entry else None,
            children=children,
        )


def _instruction(document: Document, module: ModuleText, computation: Computation, x: Instruction) -> types.DocumentSymbol:
    text = module.source.text
    area = _area(text, x)
    name = name_span(module, x) or area
    detail = f"{x.shape.text_without_layout} {x.op.name}" + (" (ROOT)" if x is computation.root else "")
    kind = _KINDS.get(x.op.name, types.SymbolKind.Field)
    return types.DocumentSymbol(x.name or x.op.name, kind, document.range(module, *area), document.range(module, *name), detail=detail)


def _area(text: str, x: Instruction) -> Span:
    return locate(text, x.start, x.end, PartName("instruction"))


def workspace_symbols(documents: Iterable[Document], query: str) -> list[types.WorkspaceSymbol]:
    """Returns computations and instructions with `query` in their names, from all open documents.

    Computations come first.
    """
    word = query.strip().removeprefix("%").lower()
    computations: list[types.WorkspaceSymbol] = []
    instructions: list[types.WorkspaceSymbol] = []
    for document in documents:
        for module in document.modules:
            for computation in module.module.computations:
                if word in computation.name.lower() and len(computations) < _MAX_FOUND and (span := name_span(module, computation)):
                    location = types.Location(document.uri, document.range(module, *span))
                    computations.append(types.WorkspaceSymbol(location, computation.name, types.SymbolKind.Function))
                if not word or len(instructions) >= _MAX_FOUND:
                    continue
                for x in computation.instructions:
                    if word in x.name.lower() and (span := name_span(module, x)):
                        location = types.Location(document.uri, document.range(module, *span))
                        kind = _KINDS.get(x.op.name, types.SymbolKind.Field)
                        instructions.append(types.WorkspaceSymbol(location, x.name, kind, container_name=computation.name))
    return [*computations, *instructions][:_MAX_FOUND]


# ---- folding -----------------------------------------------------------------------------------


def folding_ranges(document: Document) -> list[types.FoldingRange]:
    """Returns the ranges that can be folded.

    These are computations, tables of stack frames, and instructions and comments that span several
    lines.
    """
    kinds = types.FoldingRangeKind
    folds = []
    for module in document.modules:
        text = module.source.text
        for computation in module.module.computations:
            if computation.start >= 0:
                folds.append(_fold(document, module, (computation.start, computation.end), kinds.Region))
            folds += [
                _fold(document, module, _area(text, x), None)
                for x in computation.instructions
                if x.start >= 0 and "\n" in text[x.start : x.end].strip()
            ]
        if module.module.stack_tables_text is not None and (at := text.find("\nFileNames")) >= 0:
            first = min((c.start for c in module.module.computations if c.start >= 0), default=len(text))
            folds.append(_fold(document, module, (at + 1, len(text[:first].rstrip())), kinds.Region))
        if "/*" in text or "//" in text:
            folds += [_fold(document, module, span, kinds.Comment) for span in _comments(text)]
    return [fold for fold in folds if fold.end_line > fold.start_line]


def _comments(text: str) -> Iterator[Span]:
    """Yields the comments that span several lines.

    These are block comments, and runs of lines that contain nothing but a comment.
    """
    start = end = -1
    for first, last in comment_spans(text):
        if end >= 0 and text[end:first].strip(" \t\r") == "\n":
            end = last
            continue
        if start >= 0 and "\n" in text[start:end]:
            yield start, end
        is_own_line = not text[text.rfind("\n", 0, first) + 1 : first].strip()
        start, end = (first, last) if is_own_line else (-1, -1)
    if start >= 0 and "\n" in text[start:end]:
        yield start, end


def _fold(document: Document, module: ModuleText, span: Span, kind: types.FoldingRangeKind | None) -> types.FoldingRange:
    text = module.source.text
    end = span[0] + len(text[span[0] : span[1]].rstrip())
    area = document.range(module, span[0], end)
    # The closing brace stays visible.
    is_closed = text[end - 1 : end] == "}" and not text[text.rfind("\n", 0, end) + 1 : end - 1].strip()
    return types.FoldingRange(area.start.line, area.end.line - is_closed, kind=kind)


# ---- selections --------------------------------------------------------------------------------


def selection_ranges(document: Document, positions: Iterable[types.Position]) -> list[types.SelectionRange]:
    """Returns, for each position, the ranges to which a selection there can be expanded.

    These are the part at the position, the instruction, the computation, the module and the
    document.
    """
    return [_selection(document, position) for position in positions]


def _selection(document: Document, position: types.Position) -> types.SelectionRange:
    part, at = part_at(document, position), document.lines.offset(position)
    spans = [(0, len(document.text))]
    module = document.module_at(at)
    if module is not None:
        spans.append((module.start, module.start + len(module.source.text)))
        spans += [(module.start + start, module.start + end) for start, end in _around(module, at - module.start)]
    if part is not None:
        spans.append((part.module.start + part.span[0], part.module.start + part.span[1]))
    selection = types.SelectionRange(document.lines.range(at, at))
    kept: list[Span] = []
    for span in spans:
        outer = kept[-1] if kept else span
        # Each range must be inside the previous one.
        if outer[0] <= span[0] <= at <= span[1] <= outer[1] and (not kept or span != outer):
            kept.append(span)
    found: types.SelectionRange | None = None
    for span in kept:
        found = types.SelectionRange(document.lines.range(*span), found)
    return found or selection


def _around(module: ModuleText, offset: int) -> Iterator[Span]:
    """Yields the computations and the instruction around an offset, outermost first."""
    nested = module.computations
    spans = []
    computation = module.computation_at(offset)
    k = nested.nodes.index(computation) if computation is not None else -1
    while k >= 0:
        spans.append((nested.nodes[k].start, nested.nodes[k].end))
        k = nested.parents[k]
    yield from reversed(spans)
    found = module.instruction_at(offset)
    if found is not None:
        yield _area(module.source.text, found[1])
