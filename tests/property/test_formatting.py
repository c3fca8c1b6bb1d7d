"""Mangled texts: the formatter keeps module and comments, undoes whitespace and orders, and a second run changes nothing.

`fuzz.py --formats` does the same for hours, with texts of a corpus too; HLOTOOL_FORMATS multiplies the seeds here.
"""

from __future__ import annotations

import os
from random import Random

import pytest
from generator import random_module
from mangling import (
    fault,
    gentle,
    mangled,
    random_case,
    spelled,
    tokens_of,
    width_fault,
)

from hlotool.errors import InternalError
from hlotool.ir.model import Module
from hlotool.text.formatting import equivalence, formatter
from hlotool.text.formatting.formatter import format_text
from hlotool.text.parse.line_reader import NoLines
from hlotool.text.parse.parser import parse

MANY = int(os.environ.get("HLOTOOL_FORMATS", "1"))
BATCH = 15


@pytest.mark.parametrize("batch", range(12 * MANY))
def test_mangled_texts(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        case = random_case(seed)
        found = fault(case)
        assert found is None, f"seed {seed}: {found}\n{case.text}"


@pytest.mark.parametrize("seed", range(20 * MANY))
def test_lines_and_grammar_format_alike(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    case = random_case(seed, 5)
    text = format_text(case.text, checked=False)
    monkeypatch.setattr(formatter, "LineFormatter", lambda session, callback: NoLines())
    assert format_text(case.text, checked=False) == text


@pytest.mark.parametrize("seed", range(20 * MANY))
def test_widths(seed: int) -> None:
    random = Random(seed)
    text = spelled(seed, 4)
    if seed % 2:
        text = gentle(text, random).text
    width = random.choice((40, 41, 60, 80, 100, 120))
    assert width_fault(text, width) is None, f"seed {seed}, width {width}"


@pytest.mark.parametrize("seed", range(40))
def test_what_is_printed_is_formatted(seed: int) -> None:
    text = spelled(seed, 8, shuffle=False)
    assert format_text(text) == text


def test_tokens_are_those_of_the_text() -> None:
    text = 'HloModule m\n\nENTRY e {\n  ROOT p = f32[2]{0} parameter(0), metadata={op_name="a b"}\n}\n'
    words = [text[start:end] for start, end in tokens_of(text).spans]
    assert " ".join(words) == 'HloModule m ENTRY e { ROOT p = f32 [ 2 ] { 0 } parameter ( 0 ) , metadata= { op_name= "a b" } }'


# ---- the equivalence --------------------------------------------------------------------------------------------------------


TEXT = """HloModule m, is_scheduled=true

// about f
f (x: f32[]) -> f32[] {
  ROOT x = f32[] parameter(0)
}

ENTRY %e {
  a = f32[] parameter(0) // first
  c = f32[2] constant({1, 2.5})
  b = f32[] call(a), to_apply=f, metadata={op_name="call" source_line=7}
  d = f32[] negate(b), sharding={replicated}, backend_config={"k":1}
  ROOT r = f32[] add(b, d) /* last */
}
"""
WRONG = {
    "a comment is lost": (" // first", ""),
    "a block comment is lost": (" /* last */", ""),
    "a comment is another": ("// first", "// second"),
    "a comment is made": ("ENTRY %e {\n", "ENTRY %e {\n  // new\n"),
    "a comment is there twice": ("// about f\n", "// about f\n// about f\n"),
    "a digit of a constant": ("2.5", "2.6"),
    "a spelling of a constant": ("2.5", "2.50"),
    "a digit of a shape": ("f32[2]", "f32[3]"),
    "a parameter number": ("ROOT x = f32[] parameter(0)", "ROOT x = f32[2] parameter(0)"),
    "an attribute is lost": (", sharding={replicated}", ""),
    "metadata is lost": (', metadata={op_name="call" source_line=7}', ""),
    "metadata is changed": ("source_line=7", "source_line=8"),
    "a backend configuration is changed": ('{"k":1}', '{"k":2}'),
    "an attribute of the header is lost": (", is_scheduled=true", ""),
    "instructions change places": ("  a = f32[] parameter(0) // first\n  c = f32[2] constant({1, 2.5})\n",
                                   "  c = f32[2] constant({1, 2.5})\n  a = f32[] parameter(0) // first\n"),
    "operands change places": ("add(b, d)", "add(d, b)"),
    "another operand": ("add(b, d)", "add(b, b)"),
    "an opcode": ("negate(b)", "abs(b)"),
    "the root": ("ROOT r", "r"),
    "the type in a signature": ("x: f32[]", "x: f16[]"),
    "a percent sign": ("ENTRY %e", "ENTRY e"),
    "a name": ("ROOT x", "ROOT y"),
    "the entry": ("ENTRY %e", "%e"),
    "an instruction is lost": ("  c = f32[2] constant({1, 2.5})\n", ""),
    "it does not parse": ("add(b, d)", "add(b, d"),
    "it is no fixed point": ("add(b, d)", "add(b,  d)"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_the_proof_refuses(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    right, wrong = WRONG[what]
    assert TEXT.count(right) == 1
    honest = formatter._formatted

    def broken(text: str, *rest: object) -> str:
        # Wrong on the first run only: what it has made must not be trusted because it makes it again.
        after = honest(text, *rest)  # type: ignore[arg-type]
        return after.replace(right, wrong) if text == MESSY else after

    assert format_text(MESSY) == TEXT
    monkeypatch.setattr(formatter, "_formatted", broken)
    with pytest.raises(InternalError, match="The text is left as it is"):
        format_text(MESSY)


MESSY = TEXT.replace("add(b, d)", "add( b,d )")


@pytest.mark.parametrize("what", [what for what in WRONG if what not in ("the root", "the entry", "it is no fixed point")])
def test_the_proof_refuses_a_formatter_that_is_consistently_wrong(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    right, wrong = WRONG[what]
    honest = formatter._formatted
    monkeypatch.setattr(formatter, "_formatted", lambda *arguments: honest(*arguments).replace(right, wrong))
    with pytest.raises(InternalError):
        format_text(MESSY)


def test_the_proof_refuses_modules_that_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = formatter._formatted
    monkeypatch.setattr(formatter, "_formatted", lambda *arguments: honest(*arguments) + "// -----\n")
    with pytest.raises(InternalError):
        format_text(TEXT + "// -----\n" + TEXT)


@pytest.mark.parametrize("seed", range(10))
def test_the_proof_refuses_random_losses(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    random = Random(seed)
    text = random_module(seed, 6)
    parsed = parse(text)
    assert isinstance(parsed, Module)
    after = format_text(mangled(text, random, comments=0.02).text)
    spans = tokens_of(after).spans
    honest = formatter._formatted
    refused = 0
    for _ in range(10):
        start, end = random.choice(spans)
        # A comma more or less, or a percent sign, says the same.
        if after[start:end] in (",", "ROOT") or after[start] == "%":
            continue
        broken = after[:start] + after[end:]
        monkeypatch.setattr(formatter, "_formatted", lambda *arguments, broken=broken: broken)
        with pytest.raises(InternalError):
            format_text(after + "\n\n\n")
        refused += 1
    monkeypatch.setattr(formatter, "_formatted", honest)
    assert refused
    assert equivalence.comment_counts(after)
