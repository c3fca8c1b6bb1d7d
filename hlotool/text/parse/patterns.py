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
_COMMON_PATTERNS = "header line computation parameter close attribute simple_name integer integers plain_array shape_piece entry_layout".split()


class Patterns:
    """The compiled patterns by name; `patterns()` returns the instance of this process.

    `reserved` contains the grammar's keywords and element types, which are names only after a
    percent sign.
    """

    def __init__(self) -> None:
        grammar = shared_parser().grammar
        # PERCENT_NAME is a percent sign and a word.
        word, key = grammar.pattern("PERCENT_NAME").replace("%", "", 1), grammar.pattern("ATTRIBUTE")
        attributes = rf"((?:, (?!metadata=|backend_config=){key}{_VALUE})*+)"
        tail = rf"{attributes}(?:, metadata=({_METADATA}))?+(?:, backend_config=(\{{[^\n]*\}}|{_STRING}))?+({_SPACE}{_COMMENT}\r?+){_NO_COMMA}"
        # A comment may contain a parenthesis, so the only comments read here are XLA's index marks.
        others = rf"(?:[^)/\n]++|\)(?!{_NEXT})|/\*i[a-z]*+[0-9]*+=[0-9]++\*/)*+"
        self._sources = {
            # An instruction on a line of its own. The groups are the indentation; ROOT; the percent
            # sign; the name; the head (shape and opcode); operands that begin with a percent sign,
            # without that sign; operands of any other form; the attributes; the metadata; the
            # backend configuration; and trailing spaces with a comment.
            "line": rf"({_SPACE})(ROOT )?+(%?+)((?!__){word}) = ({_HEAD})\((?:%([^()\n]*+)(?=\))|({others}))\){tail}",
            "index_mark": _INDEX,
            # Names of operands, the first without a percent sign, or the number of a parameter.
            "operand_names": rf"(?:[A-Za-z0-9_.\-]++(?:, %?+{word})*+)?+",
            "typed_operand": rf"(?:({_SHAPE}) )?+%?+({word})(?:, (?:{_INDEX})?+|\Z)",
            # Computations and the header.
            "computation": rf"(ENTRY )?+(%?+)({word})(?: \(([^\n]*?)\) -> ({_SHAPE}))?+ \{{{_SPACE}\n",
            "close": rf"{_SPACE}\}}(?:, execution_thread=\"([^\"\\\n]*+)\")?+{_LINE_END}",
            "parameter": rf"({word}): ({_SHAPE})(?:, |\Z)",
            "header": rf"HloModule ({word})((?:, {key}{_VALUE})*+){_LINE_END}",
            "tables": rf"\n*+({_TABLES})\n*+(?=[A-Za-z_%])",
            # Attributes and their values. A `word` is a single token of any kind.
            "attribute": rf", ({key})({_VALUE})",
            "simple_name": rf"%?+({word})",
            "word": r"%?+[A-Za-z0-9_.\-]++",
            "name_list": rf"\{{%?+{word}(?:, %?+{word})*+\}}",
            "integer": _INT,
            "integers": rf"\{{({_INTS})?+\}}",
            "slices": rf"\{{(?:\[{_INT}:{_INT}(?::{_INT})?+\](?:, |\}}\Z))++",
            "plain_array": rf"({grammar.pattern('ELEMENT_TYPE')})\[({_INTS})?+\](?:\{{({_INTS})\}})?+",
            "shape_piece": rf"({_SHAPE})(?:, ?+(?:{_INDEX})?+|\Z)",
            "entry_layout": rf"\{{\((.*)\)->({_SHAPE})\}}",
            "alias": rf"\{{({_INTS})?+\}}: \(([0-9]{{1,9}}+), \{{({_INTS})?+\}}, (may-alias|must-alias)\)(?:, |\Z)",
        }
        words = re.match(r"\(\?:\(\?!\(\?:([A-Za-z0-9_|]+)\)", grammar.pattern("IDENT"))
        assert words is not None, "IDENT begins with the words that it excludes"
        self.reserved = frozenset(words[1].split("|"))
        for name in _COMMON_PATTERNS:
            getattr(self, name)

    def __getattr__(self, name: str) -> re.Pattern[str]:
        """Compiles a pattern; from then on, its name is an attribute."""
        if name not in self._sources:
            raise AttributeError(name)
        pattern = self.__dict__[name] = re.compile(self._sources[name])
        return pattern


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
