"""The search for old spellings takes time linear in the size of a text, whatever the text is."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from growth import slowdown

from hlotool.text.legacy.rewrite import old_spellings

# Of the times for a text of eight times the size.
MAX_RATIO = 32
FAMILIES: dict[str, Callable[[int], str]] = {
    "attributes inside attributes": lambda n: "x = a(), b={ " * n + "}" * n,
    "attributes closed by other brackets": lambda n: "x = a(), b={ " * n + ")" * n,
    "open attributes": lambda n: "x = a(), b={ " * n,
    "open operands": lambda n: "x = a(" * n,
    "open shapes": lambda n: "x = (" * n,
    "sorts inside sorts": lambda n: "x = f32[2] sort(a), b={ " * n + "}" * n,
    "closing brackets": lambda n: "x = a()" + "}" * n,
    "empty layouts after a word": lambda n: "x = " + "a" * 200 * n + "[" + "]{}," * 70,
    "empty layouts": lambda n: "x = f32[" + "]{}," * n,
    "literals with shapes": lambda n: f"x = f32[{n}] constant(f32[{n}] {{{'1, ' * n}}})",
    "bits of pred": lambda n: f"x = (pred[{n}], s32[]) constant(( pred[{n}] {{{'10 ' * n}}}, s32[] 1 ))",
    "open literals": lambda n: "x = pred[2] constant(" * n,
    "shapes of pred": lambda n: f"x = () constant(({'pred[2] ' * n}))",
    "sparse literals": lambda n: f"x = f32[{n}]sparse{{1}} constant({{{', '.join(f'{k}: 1' for k in range(n))}}})",
    "strings": lambda n: 'x = a(), b="{" ' * n,
    "open strings": lambda n: '"\n' * n,
    "open comments": lambda n: "/* \n" * n,
}


@pytest.mark.parametrize("name", FAMILIES)
def test_the_search_is_linear(name: str) -> None:
    make = FAMILIES[name]
    assert slowdown(old_spellings, make(500), make(4_000), MAX_RATIO, negligible=0.2) <= MAX_RATIO
