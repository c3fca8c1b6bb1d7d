"""A difference as one page of HTML, which loads nothing from elsewhere. The template is `page.html`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from importlib.resources import files
from string import Template

from hlotool.differ.rendering.report import Entry, Group, Report, Section
from hlotool.differ.rendering.statistics import Amount, amounts, category_counts, opcode_changes
from hlotool.differ.rendering.summary import count_of, region_sentences, summary

__all__ = ["page"]

_SHOWN_ALIKE = 2
# Beyond this number of instructions, a browser takes long to show both modules.
_LARGEST_LISTING = 20_000


def page(report: Report, left: str, right: str) -> str:
    """The page: the sentence, numbers, the differences of each computation, and both modules side by side.

    Every instruction that differs has a link to its line in the modules, and every line there to its counterpart.
    """
    template = Template(files("hlotool.differ.rendering").joinpath("page.html").read_text(encoding="utf-8"))
    return template.substitute(
        title=escape(f"{left} → {right}"),
        left=escape(left),
        right=escape(right),
        summary=escape(summary(report) or "No differences."),
        numbers="\n".join(_numbers(report)),
        filters="\n".join(_filters(report)),
        sections="\n".join((*_module(report), *_Sections(report).html())),
        listing="\n".join(_listing(report)),
    )


# ---- numbers ---------------------------------------------------------------------------------------------------------


def _numbers(report: Report) -> Iterator[str]:
    categories = category_counts(report.delta)
    if not categories:
        return
    rows = (f'<tr><td>{name}</td><td class="number">{number or ""}</td><td>{escape(text)}</td></tr>' for name, number, text in categories)
    yield f"<table><tr><th>category</th><th>differences</th><th>meaning</th></tr>{''.join(rows)}</table>"
    changes = [row for row in (*amounts(report.delta), *opcode_changes(report.delta)) if row.left != row.right]
    if changes:
        cells = (_number_row(row) for row in changes)
        yield f"<table><tr><th></th><th>before</th><th>after</th><th>change</th></tr>{''.join(cells)}</table>"


def _number_row(row: Amount) -> str:
    numbers = "".join(f'<td class="number">{text}</td>' for text in row.texts)
    return f"<tr><td>{escape(row.name)}</td>{numbers}</tr>"


def _filters(report: Report) -> Iterator[str]:
    kinds = {kind for section in report.sections for group in section.groups for entry in group.entries for kind in entry.kinds}
    for kind in sorted(kinds):
        yield f'<label><input type="checkbox" value="{kind}" checked> {kind}</label>'


# ---- differences -----------------------------------------------------------------------------------------------------


def _module(report: Report) -> Iterator[str]:
    """What has changed in the header, and what became of whole computations."""
    lines = [*(line for change in report.header for line in report.notes.of_header(change)), *region_sentences(report, None)]
    if lines:
        yield f"<section><h2>HloModule</h2>{''.join(_pre('same', '~', escape(line)) for line in lines)}</section>"


class _Sections:
    """The differences of each computation, of which equal ones are folded."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.has_listing = _has_listing(report)

    def html(self) -> Iterator[str]:
        for section in self.report.sections:
            title = escape(self.report.title(section.left, section.right))
            groups = "".join(piece for group in section.groups for piece in self._group(group))
            yield f'<section class="computation"><h2>{title}{self._remark(section)}</h2>{groups}</section>'

    def _remark(self, section: Section) -> str:
        if section.is_one_sided:
            return f" <span>only on the {'right' if section.left < 0 else 'left'}</span>"
        return " <span>with another root</span>" if section.has_new_root else ""

    def _group(self, group: Group) -> Iterator[str]:
        entries = group.entries
        number = len(entries) if len(entries) <= _SHOWN_ALIKE + 1 else _SHOWN_ALIKE
        yield from map(self._entry, entries[:number])
        if len(entries) > number:
            rest = "".join(map(self._entry, entries[number:]))
            yield f'<details class="alike"><summary>and {len(entries) - number:,} more like this</summary>{rest}</details>'

    def _entry(self, entry: Entry) -> str:
        report, kinds = self.report, entry.kinds
        old, new = report.pair_lines(entry)
        lines = _pre("old", "-", self._linked(entry.left, old)) if old else ""
        if new:
            is_same = not old and entry.left >= 0
            lines += _pre("same" if is_same else "new", "~" if is_same else "+", self._linked(entry.right, new))
        badges = " ".join(f"<b>{kind}</b>" for kind in kinds)
        notes = "<br>".join(escape(note) for note in report.entry_notes(entry))
        node = entry.right if entry.right >= 0 else entry.left
        return f'<div class="entry" id="d{node}" data-kinds="{" ".join(kinds)}">{lines}<div class="notes">{badges} {notes}</div></div>'

    def _linked(self, node: int, line: str) -> str:
        """A line whose beginning leads to the instruction in its module."""
        name, equals, rest = line.partition(" = ")
        return f'<a href="#i{node}">{escape(name)}</a>{escape(equals + rest)}' if self.has_listing else escape(line)


def _pre(style: str, mark: str, html: str) -> str:
    return f'<pre class="{style}">{mark} {html}</pre>'


# ---- both modules ----------------------------------------------------------------------------------------------------


def _has_listing(report: Report) -> bool:
    return bool(report.sections) and len(report.delta.graph.nodes) <= _LARGEST_LISTING


def _listing(report: Report) -> Iterator[str]:
    """The instructions of both modules; each leads to its counterpart."""
    graph = report.delta.graph
    if not _has_listing(report):
        return
    halves = range(graph.computation_split), range(graph.computation_split, len(graph.computations))
    sides = "".join(f"<div>{''.join(_computations(report, half))}</div>" for half in halves)
    total = count_of(len(graph.nodes), "instruction")
    yield f'<section><details><summary>Both modules, {total}</summary><div class="listing">{sides}</div></details></section>'


def _computations(report: Report, numbers: Iterable[int]) -> Iterator[str]:
    delta = report.delta
    graph, partner = delta.graph, delta.pairs.partner
    one_sided = {*delta.deleted, *delta.inserted}
    for number in numbers:
        yield f"<p>{escape(graph.computations[number].name)}</p>"
        for node in graph.members[number]:
            other = partner[node]
            is_left = node < graph.split
            style = ("old" if is_left else "new") if node in one_sided else "same" if (node if is_left else other) in delta.changed else ""
            # Instructions without a counterpart lead to where they are told.
            target = f"i{other}" if other >= 0 else f"d{node}"
            yield f'<a id="i{node}" href="#{target}"{f" class={style}" if style else ""}>{escape(report.lines.of(node))}</a>'
