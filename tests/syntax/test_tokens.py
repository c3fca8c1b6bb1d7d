"""Kinds of tokens, according to the parser and according to the lexer of the highlighters."""

from __future__ import annotations

import os
import time
from itertools import pairwise
from pathlib import Path

import pytest
from agreement import disagreements
from highlighted import TEXT, TEXTS
from parser_tokens import tokens
from scaling import slowdown

from hlotool.errors import ParseError
from hlotool.syntax.contexts import contexts
from hlotool.syntax.kinds import KIND_OF_NAME, KINDS, kind_of_terminal
from hlotool.syntax.lexer_states import lexer_states
from hlotool.syntax.scanner import Token, scan
from hlotool.text.parse.driver import shared_parser
from hlotool.text.parse.parser import parse_all
from hlotool.text.source.files import read_text

DUMPS = sorted(Path(os.environ["HLOTOOL_CORPUS"], "dumps").glob("*.hlo.xz")) if "HLOTOOL_CORPUS" in os.environ else []


def kinds_of(text: str, wanted: str) -> list[str]:
    """Returns the words in `text` that are of the kind `wanted`."""
    return [text[start:end] for start, end, kind in tokens(text) if kind == wanted]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("keyword", "HloModule ROOT ENTRY ROOT"),
        ("module", "jit_f"),
        ("computation", "%add e %add"),
        ("parameter", "x.1 y"),
        ("instruction", "x.1 %y s p c z r t"),
        ("operand", "x.1 %y p z c r z"),
        ("opcode", "parameter parameter add parameter constant constant reduce compare"),
        ("enum", "A LT"),
        ("boolean", "true"),
        ("layout", "T S"),
        ("string", '"a" "k" "v // no comment" "b" "d"'.replace(" // no ", "_//_no_")),
        ("number", "1 2 0 8 1 2 0 0 1 3 2 0 0 2 1.5 nan 0 2 0"),
        ("comment", "//_a_comment"),
        ("raw", "{ :[1, ]} { :1}"),
    ],
)
def test_kinds(kind: str, words: str) -> None:
    assert [word.replace(" ", "_") for word in kinds_of(TEXT, kind)] == words.split()


def test_tokens_are_in_order_and_cover_the_text() -> None:
    found = tokens(TEXT)
    assert all(left.end <= right.start for left, right in pairwise(found))
    assert "".join(TEXT[start:end] for start, end, _ in found).replace(" ", "") == "".join(TEXT.split())


def test_every_terminal_has_a_kind() -> None:
    assert set(shared_parser().grammar.terminals) - {"WHITESPACE"} <= kind_of_terminal().keys()
    assert {*kind_of_terminal().values(), *KIND_OF_NAME.values()} == KINDS.keys()


def test_every_target_distinguishes_all_kinds() -> None:
    for field in ("textmate", "pygments", "capture"):
        names = [getattr(kind, field) for kind in KINDS.values()]
        assert len(set(names)) == len(names)


def test_tokens_come_from_the_parser_again_after_an_error() -> None:
    text = "HloModule m\nENTRY e {\n  p = f32[2 parameter(0)\n  ROOT r = f32[2] negate(p)\n}\nf { ROOT q = f32[] parameter(0) }\n"
    assert kinds_of(text, "operand") == ["p"]
    assert kinds_of(text, "instruction")[-2:] == ["r", "q"]
    assert kinds_of(text, "computation") == ["e", "f"]


def test_several_modules() -> None:
    assert kinds_of("HloModule a\ne { ROOT p = f32[] parameter(0) }\n// -----\nHloModule b\ne { ROOT p = f32[] parameter(0) }", "module") == [
        "a",
        "b",
    ]


@pytest.mark.parametrize("text", ["", "   ", "{", "not HLO: $ \0 \u00e9", "HloModule", "ENTRY e {", '"', "/*", "x = f32[] constant({"])
def test_any_text_has_tokens(text: str) -> None:
    for token in [*tokens(text), *scan(text)]:
        assert text[token.start : token.end].strip()
        assert token.kind in KINDS


# ---- the lexer of highlighters ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [*TEXTS, *DUMPS], ids=lambda path: path.name)
def test_scanner_agrees_with_the_parser(path: Path) -> None:
    text = read_text(str(path))
    try:
        parse_all(text)
    except ParseError:
        return
    assert disagreements(text, tokens(text), scan(text)) == []


def test_scanner_agrees_on_the_text_above() -> None:
    assert disagreements(TEXT, tokens(TEXT), scan(TEXT)) == []


def test_disagreements_are_found() -> None:
    first, second = Token(0, 4, "keyword"), Token(5, 6, "operand")
    assert disagreements("ROOT p", [first, second], [first, Token(5, 6, "module")]) == [(second, "module")]
    assert disagreements("ROOT p", [first], [first, second]) == [(Token(4, 6, ""), "operand")]
    assert disagreements("ROOT p", [first, second], [first]) == [(second, "")]


LONG = 4_000_000


@pytest.mark.parametrize(
    "text",
    [
        f"ENTRY e {{ ROOT c = f32[1] constant({{{'1.5, ' * (LONG // 5)}2}}) }}",
        f"ENTRY e {{ ROOT {'x' * LONG} = f32[] parameter(0) }}",
        f'ENTRY e {{ ROOT p = f32[] parameter(0), metadata={{op_name="{"x" * LONG}"}} }}',
        f"ENTRY e {{ ROOT p = f32[] parameter(0), backend_config={{{'[1]' * (LONG // 30)}}} }}",
        "{" * (LONG // 40),
        "a/*" * (LONG // 10),
        '"' + "x\\\n" * (LONG // 40),
        "a" + " " * LONG + "{",
    ],
    ids=["literal", "name", "string", "raw", "braces", "comments", "strings", "spaces"],
)
def test_long_lines_take_at_most_a_minute(text: str) -> None:
    started = time.monotonic()
    assert sum(1 for _ in scan(text)) > 0
    assert time.monotonic() - started < 60


@pytest.mark.parametrize("piece", ["/* ", '\\"', "\\'", "{", "backend_config={", "frontend_attributes={a={"])
def test_unclosed_parts_take_linear_time(piece: str) -> None:
    make = f"HloModule m\n\nENTRY e {{\n  p = f32[] parameter(0)\n{piece}".__add__
    assert slowdown(tokens, make(piece * 1_500), make(piece * 12_000), 32, negligible=0.3) <= 32


def test_every_context_is_used() -> None:
    assert {lexer_state.context for lexer_state in lexer_states()} == contexts().keys()
