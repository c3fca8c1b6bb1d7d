"""Display of modules in notebooks."""

from __future__ import annotations

import hlotool


def test_notebooks_show_modules_with_colors_and_other_objects_by_name() -> None:
    module = hlotool.parse("HloModule m\nENTRY e { ROOT p = f32[2] parameter(0) }")
    bundle = module._repr_mimebundle_()
    assert bundle == {"text/plain": repr(module), "text/html": module._repr_html_()}
    assert bundle["text/plain"] == "<module m with 1 computation>"
    assert bundle["text/html"] == hlotool.to_html(module)
    assert ">ENTRY</span>" in bundle["text/html"]


def test_long_modules_are_truncated_and_names_are_escaped() -> None:
    lines = "".join(f"x{k} = f32[] negate(p)\n" for k in range(1200))
    module = hlotool.parse(f'HloModule m, frontend_attributes={{a="<b>"}}\nENTRY e {{ p = f32[] parameter(0)\n{lines}ROOT r = f32[] abs(p) }}')
    html = hlotool.to_html(module)
    assert "<b>" not in html
    assert "more lines; hlotool.to_text(module) returns the whole text" in html
    assert html.count("negate") < 1000
