"""The fused path: builds runs of whole lines spelled as XLA spells them, without a token for each word.

It never decides that a text is wrong: whatever it cannot read it leaves to the ordinary lexer, which goes on at that line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hlotool.errors import Violation
from hlotool.ir.model import AttributeSet, Instruction
from hlotool.opdefs.base import OpDef
from hlotool.opdefs.module_attributes import MODULE_ATTRIBUTES
from hlotool.opdefs.table import CODECS, OPS
from hlotool.shapes.shape import Shape, compatible
from hlotool.shapes.strings import is_raw_dict, unquote
from hlotool.text.attributes import backend_config_text, complete
from hlotool.text.builder import ModuleBuilder, Scope
from hlotool.text.instructions import checked_shape
from hlotool.text.literal import parse_literal
from hlotool.text.memo import Memo
from hlotool.text.patterns import patterns
from hlotool.text.segments import Segments, Stop
from hlotool.text.session import Session

__all__ = ["FusedPath"]

# What a head (shape and opcode) needs beyond the common work.
_PLAIN, _PARAMETER, _CONSTANT, _CHECKED = range(4)
# Opcodes that look at more of their operands than their shapes.
_SLOW = frozenset({"async-start", "async-update", "async-done", "send-done", "recv-done"})
Head = tuple[Shape | None, OpDef, int, Memo[str, AttributeSet], int]


class FusedPath:
    """The fused path over one text; `count` says how many instructions it built."""

    def __init__(self, builder: ModuleBuilder) -> None:
        self.builder = builder
        self.patterns = patterns()
        self.reserved = self.patterns.reserved
        self.count = 0
        self.segments: Segments = None  # type: ignore[assignment]  # set by `attach`
        self.heads: Memo[str, Head] = Memo(self._head)
        self.attribute_memos: dict[str, Memo[str, AttributeSet]] = {}
        self.literals: dict[tuple[str, str], Any] = {}
        self.configs: Memo[str, str | None] = Memo(_configuration)
        # Where the last attempts failed, so that they are not repeated.
        self._failed_run = -1
        self._failed_computation = -1
        self._header: tuple[str, list[tuple[int, str, Any]], str | None, int] | None = None

    def attach(self, session: Session) -> None:
        self.segments = Segments(session)

    # ---- what the lexer asks ------------------------------------------------------------------------------------------

    def announce(self, text: str, position: int, accepted: frozenset[str]) -> str | None:
        """The FUSED_ token to give to the parser here, None when the ordinary lexer shall go on."""
        if "FUSED_HEADER" in accepted:
            return "FUSED_HEADER" if self._read_header(text, position) else None
        start = self._skip(text, position)
        if "FUSED_COMPUTATIONS" in accepted:
            if start != self._failed_computation and self.patterns.computation.match(text, start):
                return "FUSED_COMPUTATIONS"
        elif "FUSED_RUN" in accepted and start != self._failed_run and self._line(text, start) is not None:
            return "FUSED_RUN"
        return None

    def consume(self, kind: str, text: str, position: int) -> tuple[int, bool]:
        """Builds what was announced; returns the offset behind it and whether a computation was left open there."""
        if kind == "FUSED_HEADER":
            assert self._header is not None
            name, attributes, tables, end = self._header
            self.builder.set_header(name, attributes)
            self.builder.module.stack_tables_text = tables
            return end, False
        start = self._skip(text, position)
        if kind == "FUSED_COMPUTATIONS":
            end, still_open = self._computations(text, start)
            if end == start:
                self._failed_computation = start
            return end, still_open
        end = self._run(text, start)
        if end == start:
            self._failed_run = start
        return end, False

    def _skip(self, text: str, position: int) -> int:
        match = self.patterns.blank.match(text, position)
        return match.end() if match else position

    def _line(self, text: str, start: int) -> Any:
        """The match function for the spelling of names used at `start`, None when no whole line is there."""
        style = self.patterns.style.match(text, start)
        if style is None or (not style[1] and self.builder.scopes and self.builder.scope.odd_names):
            return None
        match = self.patterns.percent_line.match if style[1] else self.patterns.bare_line.match
        return match if match(text, start) else None

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
        self._header = (match[1], attributes, tables[1].strip("\n") + "\n" if tables else None, end)
        return True

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
        if op is None or opcode in _SLOW:
            raise Stop
        shape = self.segments.shapes[shape_text] if shape_text else None
        memo = self.attribute_memos.get(opcode)
        if memo is None:
            memo = self.attribute_memos[opcode] = Memo(lambda text: self.segments.attributes(op, text))
        if opcode in ("parameter", "constant"):
            if shape is None:
                raise Stop
            return shape, op, 0, memo, _PARAMETER if opcode == "parameter" else _CONSTANT
        checked = shape is None or op.shape_ignored or op.parse_rule is not None or (op.variadic and bool(op.operands))
        return shape, op, op.arity, memo, _CHECKED if checked else _PLAIN

    def _run(self, text: str, position: int) -> int:
        """Builds instructions line by line and returns the offset of the first line that it cannot read."""
        scope = self.builder.scope
        match = self._line(text, position)
        if match is None:
            return position
        # Local names, because this loop is where a parse spends its time.
        names, heads, configs, reserved = scope.names, self.heads, self.configs, self.reserved
        append, get, computation, empty = scope.computation.instructions.append, scope.names.__getitem__, scope.computation, ()
        unmark = self.patterns.index_mark.sub
        operands: Sequence[Instruction]
        started = len(computation.instructions)
        while True:
            line = match(text, position)
            if line is None:
                after = self._skip(text, position)
                if after == position or text[after : after + 1] == "}":
                    break
                line = match(text, after)
                if line is None:
                    break
            root, name, head, references, others, attribute_text, metadata, config = line.groups()
            try:
                shape, op, arity, memo, work = heads[head]
                attributes = memo[attribute_text]
                if references is not None:
                    if "/*" in references:
                        references = unmark("", references)
                    operands = tuple(map(get, references.split(", %")))
                elif others and not (work == _PARAMETER or work == _CONSTANT):
                    operands = self._operands(others, scope)
                else:
                    operands = empty
                if name in names or name in reserved or (arity >= 0 and len(operands) != arity):
                    break
                immediate = None
                if work:
                    shape, immediate = self._special(work, head, shape, op, operands, attributes, others)
                if attributes.pending:
                    attributes = complete(self.builder, op, shape, attributes, {})  # type: ignore[arg-type]
                if config is not None:
                    config = configs[config]
            except (KeyError, Stop, Violation, ValueError):
                break
            end = line.end()
            instruction = Instruction(name, op, shape, operands, attributes, immediate, metadata, config, position, end)  # type: ignore[arg-type]
            if root:
                if scope.root_position >= 0:
                    break
                scope.root_position, computation.root = position, instruction
            if work == _PARAMETER:
                scope.numbers[immediate] = instruction
            names[name] = instruction
            append(instruction)
            position = end
        self.count += len(computation.instructions) - started
        return position

    def _operands(self, text: str, scope: Scope) -> tuple[Instruction, ...]:
        """Operands that are spelled bare or carry their shapes."""
        names, shapes, match, at, found = scope.names, self.segments.shapes, self.patterns.typed_operand.match, 0, []
        while at < len(text):
            piece = match(text, at)
            if piece is None or (piece.end() == len(text)) != (piece.end(2) == len(text)):
                raise Stop
            operand = names[piece[2]]
            if text[piece.start(2) - 1] != "%" and piece[2] in self.reserved:
                raise Stop
            if piece[1] and not compatible(shapes[piece[1][:-1]], operand.shape):
                raise Stop
            found.append(operand)
            at = piece.end()
        return tuple(found)

    def _special(
        self, work: int, head: str, shape: Shape | None, op: OpDef, operands: Sequence[Instruction], attributes: AttributeSet, others: str | None
    ) -> tuple[Shape, Any]:
        """Shape and immediate of what is not plain: parameters, constants, inferred or rule-bound shapes."""
        if work == _CHECKED:
            return checked_shape(op, shape, operands, attributes, 0), None
        if others is None or shape is None:
            raise Stop
        if work == _PARAMETER:
            if not self.patterns.integer.fullmatch(others) or int(others) in self.builder.scope.numbers:
                raise Stop
            return shape, int(others)
        key = (head, others)
        literal = self.literals.get(key)
        if literal is None:
            literal = self.literals[key] = parse_literal(shape, others)
        return literal.shape, literal


def _configuration(text: str) -> str | None:
    """The canonical text of a backend configuration that stands at the end of a line; raises Stop when it does not end there."""
    if text[0] == '"':
        return backend_config_text(unquote(text))
    if not is_raw_dict(text):
        raise Stop
    return text
