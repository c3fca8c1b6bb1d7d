"""Messages for syntax errors: what the parser expected and found, and hints for common mistakes."""

from __future__ import annotations

import re
from typing import NamedTuple

from hlotool.errors import nearest
from hlotool.opdefs.common import COMMON_ATTRIBUTES
from hlotool.opdefs.module_attributes import MODULE_ATTRIBUTES
from hlotool.opdefs.table import OPS
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.text.parse.near_names import opcode_hint, suggest_type
from hlotool.text.source.trivia import skip_trivia

__all__ = ["TO_APPLY_AND_CALLS", "SyntaxMistake", "describe_syntax_error"]

TO_APPLY_AND_CALLS = "an instruction cannot have both to_apply and calls"

_TERMINALS = {
    "a name": "IDENT PERCENT_NAME COLON_NAME",
    "an attribute": "ATTRIBUTE",
    "an opcode": "OPCODE PARAMETER CONSTANT",
    "a shape": "ELEMENT_TYPE BUFFER",
    "an integer": "INT",
    "a number": "DECIMAL NAN INF NEGATIVE_INF",
    "a string": "STRING",
    "true or false": "TRUE FALSE",
    "sizes like 2x3": "DXD",
    "padding like 0_0x1_1": "PAD",
    "dimension labels like b01f_01io->b01f": "DIM_LABELS",
    "a dictionary {...}": "RAW_DICT",
    "a value": "RAW_VALUE",
    "a literal": "LITERAL_TEXT",
    "a layout": "LAYOUT_OPEN",
    "an instruction": "ROOT",
    "a computation": "ENTRY",
    "HloModule": "HLO_MODULE",
    "the end of the text": "$END",
    "'{'": "LBRACE",
    "'}'": "RBRACE",
    "'('": "LPAR",
    "')'": "RPAR",
    "'['": "LSQB",
    "']'": "RSQB",
    "','": "COMMA",
    "':'": "COLON",
    "'='": "EQUAL",
    "'->'": "ARROW",
    "'<='": "BOUND",
    "'?'": "QUESTION",
    "'#'": "HASH",
    "'*'": "ASTERISK",
    "'...'": "DOTS",
    "'+'": "PLUS",
    "'~'": "TILDE",
    "FileNames": "FILE_NAMES",
    "FunctionNames": "FUNCTION_NAMES",
    "FileLocations": "FILE_LOCATIONS",
    "StackFrames": "STACK_FRAMES",
    "a metadata field": "KEY_OF_METADATA_STRING KEY_OF_METADATA_INT KEY_OF_PROFILE",
    "execution_thread=": "KEY_EXECUTION_THREAD",
    "a window field": "KEY_OF_WINDOW KEY_OF_PAD KEY_OF_REVERSAL",
    "may-alias or must-alias": "ALIAS_KIND",
    "a dimension level": "DIM_LEVEL",
}
# The texts of terminals that match several keys or words, or have another name.
_SPELLINGS = {
    "KEY_OF_SHARDING_METADATA": "metadata=",
    "KEY_OF_LOCATION": "file_name_id= function_name_id= line= end_line= column= end_column=",
    "KEY_OF_FRAME": "file_location_id= parent_frame_id=",
    "KEY_OF_DOMAIN": "entry= exit=",
    "KEY_OF_BOUND": "atol= rtol= ulps=",
    "KEY_OF_SIDE": "lhs= rhs=",
    "KEY_OF_SPARSITY_INT": "dimension= stride= idx=",
    "REDUCTION": "sum max min",
    "TRANSPOSED": "T",
}
# The description of each terminal.
_WORDS = {terminal: word for word, terminals in _TERMINALS.items() for terminal in terminals.split()}
_FIELDS = {
    "a metadata field": (
        "op_type op_name source_file source_line source_end_line source_column source_end_column profile_type deduplicated_name scheduling_name"
        " stack_frame_id metadata_payload"
    ).split(),
    "a window field": "size stride pad lhs_dilate rhs_dilate rhs_reversal".split(),
}
# The key before the value of a frontend attribute, and the keyword before a module's name.
_MAX_KEY_LENGTH = 200
_FRONTEND_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]*(?<!backend_config)=[ \t]*\Z")
_MODULE_WORD = re.compile(r"(?<![A-Za-z0-9_.\-])HloModule\s*\Z")
# The start of a list of names as the value of an attribute that takes a computation. An inline body
# could begin in the same way.
_LISTED_NAME = re.compile(r"(?P<key>[a-z_]+)=[ \t]*\{[ \t]*(?P<name>%?[A-Za-z_][A-Za-z0-9_.\-]*)[ \t]*\Z")
_WORD = re.compile(r"%?[A-Za-z_][A-Za-z0-9_.\-]*=?|-?[0-9][0-9A-Za-z_.+\-]*|\"(?:[^\"\\\n]++|\\.)*+\"?|->|<=|\.\.\.|.", re.DOTALL)
# The word before an error, and the equals sign after it, if any.
_PRECEDING_WORD = re.compile(r"([A-Za-z_][A-Za-z0-9_\-]*+)(=?+)[ \t]*+\Z")
_CONTEXT = 80
# A word and its opening bracket; the error is at the bracket or after it. An opcode follows an
# equals sign or the end of a shape.
_OPENED_WORD = re.compile(r"(?P<before>[\])}=][ \t]+)?(?<![A-Za-z0-9_.\-%])(?P<word>[A-Za-z_][A-Za-z0-9_.\-]*)(?P<bracket>[\[(])[ \t]*\Z")
_PUNCTUATION = frozenset("{}()[],:=#%\"'/")


