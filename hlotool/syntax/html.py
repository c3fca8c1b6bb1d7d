"""Colored text of a module for notebooks: HTML without scripts, with all text escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from hlotool.ir.model import Module
from hlotool.opdefs.inference import count
from hlotool.syntax.kinds import KINDS, PLAIN
from hlotool.syntax.scanner import scan
from hlotool.text.print.print_options import PrintOptions
from hlotool.text.print.printer import to_text

__all__ = ["notebook_html", "to_html"]

_MAX_LINES = 1000
"""The largest number of lines shown; browsers become slow with many more."""


def to_html(module: Module, options: PrintOptions | None = None) -> str:
    """Returns the first 1000 lines of a module's text as an HTML element, as shown in notebooks.

    >>> from hlotool.text.parse.parser import parse
    >>> html = to_html(parse("HloModule m\\nENTRY e { ROOT p = f32[2]{0} parameter(0) }"))
    >>> html.startswith("<pre"), '<span style="color: #0550ae">f32</span>[' in html
    (True, True)
    """
    text = to_text(module) if options is None else to_text(module, options)
    return _render(text.rstrip("\n").split("\n"))


def notebook_html(module: Module) -> str:
    """Returns a summary of a module, its first 1000 lines, and its tables of stack frames below.

    >>> from hlotool.text.parse.parser import parse
    >>> html = notebook_html(parse("HloModule m\\nENTRY e { ROOT p = f32[2]{0} parameter(0) }"))
    >>> html.partition("<pre")[0]
    '<p><b>m</b>: 1 computation, 1 instruction; e(f32[2]{0}) -&gt; f32[2]{0}</p>'
    """
    lines = to_text(module).rstrip("\n").split("\n")
    start = lines.index(_FIRST_TABLE) if module.stack_tables_text is not None else 0
    end = next(k for k in range(start, len(lines)) if lines[k].endswith("{")) if start else 0
    tables = f"<details><summary>stack frames</summary>{_render(lines[start:end])}</details>" if start else ""
    return f"<p>{_summary(module)}</p>{_render(lines[:start] + lines[end:])}{tables}"


_FIRST_TABLE = "FileNames"


def _summary(module: Module) -> str:
    computations = [computation for computation in module.computations if computation not in module.hidden]
    instructions = sum(len(computation.instructions) for computation in computations)
    counts = f"{count(len(computations), 'computation')}, {count(instructions, 'instruction')}"
    signature = module.entry.program_shape
    parameters = ", ".join(shape.text for shape in signature.parameters)
    return f"<b>{escape(module.name)}</b>: {counts}; {escape(f'{module.entry.name}({parameters}) -> {signature.result.text}')}"


def _render(lines: Sequence[str]) -> str:
    shown = "\n".join(lines[:_MAX_LINES])
    left = len(lines) - _MAX_LINES
    note = f"\n<i>{count(left, 'more line')}; use hlotool.to_text(module) to get the whole text</i>" if left > 0 else ""
    return f'<pre style="line-height: 1.3; overflow-x: auto">{_highlight(shown)}{note}</pre>'


def _highlight(text: str) -> str:
    parts, end = [], 0
    for start, stop, kind in scan(text):
        color = KINDS[kind].color
        parts.append(escape(text[end:start]))
        token = escape(text[start:stop])
        parts.append(token if color == PLAIN else f'<span style="color: {color}">{token}</span>')
        end = stop
    parts.append(escape(text[end:]))
    return "".join(parts)
