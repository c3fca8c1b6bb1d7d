"""Regular expressions of the fused path, composed from the grammar's terminals.

They recognise the spelling that XLA itself writes, one line at a time. Coarse pieces (a shape, a list of values) only find extents: what
they find is then read by the grammar's start rules, once for each distinct text.
"""

from __future__ import annotations

import re
from functools import lru_cache

from hlotool.text.driver import the_lark
from hlotool.text.grammar import terminal_pattern

__all__ = ["Patterns", "patterns"]


def _nested(opening: str, closing: str, inside: str, depth: int) -> str:
    """Brackets with `inside` between them, nested to a fixed depth; deeper ones go the slow path."""
    pattern = f"{opening}(?:{inside})*+{closing}"
    for _ in range(depth):
        pattern = f"{opening}(?:{inside}|{pattern})*+{closing}"
    return pattern


class Patterns:
    """The compiled expressions; one instance a process."""

    def __init__(self) -> None:
        lark = the_lark()

        def terminal(name: str) -> str:
            return terminal_pattern(lark, name)

        # PERCENT_NAME is a percent sign and a word.
        word = terminal("PERCENT_NAME").replace("%", "", 1)
        string = r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"'
        blank, comment = r"[ \t\r]*+", r"(?://[^\r\n]*+)?+"
        # A line ends an instruction unless the next token is the comma of a further attribute.
        between = r"(?:[ \t\r\n]++|//[^\r\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/)*+"
        line_end = rf"{blank}{comment}\r?+(?:\n|\Z)(?!{between},)"
        array = r"[a-z][a-z0-9]*+\[[^\[\]{}()\s\"]*+\](?:\{[^{}\s\"]*+\})?+"
        tuple_shape = _nested(r"\(", r"\)", r"[^()\n]++", 3)
        shape = rf"(?:{array}|{tuple_shape})"
        inside = rf'[^{{}}"\n]++|{string}'
        raw = _nested(r"\{", r"\}", inside, 6)
        braced = _nested(r"\{", r"\}", inside, 4)
        value = rf'(?:[^{{}}\[\]"(),\s]++|{braced}|{string}|{_IOTA})'
        key = terminal("ATTRIBUTE")
        attributes = rf"((?:, (?!metadata=|backend_config=){key}{value})*+)"
        tail = rf"{attributes}(?:, metadata=({_METADATA}))?+(?:, backend_config=({raw}|{string}))?+{line_end}"
        head = rf"((?:{shape} )?+[a-z][a-z0-9\-]*+)"
        operands = r"[^()\n]*+(?:\((?:[^()\n]++|\((?:[^()\n]++|\([^()\n]*+\))*+\))*+\)[^()\n]*+)*+"
        self.percent_line = re.compile(rf"{blank}(ROOT )?+%((?!__){word}) = {head}\((?:%([^()\n]*+)|({operands}))\){tail}")
        self.bare_line = re.compile(rf"{blank}(ROOT )?+((?!__){word}) = {head}\((?:()(?!)|({operands}))\){tail}")
        self.style = re.compile(rf"{blank}(?:ROOT )?+(%?+)[A-Za-z_]")
        self.blank = re.compile(between)
        self.index_mark = re.compile(r"/\*index=[0-9]++\*/")
        self.computation = re.compile(rf"(ENTRY )?+(%?+)({word})(?: \(([^\n]*?)\) -> ({shape}))?+ \{{{blank}\n")
        self.close = re.compile(rf"{blank}\}}(?:, execution_thread=\"([^\"\\\n]*+)\")?+{line_end}")
        self.parameter = re.compile(rf"({word}): ({shape})(?:, |\Z)")
        self.header = re.compile(rf"HloModule ({word})((?:, {key}{value})*+){line_end}")
        self.tables = re.compile(rf"\n*+({_tables()})\n*+")
        self.attribute = re.compile(rf", ({key})({value})")
        self.simple_name = re.compile(rf"%?+({word})")
        self.integer = re.compile(r"[0-9]{1,18}")
        self.integers = re.compile(r"\{([0-9]{1,18}+(?:,[0-9]{1,18}+)*+)?+\}")
        self.plain_array = re.compile(
            rf"({terminal('ELEMENT_TYPE')})\[([0-9]{{1,18}}+(?:,[0-9]{{1,18}}+)*+)?+\](?:\{{([0-9]{{1,9}}+(?:,[0-9]{{1,9}}+)*+)\}})?+"
        )
        self.shape_piece = re.compile(rf"({shape})(?:, (?:/\*index=[0-9]++\*/)?+|\Z)")
        self.typed_operand = re.compile(rf"({shape} )?+%?+({word})(?:, (?:/\*index=[0-9]++\*/)?+|\Z)")
        self.entry_layout = re.compile(rf"\{{\((.*)\)->({shape})\}}")
        self.alias = re.compile(
            r"\{([0-9]{1,9}+(?:,[0-9]{1,9}+)*+)?+\}: \(([0-9]{1,9}+), \{([0-9]{1,9}+(?:,[0-9]{1,9}+)*+)?+\}, (may-alias|must-alias)\)(?:, |\Z)"
        )
        not_names = re.match(r"\(\?:\(\?!\(\?:([A-Za-z0-9_|]+)\)", terminal("IDENT"))
        assert not_names is not None, "IDENT begins with the words that it is not"
        self.reserved = frozenset(not_names[1].split("|"))


_IOTA = r"\[[0-9,]*+\]<=\[[0-9,]*+\](?:T\([0-9,]*+\))?+"

# A string that is spelled as XLA spells it, so that it can be kept without decoding: printable ASCII and canonical escapes, not empty.
_CANONICAL = r"\"(?:[^\"\\'\x00-\x1f\x7f-\U0010ffff]++|\\[nrt\"'\\]|\\(?:0(?:[02][0-7]|1[034567]|3[0-7])|177|[23][0-7]{2}))++\""
_POSITIVE = r"[1-9][0-9]{0,8}+"


def _metadata() -> str:
    """The fields in XLA's order with one blank between: what is spelled so is canonical."""
    fields = [("op_type", _CANONICAL), ("op_name", _CANONICAL), ("source_file", _CANONICAL), ("source_line", _POSITIVE)]
    fields += [("source_end_line", _POSITIVE), ("source_column", _POSITIVE), ("source_end_column", _POSITIVE)]
    fields += [("deduplicated_name", _CANONICAL), ("scheduling_name", r"\"[A-Za-z0-9_.\-]++\""), ("stack_frame_id", _POSITIVE)]
    return r"\{(?! )" + "".join(rf"(?:(?<!\{{) {name}={value}|(?<=\{{){name}={value})?+" for name, value in fields) + r"(?<!\{)\}"


def _tables() -> str:
    names = rf"(?:[0-9]++ {_CANONICAL}\n)*+\n"
    location = "".join(f"{field}=[0-9]{{1,9}}+{sep}" for field, sep in zip(_LOCATION, ("[ ]",) * 5 + ("",), strict=True))
    return (
        rf"FileNames\n{names}FunctionNames\n{names}FileLocations\n(?:[0-9]++ \{{{location}\}}\n)*+\n"
        r"StackFrames\n(?:[0-9]++ \{file_location_id=[0-9]{1,9}+ parent_frame_id=[0-9]{1,9}+\}\n)*+"
    )


_LOCATION = ("file_name_id", "function_name_id", "line", "end_line", "column", "end_column")
_METADATA = _metadata()


@lru_cache(maxsize=1)
def patterns() -> Patterns:
    return Patterns()
