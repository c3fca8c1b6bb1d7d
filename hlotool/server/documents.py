"""Texts that are open in an editor: their modules, and where instructions and computations are in them.

A Document is one version of a text and does not change. An edit makes the next version, which reads parts of lines that the last one has read
by looking them up.
"""

from __future__ import annotations

import re
import threading
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
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
from hlotool.text.parse.parser import decoded, parse_source, parts_of, read_source
from hlotool.text.source.trivia import skip_trivia

__all__ = ["Document", "ModuleText", "path_of"]

# What no text in UTF-8 has; one character takes the place of each, so that offsets stay.
_UNREADABLE = re.compile("[\ud800-\udfff]")
_UNREADABLE_AT_START = "\ufeff"
# Values of parts of texts that are no longer there pile up; after so many versions they are read anew.
_MOST_VERSIONS = 200
Node = TypeVar("Node", Instruction, Computation)
_start_and_end = attrgetter("start", "end")


def path_of(uri: str) -> str:
    """The name of the file of a URI, or the URI itself if it is not that of a file.

    >>> path_of("file:///tmp/a%20b.hlo"), path_of("untitled:Untitled-1")
    ('/tmp/a b.hlo', 'untitled:Untitled-1')
    """
    try:
        parts = urlsplit(uri)
    except ValueError:
        return uri
    return url2pathname(parts.path) if parts.scheme == "file" and "\0" not in unquote(parts.path) else uri


class Nested(NamedTuple):
    """Instructions or computations by where they begin, each with the one that it is inside of, by number; -1 for none."""

    starts: list[int]
    nodes: list[Instruction | Computation]
    parents: list[int]

    def at(self, offset: int) -> Instruction | Computation | None:
        """The innermost one at an offset."""
        k = bisect_right(self.starts, offset) - 1
        while k >= 0 and self.nodes[k].end <= offset:
            k = self.parents[k]
        return self.nodes[k] if k >= 0 else None


def _nested(nodes: Iterable[Instruction | Computation]) -> Nested:
    ordered = sorted((node for node in nodes if node.start >= 0), key=_start_and_end)
    parents, stack = [], list[int]()
    for k, node in enumerate(ordered):
        while stack and ordered[stack[-1]].end <= node.start:
            stack.pop()
        parents.append(stack[-1] if stack else -1)
        stack.append(k)
    return Nested([node.start for node in ordered], ordered, parents)


def _places(computation: Computation) -> dict[Instruction, int]:
    """The positions of instructions in their computation."""
    return {x: k for k, x in enumerate(computation.instructions)}


class ModuleText:
    """One module of a text. `start` is the offset at which its source begins; offsets in the module count from there."""

    def __init__(self, source: Source, start: int, module: Module, path: FastPath | None) -> None:
        self.source = source
        self.start = start
        self.module = module
        self.path = path
        self._instructions: Memo[Computation, Nested] = Memo(lambda computation: _nested(computation.instructions))
        self.users: Memo[Computation, dict[Instruction, list[Instruction]]] = Memo(users)
        self.places: Memo[Computation, dict[Instruction, int]] = Memo(_places)

    @cached_property
    def errors(self) -> list[Diagnostic]:
        """What keeps the text from being read strictly."""
        if not self.module.diagnostics:
            return []
        try:
            parse_source(self.source)
        except ParseError as error:
            return error.diagnostics
        return []

    @cached_property
    def computations(self) -> Nested:
        """The computations that are in the text."""
        return _nested(self.module.computations)

    @cached_property
    def callers(self) -> dict[Computation, list[Call]]:
        """The calls of each computation that is called."""
        return callers(self.module)

    @cached_property
    def stack_tables(self) -> StackTables | None:
        """The decoded tables of stack frames."""
        return self.module.stack_tables

    def computation_at(self, offset: int) -> Computation | None:
        """The innermost computation at an offset of the source."""
        found = self.computations.at(offset)
        return found if isinstance(found, Computation) else None

    @cached_property
    def has_nested(self) -> bool:
        """Whether computations are inside of others."""
        return any(parent >= 0 for parent in self.computations.parents)

    def instruction_at(self, offset: int) -> tuple[Computation, Instruction] | None:
        """The innermost instruction at an offset of the source, after its computation. Spaces before an instruction are not part of it."""
        computation = self.computation_at(offset)
        if computation is None:
            return None
        x = self._instructions[computation].at(offset)
        if not isinstance(x, Instruction) or skip_trivia(self.source.text, x.start) > offset:
            return None
        return computation, x

    def instructions_between(self, start: int, end: int) -> Iterator[tuple[Computation, Instruction]]:
        """The instructions that are partly between two offsets of the source, after their computations."""
        for computation in self.computations.nodes:
            if isinstance(computation, Computation) and computation.start < end and computation.end > start:
                nested = self._instructions[computation]
                # Of instructions inside each other, the outer one may end after the inner one.
                first = bisect_right(nested.starts, start)
                while first and (nested.parents[first - 1] >= 0 or nested.nodes[first - 1].end > start):
                    first -= 1
                for k in range(first, bisect_right(nested.starts, end)):
                    x = nested.nodes[k]
                    if isinstance(x, Instruction) and x.start < end and x.end > start:
                        yield computation, x


