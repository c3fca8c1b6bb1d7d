"""Random valid modules: the printed text parses back, and both paths of the parser agree."""

from __future__ import annotations

import dataclasses

from compare import differences
from hypothesis import given, settings
from random_texts import Style, random_text
from strategies import modules

from hlotool.errors import Source
from hlotool.ir.model import Module
from hlotool.opdefs.table import OPS
from hlotool.text.parse.parser import parse, parse_source
from hlotool.text.print.print_options import PrintOptions
from hlotool.text.print.printer import to_text

XLA = dataclasses.replace(PrintOptions.xla_default(), print_large_constants=True)
STYLES = (
    Style(),
    Style(percent=False, signatures=False),
    Style(operand_shapes=True, comments=True),
    Style(percent=False, operand_shapes=True, newer=True),
)
MODULES = modules(15, STYLES)


@settings(max_examples=120)
@given(MODULES)
def test_printing_and_parsing_are_inverse(generated: str) -> None:
    module = parse(generated)
    text = to_text(module)
    again = parse(text)
    assert to_text(again) == text
    assert to_text(again, XLA) == to_text(module, XLA)


@settings(max_examples=120)
@given(MODULES)
def test_both_paths_agree(text: str) -> None:
    fast, slow = parse_source(Source(text)), parse_source(Source(text), fast_path=False)
    assert not differences(fast, slow)
    assert slow.notes.fast_count == 0


@settings(max_examples=120)
@given(MODULES)
def test_both_paths_agree_on_canonical_text(generated: str) -> None:
    text = to_text(parse(generated))
    fast, slow = parse_source(Source(text)), parse_source(Source(text), fast_path=False)
    assert not differences(fast, slow)
    # The fast path reads everything except forms that only newer builds of XLA parse.
    assert fast.notes.fast_count > instructions(fast) // 2


def instructions(module: Module) -> int:
    return sum(len(computation.instructions) for computation in module.computations)


@settings(max_examples=40)
@given(MODULES)
def test_every_preset_prints(text: str) -> None:
    module = parse(text)
    for options in (PrintOptions.short_parsable(), PrintOptions.canonical(), PrintOptions.fingerprint()):
        assert to_text(module, options).endswith("\n")


def test_the_generator_knows_every_opcode() -> None:
    texts = [random_text(seed, 15, STYLES[seed % len(STYLES)]) for seed in range(150)]
    opcodes = {x.opcode for text in texts for x in parse(text).all_instructions()}
    assert opcodes == set(OPS)
