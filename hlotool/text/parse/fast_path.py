"""The fast path: builds instructions from whole lines that are spelled the way XLA prints them.

It never reports an error: at the first line that it cannot read, the grammar path continues.
"""

from __future__ import annotations

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

__all__ = ["FastPath"]

# Extra work for a head (shape and opcode): none, a parameter number, a literal, or a check of the shape.
_PLAIN, _PARAMETER, _CONSTANT, _CHECKED = range(4)
# Shape, opcode, arity, attribute sets by text and whether each is pending, extra work, and whether the text is spelled as printed.
Head = tuple[Shape | None, OpDef, int, Memo[str, tuple[AttributeSet, bool]], int, bool]


class FastPath(RunReader):
    """The fast path over one text; `count` is the number of instructions that it has built."""

    def __init__(self, builder: ModuleBuilder) -> None:
        super().__init__()
        self.builder = builder
        self.count = 0
        self.segments: SegmentCache = None  # type: ignore[assignment]  # set by `attach`
        self.heads: Memo[str, Head] = Memo(self._head)
        self.attribute_memos: dict[str, Memo[str, tuple[AttributeSet, bool]]] = {}
        self.literals: dict[tuple[str, str], Literal] = {}
        self.numbers: Memo[str, int] = Memo(self._number)
        self.checked: dict[tuple[Any, ...], Shape] = {}
        self.configs: Memo[str, str | None] = Memo(_configuration)
        self._header: tuple[str, list[tuple[int, str, Any]], str | None, int] | None = None

    def attach(self, session: ParseSession) -> None:
        self.segments = SegmentCache(session)

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
        memo = self.attribute_memos.get(opcode)
        if memo is None:
            memo = self.attribute_memos[opcode] = Memo(lambda text: self._attributes(op, text))
        if opcode in ("parameter", "constant"):
            if shape is None:
                raise NeedsGrammar
            return shape, op, 0, memo, _PARAMETER if opcode == "parameter" else _CONSTANT, text == f"{shape.text} {opcode}"
        checked = shape is None or op.shape_ignored or op.check_parsed is not None or (op.variadic and bool(op.operands))
        as_printed = shape is not None and not op.shape_ignored and text == f"{shape.text} {opcode}"
        return shape, op, op.arity, memo, _CHECKED if checked else _PLAIN, as_printed

    def _attributes(self, op: OpDef, text: str) -> tuple[AttributeSet, bool]:
        attributes = self.segments.attributes(op, text)
        return attributes, has_pending(attributes)

    def _run(self, text: str, position: int) -> int:
        """Builds instructions line by line and returns the offset of the first line that it cannot read."""
        # A parse spends most of its time in this loop: hence local names, and no helper calls for common lines.
        scope = self.builder.scope
        match, heads, configs = self.patterns.line.match, self.heads, self.configs
        names, reserved, odd_names, computation = scope.names, self.reserved, scope.odd_names, scope.computation
        append, get, unmark = computation.instructions.append, names.__getitem__, self.patterns.index_mark.sub
        make_fields, final_class = cast("type[Instruction]", InstructionFields), Instruction
        started, first = len(computation.instructions), position
        # Whether all lines so far are spelled the way the printer would write them.
        as_printed = not started
        while True:
            line = match(text, position)
            if line is None:
                next_start = self._skip(text, position)
                line = match(text, next_start) if next_start > position and text[next_start : next_start + 1] != "}" else None
                if line is None:
                    break
                as_printed = False
            indent, root, percent, name, head, references, others, attribute_text, metadata, config, trailing = line.groups()
            immediate = None
            try:
                shape, op, arity, memo, work, head_as_printed = heads[head]
                attributes, pending = memo[attribute_text]
                if references is None:
                    operands, shape, immediate, operands_as_printed = self._other_operands(work, head, others, shape, scope)
                    as_printed = as_printed and operands_as_printed
                elif "/*" in references:
                    operand_names = unmark("", references).split(", %")
                    operands = tuple(map(get, operand_names))
                    as_printed = as_printed and marked_operands(operand_names) == f"%{references}"
                else:
                    operands = tuple(map(get, references.split(", %")))
                    as_printed = as_printed and len(operands) <= MARK_INTERVAL
                if work == _CHECKED:
                    shape = self._checked(head, attribute_text, shape, op, operands, attributes)
                if name in names or name in reserved or (odd_names and not percent) or (arity != len(operands) and arity >= 0):
                    break
                if pending:
                    attributes = resolve_pending(self.builder, op, shape, attributes, {})  # type: ignore[arg-type]
                if config is not None:
                    source_config, config = config, configs[config]
                    as_printed = as_printed and source_config == config
            except (KeyError, NeedsGrammar, Violation, ValueError):
                break
            as_printed = as_printed and head_as_printed and indent == "  " and bool(percent) and not trailing
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
            position = instruction.end
        self.count += len(computation.instructions) - started
        self._note_span(scope, first, position if as_printed else -1)
        return position

    def _note_span(self, scope: Scope, start: int, end: int) -> None:
        """Notes that the source of a computation's instructions is spelled as printed; `end` is -1 if it is not."""
        computation, spans = scope.computation, self.builder.module.notes.spans
        if end >= 0 and scope.root_position >= 0:
            spans[computation] = PrintedSpan(start, end, computation.root, len(computation.instructions))
        else:
            spans.pop(computation, None)

    def _operands(self, text: str, scope: Scope) -> tuple[Instruction, ...]:
        """Operands that are written without percent signs or with their shapes."""
        if not scope.odd_names:
            try:
                return tuple([scope.names[name] for name in text.split(", ")])
            except KeyError:
                pass
        names, shapes, match, at, operands = scope.names, self.segments.shapes, self.patterns.typed_operand.match, 0, []
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
            operands.append(operand)
            at = piece.end()
        return tuple(operands)

    def _other_operands(
        self, work: int, head: str, others: str, shape: Shape | None, scope: Scope
    ) -> tuple[tuple[Instruction, ...], Shape | None, Any, bool]:
        """Operands, shape, immediate and whether these are spelled as printed, for a line whose operands do not begin with a percent sign."""
        if work == _PARAMETER:
            number = self.numbers[others]
            if number in scope.numbers:
                raise NeedsGrammar
            return (), shape, number, True
        if work == _CONSTANT:
            literal = self.literals.get((head, others)) or self._literal(head, others, shape)
            return (), literal.shape, literal, literal.text == others
        if not others:
            return (), shape, None, True
        return self._operands(others, scope), shape, None, False

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


def _configuration(text: str) -> str | None:
    """The canonical text of a backend configuration at the end of a line. Raises NeedsGrammar when the configuration ends earlier."""
    if text[0] == '"':
        return backend_config_text(unquote(text))
    if not is_raw_dict(text):
        raise NeedsGrammar
    return text
