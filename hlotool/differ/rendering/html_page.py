"""Renders a difference as a self-contained HTML page, from `page.html` and the script `page.js`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from hlotool.differ.categories import CATEGORIES
from hlotool.differ.rendering.amounts import Amount, amounts, opcode_lists
from hlotool.differ.rendering.change_notes import ASIDES, INVISIBLE
from hlotool.differ.rendering.difference_report import Entry, Report, Section, roll_up
from hlotool.differ.rendering.highlight import changed_parts, cut, fit_line, is_similar
from hlotool.differ.rendering.summary import region_sentences, summary
from hlotool.errors import visible

__all__ = ["page"]

# Longer lines are shortened; their beginning and their first difference remain.
_MAX_LINE_LENGTH = 1_000
_MAX_REGIONS = 8
# If there are more instructions than this, the page does not contain both modules, because it would
# be too large for browsers.
_MAX_LISTING_SIZE = 60_000


def page(report: Report, left: str, right: str) -> str:
    """Returns the page: a summary, numbers, the differences of each computation, and both modules.

    Everything below the numbers is data, from which a script creates only the visible elements,
    since browsers are slow with many elements.
    """
    folder = files("hlotool.differ.rendering")
    template = Template(folder.joinpath("page.html").read_text(encoding="utf-8"))
    return template.substitute(
        title=_shown(f"{left} → {right}"),
        left=_shown(left),
        right=_shown(right),
        summary=_shown(summary(report) or "No differences."),
        numbers="\n".join(_numbers(report)),
        data=_json(_Data(report).document()),
        script=folder.joinpath("page.js").read_text(encoding="utf-8"),
    )


def _shown(text: str) -> str:
    return escape(visible(text))


def _json(document: dict[str, Any]) -> str:
    """Returns JSON that cannot close the HTML element around it."""
    return json.dumps(document, separators=(",", ":")).replace("<", "\\u003c")


def _numbers(report: Report) -> Iterator[str]:
    if not report.delta:
        return
    yield f'<ul class="amounts">{"".join(map(_amount, amounts(report.delta)))}</ul>'
    facts = "".join(f"<dt>{title}</dt><dd>{escape(text)}</dd>" for title, text in opcode_lists(report.delta))
    if facts:
        yield f'<dl class="facts">{facts}</dl>'


def _amount(row: Amount) -> str:
    left, right, change = row.texts
    numbers = f"<b>{left} → {right}</b> <i>{change}</i>" if row.left != row.right else f"<b>{left}</b>"
    return f"<li><span>{escape(row.name)}</span>{numbers}</li>"


class _Data:
    """The data for the script; `page.js` describes it."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.kinds = sorted({kind for section in report.sections for group in section.groups for entry in group.entries for kind in entry.kinds})
        self.numbers = {kind: k for k, kind in enumerate(self.kinds)}

    def document(self) -> dict[str, Any]:
        report = self.report
        graph, pairs = report.delta.graph, report.delta.pairs
        has_listing = bool(report.sections) and len(graph.nodes) <= _MAX_LISTING_SIZE
        nodes = range(len(graph.nodes)) if has_listing else sorted(self._reported())
        lines = {node: cut(report.lines.of(node), _MAX_LINE_LENGTH) for node in nodes}
        counts = Counter(kind for section in report.sections for group in section.groups for entry in group.entries for kind in entry.kinds)
        halves = range(graph.computation_split), range(graph.computation_split, len(graph.computations))
        return {
            "kinds": self.kinds,
            "counts": counts,
            "meanings": {kind: CATEGORIES[kind] for kind in self.kinds},
            "asides": sorted(ASIDES),
            "invisible": sorted(INVISIBLE),
            "module": [*(line for change in report.header for line in report.notes.of_header(change)), *region_sentences(report, _MAX_REGIONS)],
            "sections": self._sections(lines),
            "listing": has_listing,
            "lines": [lines[node] for node in nodes] if has_listing else lines,
            "partner": list(pairs.partner) if has_listing else [],
            "state": self._states() if has_listing else [],
            "entries": [graph.entries[0], graph.entries[1] - graph.computation_split],
            "computations": [[[graph.computations[c].name, graph.members[c].start, graph.members[c].stop] for c in half] for half in halves],
        }

    def _reported(self) -> set[int]:
        """Returns the instructions that differ."""
        entries = (entry for section in self.report.sections for group in section.groups for entry in group.entries)
        return {node for entry in entries for node in entry[:2] if node >= 0}

    def _states(self) -> list[str]:
        """Returns the style of each instruction in the listing of its module."""
        delta = self.report.delta
        states = ["equal"] * len(delta.graph.nodes)
        for nodes, state in ((delta.deleted, "old"), (delta.inserted, "new")):
            for node in nodes:
                states[node] = state
        for node in delta.changed:
            states[node] = states[delta.pairs.partner[node]] = "changed"
        return states

    def _sections(self, lines: dict[int, str]) -> list[dict[str, Any]]:
        """Returns the sections in order, each followed by those with the same differences."""
        report = self.report
        entries = tuple(report.delta.graph.entries)
        sections: list[Section] = list(report.sections)
        if report.is_long:
            sections.sort(key=lambda section: (section.is_one_sided, (section.left, section.right) != entries, -section.size))
        documents: list[dict[str, Any]] = []
        for section, similar in roll_up(sections):
            first = len(documents)
            documents.append(self._section(section, lines))
            documents[first]["similar"] = list(range(first + 1, first + 1 + len(similar)))
            documents += [{**self._section(other, lines), "isSimilar": True} for other in similar]
        return documents

    def _section(self, section: Section, lines: dict[int, str]) -> dict[str, Any]:
        remark = f"only {'after' if section.left < 0 else 'before'}" if section.is_one_sided else ""
        if section.has_new_root:
            graph = self.report.delta.graph
            remark = f"root: {self.report.name(graph.roots[section.left])} → {self.report.name(graph.roots[section.right])}"
        groups = [[self._entry(entry, lines) for entry in group.entries] for group in section.groups]
        title = self.report.title(section.left, section.right)
        return {"title": title, "remark": remark, "isOneSided": section.is_one_sided, "isSimilar": False, "similar": [], "groups": groups}

    def _entry(self, entry: Entry, lines: dict[int, str]) -> Sequence[Any]:
        report = self.report
        row: list[Any] = [entry.left, entry.right, [self.numbers[kind] for kind in entry.kinds], report.entry_notes(entry)]
        if entry.left < 0 or entry.right < 0 or report.is_one_line(entry):
            return row
        old, new = (report.lines.of(node, entry.kinds) for node in (entry.left, entry.right))
        parts = changed_parts(old, new, report.renames(entry))
        is_strong = is_similar(old, new, parts)
        (old, old_parts), (new, new_parts) = (fit_line(text, intervals, _MAX_LINE_LENGTH) for text, intervals in zip((old, new), parts, strict=True))
        own = [0 if text == lines[node] else text for text, node in ((old, entry.left), (new, entry.right))]
        return [*row, *own, *((old_parts, new_parts) if is_strong else ())]
