"""Documents that are open in an editor: their modules, and the nodes at given offsets.

Nodes are instructions and computations. A Document is one version of a text and does not change. An
edit creates the next version, which reads only the computations that the edit changed and those
whose callees changed. All other computations are reused from the previous version.
"""

from __future__ import annotations

import re
import threading
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import NamedTuple, TypeVar
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from lsprotocol import types

from hlotool.analysis.callgraph import Call, callers
from hlotool.analysis.users import users
from hlotool.errors import Diagnostic, Edit, ParseError, Source
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.memo import Memo, cached_property
from hlotool.server.positions import LineTable
from hlotool.shapes.metadata import StackTables
from hlotool.text.parse.fast_path import FastPath
from hlotool.text.parse.parser import decode_text, parse_source, parts_of, read_source
from hlotool.text.source.trivia import skip_trivia

__all__ = ["Document", "ModuleText", "path_of"]

# Surrogates, which cannot occur in UTF-8. Each is replaced with one character, so that offsets
# stay the same.
_UNREADABLE = re.compile("[\ud800-\udfff]")
_UNREADABLE_AT_START = "\ufeff"
# In characters. Reading a smaller document takes no noticeable time.
_MIN_SHIFTED = 300_000
# Stored values of deleted parts accumulate. After this many versions, the document is read from
# scratch.
_MAX_VERSIONS = 200
Node = TypeVar("Node", Instruction, Computation)
_start_and_end = attrgetter("start", "end")


def path_of(uri: str) -> str:
    """Returns the file name of a URI, or the URI itself if it does not refer to a file.

    >>> path_of("file:///tmp/a%20b.hlo"), path_of("untitled:Untitled-1")
    ('/tmp/a b.hlo', 'untitled:Untitled-1')
    """
    try:
        parts = urlsplit(uri)
    except ValueError:
        return uri
    return url2pathname(parts.path) if parts.scheme == "file" and "\0" not in unquote(parts.path) else uri


class Nested(NamedTuple):
    """Instructions or computations, sorted by their start offsets.

    `parents` contains the index of the node around each node, or -1 if there is none.
    """

    starts: list[int]
    nodes: list[Instruction | Computation]
    parents: list[int]

    def at(self, offset: int) -> Instruction | Computation | None:
        """Returns the innermost node at an offset; None if there is none."""
        k = bisect_right(self.starts, offset) - 1
        while k >= 0 and self.nodes[k].end <= offset:
            k = self.parents[k]
        return self.nodes[k] if k >= 0 else None


def _nest(nodes: Iterable[Instruction | Computation]) -> Nested:
    ordered = sorted((node for node in nodes if node.start >= 0), key=_start_and_end)
    parents, stack = [], list[int]()
    for k, node in enumerate(ordered):
        while stack and ordered[stack[-1]].end <= node.start:
            stack.pop()
        parents.append(stack[-1] if stack else -1)
        stack.append(k)
    return Nested([node.start for node in ordered], ordered, parents)


def _positions(computation: Computation) -> dict[Instruction, int]:
    """Returns the positions of instructions in their computation."""
    return {x: k for k, x in enumerate(computation.instructions)}


