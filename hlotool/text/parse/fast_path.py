"""The fast path: builds runs of whole lines spelled as XLA spells them, without a token for each word.

It never decides that a text is wrong: whatever it cannot read it leaves to the ordinary lexer, which goes on at that line.
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
from hlotool.text.parse.attributes import backend_config_text, complete, is_pending
from hlotool.text.parse.builder import ModuleBuilder, Scope
from hlotool.text.parse.instructions import checked_shape, looks_at_operands
from hlotool.text.parse.runs import RunReader
from hlotool.text.parse.segments import Segments, Stop
from hlotool.text.parse.session import Session
from hlotool.text.source.marks import MARK_INTERVAL, marked_operands

__all__ = ["FastPath"]

# What a head (shape and opcode) needs beyond the common work.
_PLAIN, _PARAMETER, _CONSTANT, _CHECKED = range(4)
# Shape, opcode, arity, attribute sets by text and whether `complete` must see them, further work, whether the text is spelled as it is printed.
Head = tuple[Shape | None, OpDef, int, Memo[str, tuple[AttributeSet, bool]], int, bool]


class FastPath(RunReader):
    """The fast path over one text; `count` says how many instructions it built."""

    def __init__(self, builder: ModuleBuilder) -> None:
        super().__init__()
        self.builder = builder
        self.count = 0
        self.segments: Segments = None  # type: ignore[assignment]  # set by `attach`
        self.heads: Memo[str, Head] = Memo(self._head)
        self.attribute_memos: dict[str, Memo[str, tuple[AttributeSet, bool]]] = {}
        self.literals: dict[tuple[str, str], Literal] = {}
        self.numbers: Memo[str, int] = Memo(self._number)
        self.checked: dict[tuple[Any, ...], Shape] = {}
        self.configs: Memo[str, str | None] = Memo(_configuration)
        self._header: tuple[str, list[tuple[int, str, Any]], str | None, int] | None = None

    def attach(self, session: Session) -> None:
        self.segments = Segments(session)

    # ---- header -------------------------------------------------------------------------------------------------------

    def _read_header(self, text: str, position: int) -> bool:
        match = self.patterns.header.match(text, self._skip(text, position))
        if match is None or match[1] in self.reserved:
            return False
        attributes: list[tuple[int, str, Any]] = []
        try:
            for found in self.patterns.attribute.finditer(match[2]):
                name = found[1][:-1]
                spec = MODULE_ATTRIBUTES.get(name)
                if spec is None:
                    return False
                attributes.append((match.start(2) + found.start(1), name, self.segments.value(CODECS[spec.kind].rule, found[2])))
        except (Stop, Violation):
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
        except Stop:
            return False
        self.builder.open_computation(name, position, is_entry=entry is not None, result=shape, result_position=header.start(5))
        return True

    def _check_parameters(self, text: str) -> None:
        """Signature parameters are read and forgotten, as in XLA."""
        at, match, shapes = 0, self.patterns.parameter.match, self.segments.shapes
        while at < len(text):
            parameter = match(text, at)
            if parameter is None or (parameter.end() == len(text)) != (parameter.end(2) == len(text)):
                raise Stop
            shapes[parameter[2]]
            at = parameter.end()

    # ---- instructions -------------------------------------------------------------------------------------------------

    def _head(self, text: str) -> Head:
        shape_text, _, opcode = text.rpartition(" ")
        op = OPS.get(opcode)
        if op is None or looks_at_operands(op):
            raise Stop
        shape = self.segments.shapes[shape_text] if shape_text else None
        memo = self.attribute_memos.get(opcode)
        if memo is None:
            memo = self.attribute_memos[opcode] = Memo(lambda text: self._attributes(op, text))
        if opcode in ("parameter", "constant"):
            if shape is None:
                raise Stop
            return shape, op, 0, memo, _PARAMETER if opcode == "parameter" else _CONSTANT, text == f"{shape.text} {opcode}"
        checked = shape is None or op.shape_ignored or op.check_parsed is not None or (op.variadic and bool(op.operands))
        as_printed = shape is not None and not op.shape_ignored and text == f"{shape.text} {opcode}"
        return shape, op, op.arity, memo, _CHECKED if checked else _PLAIN, as_printed

    def _attributes(self, op: OpDef, text: str) -> tuple[AttributeSet, bool]:
        attributes = self.segments.attributes(op, text)
        return attributes, is_pending(attributes)

    def _run(self, text: str, position: int) -> int:
        """Builds instructions line by line and returns the offset of the first line that it cannot read."""
        # Local names and no helper calls on the common way, because this loop is where a parse spends its time.
        scope = self.builder.scope
        match, heads, configs = self.patterns.line.match, self.heads, self.configs
        names, reserved, odd_names, computation = scope.names, self.reserved, scope.odd_names, scope.computation
        append, get, unmark = computation.instructions.append, names.__getitem__, self.patterns.index_mark.sub
        make, sealed = cast("type[Instruction]", InstructionFields), Instruction
        started, first = len(computation.instructions), position
        # Whether all lines so far are spelled as the printer would spell them.
        as_printed = not started
        while True:
            line = match(text, position)
            if line is None:
                after = self._skip(text, position)
                line = match(text, after) if after > position and text[after : after + 1] != "}" else None
                if line is None:
                    break
                as_printed = False
            indent, root, percent, name, head, references, others, attribute_text, metadata, config, trailing = line.groups()
            immediate = None
            try:
                shape, op, arity, memo, work, head_as_printed = heads[head]
                attributes, is_pending = memo[attribute_text]
                if references is None:
                    operands, shape, immediate, spelled = self._unreferenced(work, head, others, shape, scope)
                    as_printed = as_printed and spelled
                elif "/*" in references:
                    bare = unmark("", references).split(", %")
                    operands = tuple(map(get, bare))
                    as_printed = as_printed and marked_operands(bare) == f"%{references}"
                else:
                    operands = tuple(map(get, references.split(", %")))
                    as_printed = as_printed and len(operands) <= MARK_INTERVAL
                if work == _CHECKED:
                    shape = self._checked(head, attribute_text, shape, op, operands, attributes)
                if name in names or name in reserved or (odd_names and not percent) or (arity != len(operands) and arity >= 0):
                    break
                if is_pending:
                    attributes = complete(self.builder, op, shape, attributes, {})  # type: ignore[arg-type]
                if config is not None:
                    written, config = config, configs[config]
                    as_printed = as_printed and written == config
            except (KeyError, Stop, Violation, ValueError):
                break
            as_printed = as_printed and head_as_printed and indent == "  " and bool(percent) and not trailing
            instruction = make(name, op, shape, operands, attributes, immediate, metadata, config, position, line.end())
            instruction.__class__ = sealed
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
        """Notes that a computation is spelled as it is printed from `start` to `end`, or that it is not where `end` is -1."""
        computation, spans = scope.computation, self.builder.module.notes.spans
        if end >= 0 and scope.root_position >= 0:
            spans[computation] = PrintedSpan(start, end, computation.root, len(computation.instructions))
        else:
            spans.pop(computation, None)

    def _operands(self, text: str, scope: Scope) -> tuple[Instruction, ...]:
        """Operands that are spelled bare or carry their shapes."""
        if not scope.odd_names:
            try:
                return tuple([scope.names[name] for name in text.split(", ")])
            except KeyError:
                pass
        names, shapes, match, at, found = scope.names, self.segments.shapes, self.patterns.typed_operand.match, 0, []
        while at < len(text):
            piece = match(text, at)
            if piece is None or (piece.end() == len(text)) != (piece.end(2) == len(text)):
                raise Stop
            shape_text, name = piece.groups()
            operand = names[name]
            if name in self.reserved and text[piece.start(2) - 1] != "%":
                raise Stop
            if shape_text:
                shape = shapes[shape_text]
                if shape is not operand.shape and not compatible(shape, operand.shape):
                    raise Stop
            found.append(operand)
            at = piece.end()
        return tuple(found)

    def _unreferenced(
        self, work: int, head: str, others: str, shape: Shape | None, scope: Scope
    ) -> tuple[tuple[Instruction, ...], Shape | None, Any, bool]:
        """Operands, shape and immediate of a line without percent signs among its operands, and whether it is spelled as printed."""
        if work == _PARAMETER:
            number = self.numbers[others]
            if number in scope.numbers:
                raise Stop
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
        """The shape where it is inferred or bound by a rule; equal circumstances are judged once."""
        if op.arity >= 0 and len(operands) != op.arity:
            raise Stop
        # Shapes live as long as their instructions, so their identities tell them apart during this parse.
        key = (head, attribute_text, *[id(operand.shape) for operand in operands])
        found = self.checked.get(key)
        if found is None:
            found = self.checked[key] = checked_shape(op, shape, operands, attributes)
        return found

    def _literal(self, head: str, text: str, shape: Shape | None) -> Literal:
        if shape is None:
            raise Stop
        literal = self.literals[head, text] = parse_literal(shape, text)
        return literal

    def _number(self, text: str) -> int:
        if not self.patterns.integer.fullmatch(text):
            raise Stop
        return int(text)


def _configuration(text: str) -> str | None:
    """The canonical text of a backend configuration that stands at the end of a line; raises Stop when it does not end there."""
    if text[0] == '"':
        return backend_config_text(unquote(text))
    if not is_raw_dict(text):
        raise Stop
    return text
