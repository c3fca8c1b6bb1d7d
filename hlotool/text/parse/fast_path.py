"""The fast path: builds instructions from whole lines that are spelled the way XLA prints them.

It never reports an error: at the first line that it cannot read, the grammar path continues.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

from hlotool.errors import Violation
from hlotool.ir.model import AttributeSet, Instruction, InstructionFields
from hlotool.ir.notes import PrintedSpan
from hlotool.literals.parse import parse_literal
from hlotool.memo import Memo
from hlotool.opdefs.base import OpDef
from hlotool.opdefs.module_attributes import MODULE_ATTRIBUTES
from hlotool.opdefs.table import CODECS, OPS
from hlotool.shapes.literal import Literal
from hlotool.shapes.shape import Shape, compatible
from hlotool.shapes.strings import is_raw_dict, unquote
from hlotool.text.parse.attributes import backend_config_text, has_pending, resolve_pending
from hlotool.text.parse.builder import ModuleBuilder, Scope
from hlotool.text.parse.instructions import checked_shape, needs_operands
from hlotool.text.parse.runs import RunReader
from hlotool.text.parse.segments import NeedsGrammar, SegmentCache
from hlotool.text.parse.session import ParseSession
from hlotool.text.source.marks import MARK_INTERVAL, marked_operands

__all__ = ["FastPath", "prints_unread"]

# Extra work for a head (shape and opcode): none, a parameter number, a literal, or a check of the shape.
_PLAIN, _PARAMETER, _CONSTANT, _CHECKED = range(4)
# How a part of a line is spelled, as sets of bits: in another way, as the formatter leaves it, or, in addition, as the printer writes it.
_OTHERWISE, _FORMATTED, _PRINTED = 0, 1, 3
_ANY_MARK = "/*index="
_CARRIAGE_RETURN = re.compile(r"[^\n]*\r\n")
# Shape, opcode, arity, attribute sets by text and whether each is pending, extra work, and how the text is spelled.
Head = tuple[Shape | None, OpDef, int, Memo[str, tuple[AttributeSet, bool]], int, int]


class FastPath(RunReader):
    """The fast path over one text; `count` is the number of instructions that it has built.

    `formatted_runs` are runs of lines that are spelled as the formatter leaves them, except perhaps for attributes, and end with `newline`: the
    ends of the runs by their starts.
    """

    def __init__(self, builder: ModuleBuilder) -> None:
        super().__init__()
        self.builder = builder
        self.count = 0
        self.formatted_runs: dict[int, int] = {}
        # In a text with index marks, they belong in long lists.
        self._unmarked = _OTHERWISE if _ANY_MARK in builder.source.text else _FORMATTED
        self.newline = "\r\n" if _CARRIAGE_RETURN.match(builder.source.text) else "\n"
        self.segments: SegmentCache = None  # type: ignore[assignment]  # set by `attach`
        self.heads: Memo[str, Head] = Memo(self._head)
        self.shape_spellings: Memo[str, int] = Memo(self._shape_spelling)
        self.attribute_memos: dict[str, Memo[str, tuple[AttributeSet, bool]]] = {}
        self.literals: dict[tuple[str, str], Literal] = {}
        self.numbers: Memo[str, int] = Memo(self._number)
        self.checked: dict[tuple[Any, ...], Shape] = {}
        self.configs: Memo[str, tuple[str | None, int]] = Memo(_configuration)
        self._header: tuple[str, list[tuple[int, str, Any]], str | None, int] | None = None

    def attach(self, session: ParseSession, known: FastPath | None = None) -> None:
        """Connects the fast path to its session; values of parts that `known`, the path of another parse, has read are not parsed again."""
        self.segments = SegmentCache(session)
        if known is not None:
            self.segments.adopt(known.segments)
            self.literals.update(known.literals)
            self.numbers.update(known.numbers)
            self.configs.update(known.configs)

    # ---- header -------------------------------------------------------------------------------------------------------

    def _read_header(self, text: str, position: int) -> bool:
        match = self.patterns.header.match(text, self._skip(text, position))
        if match is None or match[1] in self.reserved:
            return False
        attributes: list[tuple[int, str, Any]] = []
        try:
            for attribute in self.patterns.attribute.finditer(match[2]):
                name = attribute[1][:-1]
                spec = MODULE_ATTRIBUTES.get(name)
                if spec is None:
                    return False
                attributes.append((match.start(2) + attribute.start(1), name, self.segments.value(CODECS[spec.kind].rule, attribute[2])))
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

    # ---- computations -------------------------------------------------------------------------------------------------

    def _computations(self, text: str, position: int) -> tuple[int, bool]:
        builder, read, close = self.builder, self.patterns.computation.match, self.patterns.close.match
        while True:
            position = self._skip(text, position)
            header = read(text, position)
            if header is None or not self._open(header, position):
                return position, False
            position = self._run(text, header.end())
            end = close(text, position)
            if end is None or not builder.scope.computation.instructions:
                return position, True
            builder.close_computation(position, end.end(), end[1] or "main")
            position = end.end()

    def _open(self, header: Any, position: int) -> bool:
        entry, percent, name, parameters, result = header.groups()
        if not percent and name in self.reserved:
            return False
        shape = None
        try:
            if parameters is not None:
                self._check_parameters(parameters)
                shape = self.segments.shapes[result]
        except NeedsGrammar:
            return False
        self.builder.open_computation(name, position, is_entry=entry is not None, result=shape, result_position=header.start(5))
        return True

    def _check_parameters(self, text: str) -> None:
        """Checks the syntax of a signature's parameters; like XLA, ignores their names and shapes."""
        at, match, shapes = 0, self.patterns.parameter.match, self.segments.shapes
        while at < len(text):
            parameter = match(text, at)
            if parameter is None or (parameter.end() == len(text)) != (parameter.end(2) == len(text)):
                raise NeedsGrammar
            shapes[parameter[2]]
            at = parameter.end()

    # ---- instructions -------------------------------------------------------------------------------------------------

    def _head(self, text: str) -> Head:
        shape_text, _, opcode = text.rpartition(" ")
        op = OPS.get(opcode)
        if op is None or needs_operands(op):
            raise NeedsGrammar
        shape = self.segments.shapes[shape_text] if shape_text else None
        spelling = self.shape_spellings[shape_text] if shape_text else _FORMATTED
        if op.shape_ignored or prints_unread(op):
            spelling &= _FORMATTED
        memo = self.attribute_memos.get(opcode)
        if memo is None:
            memo = self.attribute_memos[opcode] = Memo(lambda text: self._attributes(op, text))
        if opcode in ("parameter", "constant"):
            if shape is None:
                raise NeedsGrammar
            return shape, op, 0, memo, _PARAMETER if opcode == "parameter" else _CONSTANT, spelling
        checked = shape is None or op.shape_ignored or op.check_parsed is not None or (op.variadic and bool(op.operands))
        return shape, op, op.arity, memo, _CHECKED if checked else _PLAIN, spelling

    def _shape_spelling(self, text: str) -> int:
        shape = self.segments.shapes[text]
        if text == shape.text:
            return _PRINTED
        return _FORMATTED if text == shape.text_without_layout else _OTHERWISE

    def _attributes(self, op: OpDef, text: str) -> tuple[AttributeSet, bool]:
        attributes = self.segments.attributes(op, text)
        return attributes, has_pending(attributes) or not op.operand_defaults.keys().isdisjoint(attributes)

    def _run(self, text: str, position: int) -> int:
        """Builds instructions line by line and returns the offset of the first line that it cannot read."""
        # A parse spends most of its time in this loop: hence local names, and no helper calls for common lines.
        scope = self.builder.scope
        match, heads, configs = self.patterns.line.match, self.heads, self.configs
        names, reserved, odd_names, computation = scope.names, self.reserved, scope.odd_names, scope.computation
        append, get = computation.instructions.append, names.__getitem__
        make_fields, final_class = cast("type[Instruction]", InstructionFields), Instruction
        started, first, unmarked, ending = len(computation.instructions), position, self._unmarked, self.newline[:-1]
        # The spelling of all lines so far, and where the current run of formatted lines starts.
        common_spelling, run_start = _OTHERWISE if started or ending else _PRINTED, position
        while True:
            line = match(text, position) or self._line_after_space(text, position)
            if line is None:
                break
            indent, root, percent, name, head, references, others, attribute_text, metadata, config, trailing = line.groups()
            immediate = None
            try:
                shape, op, arity, memo, work, spelling = heads[head]
                attributes, pending = memo[attribute_text]
                if references is None:
                    operands, shape, immediate, operands_spelling = self._other_operands(work, head, others, shape, scope)
                    spelling &= operands_spelling
                elif "/*" in references:
                    operands, operands_spelling = self._marked_operands(references, scope)
                    spelling &= operands_spelling
                else:
                    operands = tuple(map(get, references.split(", %")))
                    spelling &= _PRINTED if len(operands) <= MARK_INTERVAL else unmarked
                if work == _CHECKED:
                    shape = self._checked(head, attribute_text, shape, op, operands, attributes)
                if name in names or name in reserved or (odd_names and not percent) or (arity != len(operands) and arity >= 0):
                    break
                if pending:
                    attributes, attributes_spelling = _resolved(self.builder, op, shape, attributes)  # type: ignore[arg-type]
                    spelling &= attributes_spelling
                if config is not None:
                    config, config_spelling = configs[config]
                    spelling &= config_spelling
            except (KeyError, NeedsGrammar, Violation, ValueError):
                break
            spelling &= (_PRINTED if percent else _FORMATTED) if indent == "  " and trailing == ending else _OTHERWISE
            common_spelling &= spelling
            instruction = make_fields(name, op, shape, operands, attributes, immediate, metadata, config, position, line.end())
            instruction.__class__ = final_class
            if root:
                if scope.root_position >= 0:
                    break
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
        self._note_span(scope, first, position if common_spelling == _PRINTED else -1)
        return position

    def _line_after_space(self, text: str, position: int) -> re.Match[str] | None:
        """The next line after spaces and comments, None if there are none or the fast path cannot read it."""
        start = self._skip(text, position)
        return self.patterns.line.match(text, start) if start > position and text[start : start + 1] != "}" else None

    def _marked_operands(self, references: str, scope: Scope) -> tuple[tuple[Instruction, ...], int]:
        """Operands with index marks between them, and how they are spelled."""
        operand_names = self.patterns.index_mark.sub("", references).split(", %")
        operands = tuple([scope.names[name] for name in operand_names])
        return operands, _PRINTED if marked_operands(operand_names) == f"%{references}" else _OTHERWISE

    def _note_run(self, start: int, end: int, next_start: int) -> int:
        if start < end:
            self.formatted_runs[start] = end
        return next_start

    def _note_span(self, scope: Scope, start: int, end: int) -> None:
        """Notes that the source of a computation's instructions is spelled as printed; `end` is -1 if it is not."""
        computation, spans = scope.computation, self.builder.module.notes.spans
        if end >= 0 and scope.root_position >= 0:
            parameters = [scope.numbers[number] for number in sorted(scope.numbers)]
            spans[computation] = PrintedSpan(start, end, computation.root, parameters, computation.instructions.copy())
        else:
            spans.pop(computation, None)

    def _operands(self, text: str, scope: Scope) -> tuple[tuple[Instruction, ...], int]:
        """Operands that are written without percent signs or with their shapes, and how they are spelled."""
        if not scope.odd_names:
            try:
                plain = tuple([scope.names[name] for name in text.split(", ")])
            except KeyError:
                pass
            else:
                return plain, _FORMATTED if len(plain) <= MARK_INTERVAL else self._unmarked
        names, shapes, match, at, operands = scope.names, self.segments.shapes, self.patterns.typed_operand.match, 0, []
        spelling = _OTHERWISE if "/" in text else _FORMATTED
        while at < len(text):
            piece = match(text, at)
            if piece is None or (piece.end() == len(text)) != (piece.end(2) == len(text)):
                raise NeedsGrammar
            shape_text, name = piece.groups()
            operand = names[name]
            if name in self.reserved and text[piece.start(2) - 1] != "%":
                raise NeedsGrammar
            if shape_text:
                shape = shapes[shape_text]
                if shape is not operand.shape and not compatible(shape, operand.shape):
                    raise NeedsGrammar
                spelling &= self.shape_spellings[shape_text]
            operands.append(operand)
            at = piece.end()
        if len(operands) > MARK_INTERVAL:
            spelling &= self._unmarked
        return tuple(operands), spelling

    def _other_operands(
        self, work: int, head: str, others: str, shape: Shape | None, scope: Scope
    ) -> tuple[tuple[Instruction, ...], Shape | None, Any, int]:
        """Operands, shape, immediate and how these are spelled, for a line whose operands do not begin with a percent sign."""
        if work == _PARAMETER:
            number = self.numbers[others]
            if number in scope.numbers:
                raise NeedsGrammar
            return (), shape, number, _PRINTED
        if work == _CONSTANT:
            literal = self.literals.get((head, others)) or self._literal(head, others, shape)
            return (), literal.shape, literal, _PRINTED if literal.text == others else _OTHERWISE
        if not others:
            return (), shape, None, _PRINTED
        operands, spelling = self._operands(others, scope)
        return operands, shape, None, spelling

    def _checked(
        self, head: str, attribute_text: str, shape: Shape | None, op: OpDef, operands: Sequence[Instruction], attributes: AttributeSet
    ) -> Shape:
        """The checked or inferred shape; computed once for equal heads, attributes and operand shapes."""
        if op.arity >= 0 and len(operands) != op.arity:
            raise NeedsGrammar
        # Shapes live as long as their instructions, so their ids are unique during this parse.
        key = (head, attribute_text, *[id(operand.shape) for operand in operands])
        result = self.checked.get(key)
        if result is None:
            result = self.checked[key] = checked_shape(op, shape, operands, attributes)
        if shape is None and result.is_tuple:
            self.builder.count_inferred(result)
        return result

    def _literal(self, head: str, text: str, shape: Shape | None) -> Literal:
        if shape is None:
            raise NeedsGrammar
        literal = self.literals[head, text] = parse_literal(shape, text)
        return literal

    def _number(self, text: str) -> int:
        if not self.patterns.integer.fullmatch(text):
            raise NeedsGrammar
        return int(text)


def prints_unread(op: OpDef) -> bool:
    """Whether an opcode is printed with attributes that follow from its operands or result, even when the text does not have them."""
    return bool(op.derived) or any(op.attributes[name].always for name in op.operand_defaults)


def _configuration(text: str) -> tuple[str | None, int]:
    """The canonical text of a backend configuration at the end of a line, and how it is spelled.

    Raises NeedsGrammar when the configuration ends earlier.
    """
    if text[0] != '"' and not is_raw_dict(text):
        raise NeedsGrammar
    canonical = backend_config_text(unquote(text)) if text[0] == '"' else text
    return canonical, _PRINTED if canonical == text else _FORMATTED


def _resolved(builder: ModuleBuilder, op: OpDef, shape: Shape, attributes: AttributeSet) -> tuple[AttributeSet, int]:
    """The attributes with values that depend on the instruction; these may be printed in another way than they are spelled."""
    resolved = resolve_pending(builder, op, shape, attributes, {})
    is_same = resolved is attributes and op.operand_defaults.keys().isdisjoint(attributes)
    return resolved, _PRINTED if is_same else _FORMATTED
