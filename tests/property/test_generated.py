"""Random valid modules: their print parses back as the same module, and both paths of the parser give the same result."""

from __future__ import annotations

import dataclasses

import pytest
from compare import differences
from generator import Style, random_module

from hlotool.errors import Source
from hlotool.ir.model import Module
from hlotool.opdefs.table import OPS
from hlotool.text.parse.parser import parse, parse_source
from hlotool.text.print.options import PrintOptions
from hlotool.text.print.printer import to_text

SEEDS = range(120)
XLA = dataclasses.replace(PrintOptions.xla_default(), print_large_constants=True)
STYLES = (
    Style(),
    Style(percent=False, signatures=False),
    Style(operand_shapes=True, comments=True),
    Style(percent=False, operand_shapes=True, newer=True),
)


def text_of(seed: int) -> str:
    return random_module(seed, 15, STYLES[seed % len(STYLES)])


@pytest.mark.parametrize("seed", SEEDS)
def test_print_and_parse_are_inverse(seed: int) -> None:
    module = parse(text_of(seed))
    text = to_text(module)
    again = parse(text)
    assert to_text(again) == text
    assert to_text(again, XLA) == to_text(module, XLA)


@pytest.mark.parametrize("seed", SEEDS)
def test_both_paths_agree(seed: int) -> None:
    text = text_of(seed)
    fast, slow = parse_source(Source(text)), parse_source(Source(text), fast_path=False)
    assert not differences(fast, slow)
    assert slow.notes.fast_count == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_both_paths_agree_on_canonical_text(seed: int) -> None:
    text = to_text(parse(text_of(seed)))
    fast, slow = parse_source(Source(text)), parse_source(Source(text), fast_path=False)
    assert not differences(fast, slow)
    # The fast path reads all but the forms that only newer builds of XLA parse.
    assert fast.notes.fast_count > instructions(fast) // 2


def instructions(module: Module) -> int:
    return sum(len(computation.instructions) for computation in module.computations)


@pytest.mark.parametrize("seed", SEEDS[:40])
def test_every_preset_prints(seed: int) -> None:
    module = parse(text_of(seed))
    for options in (PrintOptions.short_parsable(), PrintOptions.canonical(), PrintOptions.fingerprint()):
        assert to_text(module, options).endswith("\n")


def test_the_generator_knows_every_opcode() -> None:
    opcodes = {x.opcode for seed in range(150) for x in parse(text_of(seed)).all_instructions()}
    assert opcodes == set(OPS)
