"""Colored text of a module for notebooks: HTML without scripts, with all text escaped."""

from __future__ import annotations

from html import escape

from hlotool.ir.model import Module
from hlotool.opdefs.inference import count
from hlotool.syntax.kinds import KINDS, PLAIN
from hlotool.syntax.scanner import scan
from hlotool.text.print.options import PrintOptions
from hlotool.text.print.printer import to_text

__all__ = ["to_html"]

_MOST_LINES = 1000
"""The most lines shown; browsers become slow with many more."""


def to_html(module: Module, options: PrintOptions | None = None) -> str:
    """Returns the first 1000 lines of a module's text as an HTML element, as shown in notebooks.

    >>> from hlotool.text.parse.parser import parse
    >>> html = to_html(parse("HloModule m\\nENTRY e { ROOT p = f32[2]{0} parameter(0) }"))
    >>> html.startswith("<pre"), '<span style="color: #0550ae">f32</span>[' in html
    (True, True)
    """
    lines = (to_text(module) if options is None else to_text(module, options)).rstrip("\n").split("\n")
    shown = "\n".join(lines[:_MOST_LINES])
    left = len(lines) - _MOST_LINES
    note = f"\n<i>{count(left, 'more line')}; hlotool.to_text(module) returns the whole text</i>" if left > 0 else ""
    return f'<pre style="line-height: 1.3; overflow-x: auto">{_highlighted(shown)}{note}</pre>'


def _highlighted(text: str) -> str:
    parts, end = [], 0
    for start, stop, kind in scan(text):
        color = KINDS[kind].color
        parts.append(escape(text[end:start]))
        token = escape(text[start:stop])
        parts.append(token if color == PLAIN else f'<span style="color: {color}">{token}</span>')
        end = stop
    parts.append(escape(text[end:]))
    return "".join(parts)
