"""The grammar file and Lark's tables for it: the only module that knows where they are.

Tables are made when the package is built; when they are missing or made from another grammar or Lark, they are rebuilt in memory.
"""

from __future__ import annotations

import hashlib
import pickle
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import lark
from lark import Lark

from hlotool.text.lexer import HloLexer

__all__ = ["START_RULES", "grammar_text", "load_lark", "terminal_pattern", "write_tables"]

_HERE = Path(__file__).resolve().parent
_TABLES = _HERE / "hlo.tables"

START_RULES = (
    "module headerless single_instruction module_header shape bool bools int number string enum enums ints int_lists slice_sizes"
    " called_computation called_computations names shapes window padding dim_labels slice_ranges sharding replica_groups frontend_attributes"
    " backend_config statistics origin metadata domain result_accuracy sparsity_config typed_literal output_aliases input_output_alias"
    " buffer_donor entry_layout recovery_table debug_attributes stack_tables"
).split()
"""Rules that a text can be parsed by: the three forms of a file, and each kind of value."""


def grammar_text() -> str:
    """The grammar: inside the installed package, else in the checkout beside it."""
    for folder in (_HERE.parent / "grammar", _HERE.parent.parent / "grammar"):
        path = folder / "hlo.lark"
        if path.exists():
            return path.read_text(encoding="utf-8")
    raise FileNotFoundError("hlo.lark is missing from this installation of hlotool; install it again")


def _stamp(text: str) -> str:
    return f"{hashlib.sha256(text.encode()).hexdigest()} lark {lark.__version__}"


def _options(callbacks: SimpleNamespace | None) -> dict[str, Any]:
    return {"transformer": callbacks, "_plugins": {"ContextualLexer": HloLexer}}


def _build(text: str, callbacks: SimpleNamespace | None) -> Lark:
    return Lark(text, parser="lalr", lexer="contextual", start=START_RULES, maybe_placeholders=False, **_options(callbacks))


def load_lark(callbacks: SimpleNamespace) -> Lark:
    """A Lark for the grammar whose rules call the functions in `callbacks`."""
    text = grammar_text()
    try:
        with _TABLES.open("rb") as file:
            # The stamp stands before the pickle, and the file lies inside the package: nobody else's data is ever unpickled.
            if file.readline().decode().strip() == _stamp(text):
                return Lark.__new__(Lark)._load(pickle.load(file), **_options(callbacks))
    except (OSError, pickle.PickleError, EOFError):
        pass
    return _build(text, callbacks)


def write_tables(path: Path = _TABLES) -> Path:
    """Writes the tables beside this module; called when the package is built."""
    text = grammar_text()
    buffer = BytesIO()
    _build(text, None).save(buffer)
    path.write_bytes(_stamp(text).encode() + b"\n" + buffer.getvalue())
    return path


def terminal_pattern(lark_parser: Lark, name: str) -> str:
    """The regular expression of a terminal of the grammar, as a group."""
    return f"(?:{lark_parser.get_terminal(name).pattern.to_regexp()})"
