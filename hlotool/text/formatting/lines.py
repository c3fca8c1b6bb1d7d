"""Fast path of the formatter: formats whole lines with the parser's regular expressions.

A line that is already formatted takes one match and a few lookups, and runs of such lines are
copied together. Lines that do not match the expressions are left to the grammar path.
"""

from __future__ import annotations

from typing import Any

from lark.exceptions import UnexpectedInput

from hlotool.memo import Memo
from hlotool.opdefs.codecs.base import CODECS, WriteStyle
from hlotool.opdefs.common import COMMON_ATTRIBUTES
from hlotool.opdefs.module_attributes import MODULE_ATTRIBUTES
from hlotool.opdefs.table import OPS
from hlotool.text.formatting.attribute_order import HEADER_ORDER, attribute_order
from hlotool.text.formatting.pieces import Joiner
from hlotool.text.formatting.session import FormatSession
from hlotool.text.formatting.verbatim import VerbatimRanges
from hlotool.text.formatting.writer import Writer
from hlotool.text.parse.driver import CallbackFactory, parse_with_callbacks
from hlotool.text.parse.patterns import NeedsGrammar, pieces
from hlotool.text.parse.runs import RunReader
from hlotool.text.source.marks import MARK_INTERVAL
from hlotool.text.source.trivia import skip_trivia

__all__ = ["LineFormatter"]

_CONSTANT, _PARAMETER = "constant", "parameter"
# Kinds of values that refer to parts of the module. Codecs need the module to write such values.
_NAMES = frozenset({"Computation", "Computations", "ContinuedComputation", "Names"})
_STYLE = WriteStyle()


