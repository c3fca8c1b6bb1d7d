"""Display of modules in notebooks."""

from __future__ import annotations

import hlotool


def test_notebooks_show_modules_with_colors_and_other_objects_by_name() -> None:
    module = hlotool.parse("HloModule m\nENTRY e { ROOT p = f32[2] parameter(0) }")
    bundle = module._repr_mimebundle_()
    assert bundle == {"text/plain": repr(module), "text/html": module._repr_html_()}
    assert bundle["text/plain"] == "<module m with 1 computation>"
    assert bundle["text/html"].endswith(hlotool.to_html(module))
    assert ">ENTRY</span>" in bundle["text/html"]


def test_long_modules_are_truncated_and_names_are_escaped() -> None:
    lines = "".join(f"x{k} = f32[] negate(p)\n" for k in range(1200))
    module = hlotool.parse(f'HloModule m, frontend_attributes={{a="<b>"}}\nENTRY e {{ p = f32[] parameter(0)\n{lines}ROOT r = f32[] abs(p) }}')
    html = hlotool.to_html(module)
    assert "<b>" not in html
    assert "more lines; use hlotool.to_text(module) to get the whole text" in html
    assert html.count("negate") < 1000


TABLES = """HloModule m

FileNames
1 "model.py"

FunctionNames
1 "step"

FileLocations
1 {file_name_id=1 function_name_id=1 line=4 end_line=4 column=1 end_column=9}

StackFrames
1 {file_location_id=1 parent_frame_id=1}

f { ROOT q = f32[] parameter(0) }

ENTRY e { p = f32[] parameter(0), metadata={op_name="a" stack_frame_id=1} ROOT c = f32[] call(p), to_apply=f }
"""


def test_notebooks_show_a_summary_before_the_text_and_tables_of_stack_frames_after_it() -> None:
    html = hlotool.parse(TABLES)._repr_html_()
    assert html.startswith("<p><b>m</b>: 2 computations, 3 instructions; e(f32[]) -&gt; f32[]</p><pre")
    text, tables = html.split("<details><summary>stack frames</summary>")
    assert "model.py" not in text
    assert "model.py" in tables
    assert ">ENTRY</span>" in text
    assert ">ENTRY</span>" not in tables
