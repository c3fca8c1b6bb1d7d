"""The formatter, applied to mangled modules.

The formatter preserves the module and the comments, restores spaces and order, and is idempotent.

`fuzz.py --formats` runs the same checks for longer and can also use the modules in a corpus. The
environment variable HLOTOOL_FORMATS multiplies the number of examples in these tests.
"""

from __future__ import annotations

import os
import re
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mangling import (
    commented,
    formatting_fault,
    mangled,
    random_mangled,
    spelled,
    tokens_of,
    width_fault,
)
from random_texts import random_text
from strategies import RANDOM, SEEDS

from hlotool.errors import InternalError
from hlotool.ir.model import Module
from hlotool.text.formatting import equivalence, formatter
from hlotool.text.formatting.formatter import format_text
from hlotool.text.formatting.style import FormatStyle
from hlotool.text.parse.line_reader import NoLines
from hlotool.text.parse.parser import parse

MANY = int(os.environ.get("HLOTOOL_FORMATS", "1"))


@settings(max_examples=180 * MANY)
@given(SEEDS, st.integers(1, 8))
def test_mangled_texts(seed: int, instructions: int) -> None:
    case = random_mangled(seed, instructions)
    fault = formatting_fault(case)
    assert fault is None, f"{fault}\n{case.text}"


