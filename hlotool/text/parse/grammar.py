"""Loads the grammar file and the LALR tables that Lark generates from it.

The tables are generated when the package is built. If the tables are missing, or belong to another
grammar or version of Lark, they are generated in memory.
"""

from __future__ import annotations

import hashlib
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import lark
from lark.parse_tree_builder import ParseTreeBuilder
from lark.parsers.lalr_analysis import IntParseTable, Reduce, Shift
from lark.tree import Tree

__all__ = ["START_RULES", "Grammar", "grammar_text", "load_grammar", "write_tables"]

_HERE = Path(__file__).resolve().parent
_TABLES = _HERE / "hlo.tables"

START_RULES = (
    "module headerless single_instruction shape bool bools int number string enum enums ints int_lists slice_sizes"
    " called_computation called_computations names shapes window padding dim_labels slice_ranges sharding replica_groups frontend_attributes"
    " backend_config statistics origin metadata domain result_accuracy sparsity_config typed_literal output_aliases input_output_alias"
    " buffer_donor entry_layout recovery_table debug_attributes"
).split()
"""The grammar's start rules: one for each form of a file and each kind of attribute value."""


class Grammar:
    """The parse table, the terminals in lexer order, and the callback of each rule."""

    def __init__(self, data: dict[str, Any], callbacks: SimpleNamespace) -> None:
        rules = data["rules"]
        reduces = [(Reduce, rule) for rule in rules]
        states = {
            state: {name: (Shift, code) if code >= 0 else reduces[~code] for name, code in row.items()} for state, row in data["states"].items()
        }
        self.table = IntParseTable(states, data["starts"], data["ends"])
        self.terminals: dict[str, str] = data["terminals"]
        self.callbacks = ParseTreeBuilder(rules, Tree).create_callback(callbacks)

    def pattern(self, name: str) -> str:
        """Returns the regular expression of a terminal, as a non-capturing group."""
        return f"(?:{self.terminals[name]})"


def grammar_text() -> str:
    """Returns the text of the grammar file, from the installed package or from a checkout."""
    for folder in (_HERE.parents[1] / "grammar", _HERE.parents[2] / "grammar"):
        path = folder / "hlo.lark"
        if path.exists():
            return path.read_text(encoding="utf-8")
    raise FileNotFoundError("hlo.lark is missing from this installation; reinstall hlotool")


def _stamp(text: str) -> str:
    return f"{hashlib.sha256(text.encode()).hexdigest()} lark {lark.__version__}"


def _build(text: str) -> dict[str, Any]:
    """Builds Lark's parse table, terminals and rules.

    A shift is encoded as the next state, and a reduction as the complement of the rule's index.
    """
    parser = lark.Lark(text, parser="lalr", lexer="contextual", start=START_RULES, maybe_placeholders=False)
    # The order of Lark's own lexer, in which the first match wins.
    order = sorted(parser.terminals, key=lambda t: (-t.priority, -t.pattern.max_width, -len(t.pattern.value), t.name))
    table = parser.parser.parser._parse_table
    index = {id(rule): k for k, rule in enumerate(parser.rules)}
    return {
        "terminals": {t.name: t.pattern.to_regexp() for t in order},
        "rules": list(parser.rules),
        "states": {
            state: {name: argument if action is Shift else ~index[id(argument)] for name, (action, argument) in row.items()}
            for state, row in table.states.items()
        },
        "starts": table.start_states,
        "ends": table.end_states,
    }


def load_grammar(callbacks: SimpleNamespace) -> Grammar:
    """Loads the grammar; each rule calls the function of the same name in `callbacks`."""
    text = grammar_text()
    try:
        with _TABLES.open("rb") as file:
            # The file is part of the package, and its stamp is checked first: no untrusted data is
            # unpickled.
            if file.readline().decode().strip() == _stamp(text):
                return Grammar(pickle.load(file), callbacks)
    except (OSError, pickle.PickleError, EOFError, AttributeError):
        pass
    return Grammar(_build(text), callbacks)


def write_tables(path: Path = _TABLES) -> Path:
    """Writes the parse tables to a file, by default next to this module.

    Called when the package is built.
    """
    text = grammar_text()
    path.write_bytes(_stamp(text).encode() + b"\n" + pickle.dumps(_build(text), protocol=5))
    return path
