"""The Pygments lexer."""

from __future__ import annotations

import pytest
from highlighted import TEXT
from pygments import highlight
from pygments.formatters import HtmlFormatter, NullFormatter
from pygments.token import STANDARD_TYPES, Error

from hlotool.syntax.pygments_lexer import HloLexer


@pytest.mark.parametrize("text", [TEXT, "", "   \n", 'no HLO: $ \u00e9 /* "\n'])
def test_the_text_is_preserved(text: str) -> None:
    assert "".join(piece for _, _, piece in HloLexer().get_tokens_unprocessed(text)) == text


def test_offsets() -> None:
    assert all(TEXT.startswith(piece, start) for start, _, piece in HloLexer().get_tokens_unprocessed(TEXT))


def test_all_token_types_have_styles() -> None:
    types = {kind for _, kind, _ in HloLexer().get_tokens_unprocessed(TEXT)}
    assert types <= STANDARD_TYPES.keys()
    assert Error not in types


def test_html() -> None:
    html = highlight("ENTRY e { ROOT p = f32[] parameter(0) }", HloLexer(), HtmlFormatter())
    assert '<span class="k">ENTRY</span><span class="w"> </span><span class="nf">e</span>' in html
    assert highlight("HloModule m\n", HloLexer(), NullFormatter()) == "HloModule m\n"


def test_guesses() -> None:
    assert [HloLexer.analyse_text(text) for text in ("HloModule m, x=1", "HloModules", "module {}")] == [1.0, 0.0, 0.0]
