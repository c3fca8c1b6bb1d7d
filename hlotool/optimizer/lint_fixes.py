"""Fixes lints by rewriting: applies the rule or pass for a lint to one instruction.

The rewrite is tried on a copy of the module. The result is expressed as edits of the source text,
so comments and all other lines are preserved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from functools import lru_cache

from hlotool.analysis.sizes import elements_of
from hlotool.errors import Edit, EvaluationError
from hlotool.interp.arrays.literal_values import literal_value
from hlotool.interp.evaluator import compute
from hlotool.interp.run_options import RunOptions
from hlotool.ir.model import Instruction, Module
from hlotool.literals.literal import Literal
from hlotool.memo import cached_property
from hlotool.optimizer.constants import CannotBuildError, is_writable, literal_of
from hlotool.optimizer.context import Context
from hlotool.optimizer.passes.cse import equal_instructions
from hlotool.optimizer.pattern_rewriter import PatternRewriter
from hlotool.optimizer.registry import Rule, all_rules
from hlotool.optimizer.simplify import adapt, rejection_reason
from hlotool.text.formatting.spelling import infer_options
from hlotool.text.locate.instruction import locate
from hlotool.text.print.instruction import InstructionWriter
from hlotool.text.source.part_names import PartName
from hlotool.text.source.trivia import has_comments, skip_trivia
from hlotool.verifier.fixes.lints import line_removal
from hlotool.verifier.fixing import FindingContext
from hlotool.verifier.suppressions import suppressed

__all__ = ["rewrite_edits"]

# A fix that exceeded these limits would make the text less readable.
_MAX_NEW_INSTRUCTIONS = 3
_MAX_LINE_LENGTH = 500
_MAX_ELEMENTS = 100


def rewrite_edits(finding: FindingContext, names: Sequence[str]) -> list[Edit]:
    """Returns the edits for the first rewrite that matches the instruction of a finding.

    The list is empty if no rewrite matches, or if the rewrite cannot be expressed as edits of the
    text. `names` lists rules, topics of rules, or the passes `cse` and `fold`. A new instruction is
    written on the line of the old instruction. If an existing instruction has the same value, it is
    used instead, and the line is removed; if the line has a comment, there are no edits.
    Instructions that become unused are removed, too.
    """
    x = finding.instruction
    if x is None or any(d.severity == "error" for d in finding.module.diagnostics):
        return []
    trial = _trial(finding.module)
    return trial.edits(trial.copies[x], names)


def _fold(x: Instruction) -> Literal | None:
    """Returns the value of an instruction that W021 reports as foldable.

    Returns None if the value has too many elements, or if it cannot be computed or written.
    """
    literals = [operand.literal for operand in x.operands if operand.literal is not None]
    if not x.shape.is_array or elements_of(x.shape) > _MAX_ELEMENTS:
        return None
    try:
        value = compute(x, [literal_value(literal, RunOptions()) for literal in literals])
    except EvaluationError:
        return None
    return literal_of(value, x.shape) if is_writable(value) else None


@lru_cache(maxsize=1)
def _trial(module: Module) -> _Trial:
    return _Trial(module)


class _Trial:
    """A copy of a module, on which rewrites are tried.

    `copies` maps the instructions of the module to their copies.
    """

    def __init__(self, module: Module) -> None:
        self.module = copy(module)
        self.text = "" if module.source is None else module.source.text
        self.context = Context(self.module)
        self.rewriter = self.context.rewriter
        self.copies = dict(zip(module.all_instructions(), self.module.all_instructions(), strict=True))
        self.is_suppressed = suppressed(module, "W001")

    def edits(self, x: Instruction, names: Sequence[str]) -> list[Edit]:
        """Returns the edits for the first rewrite that matches."""
        if not self.context.is_movable(x) or not self._has_line(x):
            return []
        for new, inserted in self._results(x, names):
            if new in inserted:
                adapt(self.rewriter, x, new)
                edits = self._new_lines(x, new, inserted)
            else:
                edits = self._other_uses(x, new)
            unused = self._unused_lines(x, new) if edits else []
            for y in reversed(inserted):
                self.rewriter.erase(y)
            return edits + unused
        return []

    def _results(self, x: Instruction, names: Sequence[str]) -> Iterator[tuple[Instruction, list[Instruction]]]:
        """Yields the possible replacements of an instruction, each with the inserted instructions.

        The inserted instructions stay in the module until the caller erases them.
        """
        if "cse" in names and (other := self._equal.get(x)) is not None:
            yield other, []
        if "fold" in names and (literal := _fold(x)) is not None:
            new = PatternRewriter(self.rewriter, x).constant(literal)
            yield new, [new]
        for entry in all_rules().values():
            if x.op.name in entry.opcodes and not {entry.name, entry.topic}.isdisjoint(names):
                yield from self._result_of(entry, x)

    def _result_of(self, entry: Rule, x: Instruction) -> Iterator[tuple[Instruction, list[Instruction]]]:
        if not entry.is_called_for(x):
            return
        rewriter = PatternRewriter(self.rewriter, x)
        try:
            new = entry.rewrite(x, rewriter)
        except CannotBuildError:
            new = None
        if new is not None and rejection_reason(self.context, entry, x, new, rewriter.inserted) is None:
            yield new, rewriter.inserted
            return
        for y in reversed(rewriter.inserted):
            self.rewriter.erase(y)

    @cached_property
    def _equal(self) -> dict[Instruction, Instruction]:
        return equal_instructions(self.context)

    # ---- edits ----------------------------------------------------------------------------------

    def _span(self, x: Instruction, word: str, number: int | None = None) -> tuple[int, int]:
        return locate(self.text, x.start, x.end, PartName(word, number=number))

    def _has_line(self, x: Instruction) -> bool:
        """Returns whether the text contains a separate declaration of an instruction.

        The instruction may instead be written inline as an operand, or not at all.
        """
        if x.start < 0:
            return False
        start, end = self._span(x, "name")
        return self.text[start:end].removeprefix("%") == x.name

    def _other_uses(self, x: Instruction, other: Instruction) -> list[Edit]:
        """Returns edits that use another instruction instead of `x`, and remove the line of `x`.

        If `x` is the root, the other instruction becomes the root. The list is empty if the
        replacement is impossible.
        """
        edits = list(line_removal(self.text, x.start, x.end))
        # In a scheduled module, the root is the last instruction.
        if not edits or not self._has_line(other) or (self.rewriter.is_root(x) and self.context.keeps_layouts):
            return []
        if self.rewriter.is_root(x):
            start = skip_trivia(self.text, other.start)
            edits.append(Edit(start, start, "ROOT "))
        for user in self.rewriter.users(x):
            for number, operand in enumerate(user.operands):
                if operand is not x:
                    continue
                start, end = self._span(user, "operand", number) if user.start >= 0 else (0, 0)
                # A shape may precede the name. An instruction that is written inline has no name.
                start = max(start, end - len(x.name))
                if self.text[start:end] != x.name:
                    return []
                edits.append(Edit(start, end, other.name))
        return edits

    def _new_lines(self, x: Instruction, new: Instruction, inserted: Sequence[Instruction]) -> list[Edit]:
        """Returns edits that write new instructions; the last one is written in place of `x`.

        The last instruction takes over the name of `x`. The list is empty if the replacement is
        impossible.
        """
        start, end = self._span(x, "opcode")[0], self._span(x, "instruction")[1]
        operands = [operand for y in inserted for operand in y.operands if operand not in inserted]
        if len(inserted) > _MAX_NEW_INSTRUCTIONS or not all(map(self._has_line, operands)) or has_comments(self.text[start:end]):
            return []
        writer = self._writer(x)
        lines = [writer.write(y, is_root=False, level=0) for y in inserted if y is not new]
        # The name and the shape keep their spelling.
        writer = self._writer(x, print_result_shape=False)
        last = writer.write(new, is_root=False, level=0).partition(" = ")[2]
        first = skip_trivia(self.text, x.start)
        line = self.text.rfind("\n", 0, first) + 1
        indentation = self.text[line:first]
        if (lines and indentation.strip()) or max(map(len, (*lines, last))) > _MAX_LINE_LENGTH:
            return []
        line_end = "\r\n" if self.text[line - 2 : line] == "\r\n" else "\n"
        return [Edit(line, line, "".join(f"{indentation}{text}{line_end}" for text in lines))] * bool(lines) + [Edit(start, end, last)]

    def _unused_lines(self, x: Instruction, new: Instruction) -> list[Edit]:
        """Returns edits that remove the instructions left unused when `new` replaces `x`.

        Lines with comments are preserved.
        """
        gone, edits, stack = {x}, [], list(dict.fromkeys(x.operands))
        while stack:
            y = stack.pop()
            if y is new or y in gone or y.op.name == "parameter" or self.rewriter.is_root(y) or not gone.issuperset(self.rewriter.users(y)):
                continue
            if self.context.has_effect(y) or not self.context.is_movable(y) or not self._has_line(y) or self.is_suppressed(y.start):
                continue
            removal = list(line_removal(self.text, y.start, y.end))
            if removal:
                gone.add(y)
                edits += removal
                stack += dict.fromkeys(y.operands)
        return edits

    def _writer(self, x: Instruction, *, print_result_shape: bool = True) -> InstructionWriter:
        """Returns a writer that follows the style of `x` in the text.

        For example, the text may or may not use percent signs, layouts and operand shapes.
        """
        options = infer_options(self.text, x, print_result_shape=print_result_shape)
        return InstructionWriter.with_own_names(self.module, options)
