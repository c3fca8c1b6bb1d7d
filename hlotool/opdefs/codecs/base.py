"""What a codec is: for one kind of attribute value, its grammar rule, how its parsed parts become a value, and how it is written.

Codecs never tokenise: Lark does, by `grammar/hlo.lark`; a builder gets the rule's tokens and sub-values, as Lark's callbacks do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from hlotool.record import Record

__all__ = ["BUILDERS", "CODECS", "Codec", "Style", "builds", "codec"]

Builder = TypeVar("Builder", bound=Callable[[list[Any]], Any])

BUILDERS: dict[str, Callable[[list[Any]], Any]] = {}
"""For each grammar rule that yields a value, the function from its children (Lark tokens and sub-values) to the value.

A builder raises Violation with `at` = the offending token's `start_pos`.
"""


class Style(Record):
    """How values are written; the fields mirror XLA's print options.

    `exact` writes numbers so that they read back bit for bit; XLA itself writes six digits in places.
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
    """One kind of attribute value: the start rule of the grammar that reads it and the function that writes it.

    `convert` narrows what the rule built to this kind (an enum's values, a list of one entry) and raises Violation if it cannot.
    """

    kind: str
    rule: str
    write: Callable[[Any, Style], str]
    convert: Callable[[Any], Any] | None = None


CODECS: dict[str, Codec] = {}
"""By the kind names of `opdefs.kinds` (and those of module and common attributes)."""


def builds(*rules: str) -> Callable[[Builder], Builder]:
    """Registers the decorated function as the builder of grammar rules."""

    def wrap(function: Builder) -> Builder:
        for rule in rules:
            if rule in BUILDERS:
                raise ValueError(f"rule {rule} has two builders")
            BUILDERS[rule] = function
        return function

    return wrap


def codec(kind: str, rule: str, write: Callable[[Any, Style], str], convert: Callable[[Any], Any] | None = None) -> None:
    """Enters a codec into CODECS."""
    if kind in CODECS:
        raise ValueError(f"kind {kind} has two codecs")
    CODECS[kind] = Codec(kind, rule, write, convert)
