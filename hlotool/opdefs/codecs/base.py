"""The registries of codecs and builders.

A codec belongs to one kind of attribute value. It consists of the grammar rule that parses a value
and the function that writes one. A builder creates a value from the tokens and values of a rule in
`grammar/hlo.lark`, like a Lark callback.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from hlotool.record import Record

__all__ = ["BUILDERS", "CODECS", "Codec", "WriteStyle", "builds", "codec"]

Builder = TypeVar("Builder", bound=Callable[[list[Any]], Any])

BUILDERS: dict[str, Callable[[list[Any]], Any]] = {}
"""The builder of each grammar rule that has a value.

A builder is a function from the rule's children (Lark tokens and values) to the value. It raises
Violation with the `start_pos` of the offending token as `at`.
"""


class WriteStyle(Record):
    """The style in which values are written; the fields correspond to XLA's print options.

    With `exact`, numbers are written so that they can be read back bit for bit; XLA itself writes
    only six digits of some numbers.
    """

    exact: bool = True
    percent: bool = True
    metadata: bool = True
    metadata_only_op_name: bool = False
    full_replica_groups: bool = False
    without_subaxes: bool = False
    layouts: bool = True
    indices: bool = True


class Codec(Record):
    """The codec of a kind of attribute value.

    `rule` is the start rule with which the grammar parses a value, and `write` is the function that
    writes a value. `convert` converts the value of the rule to this kind, or raises Violation. For
    example, the codec of an enum accepts only the words of that enum.
    """

    kind: str
    rule: str
    write: Callable[[Any, WriteStyle], str]
    convert: Callable[[Any], Any] | None = None


CODECS: dict[str, Codec] = {}
"""The codecs by kind, as named in `opdefs.kinds` and in the tables of attributes."""


def builds(*rules: str) -> Callable[[Builder], Builder]:
    """Registers the decorated function as the builder of these grammar rules.

    Raises ValueError if one of the rules already has a builder.
    """

    def wrap(function: Builder) -> Builder:
        for rule in rules:
            if rule in BUILDERS:
                raise ValueError(f"rule {rule} has two builders")
            BUILDERS[rule] = function
        return function

    return wrap


def codec(kind: str, rule: str, write: Callable[[Any, WriteStyle], str], convert: Callable[[Any], Any] | None = None) -> None:
    """Adds a codec to CODECS. Raises ValueError if the kind already has one."""
    if kind in CODECS:
        raise ValueError(f"kind {kind} has two codecs")
    CODECS[kind] = Codec(kind, rule, write, convert)
