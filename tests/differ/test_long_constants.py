"""Constants whose text is so long that it is decoded only if necessary.

The tests generate the constants, since case files with them would be long, too.
"""

from __future__ import annotations

import pytest

import hlotool
from hlotool.differ.canonical import canonical

COUNT = 40_000


def module(*texts: str) -> hlotool.Module:
    lines = [f"  c{k} = f16[{COUNT}] constant({text})" for k, text in enumerate(texts)]
    names = ", ".join(f"c{k}" for k in range(len(texts)))
    types = ", ".join(f"f16[{COUNT}]" for _ in texts)
    return hlotool.parse("\n".join(["ENTRY e {", *lines, f"  ROOT t = ({types}) tuple({names})", "}"]))


def numbers(*first: str, rest: str = "0") -> str:
    return "{" + ", ".join([*first, *[rest] * (COUNT - len(first))]) + "}"


@pytest.mark.parametrize(
    ("left", "right", "is_equal"),
    [
        ([numbers("1")], [numbers("1")], True),
        ([numbers("1")], [numbers("1.0", "0e3")], True),
        (["0"], [numbers()], True),
        ([numbers()], ["0"], True),
        ([numbers("1"), "0"], [numbers("1.0"), numbers()], True),
        ([numbers("1"), numbers("2"), numbers("1")], [numbers("1.0"), numbers("2"), numbers("1.0")], True),
        ([numbers("0")], [numbers("-0.0")], False),
        ([numbers()], ["1"], False),
        (["1"], [numbers()], False),
        ([numbers("1"), numbers("2")], [numbers("1"), numbers("3")], False),
        (["{...}"], [numbers()], False),
        ([numbers()], ["{...}"], False),
    ],
)
def test_spelling(left: list[str], right: list[str], is_equal: bool) -> None:
    first, second = module(*left), module(*right)
    wanted = () if is_equal else ("constants",)
    assert hlotool.diff(first, second).categories == wanted
    assert hlotool.diff(second, first).categories == wanted


def test_bytes() -> None:
    """Checks constants in the canonical form, which are held as bytes and have no text."""
    text = module(numbers("1", "2.5"), "7")
    computed = canonical(text)
    assert computed.entry["v0.0"].literal.packed is not None
    for left, right in ((text, computed), (computed, text)):
        assert hlotool.diff(left, right, ignore=["names"]).categories == ()


def test_other_sizes() -> None:
    left = hlotool.parse(f"ENTRY e {{ ROOT c = f16[{COUNT}] constant({numbers('1')}) }}")
    right = hlotool.parse(f"ENTRY e {{ ROOT c = f32[{COUNT}] constant({numbers('1.0')}) }}")
    assert hlotool.diff(left, right).categories == ("element_type",)
