"""Fast path: builds instructions from whole lines that are spelled as XLA prints them.

The fast path never reports errors: the grammar path takes over at the first line that the fast path
cannot read.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import Any, cast

from hlotool.errors import Violation
from hlotool.ir.model import Instruction, InstructionFields
from hlotool.ir.notes import PrintedSpan
from hlotool.opdefs.module_attributes import MODULE_ATTRIBUTES
from hlotool.opdefs.table import CODECS
from hlotool.text.parse.builder import ModuleBuilder, Scope
from hlotool.text.parse.line_parts import CHECKED, FORMATTED, PRINTED, UNFORMATTED, LineParts
from hlotool.text.parse.patterns import NeedsGrammar, pieces
from hlotool.text.parse.reuse import EarlierParse, WholeComputation
from hlotool.text.parse.runs import RunReader
from hlotool.text.parse.session import ParseSession
from hlotool.text.source.marks import MARK_INTERVAL
from hlotool.text.source.trivia import skip_trivia

__all__ = ["FastPath"]

_CARRIAGE_RETURN = re.compile(r"[^\n]*\r\n")


class FastPath(RunReader):
    """The fast path over one source; `count` is the number of instructions that it has built.

    `formatted_runs` maps the start of each run of formatted lines to its end. The lines of a run
    end with `newline`, and only their attributes may still need formatting.
    """

    def __init__(self, builder: ModuleBuilder) -> None:
        super().__init__()
        self.builder = builder
        self.count = 0
        self.formatted_runs: dict[int, int] = {}
        self.newline = "\r\n" if _CARRIAGE_RETURN.match(builder.source.text) else "\n"
        self.parts: LineParts = None  # type: ignore[assignment]  # set by `attach`
        # The computations that were read in one piece, by name; and another parse, whose
        # computations can be reused.
        self.whole: dict[str, WholeComputation] = {}
        self.earlier: EarlierParse | None = None
        self._earlier_runs: list[tuple[int, int]] = []
        self._header: tuple[str, list[tuple[int, str, Any]], str | None, int] | None = None

    def attach(self, session: ParseSession, known: FastPath | None = None) -> None:
        """Connects the fast path to its session.

        Reuses everything that `known`, the fast path of another parse, has already read.
        """
        self.parts = LineParts(self.builder, session, known.parts if known is not None else None)
        if known is not None:
            self.earlier = EarlierParse(known.builder, known.whole, self.builder)
            if known.newline == self.newline and known.parts.unmarked == self.parts.unmarked:
                self._earlier_runs = sorted(known.formatted_runs.items())

    def close(self) -> None:
        """Breaks reference cycles, so that the path and its module are freed when they are unused.

        Other parses can still reuse the values that the path has read.
        """
        self.parts.close()

    # ---- header ---------------------------------------------------------------------------------

    def _read_header(self, text: str, position: int) -> bool:
        match = self.patterns.header.match(text, skip_trivia(text, position))
        if match is None or match[1] in self.reserved:
            return False
        attributes: list[tuple[int, str, Any]] = []
        try:
            for attribute in self.patterns.attribute.finditer(match[2]):
                name = attribute[1][:-1]
                spec = MODULE_ATTRIBUTES.get(name)
                if spec is None:
                    return False
                attributes.append((match.start(2) + attribute.start(1), name, self.parts.segments.value(CODECS[spec.kind].rule, attribute[2])))
        except (NeedsGrammar, Violation):
            return False
        end = match.end()
        tables = self.patterns.tables.match(text, end)
        if tables is not None:
            end = tables.end()
        self._header = (match[1], attributes, tables[1] + "\n" if tables else None, end)
        return True

    def _take_header(self) -> int:
        assert self._header is not None
        name, attributes, tables, end = self._header
        self.builder.set_header(name, attributes)
        self.builder.module.stack_tables_text = tables
        return end

    # ---- computations ---------------------------------------------------------------------------

    def _computations(self, text: str, position: int) -> tuple[int, bool]:
        builder, read, close = self.builder, self.patterns.computation.match, self.patterns.close.match
        while True:
            position = skip_trivia(text, position)
            header = read(text, position)
            if header is not None and (reused := self._reuse(header, position)) > position:
                position = reused
                continue
            errors = len(builder.diagnostics)
            if header is None or not self._open(header, position):
                return position, False
            position = self._run(text, header.end())
            end = close(text, position)
            if end is None or not builder.scope.computation.instructions:
                return position, True
            is_sound = not builder.scope.broken
            computation = builder.close_computation(position, end.end(), end[1] or "main")
            if is_sound and len(builder.diagnostics) == errors:
                self.whole[computation.name] = WholeComputation(computation, position, end[1] or "main")
            position = end.end()

    def _reuse(self, header: Any, position: int) -> int:
        """Reuses a computation from another parse; returns the offset after it, or -1."""
        if self.earlier is None:
            return -1
        known = self.earlier.candidate(header[3], position)
        if known is None:
            return -1
        shift = position - known.computation.start
        # The text after the old end may belong to the computation now.
        end = self.patterns.close.match(self.builder.source.text, known.brace + shift)
        if end is None or end.end() != known.computation.end + shift:
            return -1
        computation = self.earlier.take(known.computation, position)
        if computation is None:
            return -1
        self.builder.add_parsed_computation(computation, is_entry=header[1] is not None)
        self.whole[computation.name] = WholeComputation(computation, known.brace + shift, known.thread)
        runs = self._earlier_runs
        for k in range(bisect_left(runs, (known.computation.start,)), bisect_left(runs, (known.computation.end,))):
            self.formatted_runs[runs[k][0] + shift] = runs[k][1] + shift
        self.count += len(computation.instructions)
        return end.end()

    def _open(self, header: Any, position: int) -> bool:
        entry, percent, name, parameters, result = header.groups()
        if not percent and name in self.reserved:
            return False
        shape = None
        try:
            if parameters is not None:
                self._check_parameters(parameters)
                shape = self.parts.segments.shapes[result]
        except NeedsGrammar:
            return False
        self.builder.open_computation(name, position, is_entry=entry is not None, result=shape, result_position=header.start(5))
        return True

    def _check_parameters(self, text: str) -> None:
        """Checks the syntax of a signature's parameters; ignores names and shapes, as XLA does."""
        for parameter in pieces(self.patterns.parameter, text, 2):
            self.parts.segments.shapes[parameter[2]]

    # ---- instructions ---------------------------------------------------------------------------

    def _run(self, text: str, position: int) -> int:
        scope = self.builder.scope
        end = self._build(text, position)
        # After an error, many lines may depend on the broken instruction.
        while scope.broken and (position := self._skip_users_of_broken(text, end)) > end:
            end = self._build(text, position)
        return end

    def _skip_users_of_broken(self, text: str, position: int) -> int:
        """Skips lines whose only fault is a broken operand; marks their instructions as broken."""
        match, scope = self.patterns.line.match, self.builder.scope
        while (line := match(text, position)) is not None and not (line[2] and scope.root_position >= 0):
            if not self.parts.mark_user_of_broken(line, scope):
                break
            if line[2]:
                scope.root_position = line.start(2)
            position = line.end()
        return position

    def _build(self, text: str, position: int) -> int:
        """Builds instructions line by line; returns the offset of the first unreadable line."""
        # The hottest loop of a parse: hence local names, and no helper calls for common lines.
        scope = self.builder.scope
        match, parts, heads, configs = self.patterns.line.match, self.parts, self.parts.heads, self.parts.configs
        names, reserved, odd_names, computation = scope.names, self.reserved, scope.odd_names, scope.computation
        append, get, unmarked, ending = computation.instructions.append, names.__getitem__, parts.unmarked, self.newline[:-1]
        make_fields, final_class = cast("type[Instruction]", InstructionFields), Instruction
        started, first = len(computation.instructions), position
        # The spelling common to all lines so far, and the start of the current formatted run.
        common_spelling, run_start = UNFORMATTED if started or ending else PRINTED, position
        while True:
            line = match(text, position)
            if line is None:
                line, common_spelling = self._line_after_space(text, position, common_spelling)
                if line is None:
                    break
            indent, root, percent, name, head, references, others, attribute_text, metadata, config, trailing = line.groups()
            immediate = None
            try:
                shape, op, arity, memo, work, spelling = heads[head]
                attributes, pending = memo[attribute_text]
                if references is None or "/*" in references:
                    operands, shape, immediate, operands_spelling = parts.other_operands(work, head, references, others, shape, scope)
                    spelling &= operands_spelling
                else:
                    operands = tuple(map(get, references.split(", %")))
                    if len(operands) > MARK_INTERVAL:
                        spelling &= unmarked
                if work == CHECKED:
                    shape = parts.cached_shape(head, attribute_text, shape, op, operands, attributes)
                if name in names or name in reserved or (odd_names and not percent):
                    break
                if (arity != len(operands) and arity >= 0) or (root and scope.root_position >= 0):
                    break
                if pending:
                    attributes, spelling = parts.resolve(op, shape, attributes, spelling)  # type: ignore[arg-type]
                if config is not None:
                    config, config_spelling = configs[config]
                    spelling &= config_spelling
            except (KeyError, NeedsGrammar, Violation, ValueError):
                break
            if not percent or indent != "  " or trailing != ending:
                spelling &= FORMATTED if indent == "  " and trailing == ending else UNFORMATTED
            common_spelling &= spelling
            instruction = make_fields(name, op, shape, operands, attributes, immediate, metadata, config, position, line.end())
            instruction.__class__ = final_class
            if root:
                scope.root_position, computation.root = position, instruction
            if isinstance(immediate, int):
                scope.numbers[immediate] = instruction
            names[name] = instruction
            append(instruction)
            if not spelling:
                run_start = self._note_run(run_start, position, instruction.end)
            position = instruction.end
        self._note_run(run_start, position, position)
        self.count += len(computation.instructions) - started
        self._note_span(scope, first, position if common_spelling == PRINTED else -1)
        return position

    def _line_after_space(self, text: str, position: int, spelling: int) -> tuple[re.Match[str] | None, int]:
        """Skips whitespace and comments; returns the next line and the updated common spelling.

        The line is None if there is nothing to skip, or if the fast path cannot read the line.
        """
        start = skip_trivia(text, position)
        line = self.patterns.line.match(text, start) if start > position and text[start : start + 1] != "}" else None
        return line, spelling if line is None else UNFORMATTED

    def _note_run(self, start: int, end: int, next_start: int) -> int:
        """Records a run of formatted lines unless it is empty; returns the next run's start."""
        if start < end:
            self.formatted_runs[start] = end
        return next_start

    def _note_span(self, scope: Scope, start: int, end: int) -> None:
        """Records whether the source of a computation's instructions is spelled as printed.

        If the printer would spell it differently, `end` is -1.
        """
        computation, spans = scope.computation, self.builder.module.notes.spans
        if end >= 0 and scope.root_position >= 0:
            parameters = [scope.numbers[number] for number in sorted(scope.numbers)]
            spans[computation] = PrintedSpan(start, end, computation.root, parameters, computation.instructions.copy())
        else:
            spans.pop(computation, None)