@settings(max_examples=20 * MANY)
@given(SEEDS, st.integers(1, 5))
def test_fast_path_and_grammar_path_format_equally(seed: int, instructions: int) -> None:
    case = random_mangled(seed, instructions)
    text = format_text(case.text, checked=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(formatter, "LineFormatter", lambda session, callback: NoLines())
        assert format_text(case.text, checked=False) == text


SPELLINGS = {
    "indented": lambda line: f"  {line}",
    "not indented": lambda line: line.lstrip(),
    "space at the end": lambda line: f"{line} ",
    "comment at the end": lambda line: f"{line} // a note",
    "comment before": lambda line: f"// before\n{line}",
    "empty lines before": lambda line: f"\n\n{line}",
    "no spaces after commas": lambda line: line.replace(", ", ","),
    "two spaces": lambda line: line.replace(" = ", "  = "),
    "no index marks": lambda line: re.sub(r"/\*index=[0-9]+\*/", "", line),
}
"""Other spellings of a line of a printed module."""


@settings(max_examples=20 * MANY)
@given(
    SEEDS,
    st.dictionaries(st.integers(0, 40), st.sampled_from(list(SPELLINGS)), max_size=6),
    st.sampled_from(("\n", "\r\n")),
    st.sampled_from((None, 60, 90)),
)
def test_lines_between_formatted_lines(seed: int, respelled: dict[int, str], newline: str, width: int | None) -> None:
    """Checks that copying runs of formatted lines produces the same text as formatting every token.

    `respelled` maps line numbers to the names of spellings.
    """
    lines = spelled(seed, 12, shuffle=False).splitlines()
    for k, spelling in respelled.items():
        lines[k % len(lines)] = SPELLINGS[spelling](lines[k % len(lines)])
    text = newline.join([*lines, ""])
    style = FormatStyle(width=width)
    after = format_text(text, style)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(formatter, "LineFormatter", lambda session, callback: NoLines())
        assert format_text(text, style) == after


@settings(max_examples=40 * MANY)
@given(SEEDS, st.integers(1, 4), st.integers(0, 60), st.integers(0, 60))
def test_ranges(seed: int, instructions: int, start: int, count: int) -> None:
    text = random_mangled(seed, instructions).text
    lines = text.split("\n")
    first = 1 + start % len(lines)
    last = min(first + count, len(lines))
    after = format_text(text, lines=(first, last))
    assert after.startswith("\n".join(lines[: first - 1]))
    assert after.endswith("\n".join(lines[last:]))


@settings(max_examples=20 * MANY)
@given(SEEDS, st.integers(1, 4), RANDOM | st.none(), st.sampled_from((40, 41, 60, 80, 100, 120)))
def test_widths(seed: int, instructions: int, comments: Random | None, width: int) -> None:
    text = spelled(seed, instructions)
    if comments is not None:
        text = commented(text, comments).text
    assert width_fault(text, width) is None


@settings(max_examples=40)
@given(SEEDS, st.integers(1, 8))
def test_printed_text_is_formatted(seed: int, instructions: int) -> None:
    text = spelled(seed, instructions, shuffle=False)
    assert format_text(text) == text


def test_tokens_are_those_of_the_text() -> None:
    text = 'HloModule m\n\nENTRY e {\n  ROOT p = f32[2]{0} parameter(0), metadata={op_name="a b"}\n}\n'
    words = [text[start:end] for start, end in tokens_of(text).spans]
    assert " ".join(words) == 'HloModule m ENTRY e { ROOT p = f32 [ 2 ] { 0 } parameter ( 0 ) , metadata= { op_name= "a b" } }'


# ---- checking the result ----------------------------------------------------------------------------------------------


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
    "a comment is changed": ("// first", "// second"),
    "a comment is added": ("ENTRY %e {\n", "ENTRY %e {\n  // new\n"),
    "a comment is repeated": ("// about f\n", "// about f\n// about f\n"),
    "a digit of a constant": ("2.5", "2.6"),
    "a spelling of a constant": ("2.5", "2.50"),
    "a digit of a shape": ("f32[2]", "f32[3]"),
    "a parameter number": ("ROOT x = f32[] parameter(0)", "ROOT x = f32[2] parameter(0)"),
    "an attribute is lost": (", sharding={replicated}", ""),
    "metadata is lost": (', metadata={op_name="call" source_line=7}', ""),
    "metadata is changed": ("source_line=7", "source_line=8"),
    "a backend configuration is changed": ('{"k":1}', '{"k":2}'),
    "an attribute of the header is lost": (", is_scheduled=true", ""),
    "instructions are swapped": ("  a = f32[] parameter(0) // first\n  c = f32[2] constant({1, 2.5})\n",
                                   "  c = f32[2] constant({1, 2.5})\n  a = f32[] parameter(0) // first\n"),
    "operands are swapped": ("add(b, d)", "add(d, b)"),
    "another operand": ("add(b, d)", "add(b, b)"),
    "an opcode": ("negate(b)", "abs(b)"),
    "the root": ("ROOT r", "r"),
    "the type in a signature": ("x: f32[]", "x: f16[]"),
    "a percent sign": ("ENTRY %e", "ENTRY e"),
    "a name": ("ROOT x", "ROOT y"),
    "the entry": ("ENTRY %e", "%e"),
    "an instruction is lost": ("  c = f32[2] constant({1, 2.5})\n", ""),
    "it does not parse": ("add(b, d)", "add(b, d"),
    "formatting again changes it": ("add(b, d)", "add(b,  d)"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_wrong_results_are_rejected(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    right, wrong = WRONG[what]
    assert TEXT.count(right) == 1
    original_formatter = formatter._format

    def broken(text: str, *rest: object) -> str:
        # The result is wrong only in the first run, so a second run does not reveal the error.
        after = original_formatter(text, *rest)  # type: ignore[arg-type]
        return after.replace(right, wrong) if text == MESSY else after

    assert format_text(MESSY) == TEXT
    monkeypatch.setattr(formatter, "_format", broken)
    with pytest.raises(InternalError, match="The text is left unchanged"):
        format_text(MESSY)


MESSY = TEXT.replace("add(b, d)", "add( b,d )")


@pytest.mark.parametrize("what", [what for what in WRONG if what not in ("the root", "the entry", "formatting again changes it")])
def test_repeated_wrong_results_are_rejected(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    right, wrong = WRONG[what]
    original_formatter = formatter._format
    monkeypatch.setattr(formatter, "_format", lambda *arguments: original_formatter(*arguments).replace(right, wrong))
    with pytest.raises(InternalError):
        format_text(MESSY)


def test_joined_modules_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    original_formatter = formatter._format
    monkeypatch.setattr(formatter, "_format", lambda *arguments: original_formatter(*arguments) + "// -----\n")
    with pytest.raises(InternalError):
        format_text(TEXT + "// -----\n" + TEXT)


@pytest.mark.parametrize("seed", range(10))
def test_lost_tokens_are_rejected(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    random = Random(seed)
    text = random_text(seed, 6)
    parsed = parse(text)
    assert isinstance(parsed, Module)
    after = format_text(mangled(text, random, comments=0.02).text)
    spans = tokens_of(after).spans
    original_formatter = formatter._format
    rejected = 0
    for _ in range(10):
        start, end = random.choice(spans)
        # Without a comma, a percent sign or ROOT, the text may still be the same module.
        if after[start:end] in (",", "ROOT") or after[start] == "%":
            continue
        broken = after[:start] + after[end:]
        monkeypatch.setattr(formatter, "_format", lambda *arguments, broken=broken: broken)
        with pytest.raises(InternalError):
            format_text(after + "\n\n\n")
        rejected += 1
    monkeypatch.setattr(formatter, "_format", original_formatter)
    assert rejected
    assert equivalence.comment_counts(after)