def _terminal_words(terminal: str) -> list[str]:
    if terminal in _WORDS:
        return [_WORDS[terminal]]
    if terminal in _SPELLINGS:
        return [f"'{text}'" for text in _SPELLINGS[terminal].split()]
    if terminal.startswith(("FAST_", "WHITESPACE", "COMMENT")):
        return []
    if terminal.startswith("KEY_OF_"):
        return [f"'{terminal.removeprefix('KEY_OF_').lower()}='"]
    if terminal.startswith("KEY_"):
        return ["an attribute"]
    if terminal.startswith("LAYOUT_"):
        return ["a layout suffix"]
    return [f"'{terminal.lower()}'"]


class SyntaxMistake(NamedTuple):
    """The code, message and hint of a syntax error.

    `at` is the offset of the wrong word if the word precedes the position of the error.
    """

    code: str
    message: str
    hint: str | None = None
    at: int | None = None


def describe_syntax_error(text: str, position: int, accepts: frozenset[str]) -> SyntaxMistake:
    """Describes the error at `position`; the parser accepts the terminals in `accepts` there."""
    return _find_misspelling(text, position) or SyntaxMistake(*_describe(text, position, accepts))


def _find_misspelling(text: str, position: int) -> SyntaxMistake | None:
    """Finds an unknown opcode or element type before the bracket at which the parser failed."""
    start = max(0, position - _MAX_KEY_LENGTH)
    array = _OPENED_WORD.search(text, start, position + 1)
    if array is not None and array["bracket"] == "[" and array["word"] not in ELEMENT_TYPES and suggest_type(array["word"]) is not None:
        return SyntaxMistake("S036", f"unknown element type '{array['word']}'", _type_hint(array["word"]), array.start("word"))
    call = _OPENED_WORD.search(text, start, position)
    if call is None or call["bracket"] == "[" or not call["before"] or call["word"] in OPS or call["word"].rpartition("-")[0] in OPS:
        return None
    return SyntaxMistake("S012", f"unknown opcode '{call['word']}'", opcode_hint(call["word"]), call.start("word"))


def _type_hint(word: str) -> str | None:
    meant = suggest_type(word)
    if meant is None:
        return None
    return f"element types are lower case: {meant}" if meant == word.lower() else f"did you mean '{meant}'?"


