"""Converts findings to diagnostics.

Diagnostics have exact positions, notes about the definitions of operands, and the origin of the
instruction in a program.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from hlotool.analysis.async_chains import written_opcode
from hlotool.codes import CODE_NAMES, severity_of
from hlotool.errors import Diagnostic, Source
from hlotool.ir.model import Computation, Instruction
from hlotool.memo import cached_property
from hlotool.opdefs.inference import brief
from hlotool.opdefs.module_attributes import MODULE_ATTRIBUTES
from hlotool.opdefs.table import CODECS
from hlotool.record import replace
from hlotool.shapes.metadata import StackTables
from hlotool.text.locate.instruction import first_word, locate, locate_in_header
from hlotool.text.print.stack_frames import source_line
from hlotool.text.source.part_names import PartName, parse_part_name
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding

__all__ = ["Reporter"]

_WHOLE = PartName("instruction")
_NAME = PartName("name")
# More notes than this do not help.
_MAX_DEFINITIONS = 3
_MAX_MESSAGE_LENGTH = 1000
_MIN_READABLE = 100_000


class Reporter:
    """Creates the diagnostics of one module."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.source = facts.module.source or Source("")
        # The number of characters that may still be parsed again to locate parts of instructions.
        # Without this limit, parsing nested instructions for each finding would take too long.
        self.readable = _MIN_READABLE + 8 * len(self.source.text)

    def diagnostic(self, finding: Finding) -> Diagnostic:
        """Returns the diagnostic for a finding, with its position and notes."""
        finding = self._as_written(finding)
        x, computation = finding.instruction, finding.computation
        header = self.facts.module.attribute_starts.get(_word(finding.at)) if x is None and computation is None else None
        if header is not None:
            start, end = self._header_span(header, parse_part_name(str(finding.at)))
            notes, origin = finding.notes, _NO_ORIGIN
        elif x is None or isinstance(finding.at, int):
            start = finding.at if isinstance(finding.at, int) else (computation.start if computation is not None else 0)
            start, end, notes = max(0, start), max(0, start) + 1, finding.notes
            origin = _NO_ORIGIN
        else:
            part_name = parse_part_name(finding.at)
            start, end = self._span(x, computation, part_name)
            origin = self._origin(x)
            notes = (*finding.notes, *self._definitions(x, computation, part_name), *origin.note)
        line, column = self.source.line_column(start)
        end_line, end_column = self.source.line_column(end)
        return Diagnostic(
            finding.code,
            CODE_NAMES[finding.code],
            finding.severity or severity_of(finding.code),
            _shorten(finding.message),
            self.source.filename,
            line,
            column,
            end_line,
            end_column,
            finding.hint,
            notes,
            computation.name if computation is not None else None,
            x.name if x is not None else None,
            origin.op_name,
            origin.file,
            origin.line,
            others=tuple([other.name for other in finding.others]),
        )

    def _as_written(self, finding: Finding) -> Finding:
        """Rewrites a finding about a short form such as `negate-start` in terms of the text.

        The result refers to the instruction in the text and mentions its opcode. The hidden
        computation of a short form has the operands and attributes of the start; its result is
        element 1 of the start's result.
        """
        x, inside, hidden = finding.instruction, finding.computation, self.facts.module.hidden
        if inside in hidden and inside is not None and x is not None:
            calls = self.facts.callers.get(inside, ())
            at = "shape[1]" if finding.at in ("shape", "result", "instruction") and x is inside.root else finding.at
            return replace(finding, computation=calls[0][0], instruction=calls[0][1], at=at) if calls else finding
        if x is None or not (x.op.name.startswith("async-") and x.called and x.called[0] in hidden):
            return finding
        return replace(finding, message=finding.message.replace(f"'{x.op.name}'", f"'{written_opcode(x, self.facts.module)}'"))

    def _span(self, x: Instruction, computation: Computation | None, part_name: PartName) -> tuple[int, int]:
        """Returns the offsets of a part of `x`, or of its origin if `x` is not in the text."""
        if part_name.of == "definition" and part_name.number is not None and part_name.number < len(x.operands):
            operand = x.operands[part_name.number]
            x, part_name = (operand, _NAME) if self._is_at_fault(operand, x, computation) else (x, parse_part_name(f"operand {part_name.number}"))
        elif part_name.of == "root":
            called = x.attributes.get(part_name.word)
            if isinstance(called, Computation) and called.root.start >= 0:
                x, part_name = called.root, _WHOLE
        if x.start < 0 and x in self.facts.module.notes.origin_of:
            x, part_name = self.facts.module.notes.origin_of[x], _WHOLE
        if x.start < 0:
            calls = self.facts.callers.get(computation, ()) if computation is not None else ()
            caller = next((caller for _, caller in calls if caller.start >= 0), None)
            if caller is None:
                at = max(0, computation.start if computation is not None else 0)
                return at, at + 1
            x, part_name = caller, _WHOLE
        if x.end - x.start > self.readable:
            return first_word(self.source.text, x.start)
        self.readable -= x.end - x.start
        return locate(self.source.text, x.start, x.end, part_name)

    def _is_at_fault(self, operand: Instruction, x: Instruction, computation: Computation | None) -> bool:
        """Returns whether to blame the operand instead of its user `x` if the shapes do not fit.

        The operand is to blame if its shape follows from nothing else and it has no other users.
        """
        is_source = x.start >= 0 and not operand.operands and not operand.control_predecessors
        return is_source and operand.start >= 0 and computation is not None and self.facts.users(computation).get(operand) == [x]

    def _header_span(self, start: int, part_name: PartName) -> tuple[int, int]:
        """Returns the offsets of the header attribute at `start`, or of a part of it."""
        rule = CODECS[MODULE_ATTRIBUTES[part_name.word].kind].rule
        return locate_in_header(self.source.text, start, rule, part_name)

    def _definitions(self, x: Instruction, computation: Computation | None, part_name: PartName) -> Iterator[str]:
        """Yields notes on the definitions of the operands or called computations at fault."""
        called = x.attributes.get(part_name.word)
        if isinstance(called, Computation) and called.start >= 0:
            parameters = ", ".join(brief(p) for p in self.facts.program_shape(called).parameters)
            yield f"'{called.name}' is defined at {self._at(called.start)} as ({parameters}) -> {brief(called.root.shape)}"
        chosen = list(dict.fromkeys(x.operands)) if part_name.word == "operands" else []
        if part_name.number is not None:
            chosen = [operand for k, operand in enumerate(x.operands) if k == part_name.number]
        if part_name.of == "definition" and len(chosen) == 1 and self._is_at_fault(chosen[0], x, computation):
            # The finding is at the definition, so the note is about the user.
            start, _ = locate(self.source.text, x.start, x.end, _NAME)
            yield f"'{x.name}' at {self._at(start)} uses '{chosen[0].name}'"
            return
        for operand in chosen[:_MAX_DEFINITIONS]:
            if operand.start >= 0:
                start, _ = locate(self.source.text, operand.start, operand.end, _NAME)
                yield f"'{operand.name}' is defined at {self._at(start)} as {brief(operand.shape)}"

    def _origin(self, x: Instruction) -> _Origin:
        """Returns the origin from the metadata or, for a stack frame, from the module's tables."""
        metadata = x.metadata
        if metadata is None:
            return _NO_ORIGIN
        file, line = source_line(metadata, self._tables)
        return _Origin(metadata.op_name or None, file or None, line if file and line else None)

    @cached_property
    def _tables(self) -> StackTables | None:
        return self.facts.module.stack_tables

    def _at(self, offset: int) -> str:
        line, column = self.source.line_column(offset)
        return f"{line}:{column}"


def _word(at: str | int) -> str:
    """Returns the attribute named by a position, or an empty string for an offset."""
    return parse_part_name(at).word if isinstance(at, str) else ""


def _shorten(message: str) -> str:
    """Returns the message, without its middle part if it is very long."""
    if len(message) <= _MAX_MESSAGE_LENGTH:
        return message
    half = _MAX_MESSAGE_LENGTH // 2
    return f"{message[:half]} ... {message[-half:]}"


class _Origin(NamedTuple):
    """The origin of an instruction in the source program.

    Authors of programs recognize the origin more easily than the names of instructions.
    """

    op_name: str | None = None
    file: str | None = None
    line: int | None = None

    @property
    def note(self) -> tuple[str, ...]:
        part_name = f"{self.file}:{self.line}" if self.line else self.file
        parts = [part for part in (f"'{self.op_name}'" if self.op_name else "", f"at {part_name}" if part_name else "") if part]
        return (f"the instruction comes from {' '.join(parts)}",) if parts else ()


_NO_ORIGIN = _Origin()
