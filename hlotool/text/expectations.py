"""Words for syntax errors: what stood there, what the parser would have taken, and what was probably meant."""

from __future__ import annotations

import re

from hlotool.errors import nearest

__all__ = ["describe"]

_WORDS = {
    "IDENT": "a name", "PERCENT_NAME": "a name", "COLON_NAME": "a name", "ATTRIBUTE": "an attribute", "OPCODE": "an opcode", "PARAMETER": "an opcode",
    "CONSTANT": "an opcode", "ELEMENT_TYPE": "a shape", "BUFFER": "a shape", "INT": "an integer", "DECIMAL": "a number", "NAN": "a number",
    "INF": "a number", "NEGATIVE_INF": "a number", "STRING": "a string", "TRUE": "true or false", "FALSE": "true or false",
    "DXD": "sizes like 2x3", "PAD": "padding like 0_0x1_1", "DIM_LABELS": "dimension labels like b01f_01io->b01f", "RAW_DICT": "a dictionary {...}",
    "RAW_VALUE": "a value", "LITERAL_TEXT": "a literal", "LAYOUT_OPEN": "a layout", "ROOT": "an instruction", "ENTRY": "a computation",
    "HLO_MODULE": "HloModule", "$END": "the end of the text", "LBRACE": "'{'", "RBRACE": "'}'", "LPAR": "'('", "RPAR": "')'", "LSQB": "'['", "RSQB": "']'",
    "COMMA": "','", "COLON": "':'", "EQUAL": "'='", "ARROW": "'->'", "BOUND": "'<='", "QUESTION": "'?'", "HASH": "'#'", "ASTERISK": "'*'", "DOTS": "'...'",
    "PLUS": "'+'", "TILDE": "'~'", "FILE_NAMES": "FileNames", "FUNCTION_NAMES": "FunctionNames", "FILE_LOCATIONS": "FileLocations",
    "STACK_FRAMES": "StackFrames", "KEY_OF_METADATA_STRING": "a metadata field", "KEY_OF_METADATA_INT": "a metadata field",
    "KEY_OF_PROFILE": "a metadata field", "KEY_EXECUTION_THREAD": "execution_thread=", "KEY_OF_WINDOW": "a window field", "KEY_OF_PAD": "a window field",
    "KEY_OF_REVERSAL": "a window field", "ALIAS_KIND": "may-alias or must-alias", "DIM_LEVEL": "a dimension level",
}  # fmt: skip
_FIELDS = {
    "a metadata field": (
        "op_type op_name source_file source_line source_end_line source_column source_end_column profile_type deduplicated_name scheduling_name"
        " stack_frame_id metadata_payload"
    ).split(),
    "a window field": "size stride pad lhs_dilate rhs_dilate rhs_reversal".split(),
}
_WORD = re.compile(r"%?[A-Za-z_][A-Za-z0-9_.\-]*=?|-?[0-9][0-9A-Za-z_.+\-]*|\"(?:[^\"\\\n]|\\.)*\"?|->|<=|\.\.\.|.", re.DOTALL)


def _word_for(terminal: str) -> str | None:
    if terminal in _WORDS:
        return _WORDS[terminal]
    if terminal.startswith(("FUSED_", "WHITESPACE", "COMMENT")):
        return None
    if terminal.startswith("KEY_OF_"):
        return f"a {terminal.removeprefix('KEY_OF_').lower().replace('_', ' ')} field"
    if terminal.startswith("KEY_"):
        return "an attribute"
    if terminal.startswith("LAYOUT_"):
        return "a layout suffix"
    return f"'{terminal.lower()}'"


def describe(text: str, position: int, accepts: frozenset[str]) -> tuple[str, str, str | None]:
    """Code, message and hint for a syntax error at `position` in a parser state that takes `accepts`."""
    found = _WORD.match(text, position)
    seen = found[0] if found else ""
    words = sorted({word for terminal in accepts if (word := _word_for(terminal)) is not None}, key=lambda w: (w.startswith("'"), w))
    if len(words) > 6:
        words = [*words[:6], "..."]
    shown = f"'{seen[:60]}'" if seen else "the end of the text"
    expected = ", ".join(words[:-1]) + (" or " if len(words) > 1 else "") + words[-1] if words else "the end of the text"
    code, hint = _special(text, position, seen, accepts)
    return code, f"expected {expected}, found {shown}", hint


def _special(text: str, position: int, seen: str, accepts: frozenset[str]) -> tuple[str, str | None]:
    word = seen.rstrip("=").lstrip("%")
    if seen == "/" and text.startswith("/*", position):
        return "S001", "close the comment with */"
    if seen == "#":
        return "S001", "comments start with // or stand between /* and */"
    if seen.startswith('"') and not seen.endswith('"'):
        return "S001", "close the string"
    for kind, names in _FIELDS.items():
        if any(_WORDS.get(terminal) == kind for terminal in accepts) and seen.endswith("="):
            meant = nearest(word, names)
            return "S038" if "metadata" in kind else "S017", f"did you mean '{meant}'?" if meant else f"the fields are {', '.join(names)}"
    if "EQUAL" not in accepts and "ROOT" in accepts and seen.endswith("="):
        return "S001", f"write a blank before '=': {word} = ..."
    if accepts == {"$END"} or ("$END" in accepts and "ENTRY" in accepts):
        return "S034", None
    if "ELEMENT_TYPE" in accepts and "OPCODE" in accepts and text.startswith("[", position + len(seen)):
        return "S036", f"element types are lower case: {word.lower()}" if word.lower() != word else None
    return "S001", None
