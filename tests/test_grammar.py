"""The grammar has no conflicts, is complete, and agrees with the tables next to it."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import lark
import pytest

from hlotool.opdefs.codecs.base import BUILDERS, CODECS
from hlotool.opdefs.common import COMMON_ATTRIBUTES
from hlotool.opdefs.module_attributes import MODULE_ATTRIBUTES
from hlotool.opdefs.table import OPS
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.text.parse import grammar
from hlotool.text.parse.callbacks import callbacks
from hlotool.text.parse.session import attribute_tokens

TEXT = grammar.grammar_text()
BUILT = grammar._build(TEXT)
PACKED = Path(grammar.__file__).parent / "hlo.tables"


def load_tables(path: Path) -> tuple[str, dict[str, Any]]:
    stamp, _, data = path.read_bytes().partition(b"\n")
    tables: dict[str, Any] = pickle.loads(data)
    return stamp.decode(), tables


def comparable(tables: dict[str, Any]) -> dict[str, Any]:
    """Returns the tables with states renumbered by their paths from the start states.

    Lark's own numbers depend on the order in which it visits the states.
    """
    states = tables["states"]
    names: dict[int, int] = {}
    queue = [start for _, start in sorted(tables["starts"].items())]
    for state in queue:
        if state not in names:
            names[state] = len(names)
            queue += [code for _, code in sorted(states[state].items()) if code >= 0]
    rules = [str(rule) for rule in tables["rules"]]
    rows = {names[state]: {symbol: names[code] if code >= 0 else rules[~code] for symbol, code in row.items()} for state, row in states.items()}
    return {
        "states": rows,
        "terminals": list(tables["terminals"].items()),
        "rules": sorted(rules),
        "starts": {rule: names[state] for rule, state in tables["starts"].items()},
        "ends": {rule: names[state] for rule, state in tables["ends"].items()},
    }


def test_the_grammar_has_no_conflicts(caplog: pytest.LogCaptureFixture) -> None:
    # Lark raises an error for reduce/reduce conflicts; it resolves shift/reduce conflicts, and logs
    # them only on request.
    with caplog.at_level("DEBUG", logger="lark"):
        lark.Lark(TEXT, parser="lalr", lexer="contextual", start=grammar.START_RULES, maybe_placeholders=False, debug=True)
    conflicts = [record.getMessage() for record in caplog.records if "onflict" in record.getMessage()]
    assert not conflicts


def test_packed_tables_match_the_grammar(tmp_path: Path) -> None:
    fresh = grammar.write_tables(tmp_path / "hlo.tables")
    for path in [fresh, *([PACKED] if PACKED.exists() else [])]:
        stamp, tables = load_tables(path)
        assert stamp == grammar._stamp(TEXT), "the tables were built from another grammar or by another version of Lark; delete or rebuild them"
        assert comparable(tables) == comparable(BUILT)


@pytest.mark.parametrize("terminal", ["ELEMENT_TYPE", "IDENT"])
def test_element_types_of_the_grammar(terminal: str) -> None:
    match = re.search(rf"^{terminal}(?:\.\d)?: (.*)$", TEXT, re.MULTILINE)
    assert match is not None
    words = re.search(r"\bpred\|[a-z0-9|]+", match[1])
    assert words is not None
    assert words[0].split("|") == list(ELEMENT_TYPES) or set(words[0].split("|")) == set(ELEMENT_TYPES)


def test_every_rule_has_a_builder_or_a_callback() -> None:
    known = vars(callbacks())
    # Lark inlines rules that begin with an underscore, and `?rule` if it has one child.
    rules = {rule.alias or rule.origin.name for rule in BUILT["rules"]}
    transparent = {rule.origin.name for rule in BUILT["rules"] if rule.options.expand1}
    missing = sorted(str(name) for name in rules - known.keys() - transparent if not str(name).startswith(("_", "$")))
    assert not missing, f"no builder or callback handles {missing}"


def test_every_builder_has_a_rule() -> None:
    rules = {str(rule.alias or rule.origin.name) for rule in BUILT["rules"]}
    assert set(BUILDERS) <= rules, f"the grammar has no rule {sorted(set(BUILDERS) - rules)}"
    assert set(vars(callbacks())) <= rules, f"the grammar has no rule {sorted(set(vars(callbacks())) - rules)}"


def test_every_key_token_belongs_to_a_codec() -> None:
    declared = set(re.findall(r"\bKEY_(?!OF_)[A-Z_]+\b", TEXT)) - {"KEY_EXECUTION_THREAD"}
    used = set(attribute_tokens().values()) | {"KEY_" + CODECS[spec.kind].rule.upper() for spec in MODULE_ATTRIBUTES.values()}
    assert declared == used


def test_every_codec_has_a_start_rule() -> None:
    assert {codec.rule for codec in CODECS.values()} <= set(grammar.START_RULES)


def test_every_kind_of_value_has_a_codec_and_every_codec_is_used() -> None:
    tables = [MODULE_ATTRIBUTES, COMMON_ATTRIBUTES, *(op.attributes for op in OPS.values())]
    used = {spec.kind for table in tables for spec in table.values()}
    assert used <= set(CODECS)
    assert set(CODECS) <= used, f"unused codecs: {sorted(set(CODECS) - used)}"


def test_start_rules_are_rules() -> None:
    assert set(grammar.START_RULES) <= {str(rule.origin.name) for rule in BUILT["rules"]}
