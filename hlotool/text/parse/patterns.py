"""Regular expressions of the fast path, composed from the grammar's terminals.

They recognize text that is spelled as XLA prints it, one line at a time. Patterns for parts, such
as shapes and lists of values, only find the end of a part; a start rule of the grammar then reads
each distinct part once. All patterns are possessive and have no nested repetitions that could
backtrack, so a line that does not match fails in one pass. Patterns that few files need are
compiled on first use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from hlotool.memo import cached_property
from hlotool.text.parse.driver import shared_parser
from hlotool.text.source.trivia import TRIVIA

__all__ = ["NeedsGrammar", "Patterns", "patterns", "pieces"]

_SPACE = r"[ \t\r]*+"
_COMMENT = r"(?://[^\r\n]*+)?+"
# A line ends an instruction unless the next token is the comma of a further attribute.
_NO_COMMA = rf"(?:\n|\Z)(?!{TRIVIA},)"
_LINE_END = rf"{_SPACE}{_COMMENT}\r?+{_NO_COMMA}"
# The text that may follow a value: the next attribute or the end of the line.
_NEXT = r"(?:, [A-Za-z_][A-Za-z0-9_.\-]*+=|[ \t\r]*+(?://[^\n]*+)?+(?:\n|\Z))"
_STRING = r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"'
_ARRAY = r"[a-z][a-z0-9]*+\[[^\[\]{}()\s\"]*+\](?:\{[^{}\s\"]*+\})?+"
# A shape and an opcode: a tuple shape ends at the parenthesis before ` opcode(`.
_HEAD = rf"(?:(?:{_ARRAY}|\((?:[^)\n]++|\)(?! [a-z][a-z0-9\-]*+\())*+\)) )?+[a-z][a-z0-9\-]*+"
# A shape in a list of shapes. Tuples nested deeper than this are left to the grammar path.
_PARENTHESES = r"\((?:[^()\n]++|\((?:[^()\n]++|\((?:[^()\n]++|\([^()\n]*+\))*+\))*+\))*+\)"
_SHAPE = rf"(?:{_ARRAY}|{_PARENTHESES})"
_VALUE = (
    rf"(?:[^{{}}\[\]\"(),/\s]++|\{{(?:[^}}\n\"]++|{_STRING}|\}}(?!{_NEXT}))*+\}}|{_STRING}"
    r"|\[[0-9,]*+\]<=\[[0-9,]*+\](?:T\([0-9,]*+\))?+)"
)
_INDEX = r"/\*index=[0-9]++\*/"
# An integer as XLA prints it, without leading zeros.
_INT = r"(?:0|[1-9][0-9]{0,17}+)"
_INTS = rf"{_INT}(?:,{_INT})*+"

# A nonempty string of printable ASCII characters and simple escapes. XLA prints such strings
# unchanged, so they need no decoding.
_CANONICAL = r"\"(?:[ !#-&(-\[\]-~]++|\\[nrt\"'\\])++\""
_POSITIVE = r"[1-9][0-9]{0,8}+"
_METADATA_FIELDS = {
    "op_type": _CANONICAL,
    "op_name": _CANONICAL,
    "source_file": _CANONICAL,
    "source_line": _POSITIVE,
    "source_end_line": _POSITIVE,
    "source_column": _POSITIVE,
    "source_end_column": _POSITIVE,
    "deduplicated_name": _CANONICAL,
    "scheduling_name": r"\"[A-Za-z0-9_.\-]++\"",
    "stack_frame_id": _POSITIVE,
}
# The fields are in XLA's order, with one space between them.
_METADATA = r"\{(?:" + "".join(rf"(?:{name}={value}(?: (?!\}})|(?=\}})))?+" for name, value in _METADATA_FIELDS.items()) + r")(?<!\{)\}"

_LOCATION_FIELDS = ("file_name_id", "function_name_id", "line", "end_line", "column", "end_column")
_LOCATION = "[ ]".join(f"{field}=[0-9]{{1,9}}+" for field in _LOCATION_FIELDS)
_NAMES = rf"(?:[0-9]++ {_CANONICAL}\n)*+\n"
_TABLES = (
    rf"FileNames\n{_NAMES}FunctionNames\n{_NAMES}FileLocations\n(?:[0-9]++ \{{{_LOCATION}\}}\n)*+\n"
    r"StackFrames\n(?:[0-9]++ \{file_location_id=[0-9]{1,9}+ parent_frame_id=[0-9]{1,9}+\}\n)*+"
)


# Patterns that every dump needs, which are compiled at once.
_COMMON_PATTERNS = "space header line computation parameter close attribute simple_name integer integers plain_array shape_piece entry_layout".split()


class Patterns:
    """The compiled patterns; `patterns()` returns the instance of this process."""

    def __init__(self) -> None:
        self._grammar = shared_parser().grammar
        # PERCENT_NAME is a percent sign and a word.
        self._word = self._grammar.pattern("PERCENT_NAME").replace("%", "", 1)
        self._key = self._grammar.pattern("ATTRIBUTE")
        attributes = rf"((?:, (?!metadata=|backend_config=){self._key}{_VALUE})*+)"
        self._tail = rf"{attributes}(?:, metadata=({_METADATA}))?+(?:, backend_config=(\{{[^\n]*\}}|{_STRING}))?+({_SPACE}{_COMMENT}\r?+){_NO_COMMA}"
        for name in _COMMON_PATTERNS:
            getattr(self, name)

    @cached_property
    def line(self) -> re.Pattern[str]:
        """An instruction on a line of its own.

        The groups are the indentation; ROOT; the percent sign; the name; the head (shape and
        opcode); operands that begin with a percent sign, without that sign; operands of any other
        form; the attributes; the metadata; the backend configuration; and trailing spaces with a
        comment.
        """
        # A comment may contain a parenthesis, so the only comments read here are XLA's index marks.
        others = rf"(?:[^)/\n]++|\)(?!{_NEXT})|/\*i[a-z]*+[0-9]*+=[0-9]++\*/)*+"
        return re.compile(rf"({_SPACE})(ROOT )?+(%?+)((?!__){self._word}) = ({_HEAD})\((?:%([^()\n]*+)(?=\))|({others}))\){self._tail}")

    @cached_property
    def space(self) -> re.Pattern[str]:
        return re.compile(TRIVIA)

    @cached_property
    def index_mark(self) -> re.Pattern[str]:
        return re.compile(_INDEX)

    @cached_property
    def operand_names(self) -> re.Pattern[str]:
        """A list of operand names, the first without a percent sign, or a parameter's number."""
        return re.compile(rf"(?:[A-Za-z0-9_.\-]++(?:, %?+{self._word})*+)?+")

    @cached_property
    def typed_operand(self) -> re.Pattern[str]:
        return re.compile(rf"(?:({_SHAPE}) )?+%?+({self._word})(?:, (?:{_INDEX})?+|\Z)")

    # ---- computations and header ----------------------------------------------------------------

    @cached_property
    def computation(self) -> re.Pattern[str]:
        return re.compile(rf"(ENTRY )?+(%?+)({self._word})(?: \(([^\n]*?)\) -> ({_SHAPE}))?+ \{{{_SPACE}\n")

    @cached_property
    def close(self) -> re.Pattern[str]:
        return re.compile(rf"{_SPACE}\}}(?:, execution_thread=\"([^\"\\\n]*+)\")?+{_LINE_END}")

    @cached_property
    def parameter(self) -> re.Pattern[str]:
        return re.compile(rf"({self._word}): ({_SHAPE})(?:, |\Z)")

    @cached_property
    def header(self) -> re.Pattern[str]:
        return re.compile(rf"HloModule ({self._word})((?:, {self._key}{_VALUE})*+){_LINE_END}")

    @cached_property
    def tables(self) -> re.Pattern[str]:
        return re.compile(rf"\n*+({_TABLES})\n*+(?=[A-Za-z_%])")

    # ---- values ---------------------------------------------------------------------------------

    @cached_property
    def attribute(self) -> re.Pattern[str]:
        return re.compile(rf", ({self._key})({_VALUE})")

    @cached_property
    def simple_name(self) -> re.Pattern[str]:
        return re.compile(rf"%?+({self._word})")

    @cached_property
    def word(self) -> re.Pattern[str]:
        """A value that is a single token of any kind."""
        return re.compile(r"%?+[A-Za-z0-9_.\-]++")

    @cached_property
    def name_list(self) -> re.Pattern[str]:
        return re.compile(rf"\{{%?+{self._word}(?:, %?+{self._word})*+\}}")

    @cached_property
    def integer(self) -> re.Pattern[str]:
        return re.compile(_INT)

    @cached_property
    def integers(self) -> re.Pattern[str]:
        return re.compile(rf"\{{({_INTS})?+\}}")

    @cached_property
    def slices(self) -> re.Pattern[str]:
        piece = rf"\[{_INT}:{_INT}(?::{_INT})?+\]"
        return re.compile(rf"\{{{piece}(?:, {piece})*+\}}")

    @cached_property
    def plain_array(self) -> re.Pattern[str]:
        return re.compile(rf"({self._grammar.pattern('ELEMENT_TYPE')})\[({_INTS})?+\](?:\{{({_INTS})\}})?+")

    @cached_property
    def shape_piece(self) -> re.Pattern[str]:
        return re.compile(rf"({_SHAPE})(?:, ?+(?:{_INDEX})?+|\Z)")

    @cached_property
    def entry_layout(self) -> re.Pattern[str]:
        return re.compile(rf"\{{\((.*)\)->({_SHAPE})\}}")

    @cached_property
    def alias(self) -> re.Pattern[str]:
        return re.compile(rf"\{{({_INTS})?+\}}: \(([0-9]{{1,9}}+), \{{({_INTS})?+\}}, (may-alias|must-alias)\)(?:, |\Z)")

    @cached_property
    def reserved(self) -> frozenset[str]:
        """The grammar's keywords and element types, which are names only after a percent sign."""
        words = re.match(r"\(\?:\(\?!\(\?:([A-Za-z0-9_|]+)\)", self._grammar.pattern("IDENT"))
        assert words is not None, "IDENT begins with the words that it excludes"
        return frozenset(words[1].split("|"))


@lru_cache(maxsize=1)
def patterns() -> Patterns:
    """Returns the patterns of this process; creates them on first use."""
    return Patterns()


class NeedsGrammar(Exception):
    """Raised if the fast path cannot read some text, which is then left to the grammar path."""


def pieces(pattern: re.Pattern[str], text: str, group: int) -> Iterator[re.Match[str]]:
    """Yields the matches that cover a list; `group` is a piece without the separator after it.

    Raises NeedsGrammar if the text is not such a list.
    """
    at, end = 0, len(text)
    while at < end:
        piece = pattern.match(text, at)
        if piece is None or (piece.end() == end) != (piece.end(group) == end):
            raise NeedsGrammar
        yield piece
        at = piece.end()