class Document:
    """A version of a text, `version` as the client counts. `name` is that of its file, and `text` what the client has, as far as it can be read."""

    def __init__(self, uri: str, text: str, version: int = 0, encoding: str = "utf-16", previous: Document | None = None) -> None:
        self.uri = uri
        self.name = path_of(uri)
        self.version = version
        self.encoding = encoding
        text = _UNREADABLE.sub("\ufffd", text)
        self.text = " " + text[1:] if text.startswith(_UNREADABLE_AT_START) else text
        self.age: int = previous.age + 1 if previous is not None and previous.age < _MOST_VERSIONS else 0
        self._known: Sequence[ModuleText] = previous.known_modules if previous is not None and self.age else ()
        self._lock = threading.Lock()
        self._modules: list[ModuleText] | None = None

    @cached_property
    def lines(self) -> LineTable:
        """The lines of the text."""
        return LineTable(self.text, self.encoding)

    @property
    def known_modules(self) -> Sequence[ModuleText]:
        """The modules that have been read, of this version or of the last one that was asked for them."""
        return self._known if self._modules is None else self._modules

    def changed(self, changes: Iterable[types.TextDocumentContentChangeEvent], version: int) -> Document:
        """The next version of the text, after the changes of a client, each of which refers to the text after the one before."""
        document = self
        for change in changes:
            text = change.text
            if isinstance(change, types.TextDocumentContentChangePartial):
                start, end = document.lines.span(change.range)
                text = document.text[:start] + text + document.text[end:]
            document = Document(self.uri, text, version, self.encoding, previous=self)
        return document

    @property
    def modules(self) -> list[ModuleText]:
        """The modules of the text, in order, read tolerantly when they are asked for first."""
        with self._lock:
            if self._modules is None:
                self._modules = list(self._read())
                self._known = ()
            return self._modules

    def _read(self) -> Iterator[ModuleText]:
        known = self._known
        same = {(part.source.text, part.source.first_line): part for part in known}
        path = next((part.path for part in known if part.path is not None), None)
        for part in parts_of(decoded(self.text), self.name):
            if part.is_separator or not part.source.text.strip():
                continue
            old = same.get((part.source.text, part.source.first_line))
            if old is not None and old.start == part.start:
                yield old
                continue
            try:
                module, path = read_source(part.source, strict=False, known=path)
            except ParseError:
                continue
            yield ModuleText(part.source, part.start, module, path)

    def module_at(self, offset: int) -> ModuleText | None:
        """The module whose text an offset is in."""
        for part in reversed(self.modules):
            if part.start <= offset:
                return part if offset <= part.start + len(part.source.text) else None
        return None

    def range(self, part: ModuleText, start: int, end: int) -> types.Range:
        """The range between two offsets of a module's source."""
        return self.lines.range(part.start + start, part.start + end)

    def edit(self, edit: Edit, start: int = 0) -> types.TextEdit:
        """An edit of the text, or of a module's source that begins at `start`, as the protocol has it."""
        return types.TextEdit(self.lines.range(start + edit.start, start + edit.end), edit.text)
