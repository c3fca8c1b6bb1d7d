"""Renders a difference as Markdown, for pull requests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hlotool.differ.rendering.amounts import amounts, category_counts, opcode_changes
from hlotool.differ.rendering.difference_report import Report
from hlotool.differ.rendering.rows import Layout, Row
from hlotool.differ.rendering.summary import count_of, summary
from hlotool.differ.rendering.text_report import section_blocks
from hlotool.errors import visible

__all__ = ["details", "listing", "markdown"]

# A comment on GitHub has at most 65,536 characters.
_MAX_LENGTH = 60_000
_MAX_OPCODES = 10
_WIDTH = 160
# A `|` that is not escaped.
_PIPE = re.compile(r"(?<!\\)\|")


def markdown(report: Report, left: str, right: str) -> str:
    """Returns the summary, tables of numbers, and the collapsed differences of each computation.

    The result is limited to the length of a comment on GitHub.
    """
    delta = report.delta
    sentence = summary(report)
    pieces = [f"### {_code(left)} → {_code(right)}\n\n{_plain(sentence or 'No differences.')}\n"]
    if sentence:
        pieces.append(
            _table(("category", "differences", "meaning"), [(f"`{name}`", f"{n:,}" if n else "", text) for name, n, text in category_counts(delta)])
        )
        rows = [row for row in (*amounts(delta), *opcode_changes(delta)[:_MAX_OPCODES]) if row.left != row.right]
        if rows:
            pieces.append(_table(("", "before", "after", "change"), [(_plain(row.name), *row.texts) for row in rows]))
        pieces += _details(report, _MAX_LENGTH - sum(map(len, pieces)))
    return "\n".join(pieces)


def details(report: Report, available: int = _MAX_LENGTH // 4) -> str:
    """Returns the collapsed differences of each computation, without the summary and the tables."""
    return "\n".join(_details(report, available))


def listing(title: str, sentence: str, table: Sequence[Sequence[str]], blocks: Sequence[tuple[str, str]]) -> str:
    """Renders the differences of many modules: a sentence, a table, and a collapsed block each.

    The first row of the table contains the names of the columns.

    >>> print(listing("a → b", "1 of 1 module differs", [("module", "what has changed"), ("m.hlo", "1 inserted (abs)")], []), end="")
    ### a → b
    <BLANKLINE>
    1 of 1 module differs
    <BLANKLINE>
    | module | what has changed |
    | --- | --- |
    | m.hlo | 1 inserted (abs) |
    """
    pieces = [f"### {_plain(title)}\n\n{_plain(sentence or 'No differences.')}\n"]
    available = _MAX_LENGTH - len(pieces[0])
    rows: list[list[str]] = []
    for line in table:
        rows.append([_plain(cell) for cell in line])
        available -= sum(len(cell) + 3 for cell in rows[-1]) + 2
        if available < 0:
            break
    if len(rows) > 1:
        pieces.append(_table(rows[0], rows[1:]))
    if len(rows) < len(table):
        pieces.append(f"... and {len(table) - len(rows)} more.\n")
    for k, (name, body) in enumerate(blocks):
        piece = f"<details><summary>{_html(name)}</summary>\n\n{body}\n</details>\n"
        available -= len(piece) + 1
        if available < 0:
            pieces.append(f"... and the differences of {count_of(len(blocks) - k, 'more module')}.\n")
            break
        pieces.append(piece)
    return "\n".join(pieces)


def _details(report: Report, available: int) -> Iterator[str]:
    blocks = list(section_blocks(report, Layout(_WIDTH)))
    for k, rows in enumerate(blocks):
        piece = _detail(rows)
        available -= len(piece) + 1
        if available < 0:
            yield f"... and {count_of(len(blocks) - k, 'more block')} of differences.\n"
            return
        yield piece


def _detail(rows: Sequence[Row]) -> str:
    body = "\n".join(visible(f"{row.mark if row.mark in '+-' else ' '}{_without_mark(row)}".rstrip()) for row in rows[1:])
    fence = "```"
    while fence in body:
        fence += "`"
    return f"<details><summary>{_html(rows[0].text)}</summary>\n\n{fence}diff\n{body}\n{fence}\n\n</details>\n"


def _without_mark(row: Row) -> str:
    """Returns the text of a row without its mark, which a diff shows in its first column."""
    return row.text.replace(row.mark, " ", 1)[1:] if row.mark in "+-" else row.text


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [titles, ["---"] * len(titles), *rows]
    return "".join("| " + " | ".join(_PIPE.sub(r"\|", cell) for cell in line) + " |\n" for line in lines)


def _code(text: str) -> str:
    return f"`{visible(text).replace('`', chr(39))}`"


def _plain(text: str) -> str:
    """Escapes the characters that have a special meaning in Markdown."""
    return "".join(f"\\{c}" if c in "\\`*_<>[]#|~" else c for c in visible(text))


def _html(text: str) -> str:
    return visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
