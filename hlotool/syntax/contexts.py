"""Lexer for highlighters: a table of contexts, each with the tokens that it may contain.

A highlighter has no parser. It knows the context of a position (a body, the operands of an
instruction, the value of an attribute), and reads tokens with the regular expressions of the
grammar's terminals. The op table determines the kind of value of each attribute. The syntax files
of editors are generated from this table, and `scanner.py` interprets it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from hlotool.syntax.kinds import kind_of_terminal
from hlotool.text.parse.driver import shared_parser
from hlotool.text.parse.session import attribute_tokens

__all__ = ["START", "Context", "Rule", "contexts", "names_of_attribute_kind", "terminal"]

START = "file"
"""The context at the start of a file."""


class Rule(NamedTuple):
    """A token of a context.

    If there are several kinds, `pattern` consists of a group for each. `inside` is the context of
    the text after the token, up to a match of `close`. A match that is not empty has the token's
    last kind. `then` is the context of only the next token or the next pair of brackets.
    """

    name: str
    pattern: str
    kinds: tuple[str, ...]
    inside: str = ""
    close: str = ""
    then: str = ""


class Context(NamedTuple):
    """The rules of a context, in the order in which they are tried.

    `default` is the kind of any text that no rule matches.
    """

    rules: tuple[Rule, ...]
    default: str = ""


def terminal(name: str) -> str:
    """Returns the regular expression of a terminal of the grammar."""
    pattern: str = shared_parser().grammar.terminals[name]
    return pattern


def names_of_attribute_kind(token: str) -> list[str]:
    """Returns the attributes whose names the grammar reads as the given token.

    >>> names_of_attribute_kind("KEY_COMPUTATIONS")
    ['branch_computations', 'called_computations']
    """
    return sorted(name for name, kind in attribute_tokens().items() if kind == token)


def _token(*names: str, then: str = "") -> Rule:
    """Returns a rule for terminals of one kind."""
    (kind,) = {kind_of_terminal()[name] for name in names}
    return Rule("_".join(names).lower(), "|".join(map(terminal, names)), (kind,), then=then)


def _all_of_kind(kind: str, but: tuple[str, ...] = ()) -> Rule:
    """Returns a rule for all terminals of a kind, in the order of the parser's lexer."""
    kinds = kind_of_terminal()
    names = [name for name in shared_parser().grammar.terminals if kinds.get(name) == kind and name not in but]
    return Rule(kind, "|".join(map(terminal, names)), (kind,))


def _brackets(opening: str, inside: str, then: str = "") -> Rule:
    close = {"LBRACE": "RBRACE", "LAYOUT_OPEN": "RBRACE", "LPAR": "RPAR", "LSQB": "RSQB"}[opening]
    return Rule(f"{opening.lower()}_{inside}", terminal(opening), ("punctuation",), inside, terminal(close), then)


def _names(kind: str) -> tuple[Rule, ...]:
    """Returns rules for the three forms of names."""
    word, colon = terminal("PERCENT_NAME").replace("%", "", 1), terminal("COLON")
    return (
        Rule(f"colon_{kind}", f"({word})({colon})", (kind, "operator")),
        Rule(kind, f"{terminal('PERCENT_NAME')}|{terminal('IDENT')}", (kind,)),
    )


def _key(names: list[str], then: str = "") -> Rule:
    """Returns a rule for attribute names with an equals sign; for any name if `names` is empty."""
    equals = terminal("EQUAL")
    word = "|".join(map(re.escape, names)) if names else terminal("ATTRIBUTE").removesuffix(equals)
    return Rule(f"key_{then or 'plain'}", f"({word})({equals})", ("attribute", "operator"), then=then)


def _before_parenthesis(rule: Rule) -> Rule:
    """Returns the rule with the condition that a parenthesis follows, possibly after trivia.

    All terminals before a parenthesis have this condition.
    """
    return rule._replace(pattern=rule.pattern + terminal("BUFFER").removeprefix("b"))


# The context of the value, for attributes whose values do not consist of plain words.
_VALUES = {
    "KEY_COMPUTATION": "computation",
    "KEY_COMPUTATIONS": "computations",
    "KEY_NAMES": "names",
    "KEY_BACKEND_CONFIG": "dictionary",
    "KEY_FRONTEND_ATTRIBUTES": "frontend",
}


