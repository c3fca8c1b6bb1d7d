"""Refactorings: edits of the lines that a Rewriter changes in a copy of a module.

The edits are used only if the edited source parses to the changed module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace

from hlotool.errors import Edit, EditError, ParseError, Source
from hlotool.ir.edit import Rewriter
from hlotool.ir.equal import differences
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.optimizer.inlining import can_replace_caller, copy_body, has_no_other_attributes, replace_caller
from hlotool.server.documents import ModuleText
from hlotool.server.formatting import changes_between
from hlotool.text.formatting.spelling import infer_options
from hlotool.text.locate.declarations import is_marked_root
from hlotool.text.parse.parser import parse_source
from hlotool.text.print.instruction import InstructionWriter
from hlotool.text.print.printer import ModulePrinter
from hlotool.text.source.trivia import skip_trivia
from hlotool.verifier.fixes.lints import computation_removal
from hlotool.verifier.fixing import apply_edits

__all__ = ["extract", "inline"]

Copies = Mapping[Instruction, Instruction]
"""A mapping from the instructions of a module to those of its copy."""


def inline(module: ModuleText, x: Instruction) -> list[Edit]:
    """Returns the edits that replace a call with the instructions of its callee.

    Raises EditError if the call cannot be inlined.

    >>> from hlotool.server.documents import Document
    >>> text = "f {\\n  y = f32[] parameter(0)\\n  ROOT z = f32[] negate(y)\\n}\\n"
    >>> text += "ENTRY e {\\n  p = f32[] parameter(0)\\n  ROOT c = f32[] call(p), to_apply=f\\n}\\n"
    >>> module = Document("file:///m.hlo", text).modules[0]
    >>> print(apply_edits(text, inline(module, module.module.entry.root)), end="")
    ENTRY e {
      p = f32[] parameter(0)
      ROOT z = f32[] negate(p)
    }
    """

    def change(rewriter: Rewriter, copies: Copies) -> None:
        call = copies[x]
        body = call.called[0]
        if rewriter.module.is_scheduled:
            raise EditError(f"'{x.name}' cannot be inlined: the module is scheduled, and inlining would change the order of its instructions")
        if not has_no_other_attributes(call) or not can_replace_caller(rewriter, call, body):
            raise EditError(f"'{x.name}' cannot be inlined: its attributes cannot be moved to the instructions of '{body.name}'")
        replace_caller(rewriter, call, body, copy_body(rewriter, body, call.operands, call))

    return _edits(module, change)


def extract(module: ModuleText, computation: Computation, chosen: Sequence[Instruction]) -> list[Edit]:
    """Returns the edits that move instructions into a new computation, and insert a call to it.

    Raises EditError if the instructions cannot be extracted.
    """
    inside = [x for x in computation.instructions if x in chosen and x.op.name != "parameter"]
    if not inside:
        raise EditError("there are no instructions to extract")
    if any(x.control_predecessors for x in computation.instructions):
        raise EditError("instructions with control predecessors cannot be extracted")

    def change(rewriter: Rewriter, copies: Copies) -> None:
        _extract(rewriter, [copies[x] for x in inside])

    return _edits(module, change)


def _extract(rewriter: Rewriter, inside: list[Instruction]) -> None:
    moved = set(inside)
    inputs = list(dict.fromkeys(operand for x in inside for operand in x.operands if operand not in moved))
    results = [x for x in inside if rewriter.is_root(x) or not moved.issuperset(rewriter.users(x))]
    if not results:
        raise EditError("nothing uses the results of the selected instructions")
    body = rewriter.add_computation("extracted")
    copies = {
        x: rewriter.insert("parameter", into=body, name=f"{x.name}.in", shape=x.shape, immediate=number, origin=x) for number, x in enumerate(inputs)
    }
    for x in inside:
        copies[x] = rewriter.insert_copy(x, [copies[operand] for operand in x.operands], into=body, name=f"{x.name}.in")
    root = copies[results[0]] if len(results) == 1 else rewriter.insert("tuple", [copies[x] for x in results], into=body)
    rewriter.set_root(root)
    call = rewriter.insert("call", inputs, after=inside[-1], shape=root.shape, attributes={"to_apply": body})
    news = [call]
    if len(results) > 1:
        news = []
        for k, x in enumerate(results):
            after = news[-1] if news else call
            news.append(rewriter.insert("get-tuple-element", [call], after=after, shape=x.shape, attributes={"index": k}))
    for x, new in zip(results, news, strict=True):
        rewriter.replace_all_uses(x, new)
    for x in reversed(inside):
        name = x.name
        rewriter.erase(x)
        if x in results:
            rewriter.rename(news[results.index(x)], name)


# ---- from a changed module to edits ------------------------------------------------------------


def _edits(module: ModuleText, change: Callable[[Rewriter, Copies], None]) -> list[Edit]:
    """Returns the edits of a module's source that carry out a change.

    Raises EditError if the change cannot be expressed as edits of whole lines.
    """
    before = module.module
    if module.errors:
        raise EditError("the text has errors; correct them first")
    after = copy(before)
    copies = dict(zip(before.all_instructions(), after.all_instructions(), strict=True))
    computations = dict(zip(before.computations, after.computations, strict=True))
    with Rewriter(after) as rewriter:
        change(rewriter, copies)
    edits = list(_Lines(module, after, computations, copies).edits())
    text = apply_edits(module.source.text, edits)
    try:
        read = parse_source(Source(text))
    except ParseError as error:
        raise EditError(f"the result cannot be written: {error}") from None
    difference = next(differences(after, read), None)
    if difference is not None:
        raise EditError(f"the result cannot be written: {difference}")
    return edits


class _Lines:
    """A writer of the lines that have changed.

    Unchanged instructions are copied, with their comments.
    """

    def __init__(self, module: ModuleText, after: Module, computations: Mapping[Computation, Computation], copies: Copies) -> None:
        self.module = module
        self.text = module.source.text
        self.after = after
        self.computations = computations
        self.originals = {new: old for old, new in copies.items()}

    def edits(self) -> Iterator[Edit]:
        """Yields the edits of all computations."""
        kept = set(self.after.computations)
        olds = {new: old for old, new in self.computations.items()}
        for old, new in self.computations.items():
            if new not in kept:
                removal = list(computation_removal(self.text, old))
                if not removal:
                    raise EditError(f"computation '{old.name}' contains comments or shares a line with other text")
                yield from removal
            elif old.start >= 0:
                yield from self._change(old, new)
        for k, new in enumerate(self.after.computations):
            if new not in olds:
                following = next((olds[c] for c in self.after.computations[k + 1 :] if c in olds), None)
                yield self._insert(new, following)

    def _insert(self, new: Computation, following: Computation | None) -> Edit:
        """Returns the edit that inserts a new computation before `following`."""
        if following is None or following.start < 0:
            raise EditError("a new computation cannot be inserted here")
        first = following.instructions[0]
        options = replace(infer_options(self.text, _typical(following)), print_program_shape="->" in self.text[following.start : first.start])
        start = self.text.rfind("\n", 0, skip_trivia(self.text, following.start)) + 1
        # Comments directly above a computation describe it.
        while start and self.text.startswith("//", line := self.text.rfind("\n", 0, start - 1) + 1):
            start = line
        text = ModulePrinter(self.after, options).computation(new, 0, nested=False)
        end = "\r\n" if self.text[start - 2 : start] == "\r\n" else "\n"
        return Edit(start, start, text.replace("\n", end) + end + end)

    def _change(self, old: Computation, new: Computation) -> Iterator[Edit]:
        same = [self.originals.get(x) for x in new.instructions]
        if same == old.instructions and self.originals.get(new.root) is old.root and all(map(self._is_same, old.instructions, new.instructions)):
            return
        chunks, kept = self._chunks(old), set(same)
        first = min(start for start, _ in chunks.values())
        last = max(end for _, end in chunks.values())
        lines, at = [], 0
        for x in new.instructions:
            original = self.originals.get(x)
            is_kept = original is not None and original in chunks
            # The comments before a removed instruction stay before its replacement.
            while at < len(old.instructions) and (is_kept or old.instructions[at] not in kept) and old.instructions[at] is not original:
                lines.append(self._comments(old.instructions[at], chunks) if old.instructions[at] not in kept else "")
                at += 1
            if original is not None and is_kept:
                at += 1
                lines.append(self._keep(original, x, chunks[original], is_root=x is new.root))
            else:
                lines.append(self._new(old, x, is_root=x is new.root))
        for edit in changes_between(self.text[first:last], "".join(lines)):
            yield Edit(edit.start + first, edit.end + first, edit.text)

    def _is_same(self, old: Instruction, new: Instruction) -> bool:
        """Returns whether the text of an instruction is unchanged, apart from a preceding `ROOT`.

        The text changes if the instruction changes, or a name that it refers to.
        """
        if (old.name, old.op, old.shape, old.metadata_text) != (new.name, new.op, new.shape, new.metadata_text):
            return False
        return self._names_of(old) == self._names_of(new) and old.attributes.keys() == new.attributes.keys()

    @staticmethod
    def _names_of(x: Instruction) -> list[str]:
        return [y.name for y in (*x.operands, *x.control_predecessors)]

    def _chunks(self, computation: Computation) -> dict[Instruction, tuple[int, int]]:
        """Returns the span of the lines of each instruction, including the comments before it."""
        chunks: dict[Instruction, tuple[int, int]] = {}
        end = -1
        for x in computation.instructions:
            start = skip_trivia(self.text, x.start)
            line = self.text.rfind("\n", 0, start) + 1
            stop = x.end if self.text[x.end - 1 : x.end] == "\n" else self.text.find("\n", x.end) + 1
            if x.start < 0 or self.text[line:start].strip() or self.text[x.end : stop].strip() or line < end:
                raise EditError(f"'{x.name}' is not alone on its line; format the text first")
            chunks[x] = (line if end < 0 else end, stop)
            end = stop
        return chunks

    def _comments(self, x: Instruction, chunks: Mapping[Instruction, tuple[int, int]]) -> str:
        before = self.text[chunks[x][0] : skip_trivia(self.text, x.start)]
        return before[: before.rfind("\n") + 1] if before.strip() else ""

    def _keep(self, old: Instruction, new: Instruction, chunk: tuple[int, int], *, is_root: bool) -> str:
        start = skip_trivia(self.text, old.start)
        before = self.text[chunk[0] : start]
        if not self._is_same(old, new):
            written = self._print(old, new)
            ending = "\r\n" if self.text[chunk[1] - 2 : chunk[1]] == "\r\n" else "\n"
            return f"{before}{'ROOT ' * is_root}{written}{ending}"
        rest = self.text[start : chunk[1]]
        if is_marked_root(self.text, old):
            rest = rest.removeprefix("ROOT").lstrip(" \t")
        return f"{before}{'ROOT ' * is_root}{rest}"

    def _new(self, owner: Computation, x: Instruction, *, is_root: bool) -> str:
        like = owner.instructions[0]
        start = skip_trivia(self.text, like.start)
        line = self.text.rfind("\n", 0, start) + 1
        options = infer_options(self.text, self._source_of(x) or _typical(owner))
        written = InstructionWriter.with_own_names(self.after, options).write(x, is_root=is_root, level=0)
        ending = "\r\n" if self.text[like.end - 2 : like.end] == "\r\n" else "\n"
        return f"{self.text[line:start]}{written}{ending}"

    def _source_of(self, x: Instruction) -> Instruction | None:
        """Returns the instruction in the source that became `x` or was copied to `x`.

        Returns None if `x` is new.
        """
        source = self.originals.get(x)
        if source is None:
            copied = self.after.notes.origin_of.get(x)
            source = None if copied is None else self.originals.get(copied, copied)
        return source if source is not None and source.start >= 0 else None

    def _print(self, like: Instruction, x: Instruction) -> str:
        return InstructionWriter.with_own_names(self.after, infer_options(self.text, like)).write(x, is_root=False, level=0)


def _typical(computation: Computation) -> Instruction:
    """Returns the instruction that best represents the style of a computation.

    An instruction whose result is an array with dimensions is preferred, since its shape may have a
    layout. Among equally good instructions, one with operands is preferred.
    """
    return max(computation.instructions, key=lambda x: (x.start >= 0, x.shape.is_array and x.shape.rank > 0, bool(x.operands)))