class LineFormatter(RunReader):
    """A formatter of whole lines; `callback` returns Lark's callbacks for all other parts."""

    def __init__(self, session: FormatSession, callback: CallbackFactory) -> None:
        super().__init__()
        self.session = session
        self.callback = callback
        self.writer = session.writer
        self.path = session.path
        self.heads: Memo[str, tuple[str, str, dict[str, str], str]] = Memo(self._head)
        self.attribute_memos: dict[str, Memo[str, str]] = {}
        self.values: dict[tuple[str, str], str] = {}
        self.shapes: Memo[str, str] = Memo(self._format_shape)
        self.operand_marks = "operands" in session.joiner.marks
        self.shape_marks = "shapes" in session.joiner.marks
        self._header: tuple[str, int, str | None, int, int] | None = None
        self.formatted_runs = _formatted_runs(self)

    # ---- header ---------------------------------------------------------------------------------

    def _read_header(self, text: str, position: int) -> bool:
        start = skip_trivia(text, position)
        match = self.patterns.header.match(text, start)
        if match is None or match[1] in self.reserved:
            return False
        try:
            attributes = self._attributes(match[2], HEADER_ORDER, MODULE_ATTRIBUTES)
        except NeedsGrammar:
            return False
        end = match.end(2) if match[2] else match.end(1)
        tables = self.patterns.tables.match(text, match.end())
        # Only the grammar path keeps comments after the header in place.
        if tables is None or "/" in text[end : match.end()]:
            self._header = (f"HloModule {match[1]}{attributes}", start, None, end, end)
        else:
            self._header = (f"HloModule {match[1]}{attributes}", start, tables[1], end, tables.start(1))
        return True

    def _take_header(self) -> int:
        assert self._header is not None
        text, start, tables, end, tables_start = self._header
        self.writer.item(start, end, text)
        if tables is None:
            return end
        tables_end = tables_start + len(tables.rstrip("\n"))
        self.writer.tables(tables_start, tables_end, tables.rstrip("\n").replace("\n", self.writer.newline))
        return tables_end

    # ---- computations ---------------------------------------------------------------------------

    def _computations(self, text: str, position: int) -> tuple[int, bool]:
        read, close, writer = self.patterns.computation.match, self.patterns.close.match, self.writer
        end = position
        while True:
            start = skip_trivia(text, end)
            header = read(text, start)
            if header is None:
                return end, False
            opening = self._opening(header)
            if opening is None:
                return end, False
            brace = text.rindex("{", 0, header.end()) + 1
            writer.item(start, brace, opening, empty_lines=writer.empty_before_computation)
            writer.open()
            end = self._run(text, header.end())
            closing = close(text, skip_trivia(text, end))
            if closing is None:
                return end, True
            thread = f', execution_thread="{closing[1]}"' if closing[1] is not None else ""
            brace = text.index("}", closing.start())
            end = closing.end(1) + 1 if thread else brace + 1
            writer.close(brace, end, "}" + thread)

    def _opening(self, header: Any) -> str | None:
        entry, percent, name, parameters, result = header.groups()
        if not percent and name in self.reserved:
            return None
        text = f"{entry or ''}{percent}{name} "
        if parameters is None:
            return text + "{"
        try:
            return f"{text}({self._parameters(parameters)}) -> {self._shape(result)} {{"
        except NeedsGrammar:
            return None

    def _parameters(self, text: str) -> str:
        return ", ".join([f"{parameter[1]}: {self._shape(parameter[2])}" for parameter in pieces(self.patterns.parameter, text, 2)])

    # ---- instructions ---------------------------------------------------------------------------

    def _run(self, text: str, position: int) -> int:
        """Formats lines of instructions; returns the offset after the last instruction."""
        match, heads, writer, newline = self.patterns.line.match, self.heads, self.writer, self.writer.newline
        is_plain, numbered, configs = self.patterns.operand_names.fullmatch, self.operand_marks, self.path.parts.configs
        ending = "\r" if newline == "\r\n" else ""
        verbatim: VerbatimRanges | None = writer.verbatim or None
        indent = "  " * writer.block.level
        formatted_runs = self.formatted_runs if writer.block.level == 1 else {}
        # The start of the current run of unchanged lines, or -1 outside of such runs.
        unchanged_start = -1
        end = line_start = position
        while True:
            run_end = formatted_runs.get(line_start)
            if run_end is not None:
                stop = run_end - len(newline)
                if unchanged_start < 0:
                    writer.write_gap(line_start + len(indent), stop)
                    unchanged_start = line_start
                end, line_start = stop, run_end
                continue
            line = match(text, line_start)
            if line is None:
                after = skip_trivia(text, line_start)
                line = match(text, after) if after > line_start and text[after : after + 1] != "}" else None
                if line is None:
                    break
                unchanged_start = self._copy_unchanged(unchanged_start, end)
            space, root, percent, name, head, references, others, attribute_text, metadata, config, trailing = line.groups()
            start = line.end(1)
            try:
                formatted_head, opcode, attributes, _ = heads[head]
                operands = references if references is not None else others
                if not is_plain(operands) or (numbered and operands.count(",") >= MARK_INTERVAL):
                    operands = self._operands(opcode, head, references, others)
                formatted = attributes[attribute_text]
                if config is not None:
                    # Raises NeedsGrammar if the value ends before the line does: more attributes
                    # may follow.
                    _ = configs[config]
            except NeedsGrammar:
                break
            stop = line.start(11)
            written = references if references is not None else others
            is_changed = formatted_head != head or operands != written or formatted != attribute_text
            if verbatim is not None and verbatim.overlaps(start, stop):
                unchanged_start = self._copy_unchanged(unchanged_start, end)
                writer.item(start, stop, "")
            elif is_changed or space != indent or self._is_too_long(stop - line.start()):
                unchanged_start = self._copy_unchanged(unchanged_start, end)
                opening = f"(%{operands})" if references is not None else f"({operands})"
                tail = (f", metadata={metadata}" if metadata is not None else "") + (f", backend_config={config}" if config is not None else "")
                writer.item(start, stop, f"{root or ''}{percent}{name} = {formatted_head}{opening}{formatted}{tail}")
            elif unchanged_start < 0:
                same_line = writer.write_gap(start, stop)
                unchanged_start = start if same_line else line.start()
            end, line_start = stop, line.end()
            if trailing != ending or text[line_start - 1 : line_start] != "\n":
                unchanged_start = self._copy_unchanged(unchanged_start, end)
        self._copy_unchanged(unchanged_start, end)
        return end

    def _is_too_long(self, length: int) -> bool:
        return self.writer.width is not None and length > self.writer.width

    def _copy_unchanged(self, start: int, end: int) -> int:
        """Copies the unchanged run text[start:end] unless `start` is -1; returns -1 (no run)."""
        if start >= 0:
            block = self.writer.block
            block.parts.append(self.session.text[start:end])
            block.written_end = end
        return -1

    def _head(self, text: str) -> tuple[str, str, dict[str, str], str]:
        shape, _, opcode = text.rpartition(" ")
        op = OPS.get(opcode)
        if op is None:
            raise NeedsGrammar
        memo = self.attribute_memos.get(opcode)
        if memo is None:
            names = {**COMMON_ATTRIBUTES, **op.attributes}
            memo = self.attribute_memos[opcode] = Memo(lambda text: self._attributes(text, attribute_order(opcode), names))
        return (f"{self._shape(shape)} {opcode}" if shape else opcode), opcode, memo, shape

    def _operands(self, opcode: str, head: str, references: str | None, others: str) -> str:
        """Formats operands.

        If all of them have percent signs (`references`), the result omits the first percent sign.
        """
        if references is not None:
            bare = self.patterns.index_mark.sub("", references)
            if not self.patterns.operand_names.fullmatch(bare):
                raise NeedsGrammar
            return _join(bare.split(", %"), "%", is_marked=self.operand_marks)
        if opcode == _CONSTANT:
            return self._constant(head, others)
        if opcode == _PARAMETER:
            number = self.patterns.index_mark.sub("", others).strip()
            if not self.patterns.integer.fullmatch(number):
                raise NeedsGrammar
            return number
        if not others:
            return others
        operands = []
        for piece in pieces(self.patterns.typed_operand, others, 2):
            percent = "%" if others[piece.start(2) - 1 : piece.start(2)] == "%" else ""
            shape = f"{self._shape(piece[1])} " if piece[1] else ""
            operands.append(f"{shape}{percent}{piece[2]}")
        return _join(operands, "", is_marked=self.operand_marks)

    def _constant(self, head: str, text: str) -> str:
        known = self.path.parts.literals.get((head, text))
        if known is None:
            # The text is not a single literal: the closing parenthesis may belong to another
            # instruction.
            raise NeedsGrammar
        if known.spelling == text:
            return text
        formatted = self.session.literal(head.rpartition(" ")[0], text, 0)
        if self.session.joiner.hoisted:
            self.session.joiner.hoisted = []
            raise NeedsGrammar
        return formatted

    # ---- pieces ---------------------------------------------------------------------------------

    def _shape(self, text: str) -> str:
        return text if self.patterns.plain_array.fullmatch(text) else self.shapes[text]

    def _format_shape(self, text: str) -> str:
        known = self.path.parts.segments.shapes.get(text)
        if known is not None and text in (known.text, known.text_without_layout):
            return text
        if text.startswith("("):
            try:
                return f"({self._shape_list(text[1:-1])})"
            except NeedsGrammar:
                pass
        return self._format("shape", text)

    def _shape_list(self, text: str) -> str:
        """Formats a comma-separated list of shapes."""
        shapes = [self._shape(piece[1]) for piece in pieces(self.patterns.shape_piece, text, 1)]
        return _join(shapes, "", is_marked=self.shape_marks)

    def _entry_layout(self, text: str) -> str:
        match = self.patterns.entry_layout.fullmatch(text)
        if match is None:
            raise NeedsGrammar
        return f"{{({self._shape_list(match[1])})->{self._shape(match[2])}}}"

    def _attributes(self, text: str, order: dict[str, int], specs: dict[str, Any]) -> str:
        """Formats an attribute list, `, name=value, name=value`, in the given order."""
        attributes = []
        for match in self.patterns.attribute.finditer(text):
            name = match[1][:-1]
            spec = specs.get(name)
            if spec is None or name not in order or name == "debug_attributes":
                raise NeedsGrammar
            attributes.append((order[name], f", {name}={self._value(spec.kind, match[2])}"))
        attributes.sort(key=lambda item: item[0])
        return "".join([attribute for _, attribute in attributes])

    def _value(self, kind: str, text: str) -> str:
        key = (kind, text)
        known = self.values.get(key)
        if known is None:
            known = self.values[key] = text if _is_formatted(self, kind, text) else self._format_value(CODECS[kind].rule, text)
        return known

    def _format_value(self, rule: str, text: str) -> str:
        if rule == "entry_layout":
            try:
                return self._entry_layout(text)
            except NeedsGrammar:
                pass
        return self._format(rule, text)

    def _format(self, rule: str, text: str) -> str:
        joiner = Joiner(text, self.session.joiner.marks)
        inner = FormatSession(joiner, Writer(joiner, VerbatimRanges([]), None), self.path)
        try:
            piece = parse_with_callbacks(inner, rule, self.callback)
        except UnexpectedInput:
            raise NeedsGrammar from None
        if joiner.hoisted or piece is None or "\n" in piece.text:
            raise NeedsGrammar
        formatted: str = piece.text
        return formatted