def _statements() -> tuple[Rule, ...]:
    """Returns rules for the start of a single instruction: ROOT, a name before `=`, or a shape."""
    return tuple(
        Rule(f"statement_{kind}", pattern, (kind,), "body", r"(?=\})")
        for kind, pattern in (
            ("keyword", terminal("ROOT")),
            ("instruction", rf"(?:{terminal('PERCENT_NAME')}|{terminal('IDENT')})(?=[ \t]*+=)"),
            ("type", f"{terminal('ELEMENT_TYPE')}|{terminal('BUFFER')}"),
        )
    )


def _tables() -> Rule:
    """Returns the rule for the tables of stack frames, up to the first computation."""
    return Rule(
        "tables",
        "|".join(map(terminal, ("FILE_NAMES", "FUNCTION_NAMES", "FILE_LOCATIONS", "STACK_FRAMES"))),
        ("keyword",),
        "tables",
        "(?=[A-Za-z_%])",
    )


@lru_cache(maxsize=1)
def contexts() -> dict[str, Context]:
    """Returns all contexts by name."""
    comment, string, boolean = _token("COMMENT"), _token("STRING"), _token("TRUE", "FALSE")
    keywords, types, transposed = _all_of_kind("keyword"), _token("ELEMENT_TYPE"), _before_parenthesis(_token("TRANSPOSED"))
    keys = (*(_key(names_of_attribute_kind(token), then) for token, then in _VALUES.items()), _key([], "value"))
    plain_key, words = _key([]), (_all_of_kind("enum", but=("IDENT", "DIM_LABELS")), _token("IDENT"))
    literals = (_token("DIM_LABELS"), boolean)
    numbers = (*(_token(name) for name in ("PAD", "DXD", "NAN", "NEGATIVE_INF", "INF", "DECIMAL", "INT")), _all_of_kind("operator"))
    commas = _token("COMMA")
    shapes = (_token("BUFFER"), transposed)
    opcode = _token("CONSTANT", "PARAMETER", "OPCODE", then="call")
    layout, list_, group, braces = (
        _brackets(*pair) for pair in (("LAYOUT_OPEN", "layout"), ("LSQB", "values"), ("LPAR", "values"), ("LBRACE", "values"))
    )
    values = (*shapes, *numbers, layout, list_, group, braces, commas)
    body = (comment, string, *literals, *keys, keywords, *shapes, opcode, types, *_names("instruction"), *values)
    header = _token("HLO_MODULE", then="module")
    arrow = Rule("arrow", terminal("ARROW"), ("operator",), then="result")
    return {
        "file": Context(
            (
                *(comment, string, boolean, *keys, header, _tables(), *_statements(), keywords),
                *(*_names("computation"), arrow, *numbers, _brackets("LPAR", "signature"), layout, _brackets("LBRACE", "body"), list_, commas),
            )
        ),
        "module": Context((comment, *_names("module"))),
        "tables": Context((comment, string, *numbers, braces)),
        "result": Context((comment, _token("ELEMENT_TYPE", "BUFFER"), group)),
        "signature": Context((comment, *shapes, types, *_names("parameter"), *values)),
        "body": Context(body),
        "call": Context((comment, _brackets("LPAR", "operands"))),
        "operands": Context((comment, string, boolean, plain_key, *shapes, opcode, types, *_names("operand"), *values)),
        "value": Context((comment, *literals, types, *words, layout, braces)),
        "values": Context((comment, string, *literals, plain_key, keywords, *shapes, types, *words, *_names("operand"), *values)),
        "layout": Context(
            (
                *(comment, string, *literals, plain_key, types, _all_of_kind("layout", but=("LAYOUT_OPEN",)), *words, *_names("operand")),
                *(*numbers, layout, list_, _brackets("LPAR", "layout"), _brackets("LBRACE", "layout"), commas),
            )
        ),
        "computation": Context((comment, *_names("computation"), _brackets("LBRACE", "body"))),
        "computations": Context((comment, _brackets("LBRACE", "computation_list"))),
        "computation_list": Context((comment, *_names("computation"), _brackets("LBRACE", "body"), commas)),
        "names": Context((comment, _brackets("LBRACE", "name_list"))),
        "name_list": Context((comment, *_names("operand"), commas)),
        "dictionary": Context((comment, string, Rule("raw_open", terminal("LBRACE"), ("raw",), "raw", terminal("RBRACE")))),
        "frontend": Context((comment, _brackets("LBRACE", "frontend_list"))),
        "frontend_list": Context((comment, string, _key([], "dictionary"), commas)),
        "raw": Context(
            (
                Rule("raw_string", terminal("STRING").partition("|'")[0], ("string",)),
                Rule("raw_open", terminal("LBRACE"), ("raw",), "raw", terminal("RBRACE")),
            ),
            default="raw",
        ),
    }
