"""The colors of boxes and their meanings."""

from __future__ import annotations

from math import log10
from zlib import crc32

from hlotool.ir.model import Instruction
from hlotool.opdefs.traits import (
    COMMUNICATES,
    CONTROL_FLOW,
    CONVERTS,
    EFFECT,
    ELEMENTWISE,
    EXPENSIVE,
    FREE,
    MOVES,
    REARRANGES,
    REDUCTION,
    RETURNS,
    RUNS_COMPUTATIONS,
)

__all__ = ["DECADES", "FAMILIES", "HEAT", "NO_SOURCE", "SOURCES", "family_of", "heat_color", "source_color"]

FAMILIES = {
    "input or constant": "#e3e6ea",
    "control flow": "#f6c3dd",
    "fusion or async start": "#d9c9f7",
    "communication": "#ffb3a7",
    "product or other expensive operation": "#ffd08a",
    "reduction": "#f7e58c",
    "data movement": "#b9ddf7",
    "conversion": "#c3ecec",
    "elementwise": "#c5e8b7",
    "other": "#f1f1f1",
}
"""The color of each kind of operation; these colors suit dark text."""

HEAT = ("#fff9ec", "#ffedc4", "#ffdb94", "#ffbf6b", "#fd9d54", "#f47a52")
"""Colors of amounts, from small to large."""

SOURCES = ("#a6cee3", "#b2df8a", "#fdbf6f", "#cab2d6", "#fb9a99", "#ffffb3", "#b3e2cd", "#f4cae4", "#d9d9d9", "#ccebc5")
"""Colors of source files."""

NO_SOURCE = "#f4f4f4"

_TRAIT_FAMILIES = (
    ("control flow", CONTROL_FLOW),
    ("fusion or async start", RETURNS),
    ("fusion or async start", RUNS_COMPUTATIONS),
    ("communication", COMMUNICATES),
    ("reduction", REDUCTION),
    ("data movement", REARRANGES),
    ("conversion", CONVERTS),
    ("elementwise", ELEMENTWISE),
    ("data movement", MOVES),
    ("product or other expensive operation", EXPENSIVE),
    ("data movement", FREE),
    ("other", EFFECT),
)
DECADES = 2
"""The range that the colors of amounts cover, in powers of ten below the largest amount.

All smaller amounts have the first color.
"""


def family_of(x: Instruction) -> str:
    """Returns the kind of an operation, a key of FAMILIES.

    >>> from hlotool.text.parse.parser import parse
    >>> [family_of(x) for x in parse("ENTRY e { p = f32[2] parameter(0) ROOT n = f32[2] negate(p) }").entry]
    ['input or constant', 'elementwise']
    """
    if x.immediate is not None:
        return "input or constant"
    return next((name for name, trait in _TRAIT_FAMILIES if trait in x.op.traits), "other")


def heat_color(amount: int, largest: int) -> str:
    """Returns the color of an amount, on a logarithmic scale.

    >>> heat_color(0, 100), heat_color(100, 100)
    ('#fff9ec', '#f47a52')
    """
    if amount <= 0:
        return HEAT[0]
    position = 1 + log10(amount / largest) / DECADES
    return HEAT[max(0, min(len(HEAT) - 1, int(position * len(HEAT))))]


def source_color(file: str) -> str:
    """Returns the color of a source file, which is the same in every picture."""
    return SOURCES[crc32(file.encode("utf-8", "surrogatepass")) % len(SOURCES)] if file else NO_SOURCE
