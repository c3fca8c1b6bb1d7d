"""State of one parse, shared by Lark's lexer and callbacks."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from hlotool.opdefs.common import COMMON_ATTRIBUTES
from hlotool.opdefs.module_attributes import MODULE_ATTRIBUTES
from hlotool.opdefs.table import CODECS, OPS
from hlotool.text.parse.builder import ModuleBuilder
from hlotool.text.parse.line_reader import LineReader

__all__ = ["LexerSession", "ParseSession", "attribute_tokens"]


@lru_cache(maxsize=1)
def attribute_tokens() -> dict[str, str]:
    """Returns the token of each known attribute name, such as KEY_INTS for `dimensions`.

    The token determines the kind of value that the grammar expects.
    """
    # This is not a global dictionary, since another thread could read it before it is complete.
    tokens: dict[str, str] = {}
    tables: list[Any] = [MODULE_ATTRIBUTES, COMMON_ATTRIBUTES, *(op.attributes for op in OPS.values())]
    for table in tables:
        for name, spec in table.items():
            token = _TOKEN_OF_RULE[CODECS[spec.kind].rule]
            if tokens.setdefault(name, token) != token:
                raise ValueError(f"attribute '{name}' has two kinds of values, {token} and {tokens[name]}")
    return tokens


class _TokenOfRule(dict[str, str]):
    """A mapping from a value's rule to its token: `KEY_` and the rule's name, or a shorter name."""

    def __missing__(self, rule: str) -> str:
        return "KEY_" + rule.upper()


_TOKEN_OF_RULE = _TokenOfRule(
    called_computation="KEY_COMPUTATION",
    called_computations="KEY_COMPUTATIONS",
)


class LexerSession:
    """The lexer's part of the state: the text, and the ends of the last two tokens.

    `token_end` is the end of the last token, and `previous_end` is the end of the token before it.
    """

    __slots__ = ("attribute_tokens", "fast_path", "previous_end", "text", "token_end")

    def __init__(self, fast_path: LineReader | None, text: str) -> None:
        self.fast_path = fast_path
        self.text = text
        self.attribute_tokens = attribute_tokens()
        self.token_end = 0
        self.previous_end = 0


class ParseSession(LexerSession):
    """The state of a parse that builds a module."""

    __slots__ = ("builder",)

    def __init__(self, builder: ModuleBuilder, fast_path: LineReader | None, text: str) -> None:
        super().__init__(fast_path, text)
        self.builder = builder
