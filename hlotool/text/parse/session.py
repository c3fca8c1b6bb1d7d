"""What one reading of one text carries through Lark: the reader of lines, positions of the last two tokens, and what is being built."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from hlotool.opdefs.common import COMMON_ATTRIBUTES
from hlotool.opdefs.module_attributes import MODULE_ATTRIBUTES
from hlotool.opdefs.table import CODECS, OPS
from hlotool.text.parse.builder import ModuleBuilder
from hlotool.text.parse.line_reader import LineReader

__all__ = ["LexerSession", "Session", "attribute_tokens"]


@lru_cache(maxsize=1)
def attribute_tokens() -> dict[str, str]:
    """For every known attribute name the token of its kind, as the grammar spells it: `dimensions` -> KEY_INTS."""
    # Complete before anybody sees it: other threads parse meanwhile.
    tokens: dict[str, str] = {}
    tables: list[Any] = [MODULE_ATTRIBUTES, COMMON_ATTRIBUTES, *(op.attributes for op in OPS.values())]
    for table in tables:
        for name, spec in table.items():
            token = _TOKEN_OF_RULE[CODECS[spec.kind].rule]
            if tokens.setdefault(name, token) != token:
                raise ValueError(f"attribute {name} has two kinds of value in the grammar")
    return tokens


class _TokenOfRule(dict[str, str]):
    """The token of a value's rule is the rule's name, but for a few that read better short."""

    def __missing__(self, rule: str) -> str:
        return "KEY_" + rule.upper()


_TOKEN_OF_RULE = _TokenOfRule(
    called_computation="KEY_COMPUTATION",
    called_computations="KEY_COMPUTATIONS",
)


class LexerSession:
    """What the lexer needs to know of a text that is being read, whatever for."""

    __slots__ = ("attribute_tokens", "fast_path", "previous_end", "text", "token_end")

    def __init__(self, fast_path: LineReader | None, text: str) -> None:
        self.fast_path = fast_path
        self.text = text
        self.attribute_tokens = attribute_tokens()
        self.token_end = 0
        self.previous_end = 0


class Session(LexerSession):
    """The state of one parse."""

    __slots__ = ("builder",)

    def __init__(self, builder: ModuleBuilder, fast_path: LineReader | None, text: str) -> None:
        super().__init__(fast_path, text)
        self.builder = builder