class ModuleText:
    """One module of a document.

    Its source begins at the offset `start`; offsets in the module are relative to `start`.
    """

    def __init__(self, source: Source, start: int, module: Module, path: FastPath | None) -> None:
        self.source = source
        self.start = start
        self.module = module
        self.path = path
        self._instructions: Memo[Computation, Nested] = Memo(lambda computation: _nest(computation.instructions))
        self.users: Memo[Computation, dict[Instruction, list[Instruction]]] = Memo(users)
        self.positions: Memo[Computation, dict[Instruction, int]] = Memo(_positions)

    @cached_property
    def errors(self) -> list[Diagnostic]:
        """The errors that a strict parse of the source reports."""
        tolerated = self.module.diagnostics
        if all(d.severity == "error" for d in tolerated):
            # The module contains nothing that only a strict parse rejects, so a strict parse
            # would report the same errors.
            return list(tolerated)
        try:
            parse_source(self.source)
        except ParseError as error:
            return error.diagnostics
        return []

    @cached_property
    def computations(self) -> Nested:
        """The computations that are in the source."""
        return _nest(self.module.computations)

    @cached_property
    def callers(self) -> dict[Computation, list[Call]]:
        """The calls to each called computation."""
        return callers(self.module)

    @cached_property
    def stack_tables(self) -> StackTables | None:
        """The decoded tables of stack frames."""
        return self.module.stack_tables

    def computation_at(self, offset: int) -> Computation | None:
        """Returns the innermost computation at an offset of the source."""
        found = self.computations.at(offset)
        return found if isinstance(found, Computation) else None

    @cached_property
    def has_nested(self) -> bool:
        """True if there are nested computations."""
        return any(parent >= 0 for parent in self.computations.parents)

    def instruction_at(self, offset: int) -> tuple[Computation, Instruction] | None:
        """Returns the innermost instruction at an offset of the source, and its computation.

        Spaces before an instruction are not part of it.
        """
        computation = self.computation_at(offset)
        if computation is None:
            return None
        x = self._instructions[computation].at(offset)
        if not isinstance(x, Instruction) or skip_trivia(self.source.text, x.start) > offset:
            return None
        return computation, x

    def instructions_between(self, start: int, end: int) -> Iterator[tuple[Computation, Instruction]]:
        """Yields pairs of a computation and an instruction that overlaps a range of the source."""
        for computation in self.computations.nodes:
            if isinstance(computation, Computation) and computation.start < end and computation.end > start:
                nested = self._instructions[computation]
                # If instructions are nested, the outer one may end after the inner one.
                first = bisect_right(nested.starts, start)
                while first and (nested.parents[first - 1] >= 0 or nested.nodes[first - 1].end > start):
                    first -= 1
                for k in range(first, bisect_right(nested.starts, end)):
                    x = nested.nodes[k]
                    if isinstance(x, Instruction) and x.start < end and x.end > start:
                        yield computation, x


class EditedRange(NamedTuple):
    """The range of a document that edits have changed.

    Before the edits, it extended from `start` to `end`. Now it has `size` characters.
    """

    start: int
    end: int
    size: int

    def merge(self, start: int, end: int, size: int) -> EditedRange:
        """Returns the range changed by these edits and a further edit of the current text.

        >>> EditedRange(10, 12, 5).merge(20, 21, 0)
        EditedRange(start=10, end=18, size=10)
        """
        low, now = min(self.start, start), max(self.start + self.size, end)
        return EditedRange(low, self.end + now - (self.start + self.size), now - low + size - (end - start))

    def old_offset(self, offset: int) -> int:
        """Converts an offset in the current text to the offset before the edits."""
        if offset < self.start:
            return offset
        now = self.start + self.size
        return min(offset, self.end) if offset < now else offset - now + self.end

    def new_offset(self, offset: int) -> int:
        """Converts an offset before the edits to the current offset."""
        if offset < self.start:
            return offset
        now = self.start + self.size
        return min(offset, now) if offset < self.end else offset - self.end + now


