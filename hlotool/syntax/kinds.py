"""Kinds of tokens that highlighters distinguish, and the kind of each terminal of the grammar.

`KINDS` is the only list of kinds. The syntax files, the Pygments lexer and the colors in notebooks
are derived from it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from hlotool.text.parse.driver import shared_parser
from hlotool.text.parse.session import attribute_tokens

__all__ = ["KINDS", "KIND_OF_NAME", "PLAIN", "Kind", "kind_of_terminal"]


PLAIN = "inherit"
"""The notebook color of tokens that are not highlighted."""


class Kind(NamedTuple):
    """A kind of token: its description, and its name in each target.

    `pygments` is the name of a token type of Pygments and Rouge, `vim` and `emacs` name the group
    and the face that determine the color, `capture` is the name of the capture in tree-sitter
    queries, and `color` is the color in notebooks, readable on light and dark backgrounds.
    """

    summary: str
    textmate: str
    pygments: str
    vim: str
    emacs: str
    capture: str
    color: str


KINDS = {
    "comment": Kind("a comment", "comment", "Comment", "Comment", "comment", "comment", "#6e7781"),
    "string": Kind("a string", "string.quoted", "Literal.String", "String", "string", "string", "#0a7a4b"),
    "number": Kind("a number", "constant.numeric", "Literal.Number", "Number", "constant", "number", "#0550ae"),
    "boolean": Kind("true or false", "constant.language", "Keyword.Constant", "Boolean", "constant", "boolean", "#0550ae"),
    "keyword": Kind("HloModule, ENTRY, ROOT", "keyword.control", "Keyword", "Keyword", "keyword", "keyword", "#cf222e; font-weight: bold"),
    "type": Kind("an element type", "support.type", "Keyword.Type", "Type", "type", "type.builtin", "#0550ae"),
    "layout": Kind("a letter of a layout", "storage.modifier", "Keyword.Pseudo", "StorageClass", "preprocessor", "keyword.modifier", "#0550ae"),
    "opcode": Kind("an opcode", "support.function", "Name.Builtin", "Function", "builtin", "function.builtin", "#8250df; font-weight: bold"),
    "attribute": Kind("a name before =", "entity.other.attribute-name", "Name.Attribute", "Identifier", "variable-name", "property", "#953800"),
    "enum": Kind("a word as a value", "support.constant", "Name.Constant", "Constant", "constant", "constant", "#0550ae"),
    "module": Kind("the name of the module", "entity.name.namespace", "Name.Namespace", "Structure", "type", "module", "#cf222e"),
    "computation": Kind("the name of a computation", "entity.name.function", "Name.Function", "Special", "function-name", "function", "#8250df"),
    "instruction": Kind(
        "the name of an instruction in its definition",
        "variable.other.definition",
        "Name.Variable",
        "Define",
        "variable-name",
        "variable.member",
        PLAIN,
    ),
    "operand": Kind("the name of an instruction in a use", "variable.other.use", "Name", "Normal", "default", "variable", PLAIN),
    "parameter": Kind(
        "the name of a parameter in a signature", "variable.parameter", "Name.Variable.Instance", "Tag", "default", "variable.parameter", PLAIN
    ),
    "raw": Kind("text inside a raw dictionary", "meta.embedded", "Literal", "PreProc", "default", "markup.raw", PLAIN),
    "operator": Kind("an operator", "keyword.operator", "Operator", "Operator", "default", "operator", PLAIN),
    "punctuation": Kind("a bracket or a comma", "punctuation", "Punctuation", "Delimiter", "default", "punctuation.bracket", PLAIN),
}
"""The kinds by name."""

_TERMINALS = {
    "comment": "COMMENT",
    "string": "STRING",
    "number": "INT DECIMAL NAN INF NEGATIVE_INF DXD PAD",
    "boolean": "TRUE FALSE",
    "keyword": "HLO_MODULE ENTRY ROOT FILE_NAMES FUNCTION_NAMES FILE_LOCATIONS STACK_FRAMES",
    "type": "ELEMENT_TYPE BUFFER",
    "layout": "DIM_LEVEL TRANSPOSED",
    "opcode": "OPCODE PARAMETER CONSTANT",
    "attribute": "ATTRIBUTE",
    "enum": "IDENT MAXIMAL REPLICATED MANUAL UNKNOWN UNREDUCED LAST_TILE_DIM_REPLICATE SHARD_AS SHARD_LIKE MESH MAXIMAL_MESH REDUCTION ALIAS_KIND"
    " SYNTHETIC_CALL DIM_LABELS",
    "operand": "PERCENT_NAME COLON_NAME",
    "raw": "RAW_DICT RAW_VALUE LITERAL_TEXT",
    "operator": "ARROW BOUND DOTS EQUAL COLON HASH ASTERISK PLUS TILDE QUESTION",
    "punctuation": "LBRACE RBRACE LPAR RPAR LSQB RSQB COMMA LAYOUT_OPEN",
}

KIND_OF_NAME = {
    "module_header": "module",
    "computation_open": "computation",
    "called_computation": "computation",
    "instruction": "instruction",
    "operand": "operand",
    "names": "operand",
    "signature_parameter": "parameter",
}
"""The kind of a name, by the grammar rule that contains it."""


@lru_cache(maxsize=1)
def kind_of_terminal() -> dict[str, str]:
    """Returns the kind of each terminal of the grammar.

    The kind of a name depends on its rule; see `KIND_OF_NAME`.

    >>> kind_of_terminal()["KEY_OF_WINDOW"], kind_of_terminal()["LAYOUT_SC"]
    ('attribute', 'layout')
    """
    kinds = {terminal: kind for kind, terminals in _TERMINALS.items() for terminal in terminals.split()}
    for terminal in (*shared_parser().grammar.terminals, *attribute_tokens().values()):
        if terminal.startswith("KEY_"):
            kinds[terminal] = "attribute"
        elif terminal.startswith("LAYOUT_"):
            kinds.setdefault(terminal, "layout")
    return kinds
