"""The text of a module with colors, for notebooks: HTML without scripts, in which every character of the text is escaped."""

from __future__ import annotations

import re
from html import escape

from hlotool.ir.model import Module
from hlotool.opdefs.inference import count
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.text.print.options import PrintOptions
from hlotool.text.print.printer import to_text

__all__ = ["to_html"]

_MOST_LINES = 1000
"""Lines that are shown; browsers get slow with many more."""
_TYPES = "|".join(sorted(ELEMENT_TYPES, key=len, reverse=True))
_TOKENS = re.compile(
    rf"""
    (?P<comment>//[^\n]*+|/\*(?s:.)*?\*/)
    |(?P<string>"(?:[^"\\\n]++|\\.)*+")
    |(?P<keyword>\b(?:HloModule|ENTRY|ROOT)\b)
    |(?P<opcode>(?<=[\]}}) ])[a-z][a-z0-9\-]*+(?=\())
    |(?P<attribute>\b[a-z_][a-z0-9_]*+(?==))
    |(?P<type>\b(?:{_TYPES})\[[^\]\s]*+\](?:\{{[^}}\s]*+\}})?+)
    |(?P<name>%[A-Za-z0-9_.\-]++)
    |(?P<number>(?<![\w.])-?(?:[0-9]++(?:\.[0-9]++)?+(?:e[+\-]?[0-9]++)?+|inf\b|nan\b)(?![\w.]))
    """,
    re.VERBOSE,
)
_COLORS = {
    "comment": "#6e7781",
    "string": "#0a7a4b",
    "keyword": "#cf222e; font-weight: bold",
    "opcode": "#8250df; font-weight: bold",
    "attribute": "#953800",
    "type": "#0550ae",
    "name": "inherit",
    "number": "#0550ae",
}
"""By the kind of token; readable on light and on dark backgrounds."""


def to_html(module: Module, options: PrintOptions | None = None) -> str:
    """The text of a module as an element of an HTML page, with its first 1000 lines. Notebooks show modules like this.

    >>> from hlotool.text.parse.parser import parse
    >>> html = to_html(parse("HloModule m\\nENTRY e { ROOT p = f32[2]{0} parameter(0) }"))
    >>> html.startswith("<pre"), '<span style="color: #0550ae">f32[2]{0}</span>' in html
    (True, True)
    """
    lines = (to_text(module) if options is None else to_text(module, options)).rstrip("\n").split("\n")
    shown = "\n".join(lines[:_MOST_LINES])
    left = len(lines) - _MOST_LINES
    note = f"\n<i>{count(left, 'more line')}; hlotool.to_text(module) has all</i>" if left > 0 else ""
    return f'<pre style="line-height: 1.3; overflow-x: auto">{_highlighted(shown)}{note}</pre>'


def _highlighted(text: str) -> str:
    parts, end = [], 0
    for match in _TOKENS.finditer(text):
        color = _COLORS[str(match.lastgroup)]
        parts.append(escape(text[end : match.start()]))
        parts.append(f'<span style="color: {color}">{escape(match[0])}</span>')
        end = match.end()
    parts.append(escape(text[end:]))
    return "".join(parts)