def _is_formatted(lines: LineFormatter, kind: str, text: str) -> bool:
    """Returns whether a value is known to be formatted; the caller formats all other values."""
    # A single word is a complete value only if it is a name. For other kinds of values, such as
    # shapes, it may be the start of a value that continues on the next line.
    if kind in _NAMES and (lines.patterns.word.fullmatch(text) or lines.patterns.name_list.fullmatch(text)):
        return True
    codec = CODECS[kind]
    value = lines.path.parts.segments.values.get((codec.rule, text), None)
    return value is not None and kind not in _NAMES and codec.write(codec.convert(value) if codec.convert else value, _STYLE) == text


def _formatted_runs(lines: LineFormatter) -> dict[int, int]:
    """Returns the runs of lines that can be copied, since the parser found that they are formatted.

    Returns no runs unless the attributes of all opcodes are formatted.
    """
    runs, writer, text = lines.path.formatted_runs, lines.writer, lines.session.text
    if not runs or writer.verbatim or writer.newline != lines.path.newline:
        return {}
    try:
        for opcode, memo in lines.path.parts.attribute_memos.items():
            formatted = lines.heads[opcode][2]
            if any(formatted[attributes] != attributes for attributes in memo):
                return {}
    except NeedsGrammar:
        return {}
    if writer.width is None:
        return runs
    return {start: end for start, end in runs.items() if max(map(len, text[start:end].splitlines())) <= writer.width}


def _join(parts: list[str], percent: str, *, is_marked: bool) -> str:
    """Joins the parts of a list, with `percent` before each part except the first.

    Adds index marks if `is_marked` is true.
    """
    separator = f", {percent}"
    if not is_marked or len(parts) <= MARK_INTERVAL:
        return separator.join(parts)
    groups = [separator.join(parts[k : k + MARK_INTERVAL]) for k in range(0, len(parts), MARK_INTERVAL)]
    return groups[0] + "".join([f", /*index={k * MARK_INTERVAL}*/{percent}{group}" for k, group in enumerate(groups[1:], 1)])
