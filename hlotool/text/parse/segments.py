"""Values of the parts of lines: shapes, attribute values and attribute lists.

Each distinct part is parsed only once. Simple forms are converted directly, and all others are
parsed with the grammar's start rules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lark.exceptions import UnexpectedInput
from lark.lexer import Token

from hlotool.errors import Violation
from hlotool.ir.model import AttributeSet
from hlotool.memo import Memo
from hlotool.opdefs.base import OpDef
from hlotool.opdefs.codecs.shapes import plain_array, valid_tuple
from hlotool.opdefs.common import COMMON_ATTRIBUTES
from hlotool.opdefs.table import CODECS
from hlotool.shapes.shape import ProgramShape, Shape
from hlotool.shapes.values import AliasPair, SliceRange
from hlotool.text.parse.attributes import Attribute, make_attributes
from hlotool.text.parse.driver import parse_segment
from hlotool.text.parse.patterns import NeedsGrammar, patterns, pieces
from hlotool.text.parse.session import ParseSession

__all__ = ["SegmentCache"]


_CALLED = frozenset({"called_computation", "called_computations"})


class SegmentCache:
    """A cache of values by text, for one parse."""

    def __init__(self, session: ParseSession) -> None:
        self.session = session
        self.builder = session.builder
        self.patterns = patterns()
        self.shapes: Memo[str, Shape] = Memo(self._shape)
        self.values: dict[tuple[str, str], Any] = {}
        self._direct: dict[str, Callable[[str], Any]] = {
            "ints": self._ints,
            "int": self._int,
            "bool": self._bool,
            "enum": self._enum,
            "slice_ranges": self._slices,
            "called_computation": self._computation,
            "called_computations": self._computations,
            "entry_layout": self._entry_layout,
            "input_output_alias": self._aliases,
        }

    def copy_values(self, other: SegmentCache) -> None:
        """Copies the values of another parse, except those that refer to parts of its module."""
        self.shapes.update(other.shapes)
        self.values.update({key: value for key, value in other.values.items() if key[0] not in _CALLED})

    def close(self) -> None:
        """Drops everything except the values."""
        self.shapes.close()
        self._direct.clear()
        self.session.fast_path = None

    # ---- shapes ---------------------------------------------------------------------------------

    def _shape(self, text: str) -> Shape:
        plain = self.patterns.plain_array.fullmatch(text)
        if plain is not None:
            try:
                shape = plain_array(plain[1], plain[2] or "", plain[3])
            except Violation:
                return self._read("shape", text)  # type: ignore[no-any-return]
            if plain[3] is not None or not plain[2]:
                shape.cache_text(text)
            return shape
        if text.startswith("(") and "(" not in text[1:]:
            try:
                return valid_tuple(self._shape_list(text[1:-1]), 0)
            except Violation:
                raise NeedsGrammar from None
        return self._read("shape", text)  # type: ignore[no-any-return]

    def _shape_list(self, text: str) -> list[Shape]:
        """Returns the shapes of a list separated by `, ` and index marks."""
        return [self.shapes[piece[1]] for piece in pieces(self.patterns.shape_piece, text, 1)]

    # ---- values ---------------------------------------------------------------------------------

    def value(self, rule: str, text: str) -> Any:
        """Returns the value of `text` according to a start rule of the grammar.

        Raises NeedsGrammar if the text does not follow the rule.
        """
        key = (rule, text)
        try:
            return self.values[key]
        except KeyError:
            direct = self._direct.get(rule)
            value = direct(text) if direct is not None else self._read(rule, text)
            self.values[key] = value
            return value

    def _read(self, rule: str, text: str) -> Any:
        try:
            return parse_segment(self.session, rule, text)
        except (UnexpectedInput, Violation):
            raise NeedsGrammar from None

    def _ints(self, text: str) -> Any:
        match = self.patterns.integers.fullmatch(text)
        if match is None:
            return self._read("ints", text)
        return tuple(map(int, match[1].split(","))) if match[1] else ()

    def _int(self, text: str) -> Any:
        return int(text) if self.patterns.integer.fullmatch(text) else self._read("int", text)

    def _bool(self, text: str) -> Any:
        return text == "true" if text in ("true", "false") else self._read("bool", text)

    def _enum(self, text: str) -> Any:
        match = self.patterns.simple_name.fullmatch(text)
        return Token("IDENT", text, 0) if match and text[0] != "%" and text not in self.patterns.reserved else self._read("enum", text)

    def _slices(self, text: str) -> Any:
        if not self.patterns.slices.fullmatch(text):
            return self._read("slice_ranges", text)
        return tuple([SliceRange(*map(int, numbers.split(":"))) for numbers in text[2:-2].split("], [")])

    def _computation(self, text: str) -> Any:
        match = self.patterns.simple_name.fullmatch(text)
        if match is None or (match[1] in self.patterns.reserved and text[0] != "%"):
            raise NeedsGrammar
        try:
            return self.builder.computations[match[1]]
        except KeyError:
            raise NeedsGrammar from None

    def _computations(self, text: str) -> Any:
        # Accepts only names: parsing an inline body adds a computation, which must not happen again
        # when the same text is parsed a second time.
        if not (text.startswith("{") and text.endswith("}")):
            raise NeedsGrammar
        return tuple([self._computation(name) for name in text[1:-1].split(", ")]) if text != "{}" else ()

    def _entry_layout(self, text: str) -> Any:
        match = self.patterns.entry_layout.fullmatch(text)
        if match is None:
            return self._read("entry_layout", text)
        return ProgramShape(tuple(self._shape_list(match[1])), self.shapes[match[2]])

    def _aliases(self, text: str) -> Any:
        if not (text.startswith("{ ") and text.endswith(" }")):
            return self._read("input_output_alias", text)
        inside, pairs, at = text[2:-2], [], 0
        while at < len(inside):
            match = self.patterns.alias.match(inside, at)
            if match is None or (match.end() == len(inside) and inside.endswith(", ")):
                return self._read("input_output_alias", text)
            output, number, index, kind = match.groups()
            pairs.append(AliasPair(_index(output), int(number), _index(index), kind))
            at = match.end()
        return tuple(pairs)

    # ---- attribute lists ------------------------------------------------------------------------

    def attributes(self, op: OpDef, text: str) -> AttributeSet:
        """Returns the attributes of an opcode, written as `, name=value, name=value`.

        Raises NeedsGrammar or Violation if the attributes cannot be read here.
        """
        items = []
        for match in self.patterns.attribute.finditer(text):
            name = match[1][:-1]
            spec = op.attributes.get(name) or COMMON_ATTRIBUTES.get(name)
            if spec is None:
                raise NeedsGrammar
            items.append(Attribute(name, self.value(CODECS[spec.kind].rule, match[2]), 0))
        attributes = make_attributes(self.builder, op, items, 0)
        self.builder.module.notes.set_spelling(op, attributes, text)
        return attributes


def _index(text: str | None) -> tuple[int, ...]:
    return tuple(map(int, text.split(","))) if text else ()
