"""Instructions with errors: their users are reported only for additional errors.

The fast path and the grammar path report the same errors.
"""

from __future__ import annotations

import pytest

from hlotool.errors import Diagnostic, ParseError, Source
from hlotool.text.parse.parser import parse_source

TEXT = """HloModule m

ENTRY %e (p: f32[2]) -> f32[2] {{
  %p = f32[2]{{0}} parameter(0)
  %bad = f32[2]{{0}} negat(%p)
  {line}
  ROOT %r = f32[2]{{0}} negate(%p)
}}
"""


def errors(text: str, *, fast_path: bool) -> list[Diagnostic]:
    with pytest.raises(ParseError) as caught:
        parse_source(Source(text), fast_path=fast_path)
    return caught.value.diagnostics


@pytest.mark.parametrize(
    ("line", "codes"),
    [
        ("%x = f32[2]{0} negate(%bad)", []),
        ("%x = f32[2]{0} negate(f32[2]{0} %bad)", []),
        ("x = f32[2]{0} add(p, bad)", []),
        ("%x = f32[2]{0} add(%p, %bad, %p)", []),
        ('%x = f32[2]{0} custom-call(%p, %p, %p, %p, %p, /*index=5*/%bad), custom_call_target="f"', []),
        ('%x = f32[2]{0} negate(%bad), metadata={op_name="a"}, backend_config={"a":1}', []),
        ("%x = f32[2]{0} negate(%bad)\n  %y = f32[2]{0} add(%x, %p)", []),
        ("%x = f32[2]{0} negate(%bad)\n  %y = f32[2]{0} add(%x, %zork)", []),
        ("%x = f32[2]{0} add(%zork, %bad)", ["S002"]),
        ("%x = f32[2]{0} negate(%zork)\n  %y = f32[2]{0} add(%x, %zork)", ["S002"]),
        ("%x = f32[2]{0} add(f32[3]{0} %p, %bad)", ["S022"]),
        ("%x = f32[2]{0} add(%bad, %x)", ["S028"]),
        ("%x = f32[2]{0} add(%x, %bad)", ["S028"]),
        ("%p = f32[2]{0} negate(%bad)", ["S003"]),
        ("%x = f32[2]{0} negat(%bad)", ["S012"]),
        ("%x = f32[2]{0} negate(%bad), dimensions={,}", ["S001"]),
        ("%x = f32[2]{0} transpose(%bad), dimensions=0", ["S017"]),
        ("ROOT %x = f32[2]{0} negate(%bad)", ["S008"]),
        ("ROOT %x = f32[2]{0} negate(%bad)\n  ROOT %y = f32[2]{0} negate(%x)", ["S008", "S008"]),
        ("%x = f32[2]{0} call(%bad), to_apply=%zork", ["S006"]),
        ("%x = f32[2]{0} negate(%bad)\n  %y = f32[2]{0} negat(%x)\n  %z = f32[2]{0} add(%y, %x)", ["S012"]),
    ],
)
def test_errors_after_a_broken_instruction(line: str, codes: list[str]) -> None:
    text = TEXT.format(line=line)
    fast, slow = errors(text, fast_path=True), errors(text, fast_path=False)
    assert fast == slow
    assert [d.code for d in fast] == ["S012", *codes]
