"""Reads the parts of lines and their spelling for the fast path, each distinct part only once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from hlotool.errors import Violation
from hlotool.ir.model import AttributeSet, Instruction
from hlotool.literals.literal import Literal
from hlotool.literals.parse import parse_literal
from hlotool.memo import Memo
from hlotool.opdefs.base import OpDef
from hlotool.opdefs.table import OPS
from hlotool.shapes.shape import Shape, compatible
from hlotool.shapes.strings import is_raw_dict, unquote
from hlotool.text.parse.attributes import backend_config_text, has_pending, resolve_pending
from hlotool.text.parse.builder import ModuleBuilder, Scope
from hlotool.text.parse.instructions import needs_operands, resolve_shape
from hlotool.text.parse.patterns import NeedsGrammar, patterns, pieces
from hlotool.text.parse.segments import SegmentCache
from hlotool.text.parse.session import ParseSession
from hlotool.text.source.marks import INDEX_MARK, MARK_INTERVAL, marked_operands

__all__ = ["CHECKED", "FORMATTED", "PRINTED", "UNFORMATTED", "LineParts", "prints_derived_attributes"]

# Extra work for a head (shape and opcode): none, a parameter number, a literal, or a check of the
# shape.
PLAIN, PARAMETER, CONSTANT, CHECKED = range(4)
# The spelling of a part of a line, as a set of bits. A part that is FORMATTED needs no formatting;
# a part that is PRINTED is also spelled as the printer writes it.
UNFORMATTED, FORMATTED, PRINTED = 0, 1, 3
# Shape, opcode, arity, attribute sets by text (and whether each is pending), extra work, spelling.
Head = tuple[Shape | None, OpDef, int, Memo[str, tuple[AttributeSet, bool]], int, int]


class LineParts:
    """A reader of the parts of lines.

    Methods raise KeyError, NeedsGrammar, Violation or ValueError if the fast path cannot read a
    part. Reuses the values of `known`, which belongs to another parse.
    """

    def __init__(self, builder: ModuleBuilder, session: ParseSession, known: LineParts | None = None) -> None:
        self.builder = builder
        self.patterns = patterns()
        self.segments = SegmentCache(session)
        # If the source has index marks, long lists without them do not count as formatted.
        self.unmarked = UNFORMATTED if INDEX_MARK in builder.source.text else FORMATTED
        self.heads: Memo[str, Head] = Memo(self._head)
        self.shape_spellings: Memo[str, int] = Memo(self._shape_spelling)
        self.attribute_memos: dict[str, Memo[str, tuple[AttributeSet, bool]]] = {}
        self.literals: dict[tuple[str, str], Literal] = {}
        self.numbers: Memo[str, int] = Memo(self._number)
        self.checked_shapes: dict[tuple[Any, ...], Shape] = {}
        self.configs: Memo[str, tuple[str | None, int]] = Memo(_configuration)
        if known is not None:
            self.segments.copy_values(known.segments)
            self.literals.update(known.literals)
            self.numbers.update(known.numbers)
            self.configs.update(known.configs)

    def close(self) -> None:
        """Drops everything that refers to instructions or computations.

        Keeps the values that another parse can use.
        """
        self.segments.close()
        self.heads.clear()
        self.attribute_memos.clear()
        for memo in (self.heads, self.shape_spellings, self.numbers):
            memo.close()

    def _head(self, text: str) -> Head:
        shape_text, _, opcode = text.rpartition(" ")
        op = OPS.get(opcode)
        if op is None or needs_operands(op):
            raise NeedsGrammar
        shape = self.segments.shapes[shape_text] if shape_text else None
        spelling = self.shape_spellings[shape_text] if shape_text else FORMATTED
        if op.shape_ignored or prints_derived_attributes(op):
            spelling &= FORMATTED
        memo = self.attribute_memos.get(opcode)
        if memo is None:
            memo = self.attribute_memos[opcode] = Memo(lambda text: self._attributes(op, text))
        if opcode in ("parameter", "constant"):
            if shape is None:
                raise NeedsGrammar
            return shape, op, 0, memo, PARAMETER if opcode == "parameter" else CONSTANT, spelling
        checked = shape is None or op.shape_ignored or op.check_parsed is not None or (op.variadic and bool(op.operands))
        return shape, op, op.arity, memo, CHECKED if checked else PLAIN, spelling

    def _shape_spelling(self, text: str) -> int:
        shape = self.segments.shapes[text]
        if text == shape.text:
            return PRINTED
        return FORMATTED if text == shape.text_without_layout else UNFORMATTED

    def _attributes(self, op: OpDef, text: str) -> tuple[AttributeSet, bool]:
        attributes = self.segments.attributes(op, text)
        return attributes, has_pending(attributes) or not op.operand_defaults.keys().isdisjoint(attributes)

    def _marked_operands(self, references: str, scope: Scope) -> tuple[tuple[Instruction, ...], int]:
        """Resolves a list of operands with index marks; returns the operands and the spelling."""
        operand_names = self.patterns.index_mark.sub("", references).split(", %")
        operands = tuple([scope.names[name] for name in operand_names])
        return operands, PRINTED if marked_operands(operand_names) == f"%{references}" else UNFORMATTED

    def resolve(self, op: OpDef, shape: Shape, attributes: AttributeSet, spelling: int) -> tuple[AttributeSet, int]:
        """Resolves values that depend on the instruction; returns the attributes and the spelling.

        The printer may write such values differently from the source line.
        """
        resolved = resolve_pending(self.builder, op, shape, attributes, {})
        is_same = resolved is attributes and op.operand_defaults.keys().isdisjoint(attributes)
        return resolved, spelling if is_same else spelling & FORMATTED

    def _operands(self, text: str, scope: Scope) -> tuple[tuple[Instruction, ...], int]:
        """Resolves operands without percent signs or with shapes; returns them and the spelling."""
        if not scope.odd_names:
            try:
                plain = tuple([scope.names[name] for name in text.split(", ")])
            except KeyError:
                pass
            else:
                return plain, FORMATTED if len(plain) <= MARK_INTERVAL else self.unmarked
        operands, spelling = [], UNFORMATTED if "/" in text else FORMATTED
        for piece in pieces(self.patterns.typed_operand, text, 2):
            shape_text, name = piece.groups()
            operands.append(scope.names[name])
            if name in self.patterns.reserved and text[piece.start(2) - 1] != "%":
                raise NeedsGrammar
            if shape_text:
                self._check_shape(shape_text, operands[-1])
                spelling &= self.shape_spellings[shape_text]
        if len(operands) > MARK_INTERVAL:
            spelling &= self.unmarked
        return tuple(operands), spelling

    def mark_user_of_broken(self, line: re.Match[str], scope: Scope) -> bool:
        """Marks the instruction of a line as broken if its only fault is a broken operand.

        Returns whether the instruction was marked. The error in the operand has been reported, so
        the instruction needs no report.
        """
        _, _, percent, name, head, references, others, attribute_text, _, config, _ = line.groups()
        if name in scope.names or name in self.patterns.reserved or (scope.odd_names and not percent):
            return False
        try:
            self.heads[head][3][attribute_text]
            if config is not None:
                self.configs[config]
            names = self._operand_names(self.patterns.index_mark.sub("", f"%{references}") if references is not None else others or "", scope)
        except (KeyError, NeedsGrammar, Violation, ValueError):
            return False
        first = next((operand for operand in names if operand not in scope.names), None)
        # An instruction that uses itself has a different error.
        if first not in scope.broken or name in names:
            return False
        scope.broken.add(name)
        return True

    def _operand_names(self, text: str, scope: Scope) -> list[str]:
        """Returns the names of operands that may have shapes.

        Raises NeedsGrammar if the shape of a defined operand is wrong.
        """
        names = []
        for piece in pieces(self.patterns.typed_operand, text, 2):
            shape_text, name = piece.groups()
            if name in self.patterns.reserved:
                raise NeedsGrammar
            if shape_text:
                self._check_shape(shape_text, scope.names.get(name))
            names.append(name)
        return names

    def _check_shape(self, text: str, operand: Instruction | None) -> None:
        """Raises NeedsGrammar if an operand is annotated with a wrong shape."""
        shape = self.segments.shapes[text]
        if operand is not None and shape is not operand.shape and not compatible(shape, operand.shape):
            raise NeedsGrammar

    def other_operands(
        self, work: int, head: str, references: str | None, others: str, shape: Shape | None, scope: Scope
    ) -> tuple[tuple[Instruction, ...], Shape | None, Any, int]:
        """Returns the operands, the shape, the immediate and the spelling of a line.

        Called only if the operands are not all plain names with percent signs.
        """
        if references is not None:
            operands, spelling = self._marked_operands(references, scope)
            return operands, shape, None, spelling
        if work == PARAMETER:
            number = self.numbers[others]
            if number in scope.numbers:
                raise NeedsGrammar
            return (), shape, number, PRINTED
        if work == CONSTANT:
            literal = self.literals.get((head, others)) or self._literal(head, others, shape)
            return (), literal.shape, literal, PRINTED if literal.spelling == others else UNFORMATTED
        if not others:
            return (), shape, None, PRINTED
        operands, spelling = self._operands(others, scope)
        return operands, shape, None, spelling

    def cached_shape(
        self, head: str, attribute_text: str, shape: Shape | None, op: OpDef, operands: Sequence[Instruction], attributes: AttributeSet
    ) -> Shape:
        """Returns the checked or inferred shape, cached by head, attributes and operand shapes."""
        if op.arity >= 0 and len(operands) != op.arity:
            raise NeedsGrammar
        # Shapes live as long as their instructions, so their ids are unique during this parse.
        key = (head, attribute_text, *[id(operand.shape) for operand in operands])
        result = self.checked_shapes.get(key)
        if result is None:
            result = self.checked_shapes[key] = resolve_shape(op, shape, operands, attributes)
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


def prints_derived_attributes(op: OpDef) -> bool:
    """Returns whether an opcode is printed with attributes that the text may lack.

    Such attributes follow from the operands or the result.
    """
    return bool(op.derived) or any(op.attributes[name].always for name in op.operand_defaults)


def _configuration(text: str) -> tuple[str | None, int]:
    """Returns the canonical text of a backend configuration at the end of a line, and its spelling.

    Raises NeedsGrammar if the configuration ends before the line does.
    """
    if text[0] != '"' and not is_raw_dict(text):
        raise NeedsGrammar
    canonical = backend_config_text(unquote(text)) if text[0] == '"' else text
    return canonical, PRINTED if canonical == text else FORMATTED