def _describe(text: str, position: int, accepts: frozenset[str]) -> tuple[str, str, str | None]:
    if skip_trivia(text, 0) == len(text):
        return "S001", "the text is empty", "a module begins with HloModule, or with a computation"
    match = _WORD.match(text, position)
    seen = match[0] if match else ""
    words = sorted({word for terminal in accepts for word in _terminal_words(terminal)}, key=lambda w: (w.startswith("'"), w))
    if len(words) > 6:
        words = [*words[:6], "..."]
    shown = f"'{seen[:60]}'" if seen else "the end of the text"
    expected = _join(words)
    code, hint = _known_mistake(text, position, seen, accepts)
    before = _PRECEDING_WORD.search(text[max(0, position - _CONTEXT) : position])
    word = before[1] if before is not None else ""
    if code == "S001" and before is not None and before[2] and _is_attribute(word):
        return "S017", f"'{word}' expects {expected}, found {shown}", hint
    misnamed = seen if "ROOT" in accepts and _is_defined(text, position + len(seen)) else word if accepts == {"LSQB"} else ""
    if code == "S001" and misnamed.lstrip("%") in ELEMENT_TYPES:
        name = misnamed.lstrip("%")
        return "S046", f"'{name}' is an element type and cannot be the name of an instruction", f"rename it to '{name}_'"
    listed = _LISTED_NAME.search(text, max(0, position - _MAX_KEY_LENGTH), position) if "EQUAL" in accepts and seen in ("}", ",") else None
    if listed is not None and listed["key"] == "calls" and "to_apply=" in text[text.rfind("\n", 0, position) + 1 : position]:
        return "S042", TO_APPLY_AND_CALLS, None
    if listed is not None:
        return (
            "S017",
            f"'{listed['key']}' takes the name of a computation or its body, not a list of names",
            f"write {listed['key']}={listed['name']}",
        )
    if code == "S001" and "EQUAL" in accepts and len(seen) == 1 and not seen.isalnum() and seen not in _PUNCTUATION:
        return "S048", f"{shown} is not allowed in a name", "names consist of letters, digits, '_', '.' and '-'"
    if code == "S036":
        return code, f"unknown element type {shown}", hint
    return code, f"expected {expected}, found {shown}", hint


def _join(words: list[str]) -> str:
    """Joins the words with commas and `or`; `...` as the last word marks a truncated list."""
    if not words:
        return "the end of the text"
    if words[-1] == "...":
        return f"one of {', '.join(words)}"
    return ", ".join(words[:-1]) + (" or " if len(words) > 1 else "") + words[-1]


def _is_attribute(word: str) -> bool:
    """Returns whether modules or instructions have an attribute with this name."""
    return word in MODULE_ATTRIBUTES or word in COMMON_ATTRIBUTES or any(word in op.attributes for op in OPS.values())


def _is_defined(text: str, end: int) -> bool:
    """Returns whether `=` follows the word that ends at `end`, as in a definition."""
    return text[end : end + _CONTEXT].lstrip(" \t").startswith("=")


def _known_mistake(text: str, position: int, seen: str, accepts: frozenset[str]) -> tuple[str, str | None]:
    """Returns the code and the hint for a common mistake, or S001 and None."""
    word = seen.rstrip("=").lstrip("%")
    if seen == "/" and text.startswith("/*", position):
        return "S001", "close the comment with */"
    if seen == "#":
        return "S001", "comments start with // or are enclosed in /* and */"
    if seen.startswith('"') and not seen.endswith('"'):
        return "S001", 'close the string with "'
    for kind, names in _FIELDS.items():
        if any(_WORDS.get(terminal) == kind for terminal in accepts) and seen.endswith("="):
            meant = nearest(word, names)
            return "S038" if "metadata" in kind else "S017", f"did you mean '{meant}'?" if meant else f"the fields are {', '.join(names)}"
    if "ALIAS_KIND" in accepts and word:
        return "M015", "write may-alias or must-alias"
    if accepts >= {"STRING", "RAW_DICT"} and _FRONTEND_KEY.search(text, max(0, position - _MAX_KEY_LENGTH), position):
        return "M023", f'quote the value: "{seen}"'
    if _MODULE_WORD.search(text, max(0, position - _MAX_KEY_LENGTH), position) and "IDENT" in accepts:
        return "M019", "name the module: HloModule name"
    if "EQUAL" not in accepts and "ROOT" in accepts and seen.endswith("="):
        return "S001", f"write a space before '=': {word} = ..."
    if accepts == {"$END"} or ("$END" in accepts and "ENTRY" in accepts):
        return "S034", "separate the modules of a file with `// -----` lines" if seen == "HloModule" else None
    if "ELEMENT_TYPE" in accepts and text.startswith("[", position + len(seen)):
        return "S036", _type_hint(word)
    return "S001", None