class Document:
    """One version of a document.

    `version` is the number that the client assigned to it, and `name` is the name of the file.
    `text` is the client's text, with a replacement for each character that cannot be read.
    """

    def __init__(self, uri: str, text: str, version: int = 0, encoding: str = "utf-16", previous: Document | None = None) -> None:
        self.uri = uri
        self.name = path_of(uri)
        self.version = version
        self.encoding = encoding
        if not text.isascii():
            text = _UNREADABLE.sub("\ufffd", text)
        self.text = " " + text[1:] if text.startswith(_UNREADABLE_AT_START) else text
        self.age: int = previous.age + 1 if previous is not None and previous.age < _MAX_VERSIONS else 0
        # The last version whose modules have been read, and the range that changed since then.
        self._base: Document | None = None if previous is None else previous if previous.is_read else previous._base
        self._edited_range: EditedRange | None = None
        self._lock = threading.Lock()
        self._modules: list[ModuleText] | None = None

    @cached_property
    def lines(self) -> LineTable:
        """The lines of the document."""
        return LineTable(self.text, self.encoding)

    @property
    def is_read(self) -> bool:
        """True if the modules of the document have been read."""
        return self._modules is not None

    def apply_changes(self, changes: Iterable[types.TextDocumentContentChangeEvent], version: int) -> Document:
        """Returns the version of the document that results from the changes of a client.

        Each change refers to the text after the previous change.
        """
        document = self
        for change in changes:
            if not isinstance(change, types.TextDocumentContentChangePartial):
                document = Document(self.uri, change.text, version, self.encoding, previous=document)
                continue
            start, end = document.lines.span(change.range)
            before, text = document, document.text
            document = Document(self.uri, text[:start] + change.text + text[end:], version, self.encoding, previous=before)
            if before.is_read:
                document._edited_range = EditedRange(start, end, len(change.text))
            elif before._edited_range is not None:
                document._edited_range = before._edited_range.merge(start, end, len(change.text))
        return document

    @property
    def modules(self) -> list[ModuleText]:
        """The modules of the document, in order. They are read tolerantly on first use."""
        with self._lock:
            if self._modules is None:
                self._modules = list(self._read())
                self._base = None
            return self._modules

    @property
    def view(self) -> Document:
        """The version of the document from which to answer requests while a user is typing.

        For a large document whose modules have not been read yet, this is the last version that has
        been read. It has the positions of the current version, but its own offsets;
        `offset_in_text` converts current offsets to its own.
        """
        if self.is_read or self._base is None or self._edited_range is None or len(self.text) < _MIN_SHIFTED:
            return self
        return _Shifted(self, self._base, self._edited_range)

    def offset_in_text(self, offset: int) -> int:
        """Converts an offset in the current version to an offset in this view of it."""
        return offset

    def _read(self) -> Iterator[ModuleText]:
        base = self._base if self.age else None
        known = {} if base is None else {module.start: module for module in base.modules}
        path = next((module.path for module in known.values() if module.path is not None), None)
        for part in parts_of(decode_text(self.text), self.name):
            if part.is_separator or not part.source.text or part.source.text.isspace():
                continue
            old = known.get(part.start)
            if old is not None and old.source.first_line == part.source.first_line and old.source.text == part.source.text:
                yield old
                continue
            try:
                module, path = read_source(part.source, strict=False, known=path)
            except ParseError:
                continue
            if path is not None:
                path.close()
            yield ModuleText(part.source, part.start, module, path)

    def module_at(self, offset: int) -> ModuleText | None:
        """Returns the module whose text contains an offset; None if there is none."""
        for part in reversed(self.modules):
            if part.start <= offset:
                return part if offset <= part.start + len(part.source.text) else None
        return None

    def range(self, part: ModuleText, start: int, end: int) -> types.Range:
        """Returns the range between two offsets of a module's source."""
        return self.lines.range(part.start + start, part.start + end)

    def edit(self, edit: Edit, start: int = 0) -> types.TextEdit:
        """Returns an edit of the document, or of a module's source at `start`, for the protocol."""
        return types.TextEdit(self.lines.range(start + edit.start, start + edit.end), edit.text)


class _Shifted(Document):
    """A version of a document that has the positions of a later version."""

    def __init__(self, now: Document, base: Document, edited: EditedRange) -> None:
        super().__init__(now.uri, base.text, now.version, now.encoding)
        self._modules = base.modules
        self._shift = edited
        self._now = now

    @cached_property
    def lines(self) -> LineTable:
        """The lines of the later version, for offsets in this version."""
        return _ShiftedLines(self._now.lines, self._shift)

    def offset_in_text(self, offset: int) -> int:
        return self._shift.old_offset(offset)


class _ShiftedLines(LineTable):
    """The lines of a document, for offsets in an earlier version."""

    def __init__(self, now: LineTable, edited: EditedRange) -> None:
        self._now = now
        self._edited_range = edited

    def position(self, offset: int) -> types.Position:
        return self._now.position(self._edited_range.new_offset(offset))

    def offset(self, position: types.Position) -> int:
        return self._edited_range.old_offset(self._now.offset(position))
